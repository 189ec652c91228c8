"""Files of figures: PNG, PDF and SVG, cropped, reproducible, and with a description for screen readers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saccade.errors import ConfigError
from saccade.files import write_atomically
from saccade.look import text_width
from saccade.look.design import LANES, SIZES, Size

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

__all__ = ["Format", "check_suffix", "crop", "described", "rendered", "write"]

# without these, matplotlib would write the date or its version into the file
METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": "saccade"},
    ".svg": {"Date": None, "Creator": "saccade"},
}
LARGEST_SCALE = 1.5
"""A small figure is enlarged at most by this to fill a slide."""


@dataclass(frozen=True)
class Format:
    """What surrounds a figure, and how its file is written."""

    title: str | None = None
    caption: str = ""
    """The line below the figure: what was drawn, and what a cell is."""
    description: str = ""
    """What the figure shows, for readers who do not see it; an SVG contains it."""
    lanes: tuple[str, str] = (LANES["source"], LANES["target"])
    """The names of columns and rows."""
    size: Size = SIZES["screen"]
    outline: bool = False
    """Whether an SVG has the outlines of letters instead of text, so that it needs no font."""


def check_suffix(path: Path) -> str:
    """Return the suffix .png, .pdf or .svg; raise ConfigError for any other."""
    suffix = path.suffix.lower()
    if suffix not in METADATA:
        raise ConfigError(f"{path.name} ends in {suffix or 'nothing'}. Choose a name that ends in .png, .pdf or .svg.")
    return suffix


def write(figure: Figure, path: Path, format: Format | None = None) -> None:
    """Write the figure in the format of the suffix of `path`, cropped to its content with a small margin."""
    format = format or Format()
    write_atomically(path, rendered(figure, check_suffix(path), format, crop(figure, format.size)))


def crop(figure: Figure, size: Size) -> Bbox:
    """Return the part of the plane (inches) that the file shows: the content, a column of text, or a slide."""
    from matplotlib.transforms import Bbox

    box = figure.get_tightbbox().padded(size.margin / 72)
    width, height = 72 * box.width, 72 * box.height
    if size.page:
        scale = max(width / size.page[0], height / size.page[1], 1 / LARGEST_SCALE)
        width, height = scale * size.page[0], scale * size.page[1]
    elif size.exact:
        width = next((column for column in size.widths if column >= width), width)
    left, middle = 0.5 * (box.x0 + box.x1) - width / 144, 0.5 * (box.y0 + box.y1)
    return Bbox.from_bounds(left, middle - height / 144, width / 72, height / 72)


def rendered(figure: Figure, suffix: str, format: Format, box: Bbox) -> bytes:
    """Return the content of a file that shows a part of the plane."""
    page, file = format.size.page, BytesIO()
    figure.savefig(
        file,
        format=suffix[1:],
        dpi=format.size.dots * (page[0] / (72 * box.width) if page else 1),
        bbox_inches=box,
        facecolor="white",
        metadata=METADATA[suffix],
    )
    if suffix != ".svg":
        return file.getvalue()
    return described(file.getvalue().decode(), format).encode("utf-8", "replace")


def described(svg: str, format: Format) -> str:
    """Return an SVG with title and description, and the size of its page."""
    said = {"title": format.title or format.caption, "desc": format.description}
    told = "".join(f"<{name}>{escape(text_width.visible(text))}</{name}>\n" for name, text in said.items() if text)
    if format.size.page:
        width, height = format.size.page
        svg = re.sub(
            r'(<svg[^>]*?) width="[^"]*" height="[^"]*"', rf'\1 width="{width}pt" height="{height}pt"', svg, count=1
        )
    start, opening, rest = svg.partition("<svg ")
    tag, end, content = rest.partition(">")
    role = "" if "role=" in tag else 'role="img" '
    return f"{start}{opening}{role}{tag}{end}\n{told}{content.lstrip()}" if told else svg
