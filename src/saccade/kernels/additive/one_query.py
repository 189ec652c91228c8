"""Additive attention of few queries on a GPU: scores, softmax and weighted sum in one kernel launch.

A decoder with one query per step is limited by reading keys and values and by launching a dozen small kernels, not by
its tanh. Here one program handles one query of one sentence. If whole rows of keys and values fit into tiles, it reads
both in one loop; else it reads the values after all scores of its row are known. With too few queries to fill the
device, the keys are split among several programs, and a second small launch joins their partial sums.

In the backward pass, `slopes` computes the gradients of one call in one launch. The gradients of the keys, v and the
matrix are sums over all decoder steps. So `gather` handles many queries at once, with a tile of keys in registers.
torch adds up the partial sums of programs in a fixed order, so results are reproducible bit for bit.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from saccade.kernels.additive.fused import _FAST
from saccade.kernels.additive.one_query_kernels import attend_kernel, gather_kernel, join_kernel, slopes_kernel
from saccade.kernels.additive.parts import Gathered, Parts, Slopes

__all__ = ["attend", "gather", "slopes"]

TILE_BYTES, WARPS, STAGES = 1 << 15, 4, 1
"""Bytes of a tile of keys or values, warps of a program, and pipeline stages: with several programs on one
multiprocessor, one stage hides the latency of loads."""
ROW_BYTES, PAIR_BYTES, SLOPE_BYTES = 1 << 9, 1 << 12, 1 << 13
"""For tiles of whole rows, bytes per warp: of a row; of a key tile when values are read in the same loop; of a key or
value tile in the backward pass."""
DOT_TILE, DOT_WARPS, DOT_STAGES = (64, 64), 4, 3
"""Tile (rows, columns), warps and stages when there are several features, which need a matmul."""
GATHER_TILE, GATHER_WARPS = (32, 64), 4
"""Tile (keys, columns) and warps of `gather`."""
ENOUGH, CHUNK = 128, 16
"""More than ENOUGH queries fill a device; for fewer, the keys are split among programs, about CHUNK or more to each."""


def attend(parts: Parts, *, dot: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Return context (B, [H,] T, D), weights (B, [H,] T, S) in the query's dtype, and the same weights in float32.

    With `dot`, scores are inner products and v is ignored.
    """
    query, keys, values = parts.query.contiguous(), _even(parts.keys), _even(parts.values)
    heads, length, width = _sizes(query)
    size, depth, rows = keys.shape[-2], values.shape[-1], query.numel() // width
    count, features, matrix = _extra(parts)
    chunk = DOT_TILE[0] if count > 1 else CHUNK
    splits = 1 if rows > ENOUGH else min(triton.cdiv(size, chunk), 4 * ENOUGH // rows)
    lead = query.shape[:-1]
    scores = query.new_empty(*lead, size, dtype=torch.float32)
    kept = torch.empty_like(scores)
    weights = kept if query.dtype == torch.float32 else query.new_empty(*lead, size)
    context = query.new_empty(*lead, depth)
    found = context if splits == 1 else query.new_empty(rows, splits, depth, dtype=torch.float32)
    marks = kept if splits == 1 else query.new_empty(2, rows, splits, dtype=torch.float32)  # peaks and sums
    tile_s, tile_a = _tile(size, width, keys, count)
    tile_x, tile_d = _tile(size, depth, values)
    once = count < 2 and tile_a >= width and tile_d >= depth
    warps = DOT_WARPS if count > 1 else WARPS
    if once:
        warps = _warps(min(tile_a, tile_d) * keys.element_size())
        tile_s = min(tile_s, max(1, warps * PAIR_BYTES // keys.element_size() // max(tile_a, tile_d)))
    attend_kernel[(rows, splits)](
        query, keys, values, parts.v.contiguous(), keys if parts.mask is None else parts.mask, features, matrix,
        scores, kept, weights, found, marks, length, size, triton.cdiv(size, splits), heads,
        *_strides(keys), *_strides(values), *_mask_strides(parts.mask, query.dim()),
        *features.stride(), *matrix.stride(),
        A=width, D=depth, C=count, TILE_C=_pad(count), TILE_S=tile_s, TILE_A=tile_a, TILE_X=tile_x, TILE_D=tile_d,
        MASKED=parts.mask is not None, SPLIT=splits > 1, ONCE=once, TWICE=weights is not kept, DOT=dot,
        PRECISE=_precise(parts), FAST=_FAST,
        STAGES=DOT_STAGES if count > 1 else STAGES, num_warps=warps,
    )  # fmt: skip
    if splits > 1:
        tile = min(256, _pad(depth))
        join_kernel[(rows, triton.cdiv(depth, tile))](
            scores, marks, found, kept, weights, context, size, splits, depth,
            SPLITS=_pad(splits), TILE=tile, TWICE=weights is not kept, PRECISE=_precise(parts), FAST=_FAST, num_warps=4,
        )  # fmt: skip
    return context, weights, kept


def slopes(parts: Parts, kept: Tensor, to_context: Tensor, to_weights: Tensor | None, *, dot: bool = False) -> Slopes:
    """Return the gradients of the scores, the query and the features, from those of context and weights."""
    query, keys, values = parts.query.contiguous(), _even(parts.keys), _even(parts.values)
    heads, length, width = _sizes(query)
    size, depth = keys.shape[-2], values.shape[-1]
    count, features, matrix = _extra(parts)
    raw, to_scores, to_query = torch.empty_like(kept), torch.empty_like(kept), torch.empty_like(query)
    to_features = None if parts.features is None else _columns(parts.features)
    tile_s, tile_a = _tile(size, width, keys, count)
    tile_x, tile_d = _tile(size, depth, values)
    warps = DOT_WARPS if count > 1 else WARPS
    rows, whole = query.numel() // width, count < 2 and tile_a >= width and tile_d >= depth
    if whole and rows > ENOUGH:  # fewer rows have a multiprocessor each, and fill it better with all WARPS
        warps = _warps(min(tile_a, tile_d) * keys.element_size())
        tile_s = min(tile_s, max(1, warps * SLOPE_BYTES // keys.element_size() // tile_a))
        tile_x = min(tile_x, max(1, warps * SLOPE_BYTES // keys.element_size() // tile_d))
    so_far = torch.empty_like(query, dtype=torch.float32) if count and size > tile_s else raw
    slopes_kernel[(rows,)](
        query, keys, values, parts.v.contiguous(), features, matrix, kept, to_context.contiguous(),
        kept if to_weights is None else to_weights.contiguous(), raw, to_scores, to_query, so_far,
        to_query if to_features is None else to_features, length, size, heads,
        *_strides(keys), *_strides(values), *features.stride(), *matrix.stride(),
        A=width, D=depth, C=count, TILE_C=_pad(count), TILE_S=tile_s, TILE_A=tile_a, TILE_X=tile_x, TILE_D=tile_d,
        GIVEN=to_weights is not None, DOT=dot, PRECISE=_precise(parts), FAST=_FAST,
        STAGES=DOT_STAGES if count > 1 else STAGES, num_warps=warps,
    )  # fmt: skip
    return Slopes(to_scores, to_query, to_features)


def gather(parts: Parts, to_scores: Tensor) -> Gathered:
    """Return the gradients of the keys, v and the matrix from those of all scores."""
    query, keys = parts.query.contiguous(), _even(parts.keys)
    heads, length, width = _sizes(query)
    batch, size, (count, features, matrix) = len(query), keys.shape[-2], _extra(parts)
    tile_s, tile_a = GATHER_TILE
    grid = (triton.cdiv(size, tile_s), triton.cdiv(width, tile_a), batch * heads)
    to_keys = torch.empty_like(keys, memory_format=torch.contiguous_format)
    to_v = query.new_empty(batch, heads, grid[0], width, dtype=torch.float32)
    shares = query.new_empty(batch, heads, grid[0], width, count, dtype=torch.float32)
    gather_kernel[grid](
        query, keys, parts.v.contiguous(), features, matrix, to_scores.contiguous(), to_keys, to_v, shares,
        length, size, heads, *_strides(keys), *features.stride(), *matrix.stride(),
        A=width, C=count, TILE_C=_pad(count), TILE_S=tile_s, TILE_A=tile_a,
        PRECISE=_precise(parts), FAST=_FAST, num_warps=GATHER_WARPS,
    )  # fmt: skip
    to_matrix = None if parts.matrix is None else shares.sum((0, 2)).view(parts.matrix.shape)
    return Gathered(to_keys, to_v.sum((0, 2)).view(parts.v.shape), to_matrix)


def _sizes(query: Tensor) -> tuple[int, int, int]:
    """Return the number of heads, the queries of a sentence, and the width."""
    return 1 if query.dim() == 3 else query.shape[1], query.shape[-2], query.shape[-1]


def _even(x: Tensor) -> Tensor:
    """Return `x`, or a contiguous copy unless its last stride is 1; the kernels take any other strides."""
    return x if x.stride(-1) == 1 else x.contiguous()


def _strides(x: Tensor) -> tuple[int, ...]:
    """Return the strides of sentences, heads and rows."""
    strides = x.stride()
    return strides[:3] if len(strides) == 4 else (strides[0], 0, strides[1])


def _mask_strides(mask: Tensor | None, rank: int) -> tuple[int, ...]:
    """Return the strides of sentences, heads, queries and keys; 0 where the mask is broadcast."""
    if mask is None:
        return 0, 0, 0, 0
    steps = [0 if n == 1 else step for n, step in zip(mask.shape, mask.stride(), strict=True)]
    b, *h, t, s = [0] * (rank - len(steps)) + steps
    return b, h[0] if h else 0, t, s


def _pad(count: int) -> int:
    """Return the next power of two, at least 16, the smallest size of `tl.dot`."""
    return max(16, 1 << max(0, count - 1).bit_length())


def _tile(size: int, width: int, tensor: Tensor, features: int = 0) -> tuple[int, int]:
    """Return rows and columns of a tile: whole rows where they fit, which saves the inner loop over columns."""
    if features > 1:
        return min(_pad(size), DOT_TILE[0]), min(_pad(width), DOT_TILE[1])
    numbers = TILE_BYTES // tensor.element_size()
    columns = min(_pad(width), numbers // 16)
    return min(_pad(size), numbers // columns), columns


def _warps(row_bytes: int) -> int:
    """Return how many warps read one row together; more were slower for most widths measured, see README.md."""
    return max(1, min(WARPS, row_bytes // ROW_BYTES))


def _columns(features: Tensor) -> Tensor:
    """Return an empty tensor of the same shape, stored feature by feature: its writer and reader run along the keys."""
    *lead, size, count = features.shape
    return features.new_empty(*lead, count, size).mT


def _extra(parts: Parts) -> tuple[int, Tensor, Tensor]:
    """Return the number of features, the features (rows, S, C) and their matrix (H, A, C); without any, dummies."""
    if parts.features is None or parts.matrix is None:
        nothing = parts.query.flatten(0, -3)
        return 0, nothing, nothing
    return parts.features.shape[-1], parts.features.flatten(0, -3), parts.matrix.view(-1, *parts.matrix.shape[-2:])


def _precise(parts: Parts) -> bool:
    return torch.float32 in (parts.query.dtype, parts.keys.dtype)
