"""The Triton kernels of `one_query.py`.

A row is one query of one head of one sentence. In all kernels `b` and `h` are its sentence and head, `s` a tile of
keys, `a` a tile of their width A, `d` a tile of the values' width D, `c` the features. Arguments that differ between
batches are excluded from specialization; else every length would be compiled anew. With DOT, a score is the inner
product of query and key, and v is not read (see `kernels/dot/few.py`).
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,no-any-return,unused-ignore"

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice

from saccade.kernels.additive.fused import _tanh

__all__ = ["attend_kernel", "gather_kernel", "join_kernel", "slopes_kernel"]


@triton.jit
def _squash(x, PRECISE: tl.constexpr, FAST: tl.constexpr):
    """Compute tanh; unless PRECISE, with the GPU's own instruction, which has 11 correct bits."""
    if PRECISE or not FAST:
        y = _tanh(x, FAST)
    else:
        y = tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1)
    return y


@triton.jit
def _exp(x, PRECISE: tl.constexpr, FAST: tl.constexpr):
    """Compute e^x; the error of the fast version, used unless PRECISE, grows with |x|."""
    if PRECISE and FAST:  # noqa: SIM108 (the compiler drops the other branch)
        y = libdevice.exp(x)
    else:
        y = tl.exp(x)
    return y


@triton.jit
def _dot(left, right, PRECISE: tl.constexpr):
    """Multiply two small matrices; tf32 has enough digits for 16-bit inputs."""
    if PRECISE:  # noqa: SIM108 (the compiler drops the other branch)
        made = tl.dot(left, right, input_precision="ieee")
    else:
        made = tl.dot(left, right, input_precision="tf32")
    return made


@triton.jit
def _by_feature(matrix, a, inside, u_a, u_c, C: tl.constexpr, TILE_C: tl.constexpr):
    """Load the matrix for a tile of the width, (TILE_C, TILE_A)."""
    c = tl.arange(0, TILE_C)
    place = matrix + a[None, :] * u_a + c[:, None] * u_c
    return tl.load(place, (c < C)[:, None] & inside[None, :], 0.0).to(tl.float32)


@triton.jit
def _of_features(features, s, here, f_s, f_c, C: tl.constexpr, TILE_C: tl.constexpr):
    """Load the features of a tile of keys: (TILE_S, TILE_C), (TILE_S,) if C is 1, or 0.0 if C is 0."""
    if C == 0:
        f = 0.0
    elif C == 1:
        f = tl.load(features + s * f_s, here, 0.0).to(tl.float32)
    else:
        c = tl.arange(0, TILE_C)
        place = features + s[:, None] * f_s + c[None, :] * f_c
        f = tl.load(place, here[:, None] & (c < C)[None, :], 0.0).to(tl.float32)
    return f


@triton.jit
def _inner(
    q, k, f, matrix, a, inside, u_a, u_c, C: tl.constexpr, TILE_C: tl.constexpr, PRECISE: tl.constexpr
):  # fmt: skip
    """Compute the argument of tanh, (TILE_S, TILE_A)."""
    x = q[None, :] + k
    if C == 1:
        x += f[:, None] * tl.load(matrix + a * u_a, inside, 0.0).to(tl.float32)[None, :]
    elif C > 1:
        x += _dot(f, _by_feature(matrix, a, inside, u_a, u_c, C, TILE_C), PRECISE)
    return x


