"""Additive attention of few queries on a GPU: scores, softmax and weighted sum in one launch.

A decoder that asks once a step is not held up by its tanh but by the keys and values it reads, and, with a dozen small
kernels a step, by launching them. Here one program does one query of one sentence: it goes through keys and values side
by side where whole rows of both fit into tiles, else through the values when the scores of its row are known. Where
there are too few queries to fill the device the keys are split among several programs, and a second small launch joins
what they found.

Backward, `slopes` gives what the step before is waiting for, again in one launch. What the keys, v and the matrix get
is a sum over all the steps of a loop, so `gather` takes many queries at once and goes through them with a tile of keys
in its registers. Sums across programs are left to torch, in a fixed order: the same numbers every time.
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
"""Of a tile of keys or values; of a program; tiles in flight: several programs on a processor hide the waiting."""
ROW_BYTES, PAIR_BYTES, SLOPE_BYTES = 1 << 9, 1 << 12, 1 << 13
"""Where tiles hold whole rows, what one warp reads of a row at a time, and what it has of a tile: of keys beside which
values are read, and of either while there are gradients."""
DOT_TILE, DOT_WARPS, DOT_STAGES = (64, 64), 4, 3
"""Rows and columns of a tile that features are multiplied into; the same of its program."""
GATHER_TILE, GATHER_WARPS = (32, 64), 4
"""Keys and features, while queries go by."""
ENOUGH, CHUNK = 128, 16
"""Queries of which more keep a device busy as they are; keys of a program where those of fewer are split."""


def attend(parts: Parts, *, dot: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Context (B, [H,] T, D), weights (B, [H,] T, S) in the query's precision, and the same weights in float32.

    `dot`: scores are inner products, and v is not looked at.
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
    """The gradients of the scores, the query and the features, from those of context and weights."""
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
    if whole and rows > ENOUGH:  # of fewer, each has a processor to itself, and fills it better with all its warps
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
    """The gradients of the keys, v and the matrix from those of all scores."""
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
    """Heads, queries of a sentence, width."""
    return 1 if query.dim() == 3 else query.shape[1], query.shape[-2], query.shape[-1]


def _even(x: Tensor) -> Tensor:
    """Any strides but the last will do."""
    return x if x.stride(-1) == 1 else x.contiguous()


def _strides(x: Tensor) -> tuple[int, ...]:
    """From sentence to sentence, head to head, row to row."""
    strides = x.stride()
    return strides[:3] if len(strides) == 4 else (strides[0], 0, strides[1])


def _mask_strides(mask: Tensor | None, rank: int) -> tuple[int, ...]:
    """Sentences, heads, queries, keys; 0 where one is for all of them."""
    if mask is None:
        return 0, 0, 0, 0
    steps = [0 if n == 1 else step for n, step in zip(mask.shape, mask.stride(), strict=True)]
    b, *h, t, s = [0] * (rank - len(steps)) + steps
    return b, h[0] if h else 0, t, s


def _pad(count: int) -> int:
    """The power of two that holds so many, at least what a product of matrices takes."""
    return max(16, 1 << max(0, count - 1).bit_length())


def _tile(size: int, width: int, tensor: Tensor, features: int = 0) -> tuple[int, int]:
    """Rows and columns of a tile: whole rows where they fit, since then the loop over rows is all there is."""
    if features > 1:
        return min(_pad(size), DOT_TILE[0]), min(_pad(width), DOT_TILE[1])
    numbers = TILE_BYTES // tensor.element_size()
    columns = min(_pad(width), numbers // 16)
    return min(_pad(size), numbers // columns), columns


def _warps(row_bytes: int) -> int:
    """As many as read a row side by side; more were slower for most widths that were measured, see README.md."""
    return max(1, min(WARPS, row_bytes // ROW_BYTES))


def _columns(features: Tensor) -> Tensor:
    """Room for as many, all keys of a feature side by side: what writes them and what sums them goes along the keys."""
    *lead, size, count = features.shape
    return features.new_empty(*lead, count, size).mT


def _extra(parts: Parts) -> tuple[int, Tensor, Tensor]:
    """How many features there are, they (rows, S, C) and their matrix (H, A, C); or something to point at."""
    if parts.features is None or parts.matrix is None:
        nothing = parts.query.flatten(0, -3)
        return 0, nothing, nothing
    return parts.features.shape[-1], parts.features.flatten(0, -3), parts.matrix.view(-1, *parts.matrix.shape[-2:])


def _precise(parts: Parts) -> bool:
    return torch.float32 in (parts.query.dtype, parts.keys.dtype)
