"""Window: which keys a query may see, and how much they count."""

from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from saccade.attention.scores.base import Past

__all__ = ["Global", "View", "Window"]


class View(NamedTuple):
    """What a window shows: a mask (None = everything) and factors on the weights (None = all count fully)."""

    mask: Tensor | None
    gain: Tensor | None


class Window(nn.Module):
    """window(query, size, mask, positions, past) -> View.

    query (..., T, Dq); size S; mask broadcastable to (..., T, S) or None; positions (..., T, 1): where each
    query stands in its own sequence. The gain multiplies the weights after the align and nothing is made to
    sum to one again.
    """

    sequential: ClassVar[bool] = False
    """Whether the view of one query depends on the weights of the query before it (`past`)."""
    positional: ClassVar[bool] = True
    """Whether the order of the keys matters."""
    keeps_sum: ClassVar[bool] = True
    """Whether the weights still sum to one behind this window."""

    def __init__(self, query_width: int, *, heads: int | None = None) -> None:
        super().__init__()
        self.query_width, self.heads = query_width, heads

    def forward(
        self, query: Tensor, size: int, mask: Tensor | None, positions: Tensor, past: Past | None = None
    ) -> View:
        """What each query sees."""
        raise TypeError(f"{type(self).__name__} does not say what it shows: write forward()")


class Global(Window):
    """Every key that the mask keeps."""

    positional = False

    def forward(
        self, query: Tensor, size: int, mask: Tensor | None, positions: Tensor, past: Past | None = None
    ) -> View:
        return View(mask, None)


def joined(mask: Tensor | None, shown: Tensor) -> Tensor:
    """Both masks at once."""
    return shown if mask is None else mask & shown
