"""Drawing on paper: matplotlib, loaded when it is needed, without its global state, and the same bytes each time."""

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

from saccade.errors import ConfigError
from saccade.files import write_atomically
from saccade.look import words
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
# one hue, ever darker: it survives a black-and-white printer and every kind of colour blindness
SCALE = ("#ffffff", "#c9d9ee", "#85a9d6", "#3f74b5", "#12305e")

BOX = "□"
IGNORABLE = "\u200c\u200d\ufe0e\ufe0f"  # they choose the form of their neighbours and have none of their own
DOTS_PER_INCH = 200
# what matplotlib would write the date or its version into
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
    "text.parse_math": False,  # a word with dollar signs is a word, not a formula
    "svg.hashsalt": "saccade",  # names inside the file would be random without it
    "svg.fonttype": "none",  # words stay words, to be selected, searched and read aloud
    "pdf.fonttype": 42,  # whole letters of the fonts go into the file; publishers refuse the other kind
}


@contextmanager
def drawing() -> Iterator[None]:
    """Inside, matplotlib has our style and nobody else's; afterwards it is as it was."""
    try:
        import matplotlib
    except ImportError as error:
        raise ConfigError(
            "pictures need matplotlib, which is not installed. pip install 'saccade[pictures]'"
        ) from error
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        matplotlib.rcParams["font.family"] = families()
        # a letter no font knows is drawn as a box; that is no reason to fail
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def check_suffix(path: Path) -> str:
    """.png, .pdf or .svg, or an error."""
    suffix = path.suffix.lower()
    if suffix not in METADATA:
        raise ConfigError(f"{path.name} ends in {suffix or 'nothing'}. Choose a name that ends in .png, .pdf or .svg.")
    return suffix


def write(figure: Figure, path: Path) -> None:
    """The figure as its suffix says, cut to what is drawn, with a small margin."""
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
    """The colour of a weight: white for 0, dark for 1."""
    place = max(0.0, min(1.0, weight)) * (len(SCALE) - 1)
    lower = min(int(place), len(SCALE) - 2)
    ends = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in SCALE[lower : lower + 2]]
    return "#" + "".join(f"{round(a + (b - a) * (place - lower)):02x}" for a, b in zip(*ends, strict=True))


Box = tuple[float, float, float, float]
"""Left, top, width and height, in points."""
Side = Literal["left", "center", "right"]


class Sheet:
    """A page to draw on, as large as what is drawn. All sizes are points; down is more."""

    def __init__(self, suffix: str) -> None:
        from matplotlib.backends.backend_agg import RendererAgg
        from matplotlib.figure import Figure
        from matplotlib.transforms import Affine2D

        self.figure = Figure(
            figsize=(1, 1)
        )  # an inch, so that points are easily told in figures; `write` cuts around all
        self._points = Affine2D().scale(1 / 72, -1 / 72) + self.figure.transFigure
        self._ruler = RendererAgg(1, 1, 72)  # type: ignore[no-untyped-call]
        self._read_elsewhere = suffix == ".svg"  # by a browser, which has its own fonts and joins and turns letters
        self.boxes = False
        """Whether some letter had to be drawn as a box, since no font here knows it."""

    def label(self, word: str, longest: int = 32) -> str:
        """A word as it can be drawn here: harmless, composed, cut if it is long, letters nobody knows as boxes."""
        text = words.clip(unicodedata.normalize("NFC", words.visible(word)), longest)
        if self._read_elsewhere:
            return text
        known = "".join(map(self._known, words.clusters(text)))
        return known if draws_joined_letters() else shaped(known)

    def _known(self, cluster: str) -> str:
        if all(knows(character) or character in IGNORABLE for character in cluster):
            return cluster
        self.boxes = True
        return BOX

    def width(self, label: str, size: float) -> float:
        """How wide a label is."""
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
        """A label beside a point, level with it; turned, it stands on the point. `counts`: whether the page grows."""
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
        """A rectangle, or the outline of one; `corner` is the radius of its corners."""
        from matplotlib.patches import FancyBboxPatch

        left, top, width, height = box
        style = f"round,pad=0,rounding_size={corner}" if corner else "square,pad=0"
        look: dict[str, Any] = {"facecolor": fill or "none", "edgecolor": edge or "none"}
        made = FancyBboxPatch((left, top), width, height, style, linewidth=line if edge else 0, **look)
        self._add(made, counts)

    def cells(self, boxes: Sequence[Box], colours: Sequence[str], *, grid: str | None = None, line: float = 0) -> None:
        """Many rectangles at once; the page does not grow for them."""
        from matplotlib.collections import PolyCollection

        corners = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for x, y, w, h in boxes]
        edges: Any = grid or "none"
        self._add(PolyCollection(corners, facecolors=list(colours), edgecolors=edges, linewidths=line), False)

    def image(self, pixels: NDArray[np.uint8], box: Box) -> None:
        """Pixels (height, width, 3 or 4) in a box, smoothed where they are few; the page does not grow for them."""
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
        """Many straight lines at once, each with a colour and how opaque it is; the page does not grow for them."""
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
    """A page that is written when all is drawn; the suffix of `path` says which format."""
    path = Path(path)
    suffix = check_suffix(path)
    with drawing():
        made = Sheet(suffix)
        yield made
        write(made.figure, path)
