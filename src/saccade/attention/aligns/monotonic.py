"""Attention that only moves forward."""

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.attention.aligns.base import Align
from saccade.attention.scores.base import Past
from saccade.errors import ShapeError

__all__ = ["Monotonic"]


class Monotonic(Align):
    """Walk from where the last step stopped, and at each key decide whether to stop here.

        p[s] = σ(e[s])
        a[t, s] = p[s] · Σ_{k ≤ s} a[t-1, k] · Π_{k ≤ l < s} (1 - p[l])

    The weights are the chances to stop at each key; what walks off the end is lost, so they may sum to less
    than one. The walk of the first step that sees a key starts at the first key.
    Paper: Raffel et al. 2017, arXiv:1704.00784, equation 10. Differs: the same expectation is used when
    evaluating, without the paper's switch to a hard walk. Cost: S² numbers a query, exact and without the
    division that makes the closed form unstable.
    """

    sequential = True
    positional = True
    sums_to_one = False

    def share(self, scores: Tensor, past: Past | None) -> Tensor:
        if past is None:
            raise ShapeError("monotonic attention needs its past. Call it through Attention, which keeps it.")
        start = torch.zeros_like(scores)
        start[..., 0] = 1.0
        begun = past.total.sum(-1, keepdim=True) > 0
        before = torch.where(begun, past.previous.to(scores.dtype), start)  # (..., T, S)
        passing = F.logsigmoid(-scores)  # log(1 - p)
        size = scores.shape[-1]
        # walked[k, s] = Σ_{k ≤ l < s} log(1 - p[l]), summed afresh for each k, so nothing cancels
        later = torch.ones(size, size, dtype=torch.bool, device=scores.device).triu()  # k <= l
        steps = passing.clamp_min(-1e4).unsqueeze(-2) * later  # (..., k, l)
        walked = F.pad(steps[..., :-1], (1, 0)).cumsum(-1)
        reach = (before.unsqueeze(-1) * walked.exp() * later).sum(-2)  # (..., s)
        return torch.sigmoid(scores) * reach
