"""Choose the implementation of linear layers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from saccade.kernels.dispatch import DTYPES, fusable
from saccade.kernels.products import product_dtype

__all__ = ["bare", "learns", "linear", "together"]


def linear(layer: nn.Linear, x: Tensor) -> Tensor:
    """Compute layer(x), with a faster bias gradient when training on a GPU."""
    return together([layer], x)[0]


def together(layers: list[nn.Linear], x: Tensor) -> tuple[Tensor, ...]:
    """Compute layer(x) of each layer; when training on a GPU, as one matmul with their weights concatenated."""
    if not learns(x, *layers):
        return tuple(layer(x) for layer in layers)
    from saccade.kernels.linear.fused import fused_linear, side_by_side

    first = layers[0]
    dtype = product_dtype(x, first.weight)
    if len(layers) == 1:
        return (fused_linear(x, first.weight, first.bias, dtype),)
    weight = torch.cat([layer.weight for layer in layers])
    bias = None if first.bias is None else torch.cat([layer.bias for layer in layers])
    return side_by_side(fused_linear(x, weight, bias, dtype), [len(layer.weight) for layer in layers])


def learns(x: Tensor, *layers: nn.Linear) -> bool:
    """Return whether fused kernels run these layers. They speed up the backward pass, so they need gradients."""
    if not (torch.is_grad_enabled() and fusable(x) and all(bare(layer) for layer in layers)):
        return False
    first = layers[0]
    return (
        fusable(*(part for layer in layers for part in (layer.weight, layer.bias)))
        and any(layer.weight.requires_grad for layer in layers)
        and all((layer.bias is None) == (first.bias is None) for layer in layers)
        and product_dtype(x, first.weight) in DTYPES
    )


def bare(layer: nn.Module) -> bool:
    """Return whether a module is exactly nn.Linear without hooks, which a kernel would not call."""
    return type(layer) is nn.Linear and not layer._forward_hooks and not layer._forward_pre_hooks
