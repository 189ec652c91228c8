"""Window: which keys are visible to a query, and how much they count."""

from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from saccade.attention.scores.base import AttentionState

__all__ = ["Global", "KeyMask", "Window"]


class KeyMask(NamedTuple):
    """A window's result: a mask of visible keys (None = all) and factors on the weights (None = all 1)."""

    mask: Tensor | None
    gain: Tensor | None


class Window(nn.Module):
    """window(query, size, mask, positions, past) -> KeyMask.

    query (..., T, Dq); size S; mask broadcastable to (..., T, S) or None; positions (..., T, 1): the
    position of each query in its own sequence. The gain multiplies the weights after the align; they are not
    renormalized.
    """

    sequential: ClassVar[bool] = False
    """Whether the mask of one query depends on the weights of the query before it (`past`)."""
    positional: ClassVar[bool] = True
    """Whether the order of the keys matters."""
    keeps_sum: ClassVar[bool] = True
    """Whether the weights still sum to one after the gain."""

    def __init__(self, query_width: int, *, heads: int | None = None) -> None:
        super().__init__()
        self.query_width, self.heads = query_width, heads

    def forward(
        self, query: Tensor, size: int, mask: Tensor | None, positions: Tensor, past: AttentionState | None = None
    ) -> KeyMask:
        """Return the visible keys and the gain of each query."""
        raise TypeError(f"{type(self).__name__} must implement forward()")


class Global(Window):
    """All keys that the mask keeps."""

    positional = False

    def forward(
        self, query: Tensor, size: int, mask: Tensor | None, positions: Tensor, past: AttentionState | None = None
    ) -> KeyMask:
        return KeyMask(mask, None)


def joined(mask: Tensor | None, shown: Tensor) -> Tensor:
    """Return `mask & shown`; a mask of None hides nothing."""
    return shown if mask is None else mask & shown
