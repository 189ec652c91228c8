"""Penalties: the score of a hypothesis from its log-probability, its length and its attention to the source."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Self

import torch
from torch import Tensor

from saccade.errors import ConfigError

__all__ = ["Attended", "Penalties"]


class Attended(NamedTuple):
    """Attention of hypotheses so far: covered (B, K, S), its sum over steps; overlap (B, K), see Penalties."""

    covered: Tensor
    overlap: Tensor

    @classmethod
    def after(cls, before: Attended | None, weights: Tensor) -> Attended:
        """Return the attention after a step with these weights (B, K, S)."""
        if before is None:
            return cls(weights, weights.new_zeros(weights.shape[:-1]))
        again = torch.minimum(weights, before.covered).sum(-1)
        return cls(before.covered + weights, before.overlap + again)

    def of_parents(self, parents: Tensor) -> Self:
        """Return the attention of the slots (B, K) that hypotheses continue."""
        places = parents[..., None].expand(-1, -1, self.covered.shape[-1])
        return type(self)(self.covered.gather(1, places), self.overlap.gather(1, parents))

    def of_sentences(self, rows: Tensor) -> Self:
        """Return the attention of these sentences."""
        return type(self)(self.covered[rows], self.overlap[rows])


@dataclass(frozen=True)
class Penalties:
    """Penalties of a beam search, α, β and γ.

        score = log p / lp(length) + β cp - γ op
        lp = ((5 + length) / 6)^α                              length counts EOS
        cp = Σ_s log min(Σ_t a[t, s], 1)                       source words with little attention
        op = Σ_t Σ_s min(a[t, s], Σ_{t' < t} a[t', s])         attention to words that had some before

    Padding has no attention and no share in either sum. The attention to a word counts as at least 1e-10 in cp.
    Papers: Wu et al. 2016, arXiv:1609.08144, section 7 (lp and cp). See et al. 2017, arXiv:1704.04368, equation 12
    (op, there a loss of training).
    """

    length: float = 0.0
    coverage: float = 0.0
    overlap: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("coverage_penalty", self.coverage), ("overlap_penalty", self.overlap)):
            if not 0 <= value < math.inf:
                raise ConfigError(f"{name} is {value}, but a penalty is 0 or more.")
        if not math.isfinite(self.length):
            raise ConfigError(f"length_penalty is {self.length}, but must be a finite number.")

    @property
    def of_attention(self) -> bool:
        """Whether a score depends on the attention to the source."""
        return self.coverage > 0 or self.overlap > 0

    def score(self, logs: Tensor, length: Tensor, attended: Attended | None, visible: Tensor | None) -> Tensor:
        """Return scores (B, K) of log-probabilities; visible (B, S): real source positions, if some are padding."""
        scores = logs if self.length == 0 else logs / self.divisor(length)
        if attended is None:
            return scores
        if self.coverage:
            shortfall = attended.covered.clamp(1e-10, 1.0).log()  # (B, K, S)
            if visible is not None:
                shortfall = shortfall * visible[:, None]
            scores = scores + self.coverage * shortfall.sum(-1)
        return scores - self.overlap * attended.overlap if self.overlap else scores

    def divisor(self, length: Tensor) -> Tensor:
        """Return lp of lengths."""
        return ((5 + length.double()) / 6) ** self.length

    def reachable(self, logs: Tensor, next_length: Tensor, max_length: int) -> Tensor:
        """Return the highest scores that log-probabilities may still reach: they fall, and cp and -op are at most 0."""
        if self.length == 0:
            return logs
        return logs / self.divisor(next_length).clamp_min(((5 + max_length) / 6) ** self.length)
