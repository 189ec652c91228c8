"""Golden tests of all figures: the drawing calls of each, compared with the files in drawings/.

A fake page records the drawing calls instead of matplotlib, and gives all letters the same width. So the files do not
depend on fonts or on matplotlib. After an intended change, run python tests/unit/look/test_drawings.py
"""

import re
import sys
from collections.abc import Callable
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from saccade.look import (
    SIZES,
    Curve,
    Heads,
    Map,
    Overlay,
    Picture,
    curves,
    draw_arcs,
    draw_heads,
    draw_overlay,
    draw_overlay_heads,
    draw_reading,
    figure,
    heads,
    overlay,
    passage,
    reading,
    ribbons,
    save,
    save_arcs,
    save_heads,
    save_overlay,
    save_passage,
    save_reading,
    save_ribbons,
    text_width,
)
from saccade.look import arcs as arcs_module
from saccade.look.design import TEXT
from saccade.look.heatmap import heatmap
from saccade.look.output import Format
from saccade.look.overlay import save_overlay_heads
from saccade.look.overlay_svg import OverlayDrawing
from saccade.look.svg import Drawing

EXPECTED = Path(__file__).parent / "drawings"
SHOWN = 24
"""For more cells than these, only some are recorded."""


class WrittenPage:
    """A sheet that records each drawing call as a line."""

    def __init__(self, boxes: bool = False, format: Format | None = None) -> None:
        self.boxes = boxes
        self.format = format or Format()
        self.size = self.format.size
        self.lines_drawn: list[str] = []

    def say(self, *parts: object) -> None:
        told = (f"{part:.3f}".rstrip("0").rstrip(".") if isinstance(part, float) else str(part) for part in parts)
        self.lines_drawn.append(" ".join(told))

    def label(self, word, longest=32):
        return text_width.clip(text_width.visible(word), longest)

    def width(self, label, size):
        return 0.5 * size * len(label)

    def text(self, x, y, label, size, *, colour=TEXT, side="left", turn=0, bold=False, counts=True):
        self.say("text", repr(label), *map(float, (x, y, size)), colour, side, float(turn), bold, counts)

    def box(self, box, *, fill=None, edge=None, line=1, corner=0, counts=True):
        self.say("box", *map(float, box), fill, edge, float(line), float(corner), counts)

    def cells(self, boxes, colours, *, grid=None, line=0):
        self.say("cells", len(boxes), grid, float(line))
        chosen = range(len(boxes)) if len(boxes) <= SHOWN else (0, 1, len(boxes) // 2, len(boxes) - 1)
        for number in chosen:
            self.say(" ", *map(float, boxes[number]), colours[number])

    def image(self, pixels, box):
        self.say("image", pixels.shape, *map(float, box))

    def curves(self, ends, colours, widths, *, dashes="-", bend="level"):
        self.say("curves", len(ends), dashes, bend)
        for end, (colour, opacity), width in zip(ends, colours, widths, strict=True):
            self.say(" ", *map(float, end), colour, float(opacity), float(width))


class WrittenAxes:
    """Axes that record the calls they get."""

    def __init__(self, page: WrittenPage, name: str = "axes") -> None:
        self._page, self._name, self._ends = page, name, (0.0, 1.0)

    def __getattr__(self, name: str):
        if name == "spines":
            return self

        def asked(*given, **options):
            told = [f"{key}={_short(value)}" for key, value in sorted(options.items())]
            self._page.say(f"{self._name}.{name}", *map(_short, given), *told)
            if name == "set_ylim":
                self._ends = given

        return asked

    def __getitem__(self, names):
        return WrittenAxes(self._page, f"spines{names}")

    def get_ylim(self):
        return self._ends

    def get_xaxis_transform(self):
        return "x in data, y in shares"

    def get_yaxis_transform(self):
        return "x in shares, y in data"


def _short(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_short, value))}]"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


def rounded(weights):
    """Round, so that ties are ties with every version of numpy."""
    return np.round(weights, 9)


def some_map(read: int, written: int, *, gold=(), words_read=None, words_written=None) -> Map:
    """Words of growing length, with weights around the diagonal."""
    source = words_read or [*("abcdefghij"[: 1 + n % 10] for n in range(read - 1)), "<eos>"]
    target = words_written or [*("klmnopqrst"[: 1 + n % 10] for n in range(written - 1)), "<eos>"]
    near = np.exp(-np.abs(np.arange(len(source)) - np.arange(len(target))[:, None]).astype(float))
    return Map(source, target, rounded(near / near.sum(1, keepdims=True)), gold=gold)


def own_words(count: int, *, ahead: bool, rows: int | None = None, letters: str = "abcdefghij") -> Map:
    """Self-attention over a text; `rows` keeps only that many last words as rows."""
    text = [letters[: 1 + n % 10] for n in range(count)]
    near = np.exp(-np.abs(np.arange(count) - np.arange(count)[:, None]) / 2.0)
    weights = near if ahead else np.tril(near)
    weights /= weights.sum(1, keepdims=True)
    return Map(text, text[-(rows or count) :], rounded(weights[-(rows or count) :]))


