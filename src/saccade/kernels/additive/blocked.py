"""Additive scores on the CPU in blocks that fit into the cache; the T·S·A tensor is never stored whole.

    tanh(q + k) = D / (D + 2),    D = e^2q e^2k - 1

so exponentials are needed once per row instead of once per pair of rows, and a division is several times faster than
a tanh. If all |q| and |k| are at most SMALL, D is computed as (e^2q - 1) e^2k + (e^2k - 1), because subtracting 1
would lose digits. For larger values that sum would lose digits instead. If any |q| or |k| exceeds LIMIT, e^2q e^2k
could overflow, so torch's tanh is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["blocked_scores"]

BLOCK = 1 << 20
"""Numbers in a block: few enough for the caches, many enough to hide the overhead of the calls."""
SMALL, LIMIT = 0.5, 20.0
"""Largest |q| and |k| for the two forms of D. At LIMIT, e^2q e^2k is e^80 = 5.5e34, and float32 ends at 3.4e38."""


def blocked_scores(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """Compute `naive_scores` in blocks; query (N, T, A), keys (N, S, A), v (H, A): row n has head n % H."""
    scores: Tensor = _Scores.apply(query, keys, v)  # type: ignore[no-untyped-call]
    return scores


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(query, keys, v)
        scores = query.new_empty(*query.shape[:-1], keys.shape[1])
        for n, rows, inner in _blocks(query, keys):
            torch.matmul(inner, v[n % len(v)], out=scores[n, rows])
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, keys, v = ctx.saved_tensors
        to_query, to_keys, to_v = torch.empty_like(query), torch.zeros_like(keys), torch.zeros_like(v)
        for n, rows, inner in _blocks(query, keys):
            grad = grads[0][n, rows]  # (t, S)
            to_v[n % len(v)] += grad.flatten() @ inner.flatten(0, 1)
            inner.square_().neg_().add_(1)  # the derivative of tanh
            torch.matmul(grad.unsqueeze(1), inner, out=to_query[n, rows].unsqueeze(1))
            inner.mul_(grad.unsqueeze(-1))
            to_keys[n] += inner.sum(0)
        by_row = v.repeat(len(keys) // len(v), 1)[:, None]
        return to_query.mul_(by_row), to_keys.mul_(by_row), to_v


def _blocks(query: Tensor, keys: Tensor) -> Iterator[tuple[int, slice, Tensor]]:
    """Yield blocks of one row's queries with tanh(query + keys) (t, S, A), in a buffer that the next block reuses."""
    length = query.shape[1]
    size, width = keys.shape[1:]
    step = max(1, min(length, BLOCK // max(1, size * width)))
    buffers = query.new_empty(2, step, size, width)
    largest = max(float(query.abs().amax()), float(keys.abs().amax()))
    small, calm = largest <= SMALL, largest <= LIMIT  # both false for NaN
    left, right = query, keys
    if calm:
        left, right = ((2 * x).expm1_() if small else (2 * x).exp_() for x in (query, keys))
    for n in range(len(query)):
        theirs = right[n].unsqueeze(0)
        for start in range(0, length, step):
            rows = slice(start, min(start + step, length))
            inner, spare = buffers[:, : rows.stop - start]
            ours = left[n, rows].unsqueeze(1)
            if not calm:
                yield n, rows, torch.add(ours, theirs, out=inner).tanh_()
                continue
            if small:
                torch.addcmul(theirs, ours, theirs + 1, out=inner)
            else:
                torch.mul(ours, theirs, out=inner).sub_(1)
            yield n, rows, inner.div_(torch.add(inner, 2, out=spare))
