"""GlimpsePath: where a model of glimpses looked, what it saw, and what it believed afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GlimpsePath"]


@dataclass(frozen=True, eq=False)
class GlimpsePath:
    """T glimpses of an image.

    boxes (T, scales, 4): what each patch covers, (left, top, right, bottom) in fractions of the image, the finest patch
    first. patches (T, scales, size, size): the ink seen, from 0 to 1. beliefs (T, labels): probabilities after each.
    """

    boxes: NDArray[Any] = field(repr=False)
    patches: NDArray[Any] = field(repr=False)
    beliefs: NDArray[Any] = field(repr=False)
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.boxes)

    @property
    def centers(self) -> NDArray[np.float64]:
        """The middle (T, 2) of each glimpse, x and y in fractions of the image."""
        fine = np.asarray(self.boxes[:, 0], np.float64)
        return (fine[:, :2] + fine[:, 2:]) / 2

    @property
    def best(self) -> list[str]:
        """The most likely label after each glimpse."""
        return [self.labels[place] for place in self.beliefs.argmax(1)]