def some_picture(high: int = 40, wide: int = 60) -> Picture:
    return Picture(np.full((high, wide, 3), 90, np.uint8), 2, 3, boxes=(None, (0.1, 0.2, 0.5, 0.6)))


def looked() -> Map:
    return some_map(0, 0, words_read=list("012345"), words_written=["a", "very-long-word-indeed", "c", "<eos>"])


def many_looks() -> Map:
    return some_map(0, 0, words_read=list("012345"), words_written=[f"w{n}" for n in range(8)])


SMALL = some_map(3, 4, gold=[(0, 0), (1, 2)])
SITES = [Heads("first site", (SMALL, SMALL)), Heads("second site", (SMALL, SMALL))]
PAPER, SLIDE = (Format(size=SIZES[name]) for name in ("paper", "slide"))
FIGURES = {
    "matrix": lambda path: save(SMALL, path),
    "matrix, folded": lambda path: save(some_map(85, 42, gold=[(84, 41)]), path),
    "matrix, on paper": lambda path: save(some_map(20, 18), path, format=PAPER),
    "ribbons": lambda path: save_ribbons(SMALL, path),
    "ribbons, on a slide": lambda path: save_ribbons(SMALL, path, format=SLIDE),
    "ribbons, long": lambda path: save_ribbons(some_map(40, 30), path, format=PAPER),
    "ribbons, to the left": lambda path: save_ribbons(own_words(4, ahead=True, letters="אבגדהוזחטי"), path),
    "arcs": lambda path: save_arcs([SMALL, SMALL], path),
    "arcs, many": lambda path: save_arcs([some_map(12, 3)] * 10, path, names=[f"name {n}" for n in range(10)]),
    "arcs, three rounds of colors": lambda path: save_arcs([some_map(2, 1)] * 17, path),
    "heads": lambda path: save_heads(SITES, path),
    "heads, on paper": lambda path: save_heads([Heads("site", (SMALL,) * 9)], path, format=PAPER),
    "arcs, on paper": lambda path: save_arcs([SMALL], path, format=PAPER),
    "heads, of one site": lambda path: save_heads([Heads("site", (SMALL,) * 9)], path),
    "heads, too many words": lambda path: save_heads([Heads("site", (some_map(60, 50),))], path),
    "reading": lambda path: save_reading(own_words(5, ahead=False), path),
    "reading, long and ahead": lambda path: save_reading(own_words(30, ahead=True, rows=3), path),
    "reading, to the left": lambda path: save_reading(own_words(4, ahead=False, letters="אבגדהוזחטי"), path),
    "passage": lambda path: save_passage(some_map(60, 4), path),
    "passage, to the left": lambda path: save_passage(own_words(40, ahead=True, rows=3, letters="אבגדהוזחטי"), path),
    "overlay": lambda path: save_overlay(Overlay.of(some_picture(), looked()), path),
    "overlay, on paper": lambda path: save_overlay(Overlay.of(some_picture(), many_looks()), path, format=PAPER),
    "overlay, many words": lambda path: save_overlay(Overlay.of(Picture(*_plain()), many_looks()), path),
    "overlay, heads": lambda path: save_overlay_heads(some_picture(), Heads("site", (looked(), looked())), path),
}


def _plain() -> tuple[np.ndarray, int, int]:
    return np.zeros((8, 8, 3), np.uint8), 2, 3


def drawn(draw: Callable[[Path], None], *, boxes: bool = False) -> str:
    """The recorded drawing calls of a figure, one per line."""
    pages = []

    @contextmanager
    def written(path, format=None):
        pages.append(WrittenPage(boxes, format))
        yield pages[-1]

    modules = (figure, arcs_module, heads, passage, reading, overlay, ribbons)
    patches = [patch.object(module, "sheet", written) for module in modules]
    for each in patches:
        each.start()
    try:
        draw(Path("unused.png"))
    finally:
        for each in patches:
            each.stop()
    return "\n".join(pages[0].lines_drawn)


def drawn_curves() -> str:
    """The recorded matplotlib calls of the figure of score against length."""
    page = WrittenPage()
    axes = WrittenAxes(page)
    found = [
        Curve("first", [(1, 10, 30, 29, 31), (11, 20, 29, 27, 30.5)]),
        Curve("second", [(1, 10, 28.5, 27, 29), (11, 20, 28.9, 10, 29)]),
    ]
    for trained_to in (None, 5, 15):
        for number, curve in enumerate(found):
            curves._curve(axes, curve, number)
        curves._frame(axes, found, trained_to, "BLEU")
        curves.name_ends(axes, [(curve.name, curve.points[-1].score) for curve in found])
    return "\n".join(page.lines_drawn)


def drawn_svg(made: object) -> str:
    """An SVG element, one tag per line, without the bytes of its images."""
    without_bytes = re.sub(r"base64,[^\"']+", "base64,…", str(made))
    return re.sub(r"saccade-picture-\w+", "saccade-picture-…", without_bytes).replace("><", ">\n<")


