# %% [markdown]
# A custom loss term: it penalizes attention that spreads over many words.
from __future__ import annotations

from pydantic import Field
from torch import Tensor

from saccade.attention import Tape
from saccade.batch import Batch
from saccade.models import Seq2Seq
from saccade.train.terms import Term


class Sharpness(Term):
    """Entropy of attention above a tolerated amount: Σ_t max(0, H(a[t]) - tolerated)."""

    name = "sharpness"

    tolerated: float = Field(0.0, ge=0)
    """Entropy in nats without penalty."""

    def loss(self, model: Seq2Seq, batch: Batch, tape: Tape) -> Tensor:
        total = batch.expected.new_zeros((), dtype=next(model.parameters()).dtype)
        for site in model.source_sites:
            weights = tape[site]  # (B, H, T, S)
            entropy = -(weights * weights.clamp_min(1e-9).log()).sum(-1).mean(1)  # (B, T)
            total = total + ((entropy - self.tolerated).clamp_min(0) * batch.expected_mask).sum()
        return total
