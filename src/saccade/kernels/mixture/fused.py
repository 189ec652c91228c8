"""The mixture of one step on a GPU: one launch instead of some twenty small torch operations."""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,no-any-return,unused-ignore"

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["mixed"]


def mixed(logits: Tensor, weights: Tensor, copies: Tensor) -> Tensor:
    """Compute `naive_mixture` for one step: logits (N, V + 1), weights (N, S), copies (B, S) -> (N, V + S)."""
    rows, vocabulary = logits.shape[0], logits.shape[1] - 1
    size = weights.shape[1]
    out = torch.empty(rows, vocabulary + size, device=logits.device, dtype=torch.float32)
    _mixture_kernel[(rows,)](
        logits, weights, copies, out, vocabulary, size, rows // len(copies),
        logits.stride(0), logits.stride(1), weights.stride(0), weights.stride(1), copies.stride(0), copies.stride(1),
        BLOCK=2048, PART=64, num_warps=8,
    )  # fmt: skip
    return out


@triton.jit
def _mixture_kernel(
    logits, weights, copies, out, vocabulary, size, group, l_row, l_step, w_row, w_step, c_row, c_step,
    BLOCK: tl.constexpr, PART: tl.constexpr,
):  # fmt: skip
    LEAST: tl.constexpr = 1.1754943508222875e-38
    row = tl.program_id(0).to(tl.int64)
    logits += row * l_row
    weights += row * w_row
    copies += row // group * c_row
    out += row * (vocabulary + size)
    words, part = tl.arange(0, BLOCK), tl.arange(0, PART)
    gate = tl.load(logits + vocabulary * l_step).to(tl.float32)

    # log Σ exp z
    largest, total = tl.full((BLOCK,), -3.0e38, tl.float32), tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocabulary, BLOCK):
        there = start + words < vocabulary
        z = tl.load(logits + (start + words) * l_step, there, -float("inf")).to(tl.float32)
        top = tl.maximum(largest, z)
        total = total * tl.exp(largest - top) + tl.exp(z - top)
        largest = top
    top = tl.max(largest, 0)
    total = tl.sum(total * tl.exp(largest - top), 0)
    low = tl.minimum(gate, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(gate)))  # log σ(g)
    base = top + tl.log(total) - low

    # words without copies
    for start in range(0, vocabulary + size, BLOCK):
        word = start + words
        z = tl.load(logits + word * l_step, word < vocabulary, -float("inf")).to(tl.float32)
        value = z - base
        value = tl.where(value < tl.log(LEAST), tl.log(LEAST), value)  # keeps NaN
        tl.store(out + word, value, word < vocabulary + size)
    tl.debug_barrier()  # the stores below go to some of the same words

    # words with copies: all positions of a word compute the same sum
    mass = tl.zeros((PART,), tl.float32)
    for start in range(0, size, PART):
        mass += tl.load(weights + (start + part) * w_step, start + part < size, 0.0).to(tl.float32)
    share = tl.exp(low - gate) / tl.maximum(tl.sum(mass, 0), LEAST)  # σ(-g) / Σ a
    for start in range(0, size, PART):
        mine = start + part < size
        word = tl.load(copies + (start + part) * c_step, mine, -1)
        found = tl.zeros((PART,), tl.float32)
        for other in range(0, size, PART):
            real = other + part < size
            there = tl.load(copies + (other + part) * c_step, real, -2)
            weight = tl.load(weights + (other + part) * w_step, real, 0.0).to(tl.float32)
            found += tl.sum(tl.where(word[:, None] == there[None, :], weight[None, :], 0.0), 1)
        z = tl.load(logits + word * l_step, mine & (word < vocabulary), -float("inf")).to(tl.float32)
        value = tl.exp(z - base) + found * share
        tl.store(out + word, tl.log(tl.where(value < LEAST, LEAST, value)), mine)
