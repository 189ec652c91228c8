"""Monotonic attention, which only moves forward."""

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.attention.aligns.base import Align
from saccade.attention.scores.base import AttentionState
from saccade.errors import ShapeError

__all__ = ["Monotonic"]


class Monotonic(Align):
    """Start at the key where the last step stopped, and decide at each key whether to stop or move on.

        p[s] = σ(e[s])
        a[t, s] = p[s] · Σ_{k ≤ s} a[t-1, k] · Π_{k ≤ l < s} (1 - p[l])

    The weights are the probabilities of stopping at each key. The probability of passing the last key is lost, so
    they may sum to less than one. The first step with a visible key starts at the first key.
    Paper: Raffel et al. 2017, arXiv:1704.00784, equation 10. Differs: evaluation uses the same expectation, where
    the paper makes hard decisions. Cost: S² numbers per query, exact and without the division that makes the
    closed form unstable.
    """

    sequential = True
    positional = True
    sums_to_one = False

    def share(self, scores: Tensor, past: AttentionState | None) -> Tensor:
        if past is None:
            raise ShapeError("monotonic attention needs its past. Call it through Attention, which keeps it.")
        start = torch.zeros_like(scores)
        start[..., 0] = 1.0
        begun = past.total.sum(-1, keepdim=True) > 0
        before = torch.where(begun, past.previous.to(scores.dtype), start)  # (..., T, S)
        passing = F.logsigmoid(-scores)  # log(1 - p)
        size = scores.shape[-1]
        # walked[k, s] = Σ_{k ≤ l < s} log(1 - p[l]), summed separately for each k to avoid cancellation
        later = torch.ones(size, size, dtype=torch.bool, device=scores.device).triu()  # k <= l
        steps = passing.clamp_min(-1e4).unsqueeze(-2) * later  # (..., k, l)
        walked = F.pad(steps[..., :-1], (1, 0)).cumsum(-1)
        reach = (before.unsqueeze(-1) * walked.exp() * later).sum(-2)  # (..., s)
        return torch.sigmoid(scores) * reach
