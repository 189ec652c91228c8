"""The best continuations by definition."""

import torch
from torch import Tensor

__all__ = ["naive_best", "naive_best_together"]


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
