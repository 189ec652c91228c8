"""Drawing with matplotlib: imported lazily, isolated from its global settings, with reproducible output files."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ConfigError, install_extra
from saccade.look import text_width
from saccade.look.design import INK, MUTED, TEXT, mixed
from saccade.look.fonts import draws_joined_letters, families, knows
from saccade.look.output import Format, check_suffix, write
from saccade.look.shaping import shaped

if TYPE_CHECKING:
    from matplotlib.artist import Artist

__all__ = ["BOX", "GRID", "Sheet", "Side", "drawing", "shade", "sheet"]

GRID = "#e2e6ec"
BOX = "□"
IGNORABLE = "\u200c\u200d\ufe0e\ufe0f"  # joiners and variation selectors, which have no glyph of their own
STYLE: dict[Any, Any] = {
    "text.color": TEXT,
    "axes.labelcolor": TEXT,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": TEXT,
    "ytick.labelcolor": TEXT,
    "text.parse_math": False,  # show dollar signs as they are
    "svg.hashsalt": "saccade",  # makes element ids reproducible
    "svg.fonttype": "none",  # keep text as text: selectable, searchable, readable by screen readers
    "pdf.fonttype": 42,  # embed TrueType fonts; publishers reject Type 3
}


@contextmanager
def drawing(*, outline: bool = False) -> Iterator[None]:
    """Apply our matplotlib style inside the context, and restore the caller's settings afterwards.

    With `outline`, an SVG has the outlines of letters instead of text.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise ConfigError(f"figures need matplotlib, which is not installed. {install_extra('images')}") from error
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        matplotlib.rcParams["font.family"] = families()
        if outline:
            matplotlib.rcParams["svg.fonttype"] = "path"
        # a character missing from all fonts is drawn as a box; do not warn
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def shade(weight: float) -> str:
    """Return the color of a weight: white for 0, the ink of attention for 1."""
    return mixed(INK, weight)


Box = tuple[float, float, float, float]
"""Left, top, width and height, in points."""
Side = Literal["left", "center", "right"]


