"""Sparse aligns: keys with low scores get exactly zero weight.

All three solve  a = argmax_p p·e + H_α(p)  over distributions p, with Tsallis entropy H_α; softmax is α = 1.
The solution is a[s] = ((α-1) e[s] - τ)₊ ^ (1/(α-1)) with the threshold τ that makes it sum to one.
"""

from typing import Any

import torch
from torch import Tensor, nn

from saccade.attention.aligns.base import Align
from saccade.attention.scores.base import AttentionState
from saccade.errors import ConfigError

__all__ = ["AlphaEntmax", "Entmax15", "Sparsemax"]


class Sparsemax(Align):
    """Sparsemax: the Euclidean projection of the scores onto the simplex.

        a[s] = (e[s] - τ)₊

    Paper: Martins and Astudillo 2016, arXiv:1602.02068.
    """

    def share(self, scores: Tensor, past: AttentionState | None) -> Tensor:
        out: Tensor = _Sparsemax.apply(scores)  # type: ignore[no-untyped-call]
        return out


class Entmax15(Align):
    """1.5-entmax: half-way between softmax and sparsemax, smooth where it is not zero.

        a[s] = (e[s] / 2 - τ)₊²

    Paper: Peters et al. 2019, arXiv:1905.05702; exact, by sorting.
    """

    def share(self, scores: Tensor, past: AttentionState | None) -> Tensor:
        out: Tensor = _Entmax15.apply(scores)  # type: ignore[no-untyped-call]
        return out


class AlphaEntmax(Align):
    """α-entmax with a learned α per head, so each head learns its sparsity.

        a[s] = ((α-1) e[s] - τ)₊ ^ (1/(α-1)),   α = 1 + σ(w) between softmax (1) and sparsemax (2)

    Paper: Correia et al. 2019, arXiv:1909.00015; τ by bisection, gradients in closed form.
    """

    def __init__(self, *, alpha: float = 1.5, heads: int | None = None) -> None:
        super().__init__(heads=heads)
        if not 1 < alpha < 2:
            raise ConfigError(f"alpha is {alpha}, but a learned one starts between 1 (softmax) and 2 (sparsemax).")
        shape = (1,) if heads is None else (heads, 1, 1)
        self.alpha_logit = nn.Parameter(torch.full(shape, alpha - 1).logit())

    @property
    def alpha(self) -> Tensor:
        """The current α, one per head; kept away from 1, where the power 1/(α-1) loses all precision."""
        logit = self.alpha_logit.float() if self.alpha_logit.dtype.itemsize < 4 else self.alpha_logit
        return 1 + torch.sigmoid(logit).clamp_min(1e-3)

    def share(self, scores: Tensor, past: AttentionState | None) -> Tensor:
        out: Tensor = _AlphaEntmax.apply(scores, self.alpha.to(scores.dtype))  # type: ignore[no-untyped-call]
        return out


class _Sparsemax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        z = scores - scores.amax(-1, keepdim=True)
        ordered = z.sort(-1, descending=True).values
        count = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
        total = ordered.cumsum(-1)
        support = (1 + count * ordered > total).sum(-1, keepdim=True).clamp_min(1)  # 0 if scores are NaN
        threshold = (total.gather(-1, support - 1) - 1) / support.to(z.dtype)
        weights = (z - threshold).clamp_min(0)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (weights,) = ctx.saved_tensors
        return _apply_jacobian(grads[0], (weights > 0).to(weights.dtype))


class _Entmax15(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        # For the k largest scores, τ_k solves Σ (z - τ_k)² = 1, a quadratic in their mean and variance. The size of
        # the support is the number of k whose τ_k does not exceed the k-th largest score.
        z = (scores - scores.amax(-1, keepdim=True)) / 2
        # scores below -1 are never in the support; the clamp keeps their squares from overflowing
        ordered = z.sort(-1, descending=True).values.clamp_min(-2)
        count = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
        mean = ordered.cumsum(-1) / count
        variance = (ordered**2).cumsum(-1) / count - mean**2
        threshold = mean - (1 / count - variance).clamp_min(0).sqrt()
        support = (threshold <= ordered).sum(-1, keepdim=True).clamp_min(1)  # 0 if scores are NaN
        weights = (z - threshold.gather(-1, support - 1)).clamp_min(0) ** 2
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (weights,) = ctx.saved_tensors
        return _apply_jacobian(grads[0], weights.sqrt())


class _AlphaEntmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, alpha: Tensor) -> Tensor:
        power = 1 / (alpha - 1)
        z = (scores - scores.amax(-1, keepdim=True)) * (alpha - 1)
        # at τ = -1 the best key alone gives a sum of 1; at τ = -(1/S)^(α-1) all keys together give at most 1
        low = torch.full_like(z[..., :1], -1.0)
        high = -(z.new_tensor(1 / z.shape[-1]) ** (alpha - 1)).expand_as(low)
        for _ in range(24 if z.dtype == torch.float32 else 54):  # bisect until the interval is one ulp
            middle = (low + high) / 2
            over = ((z - middle).clamp_min(0) ** power).sum(-1, keepdim=True) >= 1
            low, high = torch.where(over, middle, low), torch.where(over, high, middle)
        weights = (z - low).clamp_min(0) ** power
        weights = weights / weights.sum(-1, keepdim=True)
        ctx.save_for_backward(weights, alpha)
        return weights

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        weights, alpha = ctx.saved_tensors
        grad = grads[0]
        diagonal = torch.where(weights > 0, weights.clamp_min(1e-38) ** (2 - alpha), 0.0)
        grad_scores = _apply_jacobian(grad, diagonal)
        # da/dα = (a - s)/(α-1)² - (a log a - s Σ a log a)/(α-1), with s the diagonal normalized to sum to one
        share = diagonal / diagonal.sum(-1, keepdim=True)
        entropy = torch.xlogy(weights, weights)
        by_alpha = (weights - share) / (alpha - 1) ** 2
        by_alpha = by_alpha - (entropy - share * entropy.sum(-1, keepdim=True)) / (alpha - 1)
        return grad_scores, (grad * by_alpha).sum_to_size(alpha.shape)


def _apply_jacobian(grad: Tensor, diagonal: Tensor) -> Tensor:
    """Apply the Jacobian of any entmax: diagonal · (grad - its mean weighted by the diagonal)."""
    moved = grad * diagonal
    return moved - diagonal * (moved.sum(-1, keepdim=True) / diagonal.sum(-1, keepdim=True))
