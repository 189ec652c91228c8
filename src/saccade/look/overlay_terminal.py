"""An overlay in the terminal: the image in half blocks with color, else shades of attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from saccade.look import terminal, text_width
from saccade.look.heads import Heads
from saccade.look.heatmap import COLOUR, light
from saccade.look.overlay import Overlay, Panel, head_columns
from saccade.look.picture import Picture

__all__ = ["draw_overlay", "draw_overlay_heads"]

WIDE, NARROW = 20, 12
"""Terminal cells: the width of a panel, and of a panel in a figure of all heads."""
GAP = 2
USUAL = 80
"""The default terminal width in cells."""
THICKEST = 0.88
"""Opacity of the heatmap where attention is 0."""
_UPPER = "▀"
_SHADES = ((0.75, "█"), (0.5, "▓"), (0.25, "▒"), (0.08, "░"))
"""Characters by the lowest fraction of the maximum weight that they stand for."""


def draw_overlay(overlay: Overlay, *, width: int | None = None, colour: bool = False) -> str:
    """Return text with a panel for each word, in rows that fit into `width` cells.

    With color, the panels show the image under the heatmap; without, they show the attention alone. Control characters
    in words are made visible: see `text_width.visible`.
    """
    shown = overlay.panels if colour else overlay.panels[1:]
    return "\n\n".join(_rows(overlay.picture, shown, width or USUAL, WIDE, colour))


def draw_overlay_heads(picture: Picture, site: Heads, *, width: int | None = None, colour: bool = False) -> str:
    """Return text with a panel for each word and head, and for the mean of the heads."""
    width = width or USUAL
    columns = head_columns(picture, site)
    parts = [text_width.clip(text_width.visible(site.name), width)]
    for number, panel in enumerate(columns[0][1].panels[1:], 1):
        heads = [Panel(name, overlay.panels[number].weights) for name, overlay in columns]
        parts.append(text_width.clip(terminal.label(panel.name), width))
        parts.extend(_rows(picture, heads, width, NARROW, colour))
    return "\n".join(parts)


def _rows(picture: Picture, panels: Sequence[Panel], width: int, size: int, colour: bool) -> Iterator[str]:
    size = max(1, min(size, width))
    across = max(1, (width + GAP) // (size + GAP))
    for start in range(0, len(panels), across):
        blocks = [_block(picture, panel, size, colour) for panel in panels[start : start + across]]
        yield "\n".join((" " * GAP).join(line).rstrip(" ") for line in zip(*blocks, strict=True))


def _block(picture: Picture, panel: Panel, size: int, colour: bool) -> list[str]:
    """Return the lines of a panel, its word first; each line is `size` cells wide."""
    high, wide = picture.pixels.shape[:2]
    lines = max(1, round(size * high / wide / 2))  # a cell is twice as high as wide
    if colour:
        return [_named(panel, size), *_painted(picture, panel, size, lines)]
    assert panel.weights is not None
    shine = light(panel.weights, lines, size)
    return [_named(panel, size), *("".join(map(_shade, row)) for row in shine)]


def _named(panel: Panel, size: int) -> str:
    if panel.weights is None:
        name, share = panel.name, ""
    else:
        name, share = terminal.label(panel.name), panel.share
    room = size - len(share) - 1
    if room < 1 or not share:
        return _filled(text_width.clip(name, size), size)
    return _filled(text_width.clip(name, room), size - len(share)) + share


def _filled(text: str, cells: int) -> str:
    return text_width.kept_in_order(text) + " " * (cells - text_width.width(text))


def _shade(share: float) -> str:
    return next((mark for least, mark in _SHADES if share >= least), "·")


def _painted(picture: Picture, panel: Panel, size: int, lines: int) -> list[str]:
    """Paint two pixels per cell: the foreground color is the upper one, the background the lower one."""
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
    """Downscale to (high, wide) pixels by averaging."""
    return _means(_means(pixels.astype(np.float64), high).swapaxes(0, 1), wide).swapaxes(0, 1)


def _means(values: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    edges = [round(part * len(values) / parts) for part in range(parts + 1)]
    return np.stack([values[min(a, len(values) - 1) : max(b, a + 1)].mean(0) for a, b in pairwise(edges)])
