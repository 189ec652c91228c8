"""Softmax attention over inner products, by torch's scaled_dot_product_attention or by kernels for special cases."""

from typing import Literal

import torch.nn.functional as F
from torch import Tensor

from saccade.kernels.dispatch import fusable
from saccade.kernels.dot.few import few_attention

__all__ = ["Sight", "fused_attention"]

Sight = Literal["any", "some", "causal"]
"""What the caller knows about a mask: nothing; every query sees some key; query t sees exactly keys 0..t."""
LONGEST, WIDEST = 128, 64
"""Most queries or keys, and largest head width, that fit into one program's shared memory on any recent GPU."""


def fused_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    scale: float = 1.0,
    dropout: float = 0.0,
    sight: Sight = "any",
) -> Tensor:
    """Compute softmax attention over inner products without writing the weights to memory.

    If a query's mask hides every key, some of torch's kernels return zeros and others a mean of all values. So such
    rows are zeroed here, which also zeroes their gradient. On a GPU this pass is skipped if `sight` rules such rows
    out. With sight "causal" the kernel gets no mask and skips the keys after each query.
    """
    few = None if dropout else few_attention(query, keys, values, mask, scale)
    if few is not None:
        return few
    if query.dim() == 3:  # torch's fast kernels need an axis of heads
        query, keys, values = (x.unsqueeze(1) for x in (query, keys, values))
        mask = None if mask is None else mask.unsqueeze(-3)
        return fused_attention(query, keys, values, mask, scale, dropout, sight).squeeze(1)
    lead = query.shape[:-2]
    if keys.shape[:-2] != lead:  # the fused kernels do not broadcast keys and values
        keys, values = keys.expand(*lead, *keys.shape[-2:]), values.expand(*lead, *values.shape[-2:])
    if not dropout and _is_short(query, keys, values, mask, sight):
        from saccade.kernels.dot.short import short_attention

        return short_attention(query, keys, values, None if sight == "causal" else mask, scale, sight == "causal")
    if mask is None:
        return F.scaled_dot_product_attention(query, keys, values, dropout_p=dropout, scale=scale)
    if sight != "any" and fusable(query, keys, values):
        causal = sight == "causal" and query.shape[-2] == keys.shape[-2]
        return F.scaled_dot_product_attention(
            query, keys, values, None if causal else mask, dropout_p=dropout, is_causal=causal, scale=scale
        )
    sees = mask.any(-1, keepdim=True)
    mask = mask.expand(*lead, query.shape[-2], keys.shape[-2])
    context = F.scaled_dot_product_attention(query, keys, values, mask, dropout_p=dropout, scale=scale)
    return context.masked_fill(~sees, 0.0)


def _is_short(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, sight: Sight) -> bool:
    """Return whether a head fits into one program, and the mask is causal or the same for all queries."""
    if not fusable(query, keys, values) or not (query.dtype == keys.dtype == values.dtype) or query.dim() != 4:
        return False
    length, size = query.shape[-2], keys.shape[-2]
    fits = length <= LONGEST and size <= LONGEST and query.shape[-1] == values.shape[-1] <= WIDEST
    causal = sight == "causal" and length == size
    shared = sight != "causal" and (mask is None or (mask.dim() == 4 and mask.shape[1:3] == (1, 1)))
    return query.dtype.itemsize == 2 and fits and (causal or shared)
