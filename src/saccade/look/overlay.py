"""An overlay: the picture once for each word written, clear where that word looked.

The figures of Xu et al. 2015, arXiv:1502.03044. The first panel is the picture itself. Each word has its own scale,
since a word that looks at many regions gives none of them much; how much the strongest got stands beside the word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ShapeError
from saccade.look import words
from saccade.look.heads import Heads, mean
from saccade.look.map import Map
from saccade.look.paper import FAINT, GOLD, INK, MUTED, Sheet, check_suffix, sheet
from saccade.look.picture import Box, Picture
from saccade.look.veil import veil

__all__ = ["NAME", "Overlay", "Panel", "Tiles", "head_columns", "key_notes", "save_overlay", "save_overlay_heads"]

NAME = "what the model saw"
"""Of the panel that is the picture itself."""
MOST = 500
"""Panels: a caption has twenty words."""
ACROSS = 6
"""The most panels beside each other."""
SIZE, GAP, LABEL, BELOW = 104.0, 12.0, 17.0, 9.0
"""Points: the width of a panel, what is left beside it, the height of the word above it, and what is left below."""
SMALL, NARROW = 58.0, 5.0
"""The same for the heads of a site, which are many."""
LETTERS, NOTES = 10.5, 7.5
PIXELS = 3.0
"""Of a veil, for each point of a panel."""


@dataclass(frozen=True)
class Panel:
    """A word, and how much each region (rows, columns) got of its look; without weights, the picture alone."""

    name: str
    weights: NDArray[np.float64] | None
    quiet: bool = False
    """For marks: they are drawn like words, but less loudly."""
    boxes: tuple[Box, ...] = ()
    """What the word is about, where it is known."""

    @property
    def share(self) -> str:
        """What the strongest region got, for people."""
        return "" if self.weights is None else words.percent(float(self.weights.max()))


@dataclass(frozen=True)
class Overlay:
    """A picture and its panels."""

    picture: Picture
    panels: tuple[Panel, ...]

    @classmethod
    def of(cls, picture: Picture, map: Map, *, word_of: Sequence[int] | None = None, sinks: bool = True) -> Overlay:
        """From a map whose columns are the picture's regions.

        word_of: the word of each row, for the picture's boxes; left out, each row is one. Without `sinks`, rows that
        are marks are left out.
        """
        if len(map.source) != picture.regions:
            raise ShapeError(
                f"the picture has {picture.rows} × {picture.columns} regions, but {len(map.source)} were looked at. "
                "Pass the map of a site that looks at this picture."
            )
        if len(map.target) > MOST:
            raise ShapeError(f"{len(map.target):,} words would be as many panels, but {MOST} are the most. Draw fewer.")
        shape = (picture.rows, picture.columns)
        owners = range(len(map.target)) if word_of is None else word_of
        made = [Panel(NAME, None)]
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
    def knows_boxes(self) -> bool:
        """Whether anything is outlined."""
        return any(panel.boxes for panel in self.panels)


def key_notes(overlay: Overlay, *, shares: bool = True) -> str:
    """Below the panels: how to read them, and the shares beside their words."""
    count = f"{overlay.picture.rows} × {overlay.picture.columns}"
    told = f"; %: what the strongest of {count} regions got" if shares else ""
    return f"clear: looked at; the line: half as much as the most{told}"


class Tiles:
    """Where panels lie: in rows of about equal length, each panel below its word."""

    def __init__(self, picture: Picture, count: int, *, size: float = SIZE, gap: float = GAP) -> None:
        high, wide = picture.pixels.shape[:2]
        self.width, self.height = size, size * high / wide
        self.across = ceil(count / ceil(count / ACROSS))
        self.step = size + gap
        self.line = self.height + LABEL + BELOW
        self.right = self.across * self.step - gap
        self.bottom = ceil(count / self.across) * self.line - BELOW

    def place(self, number: int) -> tuple[float, float]:
        """Left and top of a panel; its word stands above."""
        row, column = divmod(number, self.across)
        return column * self.step, row * self.line + LABEL


def save_overlay(overlay: Overlay, path: Path | str, *, title: str | None = None) -> None:
    """Write the panels; the suffix of `path` says which format. SVG needs nothing installed."""
    if check_suffix(Path(path)) == ".svg":
        from saccade.look.overlay_svg import write_svg

        write_svg(overlay, Path(path), title=title)
        return
    with sheet(path) as page:
        tiles = Tiles(overlay.picture, len(overlay.panels))
        if title:
            page.text(0, -14, page.label(title, 90), 12, bold=True)
        for number, panel in enumerate(overlay.panels):
            left, top = tiles.place(number)
            _draw(page, overlay.picture, panel, (left, top, tiles.width, tiles.height))
            _name(page, panel, left, top, tiles.width)
        _key(page, overlay, tiles.bottom + 14)


def save_overlay_heads(picture: Picture, site: Heads, path: Path | str, *, title: str | None = None) -> None:
    """Write a line of panels for each word: one for each head, and their mean."""
    columns = head_columns(picture, site)
    with sheet(path) as page:
        high, wide = picture.pixels.shape[:2]
        height, first = SMALL * high / wide, columns[0][1]
        page.text(0, -32, page.label(title or site.name, 90), 12, bold=True)
        for c, (name, overlay) in enumerate(columns):
            left = c * (SMALL + NARROW)
            page.text(left + SMALL / 2, -9, name, NOTES + 1, colour=MUTED, side="center")
            for r, panel in enumerate(overlay.panels[1:]):
                _draw(page, picture, panel, (left, r * (height + NARROW), SMALL, height))
        for r, panel in enumerate(first.panels[1:]):
            colour = MUTED if panel.quiet else INK
            middle = r * (height + NARROW) + height / 2
            page.text(-8, middle, page.label(panel.name, 20), LETTERS, colour=colour, side="right")
        _key(page, first, len(first.panels[1:]) * (height + NARROW) + 9, shares=False)


def head_columns(picture: Picture, site: Heads) -> list[tuple[str, Overlay]]:
    """Every head of a site by name, and their mean."""
    maps = [(f"head {number}", map) for number, map in enumerate(site.maps)]
    maps = maps if len(maps) == 1 else [*maps, ("mean", mean(site.maps))]
    return [(name, Overlay.of(picture, map)) for name, map in maps]


def _draw(page: Sheet, picture: Picture, panel: Panel, box: tuple[float, float, float, float]) -> None:
    left, top, width, height = box
    page.image(picture.pixels, box)
    if panel.weights is not None:
        page.image(veil(panel.weights, round(PIXELS * height), round(PIXELS * width), edge=PIXELS), box)
    for x0, y0, x1, y1 in panel.boxes:
        outline = (left + x0 * width, top + y0 * height, (x1 - x0) * width, (y1 - y0) * height)
        page.box(outline, edge="#ffffff", line=2.4, counts=False)
        page.box(outline, edge=GOLD, line=1.3, counts=False)
    page.box(box, edge=FAINT, line=0.6)  # without it, a light picture would run into the paper


def _name(page: Sheet, panel: Panel, left: float, top: float, width: float) -> None:
    middle, share = top - 0.42 * LABEL, panel.share
    if panel.weights is None:
        page.text(left, middle, panel.name, NOTES + 0.5, colour=MUTED)
        return
    page.text(left + width, middle, share, NOTES, colour=MUTED, side="right")
    room = width - page.width(share, NOTES) - 6
    letters = 32
    while letters > 1 and page.width(page.label(panel.name, letters), LETTERS) > room:
        letters -= 1
    page.text(left, middle, page.label(panel.name, letters), LETTERS, colour=MUTED if panel.quiet else INK)


def _key(page: Sheet, overlay: Overlay, top: float, *, shares: bool = True) -> None:
    left = 0.0
    if overlay.knows_boxes:
        page.box((left, top - 3.5, 7, 7), edge=GOLD, line=1.3)
        page.text(left + 12, top, "what the word is about", NOTES, colour=MUTED)
        left += 26 + page.width("what the word is about", NOTES)
    page.text(left, top, key_notes(overlay, shares=shares), NOTES, colour=MUTED)
