"""The loss of CTC and its gradient on a GPU, without reading lengths on the CPU, so that CUDA graphs can capture it.

    α_s(l) = y_s(l) (α_{s-1}(l) + α_{s-1}(l-1) + [skip(l)] α_{s-1}(l-2))         -log p = -log (α_S(L) + α_S(L-1))

l are the states: blank, token, blank, token, …, blank; y_s(l) is the probability of the state's label at key s. The
same recursion over the reversed text and recording gives β, and the gradient is -Σ_l α_s(l) β_s(l) / (p y_s(l)).
Paper: Graves et al. 2006, "Connectionist temporal classification".
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade import masks

__all__ = ["RecursiveCtc", "ctc_losses"]

_NEVER = -1e30
"""Stands for log 0: differences of infinities would be NaN."""


def ctc_losses(logs: Tensor, words: Tensor, keys: Tensor, tokens: Tensor, blank: int = 0) -> Tensor:
    """Return -log p (B,) of texts, 0 for a text that does not fit into its keys.

    logs (B, S, V): log-probabilities. words (B, T). keys, tokens (B,): how many of each are real.
    """
    if logs.is_cuda:
        found: Tensor = RecursiveCtc.apply(logs, words, keys, tokens, blank)  # type: ignore[no-untyped-call]
        return found
    options: dict[str, Any] = {"blank": blank, "reduction": "none", "zero_infinity": True}
    return F.ctc_loss(logs.transpose(0, 1), words, keys, tokens, **options)


class RecursiveCtc(torch.autograd.Function):
    """The recursions of a batch, those of the reversed one below them in the same tensors."""

    @staticmethod
    def forward(ctx: Any, logs: Tensor, words: Tensor, keys: Tensor, tokens: Tensor, blank: int) -> Tensor:
        heard = torch.arange(logs.shape[1], device=logs.device) < keys[:, None]  # (B, S)
        labels = torch.full((len(words), 2 * words.shape[1] + 1), blank, device=words.device)
        labels[:, 1::2] = words
        used = torch.arange(labels.shape[1], device=logs.device) <= 2 * tokens[:, None]  # (B, L)
        own = logs.gather(2, labels[:, None].expand(-1, logs.shape[1], -1))  # (B, S, L)
        own = own.masked_fill(~used[:, None], _NEVER)
        turned = masks.reverse(masks.reverse(own, heard).mT, used).mT
        skips = torch.cat([_skips(labels, blank), _skips(masks.reverse(labels, used), blank)])
        both = _alphas(torch.cat([own, turned]), skips, heard.repeat(2, 1))
        alphas, betas = both.chunk(2)
        betas = masks.reverse(masks.reverse(betas.mT, used).mT, heard)
        ends = alphas[:, -1].gather(1, torch.stack([2 * tokens, (2 * tokens - 1).clamp_min(0)], 1))
        totals = torch.where(tokens > 0, ends.logsumexp(1), ends[:, 0])
        fits = totals > _NEVER / 2
        shares = (alphas + betas - own - totals[:, None, None]).clamp_max(0.0).exp()
        shares = shares * (heard[..., None] & used[:, None] & fits[:, None, None])
        slopes = torch.zeros_like(logs).scatter_add(2, labels[:, None].expand_as(shares), -shares)
        ctx.save_for_backward(slopes)
        return (-totals).masked_fill(~fits, 0.0)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
        (slopes,) = ctx.saved_tensors
        return slopes * grad[:, None, None], None, None, None, None


def _skips(labels: Tensor, blank: int) -> Tensor:
    """Return 0 where a path may come from two states before, else log 0."""
    before = F.pad(labels, (2, 0), value=blank)[:, :-2]
    # no torch.where with numbers here: it copies them from the CPU, which a CUDA graph cannot capture
    closed = (labels == blank) | (labels == before)
    return torch.zeros(labels.shape, device=labels.device).masked_fill(closed, _NEVER)


def _alphas(own: Tensor, skips: Tensor, heard: Tensor) -> Tensor:
    """Return log α (B, S, L); after the last key of a recording, its last values repeat."""
    later = torch.arange(own.shape[2], device=own.device) >= 2
    now = own[:, 0].masked_fill(later, _NEVER)
    found = [now]
    for key in range(1, own.shape[1]):
        before = F.pad(now, (2, 0), value=_NEVER)
        ways = torch.stack([now, before[:, 1:-1], before[:, :-2] + skips])
        now = torch.where(heard[:, key, None], (ways.logsumexp(0) + own[:, key]).clamp_min(_NEVER), now)
        found.append(now)
    return torch.stack(found, 1)
