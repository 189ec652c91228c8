"""What figures and the explorer page share: colors, names, thresholds, and the sizes of figures.

The page has its own copy in style/base.css and in its modules, because it loads nothing; a test compares both.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "FAINT",
    "FAINTEST",
    "FAINTEST_LINK",
    "GOLD",
    "INK",
    "MUTED",
    "POINT",
    "SIZES",
    "TEXT",
    "YOURS",
    "Size",
    "lane_names",
    "lit",
    "mixed",
    "resting",
    "thickness",
    "way_of",
]

TEXT, MUTED, FAINT = "#1b2029", "#566070", "#d9dee7"
INK = "#12407c"
"""The one color of attention: darker for higher weights, so that it needs no hue to be read."""
POINT, YOURS, GOLD = "#ffc861", "#b3401a", "#c76a00"
"""Colors of the word under the pointer, of changed words and the word being read, and of gold links."""

FAINTEST = 0.005
"""Cells of lower weights, which round to 0 %, are not drawn."""
FAINTEST_LINK = 0.04
"""Ribbons and arcs of lower weights are not drawn."""

LANES = {"source": "Read", "target": "Wrote", "written": "Wrote before"}
OWN = ("is attended to", "attends")
"""Names of the lanes of a text that attends to itself."""
WAYS = {
    ("target", "source"): "Cross-attention",
    ("source", "source"): "Encoder self-attention",
    ("target", "written"): "Decoder self-attention",
    ("target", "target"): "Decoder self-attention",
    ("question", "source"): "Question to passage",
    ("source", "question"): "Passage to question",
    ("summary", "source"): "Whole question to passage",
    ("summary", "question"): "Weights of the question's words",
    ("question", "question"): "Question self-attention",
}


def lane_names(rows: str, columns: str) -> tuple[str, str]:
    """Return the names of the attended and the attending lane, from the sides of a site."""
    return OWN if rows == columns else (LANES.get(columns, columns), LANES.get(rows, rows))


def way_of(rows: str, columns: str) -> str:
    """Return the textbook name of a site's kind of attention."""
    return WAYS.get((rows, columns), f"{rows} to {columns}")


def resting(weight: float) -> float:
    """Return the opacity of a ribbon."""
    return 0.14 + 0.6 * weight


def lit(weight: float) -> float:
    """Return the opacity of a ribbon of the word that is pointed at."""
    return 0.3 + 0.7 * weight


def thickness(weight: float, letters: float) -> float:
    """Return the width of a ribbon; on the page it is 1 to 11 pixels between words of 26."""
    return (1 + 10 * min(1.0, weight)) * letters / 26


def mixed(colour: str, share: float, onto: str = "#ffffff") -> str:
    """Return a color of which `share` lies over another one."""
    share = max(0.0, min(1.0, share))
    pairs = [(int(onto[at : at + 2], 16), int(colour[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(below + (above - below) * share):02x}" for below, above in pairs)


@dataclass(frozen=True)
class Size:
    """Type and page of a figure, in points."""

    letters: float
    notes: float
    heading: float
    widths: tuple[float, ...]
    """Widths to fill: the first one that has room."""
    exact: bool = False
    """Whether the file has one of `widths`, so that a document includes it without scaling its type."""
    page: tuple[float, float] | None = None
    """Width and height of the page, if it has a fixed shape."""
    margin: float = 10.8
    dots: int = 200
    """Dots per inch of a PNG."""


SIZES = {
    "screen": Size(11, 7.5, 12, (648,)),
    "paper": Size(8.5, 8, 9, (240, 504), exact=True, margin=1, dots=300),
    "slide": Size(20, 14, 26, (880,), page=(960, 540), margin=36, dots=144),
}
