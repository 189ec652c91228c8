"""Softmax attention over inner products by torch's scaled_dot_product_attention."""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.kernels.dot.few import few_attention
from saccade.kernels.ways import fusable

__all__ = ["Sight", "fused_attention"]

LONGEST, WIDEST = 128, 128
"""Queries and keys, and numbers of each, up to which a head of a sentence is one program of a GPU."""

Sight = Literal["any", "some", "causal"]
"""What is known of a mask beside the mask: nothing; that every query sees some key; that query t sees keys 0..t."""


def fused_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    scale: float = 1.0,
    dropout: float = 0.0,
    sight: Sight = "any",
) -> Tensor:
    """What `naive_attention` computes, without writing the weights to memory.

    For a query whose mask keeps nothing some of torch's kernels give zeros and others a mean of all values, so
    such rows are cleared here, which clears their gradient too. On a GPU that pass is saved where `sight` promises
    that there are none, and a causal mask is left to the kernel, which then skips what nobody sees.
    """
    few = None if dropout or torch.compiler.is_compiling() else few_attention(query, keys, values, mask, scale)
    if few is not None:
        return few
    if query.dim() == 3:  # torch's fast kernels want an axis of heads
        query, keys, values = (x.unsqueeze(1) for x in (query, keys, values))
        mask = None if mask is None else mask.unsqueeze(-3)
        return fused_attention(query, keys, values, mask, scale, dropout, sight).squeeze(1)
    lead = query.shape[:-2]
    if keys.shape[:-2] != lead:  # queries or keys shared along an axis: the fused kernels want them spelled out
        keys, values = keys.expand(*lead, *keys.shape[-2:]), values.expand(*lead, *values.shape[-2:])
    causal = sight == "causal" and query.shape[-2] == keys.shape[-2]
    if _is_short(query, keys, values) and dropout == 0 and (mask is None or causal or mask.shape[-3:-1] == (1, 1)):
        return _short(query, keys, values, None if causal else mask, scale, causal)
    if mask is None:
        return F.scaled_dot_product_attention(query, keys, values, dropout_p=dropout, scale=scale)
    if sight != "any" and fusable(query, keys, values):
        return F.scaled_dot_product_attention(
            query, keys, values, None if causal else mask, dropout_p=dropout, is_causal=causal, scale=scale
        )
    sees = mask.any(-1, keepdim=True)
    mask = mask.expand(*lead, query.shape[-2], keys.shape[-2])
    context = F.scaled_dot_product_attention(query, keys, values, mask, dropout_p=dropout, scale=scale)
    return context.masked_fill(~sees, 0.0)


def _is_short(query: Tensor, keys: Tensor, values: Tensor) -> bool:
    """Whether a head of a sentence fits into one program of a GPU."""
    lengths, widths = (query.shape[-2], keys.shape[-2]), (query.shape[-1], values.shape[-1])
    half = all(part.dtype in (torch.bfloat16, torch.float16) for part in (query, keys, values))
    return (
        query.dim() == 4 and half and max(lengths) <= LONGEST and max(widths) <= WIDEST and fusable(query, keys, values)
    )


def _short(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, scale: float, causal: bool) -> Tensor:
    from saccade.kernels.dot.short import short_attention

    rows = None if mask is None else mask[:, 0, 0].expand(query.shape[0], -1)
    return short_attention(query, keys, values, rows, scale, causal)
