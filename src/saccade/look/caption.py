"""Text of a figure: the caption below it, the description inside an SVG, the lines around a terminal drawing."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from saccade.look import terminal, text_width
from saccade.look.arcs import check_heads
from saccade.look.design import FAINTEST_LINK, SIZES, lane_names, way_of
from saccade.look.figure_spec import FigureSpec
from saccade.look.heads import mean
from saccade.look.map import Map
from saccade.look.output import Format
from saccade.look.overlay import Overlay

__all__ = ["Shown", "formatted", "headed", "layer_of"]

MOST = 200
"""Maximum words of a text, and maximum links, in a description."""
_NUMBER = re.compile(r"\d+")
_PARTS = {
    "matrix": "a cell is",
    "heads": "a cell is",
    "reading": "a shade is",
    "overlay": "brightness is",
    "ribbons": "a ribbon is",
    "steps": "a ribbon is",
    "arcs": "a curve is",
    "points": "a line is",
    "passage": "a shade is",
    "sound": "a shade is",
    "glimpses": "a box is",
}
_WHO = {
    ("target", "source"): ("written", "read"),
    ("target", "written"): ("next", "earlier"),
}


class Shown(NamedTuple):
    """What a figure shows: model, sides of rows and columns, site, similar sites, heads, image or not, label or not."""

    model: str
    sides: tuple[str, str]
    site: str
    like: Sequence[str]
    heads: int
    pictured: bool
    view: FigureSpec
    labeled: bool = False
    """Whether the rows are the label of a classifier, which is no written word."""
    drawn: bool = False
    """Whether a model drew the image, so that its regions attend to the words."""

    @property
    def of_regions(self) -> bool:
        """Whether regions of an image attend to regions."""
        return self.pictured and self.sides[0] == self.sides[1]

    @property
    def source(self) -> str:
        """Model, kind of attention, layer and heads: "bahdanau, cross-attention, layer 2 of 6, mean of 8 heads"."""
        way = "self-attention between regions" if self.of_regions else way_of(*self.sides).lower()
        parts = [self.model, way]
        every = self.view.style == "heads"
        if self.view.site or not every or self.pictured:
            parts.append(layer_of(self.site, self.like))
        if self.view.head is not None and self.heads > 1:
            parts.append(f"head {self.view.head + 1} of {self.heads}")
        elif self.heads > 1:
            parts.append(f"{self.heads} heads" if every or self.view.style == "arcs" else f"mean of {self.heads} heads")
        return ", ".join(part for part in parts if part)

    @property
    def lanes(self) -> tuple[str, str]:
        """The names of columns and rows."""
        return lane_names(*self.sides)

    def caption(self) -> str:
        """Return what was drawn, and what a cell is."""
        style = "overlay" if self.pictured else self.view.style or "matrix"
        word = "word" if self.view.words else "subword"
        who = _WHO.get(self.sides, ("attending", "attended"))
        writes, reads = (f"the {kind} {word}" for kind in who)
        writes = "the predicted label" if self.labeled else writes
        writes = "the region with a dot" if self.of_regions else writes
        reads = "a region" if self.pictured else "an interval of time" if style == "sound" else reads
        if style == "passage":
            every = f"{writes} pays to {reads}" if self.labeled else f"all {who[0]} {word}s together pay to {reads}"
            return f"{self.source}; a shade is the attention that {every}, up to 100 %"
        if self.view.style == "glimpses":
            return f"{self.source.split(',')[0]}; boxes: what each glimpse sees; bars: the belief after it"
        if style == "overlay" and self.drawn and not self.of_regions:
            return f"{self.source}; {_PARTS[style]} the share of a region's attention that the {word} gets"
        share = f"{_PARTS[style]} the share of attention that {writes} pays to {reads}"
        faint = f"; below {text_width.percent(FAINTEST_LINK)} none is drawn"
        return f"{self.source}; {share}{faint if style in ('ribbons', 'steps', 'arcs', 'points') else ''}"


def layer_of(site: str, like: Sequence[str]) -> str:
    """Return which of several sites this one is: "layer 2 of 6", or its name; nothing if it is alone."""
    if len(like) < 2:
        return ""
    if len({name.partition(".")[0] for name in like}) > 1:
        return site
    return f"layer {like.index(site) + 1} of {len(like)}" if all(map(_NUMBER.search, like)) else site


def formatted(
    shown: Shown, view: FigureSpec, title: str | None, *, maps: Sequence[Map] = (), overlay: Overlay | None = None
) -> Format:
    """Return the surroundings of a figure's file."""
    told = _strongest_regions(overlay) if overlay else _strongest_words(maps, shown.lanes)
    description = f"{shown.source[:1].upper()}{shown.source[1:]}. {told}"
    return Format(title, shown.caption(), description, shown.lanes, SIZES[view.size], view.outline)


def _strongest_words(maps: Sequence[Map], lanes: tuple[str, str]) -> str:
    check_heads(maps)
    map = mean(maps)
    texts = ((lanes[0], map.source), (lanes[1], map.target))
    said = [f"{name}: {_text(words)}." for name, words in texts]
    links = [
        f"{_word(map.target[t])} ← {_word(map.source[map.strongest(t)[0]])} "
        f"{text_width.percent(map.weights[t][map.strongest(t)[0]])}"
        for t in range(min(MOST, len(map.target)))
    ]
    return " ".join([*said, f"Strongest link of each word: {'; '.join(links)}."])


def _strongest_regions(overlay: Overlay) -> str:
    panels = overlay.panels[1 : MOST + 1]
    links = (f"{_word(panel.name)} ← {panel.strongest}" for panel in panels)
    if overlay.of_regions:
        return f"An image. Region of the strongest attention: {'; '.join(links)}."
    return f"Read: an image. Wrote: {_text([panel.name for panel in panels])}. Strongest region: {'; '.join(links)}."


def _text(words: Sequence[str]) -> str:
    shown = " ".join(map(_word, words[:MOST]))
    return f"{shown} …" if len(words) > MOST else shown


def _word(word: str) -> str:
    return text_width.visible(word)


def _wrapped(name: str, text: str, width: int | None) -> Iterator[tuple[str, str]]:
    """Yield the lines of a text, the first one with its name."""
    room = 10_000 if width is None else max(1, width - len(name) - 2)
    for number, line in enumerate(textwrap.wrap(text, room) or [text]):
        yield (" " * len(name) if number else name), line


def headed(drawing: str, shown: Shown, texts: Sequence[Sequence[str]], width: int | None, *, painted: bool) -> str:
    """Return a terminal drawing between what was read and written, and what was drawn with its scale."""
    names = [text_width.pad_left(name, max(map(len, shown.lanes))) for name in shown.lanes]
    said = [(name, " ".join(map(_word, words))) for name, words in zip(names, texts, strict=True) if words]
    above = [f"{name}  {line}" for name, text in said for name, line in _wrapped(name, text, width)]
    below = [shown.source]
    if shown.view.style in ("matrix", "ribbons", "steps", "heads", "passage"):
        below.append(terminal.scale(painted=painted))
    if width is not None:
        above, below = ([text_width.clip(line, width) for line in lines] for lines in (above, below))
    return "\n".join([*above, "", drawing, "", *below])
