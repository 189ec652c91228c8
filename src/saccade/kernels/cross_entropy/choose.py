"""Choose the implementation of the cross-entropy of an output layer."""

from __future__ import annotations

import torch
from torch import Tensor

from saccade.kernels.cross_entropy.chunked import chunked_cross_entropy
from saccade.kernels.cross_entropy.losses import Losses, check_chunk, check_classes, check_layer
from saccade.kernels.cross_entropy.rows import Target
from saccade.kernels.dispatch import fusable

__all__ = ["cross_entropy"]


def cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    expected: Tensor,
    *,
    smoothing: float = 0.0,
    padding: int = 0,
    chunk: int | None = None,
) -> Losses:
    """Compute the cross-entropy of an output layer, with `chunk` rows of logits in memory instead of N.

        target[n] = (1 - ε) · [expected[n]] + ε · uniform over all classes but padding
        smoothed  = -Σ_n target[n] · log softmax(hidden[n] weightᵀ + bias)

    hidden (N, D), weight (V, D), bias (V,), expected (N,) -> three scalars
    Rows whose expected class is padding are ignored. The forward pass computes the gradients of each chunk while its
    logits are in memory, and the backward pass only scales them. So there are no second derivatives.
    Under autocast to bfloat16 the matmuls are in bfloat16, softmax and sums in float32.
    On a GPU with Triton, one kernel handles everything between the matmuls.
    """
    if chunk is not None:
        check_chunk(chunk)
    check_layer(hidden, weight, bias)
    check_classes(len(hidden), len(weight), expected, smoothing, padding)
    target = Target.smooth(smoothing, padding, len(weight))
    wanted = [
        torch.is_grad_enabled() and tensor is not None and tensor.requires_grad for tensor in (hidden, weight, bias)
    ]
    way = chunked_cross_entropy
    if fusable(hidden, weight, bias):
        from saccade.kernels.cross_entropy.fused import fused_cross_entropy as way
    return way(hidden, weight, bias, expected, target, chunk, _product_dtype(hidden, weight), wanted)


def _product_dtype(hidden: Tensor, weight: Tensor) -> torch.dtype:
    """Return the dtype of the matmuls: autocast's, but float32 instead of float16.

    The gradients are computed before loss scaling, and would underflow in float16.
    """
    kind = hidden.device.type
    dtype = torch.promote_types(hidden.dtype, weight.dtype)
    if dtype != torch.float64 and torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
    return torch.float32 if dtype == torch.float16 else dtype
