"""Scores that depend on the position of a key."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention.scores.additive import Additive
from saccade.attention.scores.base import AttentionState, Score, matrix
from saccade.errors import ConfigError, ShapeError

__all__ = ["Location", "LocationAware", "windows"]

SHORT = 16
"""Smallest inner dimension of a matmul kernel: fewer filters than this save no work."""


class Location(Score):
    """The query alone predicts which positions to attend to; the keys' contents are not used.

        e[t, s] = (W q[t])[s]

    q (B, T, Dq), k (B, S, Dk) -> e (B, T, S).   W (S_max, Dq), cut to the first S rows before the softmax
    Paper: Luong et al. 2015, arXiv:1508.04025, "location": a_t = softmax(W_a h_t).
    """

    positional = True

    def __init__(self, query_width: int, key_width: int, *, max_length: int = 128, heads: int | None = None) -> None:
        super().__init__(query_width, key_width, heads=heads)
        self.max_length = max_length
        self.weight = matrix(heads, max_length, query_width)

    @property
    def prepared_width(self) -> int:
        return 0

    def prepare(self, keys: Tensor) -> Tensor:
        return keys[..., :0]  # only the number of keys is needed

    def forward(self, query: Tensor, keys: Tensor, past: AttentionState | None = None) -> Tensor:
        size = keys.shape[-2]
        if size > self.max_length:
            raise ShapeError(
                f"there are {size} keys, but this location score has {self.max_length} positions. "
                "Build it with a larger max_length, or use a score that compares keys."
            )
        return query @ self.weight[..., :size, :].mT


class LocationAware(Additive):
    """Additive score that also reads the weights of the previous step.

        e[t, s] = v · tanh(W q[t] + U k[s] + L f[t, s] + b),   f[t] = F * weights[t-1]

    q (B, T, Dq), k (B, S, Dk) -> e (B, T, S).   F (filters, 1, kernel) a centered convolution over the
    keys, L (A, filters), the rest as in Additive. The first step convolves uniform weights.
    Paper: Chorowski et al. 2015, arXiv:1506.07503, the hybrid of content and location.
    """

    sequential = True
    positional = True

    def __init__(
        self,
        query_width: int,
        key_width: int,
        *,
        width: int | None = None,
        filters: int = 10,
        kernel: int = 201,
        bias: bool = True,
        heads: int | None = None,
    ) -> None:
        super().__init__(query_width, key_width, width=width, bias=bias, heads=heads)
        if kernel < 1 or kernel % 2 == 0:
            raise ConfigError(f"kernel is {kernel}, but a centered convolution needs an odd one: try {kernel + 1}.")
        self.filters = nn.Conv1d(1, filters, kernel, padding=kernel // 2, bias=False)
        self.filter_weight = matrix(heads, self.width, filters)

    @property
    def _short(self) -> bool:
        """Whether to apply the matrix L F to windows of the kernel's size: no more work than F, then L."""
        return self.filters.kernel_size[0] <= max(SHORT, self.filters.out_channels)

    def features(self, past: AttentionState) -> Tensor:
        previous, size = past.previous, self.filters.kernel_size[0]  # (..., T, S)
        if self._short:
            return windows(previous, size)
        if previous.is_cuda:  # setting up such a small convolution takes longer than a matmul
            return F.linear(windows(previous, size), self.filters.weight[:, 0])
        seen: Tensor = self.filters(previous.reshape(-1, 1, previous.shape[-1]))  # (rows, filters, S)
        return seen.mT.reshape(*previous.shape, -1)  # (..., T, S, filters)

    def feature_weight(self) -> Tensor:
        return (self.filters.weight[:, 0].mT @ self.filter_weight.mT).mT if self._short else self.filter_weight


def windows(weights: Tensor, size: int) -> Tensor:
    """Return the values around each position, (..., S) -> (..., S, size), zero beyond the ends; size is odd."""
    found: Tensor = _Windows.apply(weights, size)  # type: ignore[no-untyped-call]
    return found


class _Windows(torch.autograd.Function):
    """A view of the padded weights; torch's own backward of such a view is slow, one number at a time."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, size: int) -> Tensor:
        return F.pad(weights, (size // 2, size // 2)).unfold(-1, size, 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        places, size = grad.shape[-2:]
        columns = grad.flatten(0, -3).mT  # (rows, size, S)
        folded = F.fold(columns, (1, places), (1, size), padding=(0, size // 2))
        return folded.view(grad.shape[:-1]), None
