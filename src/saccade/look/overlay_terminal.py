"""An overlay in the terminal: the picture in half blocks where there is colour, else shades of attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from saccade.look import terminal, words
from saccade.look.heads import Heads
from saccade.look.overlay import NAME, Overlay, Panel, head_columns
from saccade.look.picture import Picture
from saccade.look.veil import COLOUR, light

__all__ = ["draw_overlay", "draw_overlay_heads"]

WIDE, NARROW = 20, 12
"""Cells of a terminal: a panel, and one of many heads."""
GAP = 2
USUAL = 80
"""Cells, where nobody says how many there are."""
THICKEST = 0.88
_UPPER = "▀"
_SHADES = ((0.75, "█"), (0.5, "▓"), (0.25, "▒"), (0.08, "░"))
"""For shares of the most light."""


def draw_overlay(overlay: Overlay, *, width: int | None = None, colour: bool = False) -> str:
    """A panel for each word, as many beside each other as fit into `width` cells.

    With colour, the picture is there and dark where a word did not look; without, the panels show where it looked.
    Words are shown, never obeyed: see `words.visible`.
    """
    shown = overlay.panels if colour else overlay.panels[1:]
    return "\n\n".join(_rows(overlay.picture, shown, width or USUAL, WIDE, colour))


def draw_overlay_heads(picture: Picture, site: Heads, *, width: int | None = None, colour: bool = False) -> str:
    """For each word a panel of every head, and their mean."""
    width = width or USUAL
    columns = head_columns(picture, site)
    parts = [words.clip(words.visible(site.name), width)]
    for number, panel in enumerate(columns[0][1].panels[1:], 1):
        heads = [Panel(name, overlay.panels[number].weights) for name, overlay in columns]
        parts.append(words.clip(terminal.label(panel.name), width))
        parts.extend(_rows(picture, heads, width, NARROW, colour))
    return "\n".join(parts)


def _rows(picture: Picture, panels: Sequence[Panel], width: int, size: int, colour: bool) -> Iterator[str]:
    size = max(1, min(size, width))
    across = max(1, (width + GAP) // (size + GAP))
    for start in range(0, len(panels), across):
        blocks = [_block(picture, panel, size, colour) for panel in panels[start : start + across]]
        yield "\n".join((" " * GAP).join(line).rstrip(" ") for line in zip(*blocks, strict=True))


def _block(picture: Picture, panel: Panel, size: int, colour: bool) -> list[str]:
    """The lines of a panel, the first its word; each fills `size` cells."""
    high, wide = picture.pixels.shape[:2]
    lines = max(1, round(size * high / wide / 2))  # a cell is twice as high as wide
    if colour:
        return [_named(panel, size), *_painted(picture, panel, size, lines)]
    assert panel.weights is not None
    shine = light(panel.weights, lines, size)
    return [_named(panel, size), *("".join(map(_shade, row)) for row in shine)]


def _named(panel: Panel, size: int) -> str:
    if panel.weights is None:
        name, share = NAME, ""
    else:
        name, share = terminal.label(panel.name), panel.share
    room = size - len(share) - 1
    if room < 1 or not share:
        return _filled(words.clip(name, size), size)
    return _filled(words.clip(name, room), size - len(share)) + share


def _filled(text: str, cells: int) -> str:
    return words.kept_in_order(text) + " " * (cells - words.width(text))


def _shade(share: float) -> str:
    return next((mark for least, mark in _SHADES if share >= least), "·")


def _painted(picture: Picture, panel: Panel, size: int, lines: int) -> list[str]:
    """Two pixels a cell: the upper is the letter, the lower what it stands on."""
    pixels = _shrunk(picture.pixels, 2 * lines, size)
    if panel.weights is not None:
        thick = THICKEST * (1 - light(panel.weights, 2 * lines, size))[..., None]
        pixels = pixels * (1 - thick) + np.array(COLOUR) * thick
    cells = pixels.round().astype(int)
    return ["".join(_cells(cells[line], cells[line + 1])) + terminal.RESET for line in range(0, 2 * lines, 2)]


def _cells(upper: NDArray[np.int64], lower: NDArray[np.int64]) -> Iterator[str]:
    for (r, g, b), (x, y, z) in zip(upper.tolist(), lower.tolist(), strict=True):
        yield f"\x1b[38;2;{r};{g};{b}m\x1b[48;2;{x};{y};{z}m{_UPPER}"


def _shrunk(pixels: NDArray[np.uint8], high: int, wide: int) -> NDArray[np.float64]:
    """The mean colour of each of so many equal parts."""
    return _means(_means(pixels.astype(np.float64), high).swapaxes(0, 1), wide).swapaxes(0, 1)


def _means(values: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    edges = [round(part * len(values) / parts) for part in range(parts + 1)]
    return np.stack([values[min(a, len(values) - 1) : max(b, a + 1)].mean(0) for a, b in pairwise(edges)])
