"""Scores that know where a key stands."""

import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention.scores.additive import Additive
from saccade.attention.scores.base import Past, Score, matrix
from saccade.errors import ConfigError, ShapeError

__all__ = ["Location", "LocationAware"]


class Location(Score):
    """The query alone says where to look; what stands there is not asked.

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
        return keys[..., :0]  # only their number is needed

    def forward(self, query: Tensor, keys: Tensor, past: Past | None = None) -> Tensor:
        size = keys.shape[-2]
        if size > self.max_length:
            raise ShapeError(
                f"there are {size} keys, but this location score knows {self.max_length} places. "
                "Build it with a larger max_length, or use a score that looks at the keys."
            )
        return query @ self.weight[..., :size, :].mT


class LocationAware(Additive):
    """Additive score that also sees where the step before looked.

        e[t, s] = v · tanh(W q[t] + U k[s] + L f[t, s] + b),   f[t] = F * weights[t-1]

    q (B, T, Dq), k (B, S, Dk) -> e (B, T, S).   F (filters, 1, kernel) a centred convolution over the
    keys, L (A, filters), the rest as in Additive. The first step convolves an even spread.
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
            raise ConfigError(f"kernel is {kernel}, but a centred convolution needs an odd one: try {kernel + 1}.")
        self.filters = nn.Conv1d(1, filters, kernel, padding=kernel // 2, bias=False)
        self.filter_weight = matrix(heads, self.width, filters)

    def features(self, past: Past) -> Tensor:
        previous = past.previous  # (..., T, S)
        if previous.is_cuda:  # a convolution of so few numbers takes longer to prepare than a product
            size = self.filters.kernel_size[0]
            windows = F.pad(previous, (size // 2, size // 2)).unfold(-1, size, 1)  # (..., T, S, kernel)
            return F.linear(windows, self.filters.weight[:, 0])
        seen: Tensor = self.filters(previous.reshape(-1, 1, previous.shape[-1]))  # (rows, filters, S)
        return seen.mT.reshape(*previous.shape, -1)  # (..., T, S, filters)

    @property
    def feature_weight(self) -> Tensor:
        return self.filter_weight
