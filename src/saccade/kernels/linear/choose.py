"""Which way linear layers are computed."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from saccade.kernels.products import product_dtype
from saccade.kernels.ways import DTYPES, fusable

__all__ = ["bare", "learns", "linear", "together"]


def linear(layer: nn.Linear, x: Tensor) -> Tensor:
    """layer(x); where it learns on a GPU, with a faster gradient of the bias."""
    return together([layer], x)[0]


def together(layers: list[nn.Linear], x: Tensor) -> tuple[Tensor, ...]:
    """layer(x) of each; where they learn on a GPU, as one product with their weights under each other."""
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
    """Whether our kernels do these layers: where there will be a backward pass, since that is what they speed up."""
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
    """Whether a module is a linear layer and nothing else: a hook would want to be called."""
    return type(layer) is nn.Linear and not layer._forward_hooks and not layer._forward_pre_hooks
