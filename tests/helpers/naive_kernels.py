"""Kernels by definition, one line an operation: what those of saccade.kernels must agree with.

References that the package itself computes with (additive scores, cells, residual sums) stay beside their kernels.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.kernels.additive.naive import naive_scores
from saccade.kernels.cross_entropy import Losses
from saccade.kernels.native.checksum import COLUMNS


def naive_dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """Each number is zero with probability p, else x / (1 - p), so that the expected value is x."""
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    return x * torch.bernoulli(torch.full_like(x, 1 - p)) / (1 - p)


def naive_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x weightᵀ + bias: x (..., D), weight (E, D), bias (E,) -> (..., E)."""
    out = x @ weight.mT
    return out if bias is None else out + bias


def naive_feed_forward(x: Tensor, weight_1: Tensor, bias_1: Tensor, weight_2: Tensor, bias_2: Tensor) -> Tensor:
    """max(0, x W_1ᵀ + b_1) W_2ᵀ + b_2: x (..., D), W_1 (E, D), W_2 (D, E) -> (..., D)."""
    return naive_linear(naive_linear(x, weight_1, bias_1).relu(), weight_2, bias_2)


def naive_attention(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None, scale: float = 1.0
) -> Tensor:
    """softmax(scale · q kᵀ) v, and zero for a query that sees nothing.

    query (..., T, D), keys (..., S, D), values (..., S, Dv), mask (..., T, S) -> (..., T, Dv)
    """
    scores = scale * (query @ keys.mT)
    if mask is None:
        return torch.softmax(scores, -1) @ values
    weights = torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), -1)
    return (weights * mask) @ values


def naive_column_sums(x: Tensor) -> Tensor:
    """(N, D) -> (D,): the sum of each column."""
    return x.sum(0)


def naive_gate(slope: Tensor, inner: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient before a ReLU whose output is `inner`, both (N, D), and its column sums (D,)."""
    gated = torch.where(inner <= 0, 0.0, slope)
    return gated, gated.sum(0)


def naive_from_logits(logits: Tensor, expected: Tensor, smoothing: float = 0.0, padding: int = 0) -> Losses:
    """-Σ_c target[c] · log softmax(logits)[c], summed over the rows that are not padding.

    logits (N, V), expected (N,) -> three scalars
    """
    classes = logits.shape[1]
    log_shares = torch.log_softmax(logits.float() if logits.dtype.itemsize < 4 else logits, -1)  # (N, V)
    uniform = torch.full_like(log_shares[0:1], 1 / max(classes - 1, 1))  # a lone class is padding: no row is left
    uniform[:, padding] = 0.0
    right = F.one_hot(expected, classes).to(log_shares.dtype)
    target = (1 - smoothing) * right + smoothing * uniform  # (N, V), rows sum to 1
    real = expected != padding
    smoothed = -torch.where(target > 0, target * log_shares, 0.0).sum(-1)  # 0 · log 0 is 0
    plain = -log_shares.gather(1, expected[:, None]).squeeze(1).detach()
    correct = -plain == log_shares.amax(-1)
    return Losses((smoothed * real).sum(), (plain * real).sum(), (correct & real).sum())


def naive_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    expected: Tensor,
    *,
    smoothing: float = 0.0,
    padding: int = 0,
) -> Losses:
    """The same on the logits `hidden weightᵀ + bias`: hidden (N, D), weight (V, D), bias (V,)."""
    return naive_from_logits(F.linear(hidden, weight, bias), expected, smoothing, padding)


def naive_best(logits: Tensor, first: int, count: int) -> tuple[Tensor, Tensor]:
    """The likeliest words of each row, from word `first` on: log-probabilities and words, (N, V) -> (N, count)."""
    logs = torch.log_softmax(logits.float(), -1)
    logs[:, :first] = -torch.inf
    found = logs.topk(count)
    return found.values, found.indices


def naive_best_together(logits: Tensor, before: Tensor, first: int, count: int) -> tuple[Tensor, Tensor]:
    """The same of the K rows of each sentence together, which are `before` (B, K) likely; places are k·V + word."""
    logs = torch.log_softmax(logits.float(), -1)
    logs[:, :first] = -torch.inf
    found = (before[..., None] + logs.view(*before.shape, -1)).flatten(1).topk(count)
    return found.values, found.indices


def naive_attend(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    features: Tensor | None = None,
    matrix: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Context (..., T, D) and weights (..., T, S): the softmax of the scores, and the values (..., S, D) summed by it.

    mask broadcasts to (..., T, S), True = keep; a query that sees nothing gets zeros.
    """
    scores = naive_scores(query, keys, v, features, matrix)
    wide = scores.float() if scores.dtype.itemsize < 4 else scores
    if mask is not None:
        wide = wide.masked_fill(~mask, torch.finfo(wide.dtype).min)
    weights = wide.softmax(-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    weights = weights.to(scores.dtype)
    return weights @ values, weights


def naive_checksum(tensors: list[Tensor]) -> Tensor:
    """Add up the words of eight bytes of all tensors in columns; tensor k begins in column 7 k."""
    sums = [0] * COLUMNS
    for number, part in enumerate(tensors):
        data = part.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes()
        words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8)]
        for place, word in enumerate(words, 7 * number):
            sums[place % COLUMNS] = (sums[place % COLUMNS] + word) % (1 << 64)
    return torch.tensor([word - (1 << 64) if word >= 1 << 63 else word for word in sums])