@triton.jit
def _weigh(
    values, scores, context, base, scale, low, high, x_s,
    D: tl.constexpr, TILE_X: tl.constexpr, TILE_D: tl.constexpr, PRECISE: tl.constexpr, FAST: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """Compute the weighted sum of the values from the finished scores."""
    for step in range((D + TILE_D - 1) // TILE_D):
        d = step * TILE_D + tl.arange(0, TILE_D)
        within = d < D
        summed = tl.zeros((TILE_D,), tl.float32)
        for first in tl.range(low, high, TILE_X, num_stages=STAGES):
            s = first + tl.arange(0, TILE_X)
            x = tl.load(values + s[:, None] * x_s + d[None, :], (s < high)[:, None] & within[None, :], 0.0)
            share = _exp(tl.load(scores + s, s < high, float("-inf")) - base, PRECISE, FAST) * scale
            summed += tl.sum(share[:, None] * x.to(tl.float32), 0)
        tl.store(context + d, summed.to(context.dtype.element_ty), within)


@triton.jit(do_not_specialize=["size", "chunk", "m_b", "m_h", "m_t", "f_r"])
def attend_kernel(
    query, keys, values, v, mask, features, matrix, scores, kept, weights, context, marks, length, size, chunk, heads,
    k_b, k_h, k_s, x_b, x_h, x_s, m_b, m_h, m_t, m_s, f_r, f_s, f_c, u_h, u_a, u_c,
    A: tl.constexpr, D: tl.constexpr, C: tl.constexpr, TILE_C: tl.constexpr, TILE_S: tl.constexpr,
    TILE_A: tl.constexpr, TILE_X: tl.constexpr, TILE_D: tl.constexpr, MASKED: tl.constexpr, SPLIT: tl.constexpr,
    ONCE: tl.constexpr, TWICE: tl.constexpr, DOT: tl.constexpr, PRECISE: tl.constexpr, FAST: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """Attend from one query to its share of the keys: all, or a chunk whose partial sums `join_kernel` adds up.

    With ONCE, a tile holds whole rows, so one loop reads keys and values and rescales the running sum when a higher
    score appears (online softmax). Else the values are read after all scores are known.
    """
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    n, t = row // length, row % length
    b, h = n // heads, n % heads
    low = part * chunk
    high = tl.minimum(low + chunk, size)
    peak, total = float("-inf"), 0.0
    d = tl.arange(0, TILE_D)
    summed = tl.zeros((TILE_D,), tl.float32)
    for first in tl.range(low, high, TILE_S, num_stages=STAGES):
        s = first + tl.arange(0, TILE_S)
        here = s < high
        found = tl.zeros((TILE_S,), tl.float32)
        if ONCE:  # load the values early, so that the load overlaps with the scores
            aside = values + b * x_b + h * x_h + s[:, None] * x_s + d[None, :]
            beside = tl.load(aside, here[:, None] & (d < D)[None, :], 0.0)
        f = _of_features(features + row * f_r, s, here, f_s, f_c, C, TILE_C)
        for step in tl.range(0, (A + TILE_A - 1) // TILE_A, num_stages=STAGES):
            a = step * TILE_A + tl.arange(0, TILE_A)
            inside = a < A
            place = keys + b * k_b + h * k_h + s[:, None] * k_s + a[None, :]
            k = tl.load(place, here[:, None] & inside[None, :], 0.0).to(tl.float32)
            q = tl.load(query + row * A + a, inside, 0.0).to(tl.float32)
            if DOT:
                found += tl.sum(q[None, :] * k, 1)
            else:
                w = tl.load(v + h * A + a, inside, 0.0).to(tl.float32)
                x = _inner(q, k, f, matrix + h * u_h, a, inside, u_a, u_c, C, TILE_C, PRECISE)
                found += tl.sum(w[None, :] * _squash(x, PRECISE, FAST), 1)
        seen = here
        if MASKED:
            seen = here & (tl.load(mask + b * m_b + h * m_h + t * m_t + s * m_s, here, 0) != 0)
        found = tl.where(seen, found, float("-inf"))
        tl.store(scores + row * size + s, found, here)
        before = peak
        peak = tl.maximum(peak, tl.max(found, 0))
        base = tl.where(peak == float("-inf"), 0.0, peak)  # every key masked so far: all exponentials are 0
        fade, share = _exp(before - base, PRECISE, FAST), _exp(found - base, PRECISE, FAST)
        total = total * fade + tl.sum(share, 0)
        if ONCE:
            summed = summed * fade + tl.sum(share[:, None] * beside.to(tl.float32), 0)
    tl.debug_barrier()  # the scores read below were written by other threads
    base = tl.where(peak == float("-inf"), 0.0, peak)
    scale = 1.0
    if SPLIT:
        splits = tl.num_programs(1)
        tl.store(marks + row * splits + part, peak)
        tl.store(marks + (tl.num_programs(0) + row) * splits + part, total)
    else:
        scale = tl.where(total == 0, 0.0, 1 / tl.where(total == 0, 1.0, total))  # every key masked: zeros
        for first in range(low, high, TILE_S):
            s = first + tl.arange(0, TILE_S)
            share = _exp(tl.load(scores + row * size + s, s < high, float("-inf")) - base, PRECISE, FAST) * scale
            tl.store(kept + row * size + s, share, s < high)
            if TWICE:
                tl.store(weights + row * size + s, share.to(weights.dtype.element_ty), s < high)
    mine = context + (row * tl.num_programs(1) + part) * D
    if ONCE:
        tl.store(mine + d, (summed * scale).to(context.dtype.element_ty), d < D)
    else:
        _weigh(
            values + b * x_b + h * x_h, scores + row * size, mine, base, scale, low, high, x_s,
            D, TILE_X, TILE_D, PRECISE, FAST, STAGES,
        )  # fmt: skip


@triton.jit(do_not_specialize=["size"])
def join_kernel(
    scores, marks, found, kept, weights, context, size, splits, depth,
    SPLITS: tl.constexpr, TILE: tl.constexpr, TWICE: tl.constexpr, PRECISE: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """Join the chunks of a row: rescale and add their partial sums, and write the attention weights."""
    row = tl.program_id(0).to(tl.int64)
    part = tl.arange(0, SPLITS)
    peaks = tl.load(marks + row * splits + part, part < splits, float("-inf"))
    sums = tl.load(marks + (tl.num_programs(0) + row) * splits + part, part < splits, 0.0)
    peak = tl.max(peaks, 0)
    base = tl.where(peak == float("-inf"), 0.0, peak)
    shares = _exp(peaks - base, PRECISE, FAST)
    total = tl.sum(shares * sums, 0)
    scale = tl.where(total == 0, 0.0, 1 / tl.where(total == 0, 1.0, total))  # every key masked: zeros
    d = tl.program_id(1) * TILE + tl.arange(0, TILE)
    place = found + (row * splits + part[:, None]) * depth + d[None, :]
    sum_of = tl.load(place, (part < splits)[:, None] & (d < depth)[None, :], 0.0)
    joined = tl.sum(shares[:, None] * sum_of, 0) * scale
    tl.store(context + row * depth + d, joined.to(context.dtype.element_ty), d < depth)
    if tl.program_id(1) == 0:
        for first in range(0, size, TILE):
            s = first + tl.arange(0, TILE)
            share = _exp(tl.load(scores + row * size + s, s < size, float("-inf")) - base, PRECISE, FAST) * scale
            tl.store(kept + row * size + s, share, s < size)
            if TWICE:
                tl.store(weights + row * size + s, share.to(weights.dtype.element_ty), s < size)


@triton.jit
def _score_gradient(raw, kept, row, s, here, size, mean):
    """Compute the gradient of a tile of scores: w (g - Σ w g)."""
    w = tl.load(kept + row * size + s, here, 0.0)
    return w * (tl.load(raw + row * size + s, here, 0.0) - mean)


@triton.jit
def _without_features(
    query, keys, v, raw, kept, to_query, row, size, mean, k_s,
    A: tl.constexpr, TILE_S: tl.constexpr, TILE_A: tl.constexpr, DOT: tl.constexpr, PRECISE: tl.constexpr,
    FAST: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Compute the gradient of the query, a tile of its width at a time."""
    for step in range((A + TILE_A - 1) // TILE_A):
        a = step * TILE_A + tl.arange(0, TILE_A)
        inside = a < A
        q = tl.load(query + row * A + a, inside, 0.0).to(tl.float32)
        summed = tl.zeros((TILE_A,), tl.float32)
        for first in tl.range(0, size, TILE_S, num_stages=STAGES):
            s = first + tl.arange(0, TILE_S)
            here = s < size
            k = tl.load(keys + s[:, None] * k_s + a[None, :], here[:, None] & inside[None, :], 0.0).to(tl.float32)
            grad = _score_gradient(raw, kept, row, s, here, size, mean)
            if DOT:
                summed += tl.sum(grad[:, None] * k, 0)
            else:
                y = _squash(q[None, :] + k, PRECISE, FAST)
                summed += tl.sum(grad[:, None] * (1 - y * y), 0)
        if not DOT:
            summed *= tl.load(v + a, inside, 0.0).to(tl.float32)
        tl.store(to_query + row * A + a, summed.to(to_query.dtype.element_ty), inside)


@triton.jit
def _with_features(
    query, keys, v, features, matrix, raw, kept, to_query, so_far, to_features, row, size, mean,
    k_s, f_s, f_c, u_a, u_c, A: tl.constexpr, C: tl.constexpr, TILE_C: tl.constexpr, TILE_S: tl.constexpr,
    TILE_A: tl.constexpr, PRECISE: tl.constexpr, FAST: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of query and features, a tile of keys at a time, with each tanh computed once for both.

    The query's gradient is a sum over the keys; `so_far` holds the partial sum until the last tile.
    """
    for first in tl.range(0, size, TILE_S):
        s = first + tl.arange(0, TILE_S)
        here = s < size
        grad = _score_gradient(raw, kept, row, s, here, size, mean)
        f = _of_features(features, s, here, f_s, f_c, C, TILE_C)
        alone, several = tl.zeros((TILE_S,), tl.float32), tl.zeros((TILE_S, TILE_C), tl.float32)
        for step in tl.range(0, (A + TILE_A - 1) // TILE_A, num_stages=STAGES):
            a = step * TILE_A + tl.arange(0, TILE_A)
            inside = a < A
            k = tl.load(keys + s[:, None] * k_s + a[None, :], here[:, None] & inside[None, :], 0.0).to(tl.float32)
            q = tl.load(query + row * A + a, inside, 0.0).to(tl.float32)
            x = _inner(q, k, f, matrix, a, inside, u_a, u_c, C, TILE_C, PRECISE)
            y = _squash(x, PRECISE, FAST)
            g = tl.load(v + a, inside, 0.0).to(tl.float32)[None, :] * (1 - y * y)
            summed = tl.sum(grad[:, None] * g, 0)
            if first > 0:
                summed += tl.load(so_far + row * A + a, inside, 0.0)
            if first + TILE_S < size:
                tl.store(so_far + row * A + a, summed, inside)
            else:
                tl.store(to_query + row * A + a, summed.to(to_query.dtype.element_ty), inside)
            if C == 1:
                alone += tl.sum(g * tl.load(matrix + a * u_a, inside, 0.0).to(tl.float32)[None, :], 1)
            else:
                several += _dot(g, tl.trans(_by_feature(matrix, a, inside, u_a, u_c, C, TILE_C)), PRECISE)
        if C == 1:
            tl.store(to_features + row * size + s, (grad * alone).to(to_features.dtype.element_ty), here)
        else:
            c = tl.arange(0, TILE_C)
            place = to_features + row * size * C + s[:, None] + c[None, :] * size
            made = (grad[:, None] * several).to(to_features.dtype.element_ty)
            tl.store(place, made, here[:, None] & (c < C)[None, :])
        tl.debug_barrier()  # a thread may read values of `so_far` that another thread wrote


@triton.jit(do_not_specialize=["size", "f_r"])
def slopes_kernel(
    query, keys, values, v, features, matrix, kept, to_context, to_weights, raw, to_scores, to_query, so_far,
    to_features, length, size, heads, k_b, k_h, k_s, x_b, x_h, x_s, f_r, f_s, f_c, u_h, u_a, u_c,
    A: tl.constexpr, D: tl.constexpr, C: tl.constexpr, TILE_C: tl.constexpr, TILE_S: tl.constexpr,
    TILE_A: tl.constexpr, TILE_X: tl.constexpr, TILE_D: tl.constexpr, GIVEN: tl.constexpr, DOT: tl.constexpr,
    PRECISE: tl.constexpr, FAST: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of one query: a loop over the values for its weights, then one over the keys."""
    row = tl.program_id(0).to(tl.int64)
    n = row // length
    b, h = n // heads, n % heads
    mean = 0.0
    for first in tl.range(0, size, TILE_X, num_stages=STAGES):
        s = first + tl.arange(0, TILE_X)
        here = s < size
        found = tl.zeros((TILE_X,), tl.float32)
        for step in tl.range(0, (D + TILE_D - 1) // TILE_D, num_stages=STAGES):
            d = step * TILE_D + tl.arange(0, TILE_D)
            place = values + b * x_b + h * x_h + s[:, None] * x_s + d[None, :]
            x = tl.load(place, here[:, None] & (d < D)[None, :], 0.0).to(tl.float32)
            found += tl.sum(x * tl.load(to_context + row * D + d, d < D, 0.0).to(tl.float32)[None, :], 1)
        if GIVEN:
            found += tl.load(to_weights + row * size + s, here, 0.0).to(tl.float32)
        w = tl.load(kept + row * size + s, here, 0.0)
        found = tl.where(w == 0, 0.0, found)  # masked values may hold anything, even NaN
        mean += tl.sum(w * found, 0)
        tl.store(raw + row * size + s, found, here)
    tl.debug_barrier()  # the values read below were written by other threads
    for first in range(0, size, TILE_S):
        s = first + tl.arange(0, TILE_S)
        tl.store(to_scores + row * size + s, _score_gradient(raw, kept, row, s, s < size, size, mean), s < size)
    if C == 0:
        _without_features(
            query, keys + b * k_b + h * k_h, v + h * A, raw, kept, to_query, row, size, mean, k_s,
            A, TILE_S, TILE_A, DOT, PRECISE, FAST, STAGES,
        )  # fmt: skip
    else:
        _with_features(
            query, keys + b * k_b + h * k_h, v + h * A, features + row * f_r, matrix + h * u_h, raw, kept,
            to_query, so_far, to_features, row, size, mean, k_s, f_s, f_c, u_a, u_c,
            A, C, TILE_C, TILE_S, TILE_A, PRECISE, FAST, STAGES,
        )  # fmt: skip


@triton.jit(do_not_specialize=["size", "length", "f_r"])
def gather_kernel(
    query, keys, v, features, matrix, to_scores, to_keys, to_v, to_matrix, length, size, heads, k_b, k_h, k_s,
    f_r, f_s, f_c, u_h, u_a, u_c,
    A: tl.constexpr, C: tl.constexpr, TILE_C: tl.constexpr, TILE_S: tl.constexpr, TILE_A: tl.constexpr,
    PRECISE: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """Compute the gradient of a tile of keys in a loop over the queries, and its share for v and the matrix."""
    n = tl.program_id(2).to(tl.int64)
    b, h = n // heads, n % heads
    s = tl.program_id(0) * TILE_S + tl.arange(0, TILE_S)
    a = tl.program_id(1) * TILE_A + tl.arange(0, TILE_A)
    here, inside = s < size, a < A
    whole = here[:, None] & inside[None, :]
    k = tl.load(keys + b * k_b + h * k_h + s[:, None] * k_s + a[None, :], whole, 0.0).to(tl.float32)
    w = tl.load(v + h * A + a, inside, 0.0).to(tl.float32)
    summed, squashed = tl.zeros((TILE_S, TILE_A), tl.float32), tl.zeros((TILE_S, TILE_A), tl.float32)
    alone, several = tl.zeros((TILE_S, TILE_A), tl.float32), tl.zeros((TILE_A, TILE_C), tl.float32)
    for t in range(length):
        row = n * length + t
        q = tl.load(query + row * A + a, inside, 0.0).to(tl.float32)
        grad = tl.load(to_scores + row * size + s, here, 0.0)
        f = _of_features(features + row * f_r, s, here, f_s, f_c, C, TILE_C)
        x = _inner(q, k, f, matrix + h * u_h, a, inside, u_a, u_c, C, TILE_C, PRECISE)
        y = _squash(x, PRECISE, FAST)
        g = grad[:, None] * (1 - y * y)
        summed += g
        squashed += grad[:, None] * y
        if C == 1:
            alone += g * f[:, None]
        elif C > 1:
            several += _dot(tl.trans(g), f, PRECISE)
    place = to_keys + (n * size + s[:, None]) * A + a[None, :]
    tl.store(place, (w[None, :] * summed).to(to_keys.dtype.element_ty), whole)
    at = (n * tl.num_programs(0) + tl.program_id(0)) * A + a
    tl.store(to_v + at, tl.sum(squashed, 0), inside)
    if C == 1:
        tl.store(to_matrix + at, w * tl.sum(alone, 0), inside)
    elif C > 1:
        c = tl.arange(0, TILE_C)
        tl.store(to_matrix + at[:, None] * C + c[None, :], w[:, None] * several, inside[:, None] & (c < C)[None, :])
