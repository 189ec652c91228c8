"""A map as a figure for papers and slides: PNG, PDF or SVG.

The picture of Bahdanau et al. 2015, arXiv:1409.0473, figure 3, with the words read on top and those written at the
left. Here dark means much, so that paper stays paper.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from saccade.errors import ShapeError
from saccade.look import words
from saccade.look.map import Map
from saccade.look.paper import FAINT, MUTED, check_suffix, drawing, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

__all__ = ["save"]

# one hue, ever darker: it survives a black-and-white printer and every kind of colour blindness
SCALE = ("#ffffff", "#c9d9ee", "#85a9d6", "#3f74b5", "#12305e")
GRID = "#e2e6ec"
GOLD = "#e8820c"
LONGEST = 32
"""Letters: longer words are cut."""


def save(map: Map, path: Path | str, *, title: str | None = None) -> None:
    """Write the map as a matrix of square cells, the darker the more; the suffix of `path` says which format.

    Gold links, where the map has them, are outlined. Equal maps give equal bytes on one machine.
    """
    path = Path(path)
    check_suffix(path)
    if not map.source or not map.target:
        raise ShapeError(
            f"there is nothing to draw: {len(map.source)} words were read and {len(map.target)} written. "
            "A figure needs one of each."
        )
    with drawing():
        from matplotlib.figure import Figure

        cell = _cell_size(map)
        figure = Figure(figsize=(cell * len(map.source), cell * len(map.target)))
        axes = figure.add_axes((0, 0, 1, 1))  # the labels stand outside; `write` cuts around them
        _cells(axes, map, cell)
        _labels(axes, map, cell)
        _gold(axes, map)
        _key(axes, map, cell)
        if title:
            axes.set_title(words.visible(title), loc="left", fontsize=12, fontweight="bold", pad=14)
        write(figure, path)


def _cell_size(map: Map) -> float:
    """Inches: small maps get large cells, and 60 words still get cells their labels fit."""
    return max(0.19, min(0.42, 9 / max(len(map.source), len(map.target))))


def _scale() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("saccade", SCALE)


def _cells(axes: Axes, map: Map, cell: float) -> None:
    line = min(0.6, 1.5 * cell)  # a grid for many words must not outshine them
    axes.pcolormesh(list(map.weights), cmap=_scale(), vmin=0, vmax=1, edgecolors=GRID, linewidth=line)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.spines[:].set(edgecolor=FAINT, linewidth=0.6)


def _labels(axes: Axes, map: Map, cell: float) -> None:
    size = min(11.0, 72 * cell * 0.62)
    lean = 0.19 * size / (72 * cell)  # slanted letters rise to the left of where they stand; this centres them
    axes.xaxis.tick_top()
    axes.set_xticks(
        [s + 0.5 + lean for s in range(len(map.source))],
        [words.clip(words.visible(word), LONGEST) for word in map.source],
        rotation=45,
        rotation_mode="anchor",
        horizontalalignment="left",
        verticalalignment="baseline",
    )
    axes.set_yticks(
        [t + 0.5 for t in range(len(map.target))],
        [words.clip(words.visible(word), LONGEST) for word in map.target],
    )
    axes.set_xlim(0, len(map.source))  # the last word leans, the matrix does not
    axes.tick_params(length=0, labelsize=size)
    axes.tick_params(axis="x", pad=4)
    axes.tick_params(axis="y", pad=6)


def _gold(axes: Axes, map: Map) -> None:
    for s, t in sorted(map.gold):
        _square(axes, s + 0.28, t + 0.28, 0.44)


def _square(axes: Axes, left: float, top: float, side: float) -> None:
    from matplotlib.patches import Rectangle

    outline = Rectangle((left, top), side, side, fill=False, edgecolor=GOLD, linewidth=1.3, clip_on=False)
    axes.add_patch(outline)


def _key(axes: Axes, map: Map, cell: float) -> None:
    """Below the matrix, quietly: what the shades mean, and the squares."""
    unit = 0.1 / cell  # a tenth of an inch, counted in cells
    top = len(map.target) + 1.6 * unit
    bar = axes.inset_axes((0, top, 9 * unit, 0.9 * unit), transform=axes.transData)
    bar.pcolormesh([[step / 63 for step in range(64)]], cmap=_scale(), vmin=0, vmax=1, edgecolors="face", linewidth=0.3)
    bar.set(xticks=[], yticks=[])
    bar.spines[:].set(edgecolor=FAINT, linewidth=0.6)

    def note(x: float, y: float, text: str, side: str) -> None:
        axes.text(x, y, text, horizontalalignment=side, verticalalignment="center", fontsize=7.5, color=MUTED)

    for x, text, side in ((0.0, "0", "left"), (4.5, "attention", "center"), (9.0, "1", "right")):
        note(x * unit, top + 2.2 * unit, text, side)
    if map.gold:
        _square(axes, 11 * unit, top, 0.9 * unit)
        note(12.5 * unit, top + 0.5 * unit, "gold link", "left")
