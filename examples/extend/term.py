# %% [markdown]
# A term of the objective of your own: attention that spreads over many words costs something.
from __future__ import annotations

from pydantic import Field
from torch import Tensor

from saccade.attention import Tape
from saccade.batch import Batch
from saccade.models import Seq2Seq
from saccade.train.terms import Term


class Sharpness(Term):
    """The entropy of attention, over a tolerated share of it: Σ_t max(0, H(a[t]) - tolerated)."""

    name = "sharpness"

    tolerated: float = Field(0.0, ge=0)
    """Nats of entropy that cost nothing."""

    def loss(self, model: Seq2Seq, batch: Batch, tape: Tape) -> Tensor:
        total = batch.expected.new_zeros((), dtype=next(model.parameters()).dtype)
        for site in model.source_sites:
            weights = tape[site]  # (B, H, T, S)
            entropy = -(weights * weights.clamp_min(1e-9).log()).sum(-1).mean(1)  # (B, T)
            total = total + ((entropy - self.tolerated).clamp_min(0) * batch.expected_mask).sum()
        return total
