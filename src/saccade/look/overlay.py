"""An overlay: the input image once for each target word, clear where that word attends to.

The figures follow Xu et al. 2015, arXiv:1502.03044. The first panel is the plain image. Each panel is scaled to its own
maximum, because weights spread over many regions are all small. The maximum weight is written beside the word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ShapeError
from saccade.look import text_width
from saccade.look.arcs import head_names
from saccade.look.canvas import Sheet, sheet
from saccade.look.design import FAINT, GOLD, MUTED, SIZES, TEXT
from saccade.look.heads import MEAN, Heads, mean
from saccade.look.heatmap import heatmap
from saccade.look.map import Map
from saccade.look.output import Format, check_suffix
from saccade.look.picture import Box, Picture

__all__ = [
    "DOT",
    "DRAWN",
    "NAME",
    "Overlay",
    "Panel",
    "Tiles",
    "head_columns",
    "key_notes",
    "save_overlay",
    "save_overlay_heads",
]

NAME, DRAWN = "input image", "image"
"""The label of the panel with the plain image, and with one that a model drew."""
BOXES = "gold region of the word"
"""The legend of outlined boxes."""
MOST = 500
"""Maximum panels: a caption has about twenty words."""
ACROSS = 6
"""Maximum panels in a row."""
SIZE, GAP, LABEL, BELOW = 9.9, 1.15, 1.6, 0.85
"""In letters: the width of a panel, the gap beside it, the height of the word above it, and the gap below."""
SMALL, NARROW = 5.5, 0.5
"""In letters: width and gap of panels in a figure of all heads."""
DOT = 0.07
"""The width of a dot, as a share of the panel."""
PIXELS = 3.0
"""Heatmap pixels per point of a panel."""


@dataclass(frozen=True)
class Panel:
    """A word and its weights (rows, columns) over the image regions; None for the plain image."""

    name: str
    weights: NDArray[np.float64] | None
    quiet: bool = False
    """True for marks, whose labels are gray."""
    boxes: tuple[Box, ...] = ()
    """The gold regions of the word, if known."""
    marks: tuple[tuple[Box, str], ...] = ()
    """Regions with a dot in their middle, each with its color: those that attend, if regions attend to regions."""

    @property
    def share(self) -> str:
        """The highest weight, as a percentage."""
        return "" if self.weights is None else text_width.percent(float(self.weights.max()))

    @property
    def strongest(self) -> str:
        """The highest weight and its region."""
        assert self.weights is not None
        row, column = divmod(int(self.weights.argmax()), self.weights.shape[1])
        return f"{self.share} at row {row + 1}, column {column + 1}"


@dataclass(frozen=True)
class Overlay:
    """An image and its panels."""

    picture: Picture
    panels: tuple[Panel, ...]

    @classmethod
    def of(cls, picture: Picture, map: Map, *, word_of: Sequence[int] | None = None, sinks: bool = True) -> Overlay:
        """Make an overlay from a map whose columns are the image's regions.

        word_of: the word index of each row, to find the image's boxes; by default the row's own index. `sinks`: whether
        rows that are marks are included.
        """
        if len(map.source) != picture.regions:
            raise ShapeError(
                f"the image has {picture.rows} × {picture.columns} regions, but the map has {len(map.source)} columns. "
                "Pass the map of a site that attends to this image."
            )
        if len(map.target) > MOST:
            raise ShapeError(f"{len(map.target):,} words would be as many panels, but {MOST} are the most. Draw fewer.")
        shape = (picture.rows, picture.columns)
        owners = range(len(map.target)) if word_of is None else word_of
        made = [Panel(DRAWN if picture.drawn else NAME, None)]
        for t, (name, row, owner) in enumerate(zip(map.target, map.weights, owners, strict=True)):
            mark = t in map.marks.target
            if mark and not sinks:
                continue
            known = picture.boxes[owner] if owner < len(picture.boxes) else None
            linked = [picture.region(s) for s, written in sorted(map.gold) if written == t]
            boxes = (*linked, *([] if known is None else [known]))
            made.append(Panel(name, np.array(row).reshape(shape), mark, boxes))
        return cls(picture, tuple(made))

    @property
    def of_regions(self) -> bool:
        """True if regions of the image attend, not words."""
        return any(panel.marks for panel in self.panels)

    @property
    def knows_boxes(self) -> bool:
        """True if a panel has boxes to outline."""
        return any(panel.boxes for panel in self.panels)


def key_notes(overlay: Overlay, *, shares: bool = True) -> str:
    """Return the legend of the panels; with `shares`, it explains the percentages beside the words."""
    count = f"{overlay.picture.rows} × {overlay.picture.columns}"
    percentages = f"; %: the highest weight of {count} regions" if shares else ""
    dots = "dot: the attending region; " if overlay.of_regions else ""
    return f"{dots}clear: high attention; line: half of the maximum{percentages}"


class Tiles:
    """The layout of panels: in rows of about equal length, each panel below its word."""

    def __init__(self, picture: Picture, count: int, letters: float, room: float | None = None) -> None:
        high, wide = picture.pixels.shape[:2]
        size, gap, self.label, below = (letters * share for share in (SIZE, GAP, LABEL, BELOW))
        self.width, self.height = size, size * high / wide
        self.step = size + gap
        most = ACROSS if room is None else max(1, min(ACROSS, int((room + gap) // self.step)))
        self.across = ceil(count / ceil(count / most))
        self.line = self.height + self.label + below
        self.right = self.across * self.step - gap
        self.bottom = ceil(count / self.across) * self.line - below

    def place(self, number: int) -> tuple[float, float]:
        """Return left and top of a panel; its word is written above."""
        row, column = divmod(number, self.across)
        return column * self.step, row * self.line + self.label


def save_overlay(overlay: Overlay, path: Path | str, *, title: str | None = None, format: Format | None = None) -> None:
    """Write the panels in the format of the suffix of `path`; SVG of the default size does not need matplotlib."""
    format = format or Format(title)
    if check_suffix(Path(path)) == ".svg" and format.size is SIZES["screen"] and not format.outline:
        from saccade.look.overlay_svg import write_svg

        write_svg(overlay, Path(path), format)
        return
    with sheet(path, format) as page:
        room = page.size.widths[-1] if page.size.exact else None
        tiles = Tiles(overlay.picture, len(overlay.panels), page.size.letters, room)
        for number, panel in enumerate(overlay.panels):
            left, top = tiles.place(number)
            _draw(page, overlay.picture, panel, (left, top, tiles.width, tiles.height))
            _name(page, panel, left, top - 0.42 * tiles.label, tiles.width)
        _key(page, overlay, tiles.bottom + 1.3 * page.size.letters)


def save_overlay_heads(
    picture: Picture, site: Heads, path: Path | str, *, title: str | None = None, format: Format | None = None
) -> None:
    """Write a row of panels for each word: one for each head, and set apart, their mean."""
    columns = head_columns(picture, site)
    with sheet(path, format or Format(title or site.name)) as page:
        high, wide = picture.pixels.shape[:2]
        letters, notes, first = page.size.letters, page.size.notes, columns[0][1]
        width, gap = SMALL * letters, NARROW * letters
        height = width * high / wide
        for c, (name, overlay) in enumerate(columns):
            left = c * (width + gap) + (2 * gap if c and name == MEAN else 0)
            page.text(left + width / 2, -1.2 * notes, name, notes, colour=MUTED, side="center")
            for r, panel in enumerate(overlay.panels[1:]):
                _draw(page, picture, panel, (left, r * (height + gap), width, height))
        for r, panel in enumerate(first.panels[1:]):
            colour = MUTED if panel.quiet else TEXT
            middle = r * (height + gap) + height / 2
            page.text(-0.75 * letters, middle, page.label(panel.name, 20), letters, colour=colour, side="right")
        _key(page, first, len(first.panels[1:]) * (height + gap) + 1.2 * notes, shares=False)


def head_columns(picture: Picture, site: Heads) -> list[tuple[str, Overlay]]:
    """Return the overlay of each head of a site, with its name, and of their mean."""
    maps = list(zip(head_names(len(site.maps)), site.maps, strict=True))
    maps = maps if len(maps) == 1 else [*maps, (MEAN, mean(site.maps))]
    return [(name, Overlay.of(picture, map)) for name, map in maps]


def _draw(page: Sheet, picture: Picture, panel: Panel, box: tuple[float, float, float, float]) -> None:
    left, top, width, height = box
    page.image(picture.pixels, box)
    if panel.weights is not None:
        sides = round(PIXELS * height), round(PIXELS * width)
        page.image(heatmap(panel.weights, *sides, edge=PIXELS, flat=picture.tiled), box)
    for x0, y0, x1, y1 in panel.boxes:
        outline = (left + x0 * width, top + y0 * height, (x1 - x0) * width, (y1 - y0) * height)
        page.box(outline, edge="#ffffff", line=2.4, counts=False)
        page.box(outline, edge=GOLD, line=1.3, counts=False)
    for (x0, y0, x1, y1), color in panel.marks:
        size = DOT * width
        corner = left + (x0 + x1) / 2 * width - size / 2, top + (y0 + y1) / 2 * height - size / 2
        page.box((*corner, size, size), fill=color, edge="#ffffff", line=0.8, corner=size / 2, counts=False)
    page.box(box, edge=FAINT, line=0.6)  # separates a light image from the white page


def _name(page: Sheet, panel: Panel, left: float, middle: float, width: float) -> None:
    letters, notes, share = page.size.letters, page.size.notes, panel.share
    if panel.weights is None:
        page.text(left, middle, panel.name, notes, colour=MUTED)
        return
    page.text(left + width, middle, share, notes, colour=MUTED, side="right")
    room = width - page.width(share, notes) - 0.6 * letters
    length = 32
    while length > 1 and page.width(page.label(panel.name, length), letters) > room:
        length -= 1
    page.text(left, middle, page.label(panel.name, length), letters, colour=MUTED if panel.quiet else TEXT)


def _key(page: Sheet, overlay: Overlay, top: float, *, shares: bool = True) -> None:
    left, notes = 0.0, page.size.notes
    if overlay.knows_boxes:
        page.box((left, top - 0.47 * notes, 0.93 * notes, 0.93 * notes), edge=GOLD, line=1.3)
        page.text(left + 1.6 * notes, top, BOXES, notes, colour=MUTED)
        left += 3.5 * notes + page.width(BOXES, notes)
    page.text(left, top, key_notes(overlay, shares=shares), notes, colour=MUTED)