def drawn_heatmap() -> str:
    """Every pixel of small heatmaps, red, green, blue and opacity."""
    weights = np.zeros((3, 4))
    weights[1, 1], weights[2, 3] = 0.9, 0.1
    made = [heatmap(weights, 12, 16), heatmap(weights[1:2], 1, 12, edge=3.0)]
    return "\n".join(
        " ".join("".join(f"{part:02x}" for part in pixel) for pixel in row) for each in made for row in each
    )


ALL = {
    "heatmap": drawn_heatmap,
    "terminal, heads": lambda: draw_heads(SITES, width=60),
    "terminal, arcs": lambda: draw_arcs([SMALL, SMALL], width=60),
    "terminal, reading": lambda: draw_reading(own_words(8, ahead=True), width=40),
    "terminal, overlay": lambda: draw_overlay(Overlay.of(some_picture(), looked()), width=60),
    "terminal, overlay in color": lambda: draw_overlay(
        Overlay.of(some_picture(), looked()), width=14, colour=True
    ).replace("\x1b", "ESC"),
    "terminal, overlay of heads": lambda: draw_overlay_heads(
        some_picture(), Heads("site", (looked(), looked())), width=60
    ),
    **{name: lambda draw=draw: drawn(draw) for name, draw in FIGURES.items()},
    "matrix, unknown letters": lambda: drawn(FIGURES["matrix"], boxes=True),
    "arcs, unknown letters": lambda: drawn(FIGURES["arcs"], boxes=True),
    "curves": drawn_curves,
    "svg": lambda: drawn_svg(Drawing(SMALL, "a label")),
    "svg, alone": lambda: drawn_svg(Drawing(SMALL, "a label", alone=True)),
    "svg, overlay on paper": lambda: drawn_svg(OverlayDrawing(Overlay.of(some_picture(), looked()), paper=True)),
    "svg, overlay": lambda: drawn_svg(OverlayDrawing(Overlay.of(some_picture(), looked()))),
}


def file_of(name: str) -> Path:
    return EXPECTED / f"{name.replace(', ', '_').replace(' ', '_')}.txt"


@pytest.mark.parametrize("name", ALL)
def test_everything_is_drawn_where_it_was(name):
    assert ALL[name]().splitlines() == file_of(name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", [name for name in FIGURES if name.startswith(("reading", "passage"))])
def test_words_of_a_line_neither_touch_nor_leave_the_page(name):
    places = re.findall(r"^text '(\w+)' (\S+) (\S+) .* center 0 False False$", drawn(FIGURES[name]), re.MULTILINE)
    spans: dict[str, list[tuple[float, float]]] = {}
    for label, x, y in places:
        half = 0.5 * SIZES["screen"].letters * len(label) / 2
        spans.setdefault(y, []).append((float(x) - half, float(x) + half))
    assert sum(len(line) for line in spans.values()) >= 10
    for line in spans.values():
        line.sort()
        assert all(end < start for (_, end), (start, _) in pairwise(line))
        assert line[0][0] >= 0
        assert line[-1][1] <= SIZES["screen"].widths[-1]


@pytest.mark.parametrize(("sites", "across", "columns"), [(1, 5, 5), (2, 9, 10), (3, 9, 10)])
def test_heads_of_several_sites_stand_in_longer_rows(sites, across, columns):
    """Ten heads and their mean; those of one site are drawn in rows of five."""
    shown = [Heads(f"site {number}", (SMALL,) * 10) for number in range(sites)]
    places = re.findall(r"^text '(?:head \d+|mean)' (\S+) (\S+) ", drawn(lambda path: save_heads(shown, path)), re.M)
    assert len(places) == 11 * sites
    assert len({x for x, _ in places}) == columns, "the mean is set apart, unless it begins a row"
    assert len({y for _, y in places}) == sites * -(-11 // across)


def test_the_faintest_lines_and_cells_are_left_out():
    """Curves are drawn from weight 0.04 on, cells of heads from 0.005 on."""
    faint = Map(["a", "b", "c"], ["x", "y"], [[0.9, 0.04, 0.0399], [0.005, 0.00499, 0.9]])
    for save_links in (lambda path: save_arcs([faint], path), lambda path: save_ribbons(faint, path)):
        assert drawn(save_links).count("curves 3 -") == 1
    assert drawn(lambda path: save_heads([Heads("site", [faint])], path)).count("cells 5 ") == 1


def test_scores_below_zero_have_room_too():
    """From -2 to 8 is a range of 10, and 8 % more is left above: 1.08 · 10 - 2."""
    axes = WrittenAxes(WrittenPage())
    curves._frame(axes, [Curve("a", [(1, 2, 3, -2, 8)])], None, "score")
    assert axes.get_ylim() == pytest.approx((-2, 8.8))


if __name__ == "__main__":
    EXPECTED.mkdir(exist_ok=True)
    for title in ALL:
        file_of(title).write_text(ALL[title]() + "\n", encoding="utf-8")
        print(file_of(title).name, file=sys.stderr)