class Sheet:
    """A page that grows with its content. All sizes are points; y increases downward."""

    def __init__(self, suffix: str, format: Format | None = None) -> None:
        from matplotlib.backends.backend_agg import RendererAgg
        from matplotlib.figure import Figure
        from matplotlib.transforms import Affine2D

        self.format = format or Format()
        self.size = self.format.size
        # One inch, so that 72 points are one unit; `write` crops. The resolution is the file's, because hinted letters
        # have other widths at every resolution: at another one, the page would be too narrow for its text.
        self.figure = Figure(figsize=(1, 1), dpi=self.size.dots)
        self._points = Affine2D().scale(1 / 72, -1 / 72) + self.figure.transFigure
        self._ruler = RendererAgg(1, 1, 72)  # type: ignore[no-untyped-call]
        self._viewer_shapes_text = (
            suffix == ".svg" and not self.format.outline
        )  # a browser has its own fonts, ligatures and bidirectional order
        self.boxes = False
        """Whether a character was drawn as a box because no installed font has it."""
        self.group: str | None = None
        """The name that the parts drawn next have in an SVG."""

    def label(self, word: str, longest: int = 32) -> str:
        """Return a word as drawable text: sanitized, NFC, cut if long, with boxes for characters without a font."""
        text = text_width.clip(unicodedata.normalize("NFC", text_width.visible(word)), longest)
        if self._viewer_shapes_text:
            return text
        known = "".join(map(self._known, text_width.clusters(text)))
        return known if draws_joined_letters() else shaped(known)

    def _known(self, cluster: str) -> str:
        if all(knows(character) or character in IGNORABLE for character in cluster):
            return cluster
        self.boxes = True
        return BOX

    def width(self, label: str, size: float) -> float:
        """Return the width of a label in points."""
        from matplotlib.font_manager import FontProperties

        font = FontProperties(size=size)
        return float(self._ruler.get_text_width_height_descent(label, font, ismath=False)[0])  # type: ignore[no-untyped-call]

    def text(
        self,
        x: float,
        y: float,
        label: str,
        size: float,
        *,
        colour: str = TEXT,
        side: Side = "left",
        turn: float = 0,
        bold: bool = False,
        counts: bool = True,
    ) -> None:
        """Draw a label beside a point, vertically centered; with `turn` (degrees), its baseline starts at the point.

        `counts`: whether the page grows to include it.
        """
        upright: Literal["baseline", "center_baseline"] = "baseline" if turn else "center_baseline"
        made = self.figure.text(
            x,
            y,
            label,
            fontsize=size,
            color=colour,
            horizontalalignment=side,
            verticalalignment=upright,
            rotation=turn,
            rotation_mode="anchor",
            fontweight="bold" if bold else "normal",
            transform=self._points,
        )
        self._join(made, counts)

    def box(
        self,
        box: Box,
        *,
        fill: str | None = None,
        edge: str | None = None,
        line: float = 1,
        corner: float = 0,
        counts: bool = True,
    ) -> None:
        """Draw a rectangle, filled or outlined; `corner` is its corner radius, `counts` whether the page grows."""
        from matplotlib.patches import FancyBboxPatch

        left, top, width, height = box
        style = f"round,pad=0,rounding_size={corner}" if corner else "square,pad=0"
        look: dict[str, Any] = {"facecolor": fill or "none", "edgecolor": edge or "none"}
        made = FancyBboxPatch((left, top), width, height, style, linewidth=line if edge else 0, **look)
        self._add(made, counts)

    def cells(self, boxes: Sequence[Box], colours: Sequence[str], *, grid: str | None = None, line: float = 0) -> None:
        """Draw many rectangles at once, without growing the page."""
        from matplotlib.collections import PolyCollection

        corners = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for x, y, w, h in boxes]
        edges: Any = grid or "none"
        self._add(PolyCollection(corners, facecolors=list(colours), edgecolors=edges, linewidths=line), False)

    def image(self, pixels: NDArray[np.uint8], box: Box) -> None:
        """Draw pixels (height, width, 3 or 4) into a box, with bicubic scaling and without growing the page."""
        from matplotlib.image import BboxImage
        from matplotlib.transforms import Bbox, TransformedBbox

        left, top, width, height = box
        place = TransformedBbox(Bbox([[left, top + height], [left + width, top]]), self._points)
        made = BboxImage(place, interpolation="bicubic", origin="lower", data=pixels)
        self._join(made, False)
        self.figure.add_artist(made)

    def curves(
        self,
        ends: Sequence[Box],
        colours: Sequence[tuple[str, float]],
        widths: Sequence[float],
        *,
        dashes: Any = "-",
        bend: Literal["level", "upright", "straight"] = "level",
    ) -> None:
        """Draw curves from (x1, y1) to (x2, y2), each with a color, an opacity and a width, without growing the page.

        They leave and arrive level, or "upright", as the ribbons of the explorer page do.
        """
        from matplotlib.collections import PathCollection
        from matplotlib.colors import to_rgba
        from matplotlib.path import Path as Outline

        codes = [Outline.MOVETO, Outline.CURVE4, Outline.CURVE4, Outline.CURVE4]
        paths = []
        for x1, y1, x2, y2 in ends:
            x, y = (x1 + x2) / 2, (y1 + y2) / 2
            bends = {"level": [(x, y1), (x, y2)], "upright": [(x1, y), (x2, y)], "straight": [(x, y)] * 2}[bend]
            paths.append(Outline([(x1, y1), *bends, (x2, y2)], codes))
        rgba = [to_rgba(colour, min(1.0, opacity)) for colour, opacity in colours]
        made = PathCollection(paths, facecolors="none", edgecolors=rgba, linewidths=widths, linestyles=dashes)
        self._add(made, False)

    def extent(self) -> tuple[float, float, float, float]:
        """Return left, top, right and bottom of what the page has grown for."""
        box = self.figure.get_tightbbox()
        return 72 * box.x0, -72 * box.y1, 72 * box.x1, -72 * box.y0

    def finish(self) -> None:
        """Draw the title above and the caption below what was drawn."""
        left, top, right, bottom = self.extent()
        notes, heading = self.size.notes, self.size.heading
        room = max(right - left, 0.8 * self.size.widths[0])
        if self.format.title:
            self.text(left, top - 1.3 * heading, self.label(self.format.title, 90), heading, bold=True)
        for number, line in enumerate(self._lines(self.format.caption, notes, room)):
            self.text(left, bottom + notes * (1.6 + 1.4 * number), line, notes, colour=MUTED)

    def _lines(self, text: str, size: float, room: float) -> list[str]:
        """Break a text into lines that fit."""
        lines: list[str] = []
        for word in self.label(text, 1000).split():
            if lines and self.width(f"{lines[-1]} {word}", size) <= room:
                lines[-1] += f" {word}"
            else:
                lines.append(word)
        return lines

    def _add(self, artist: Artist, counts: bool) -> None:
        artist.set_transform(self._points)
        self._join(artist, counts)
        self.figure.add_artist(artist)

    def _join(self, artist: Artist, counts: bool) -> None:
        artist.set_in_layout(counts)
        artist.set_gid(self.group)


@contextmanager
def sheet(path: Path | str, format: Format | None = None) -> Iterator[Sheet]:
    """Open a page to draw on. On exit, add title and caption, and write it in the format of the suffix of `path`."""
    path = Path(path)
    suffix = check_suffix(path)
    with drawing(outline=format is not None and format.outline):
        made = Sheet(suffix, format)
        yield made
        made.finish()
        write(made.figure, path, made.format)
