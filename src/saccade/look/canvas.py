"""Drawing with matplotlib: imported lazily, isolated from its global settings, with reproducible output files."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ConfigError, install_extra
from saccade.files import write_atomically
from saccade.look import text_width
from saccade.look.fonts import draws_joined_letters, families, knows
from saccade.look.shaping import shaped

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

__all__ = [
    "BOX",
    "FAINT",
    "GOLD",
    "INK",
    "MUTED",
    "RED",
    "Sheet",
    "Side",
    "check_suffix",
    "drawing",
    "shade",
    "sheet",
    "write",
]

INK = "#1f2430"
MUTED = "#666d7a"
FAINT = "#d5d9e0"
GOLD = "#e8820c"
RED = "#c4122f"
# one hue, ever darker: readable in grayscale and with any color blindness
SCALE = ("#ffffff", "#c9d9ee", "#85a9d6", "#3f74b5", "#12305e")

BOX = "□"
IGNORABLE = "\u200c\u200d\ufe0e\ufe0f"  # joiners and variation selectors, which have no glyph of their own
DOTS_PER_INCH = 200
# without these, matplotlib would write the date or its version into the file
METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": "saccade"},
    ".svg": {"Date": None, "Creator": "saccade"},
}
STYLE: dict[Any, Any] = {
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.parse_math": False,  # show dollar signs as they are
    "svg.hashsalt": "saccade",  # makes element ids reproducible
    "svg.fonttype": "none",  # keep text as text: selectable, searchable, readable by screen readers
    "pdf.fonttype": 42,  # embed TrueType fonts; publishers reject Type 3
}


@contextmanager
def drawing() -> Iterator[None]:
    """Apply our matplotlib style inside the context, and restore the caller's settings afterwards."""
    try:
        import matplotlib
    except ImportError as error:
        raise ConfigError(f"figures need matplotlib, which is not installed. {install_extra('images')}") from error
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        matplotlib.rcParams["font.family"] = families()
        # a character missing from all fonts is drawn as a box; do not warn
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def check_suffix(path: Path) -> str:
    """Return the suffix .png, .pdf or .svg; raise ConfigError for any other."""
    suffix = path.suffix.lower()
    if suffix not in METADATA:
        raise ConfigError(f"{path.name} ends in {suffix or 'nothing'}. Choose a name that ends in .png, .pdf or .svg.")
    return suffix


def write(figure: Figure, path: Path) -> None:
    """Write the figure in the format of the suffix of `path`, cropped to its content with a small margin."""
    suffix = check_suffix(path)
    file = BytesIO()
    figure.savefig(
        file,
        format=suffix[1:],
        dpi=DOTS_PER_INCH,
        bbox_inches="tight",
        pad_inches=0.15,
        facecolor="white",
        metadata=METADATA[suffix],
    )
    write_atomically(path, file.getvalue())


def shade(weight: float) -> str:
    """Return the color of a weight: white for 0, dark for 1."""
    place = max(0.0, min(1.0, weight)) * (len(SCALE) - 1)
    lower = min(int(place), len(SCALE) - 2)
    ends = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in SCALE[lower : lower + 2]]
    return "#" + "".join(f"{round(a + (b - a) * (place - lower)):02x}" for a, b in zip(*ends, strict=True))


Box = tuple[float, float, float, float]
"""Left, top, width and height, in points."""
Side = Literal["left", "center", "right"]


class Sheet:
    """A page that grows with its content. All sizes are points; y increases downward."""

    def __init__(self, suffix: str) -> None:
        from matplotlib.backends.backend_agg import RendererAgg
        from matplotlib.figure import Figure
        from matplotlib.transforms import Affine2D

        self.figure = Figure(figsize=(1, 1))  # one inch, so that 72 points are one unit; `write` crops
        self._points = Affine2D().scale(1 / 72, -1 / 72) + self.figure.transFigure
        self._ruler = RendererAgg(1, 1, 72)  # type: ignore[no-untyped-call]
        self._viewer_shapes_text = suffix == ".svg"  # a browser has its own fonts, ligatures and bidirectional order
        self.boxes = False
        """Whether a character was drawn as a box because no installed font has it."""

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
        colour: str = INK,
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
        made.set_in_layout(counts)

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
        made.set_in_layout(False)
        self.figure.add_artist(made)

    def lines(
        self, ends: Sequence[tuple[float, float, float, float]], colours: Sequence[tuple[str, float]], dashes: Any = "-"
    ) -> None:
        """Draw many straight lines at once, each with a color and an opacity, without growing the page."""
        from matplotlib.collections import LineCollection
        from matplotlib.colors import to_rgba

        paths = [[(x1, y1), (x2, y2)] for x1, y1, x2, y2 in ends]
        rgba = [to_rgba(colour, opacity) for colour, opacity in colours]
        self._add(LineCollection(paths, colors=rgba, linewidths=1.5, linestyles=dashes, capstyle="round"), False)

    def _add(self, artist: Artist, counts: bool) -> None:
        artist.set_transform(self._points)
        artist.set_in_layout(counts)
        self.figure.add_artist(artist)


@contextmanager
def sheet(path: Path | str) -> Iterator[Sheet]:
    """Open a page to draw on, and write it on exit in the format of the suffix of `path`."""
    path = Path(path)
    suffix = check_suffix(path)
    with drawing():
        made = Sheet(suffix)
        yield made
        write(made.figure, path)
