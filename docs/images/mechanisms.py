"""Draw the figures of docs/explanation/how-attention-works.md.

    python docs/images/mechanisms.py [FOLDER]        default: docs/images/mechanisms

Symbols are those of the page's equations. Blue: what is attended to (encoder states, keys). Orange: what attends
(decoder states, queries). Gray: a weighted sum.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.patches import FancyArrowPatch, PathPatch
from matplotlib.path import Path as Outline
from numpy.typing import NDArray

from saccade.look.canvas import Sheet, drawing, shade
from saccade.look.design import FAINT, GOLD, MUTED, TEXT
from saccade.look.output import write

BLUE = shade(0.75)
KEY, QUERY, SUM, PLAIN = ("#dbe6f4", BLUE), ("#fdebd3", GOLD), ("#e7e9ee", MUTED), ("#ffffff", MUTED)
"""Fill and edge of boxes."""
HIDDEN = "#eceef2"
"""A key that a window or mask hides."""
Look = tuple[str, str]
Point = tuple[float, float]
Fills = Sequence[Sequence[str]]
FONTS: dict[Any, Any] = {"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "text.parse_math": True}


class Board(Sheet):
    """A page for diagrams: boxes, arrows, vectors and matrices, placed by their centers."""

    def __init__(self) -> None:
        super().__init__(".svg")

    def node(self, x: float, y: float, label: str, look: Look, width: float = 36, height: float = 24) -> None:
        self.box((x - width / 2, y - height / 2, width, height), fill=look[0], edge=look[1], corner=4)
        self.text(x, y, label, 11, side="center")

    def arrow(self, *points: Point, colour: str = MUTED, dashed: bool = False, line: float = 1.2) -> None:
        """Draw straight lines through the points, with a head at the last."""
        style = (0, (4, 2)) if dashed else "-"
        if len(points) > 2:
            self._add(PathPatch(Outline(points[:-1]), fill=False, edgecolor=colour, lw=line, ls=style), True)
        head = FancyArrowPatch(points[-2], points[-1], arrowstyle="-|>", mutation_scale=8, shrinkA=0, shrinkB=0)
        head.set(color=colour, linewidth=line, linestyle=style)
        self._add(head, True)

    def line(self, *points: Point, colour: str = MUTED, width: float = 1.2) -> None:
        self._add(PathPatch(Outline(points), fill=False, edgecolor=colour, lw=width, capstyle="round"), True)

    def shape(self, points: Sequence[Point], look: Look) -> None:
        self._add(PathPatch(Outline(points), facecolor=look[0], edgecolor=look[1], lw=1.2), True)

    def dot(self, x: float, y: float, colour: str = TEXT) -> None:
        turn = np.linspace(0, 2 * np.pi, 13)
        self.shape([(x + 2.2 * np.cos(a), y + 2.2 * np.sin(a)) for a in turn], (colour, "none"))

    def grid(
        self,
        x: float,
        y: float,
        rows: int,
        columns: int,
        cell: float,
        look: Look = ("none", MUTED),
        *,
        fills: Fills = (),
    ) -> None:
        """Draw a matrix around the center (x, y), with a color for each cell or one for all."""
        left, top = x - columns * cell / 2, y - rows * cell / 2
        places: dict[str, list[Point]] = {}
        for r, row in enumerate(fills):
            for c, fill in enumerate(row):
                places.setdefault(fill, []).append((left + c * cell, top + r * cell))
        for fill, corners in sorted(places.items()):
            squares = [
                Outline([(a, b), (a + cell, b), (a + cell, b + cell), (a, b + cell), (a, b)]) for a, b in corners
            ]
            self._add(PathPatch(Outline.make_compound_path(*squares), facecolor=fill, lw=0), True)
        right, bottom = left + columns * cell, top + rows * cell
        self.box((left, top, right - left, bottom - top), fill=look[0], edge=look[1], line=0.8)
        inner = [Outline([(left + c * cell, top), (left + c * cell, bottom)]) for c in range(1, columns)]
        inner += [Outline([(left, top + r * cell), (right, top + r * cell)]) for r in range(1, rows)]
        self._add(PathPatch(Outline.make_compound_path(*inner), fill=False, edgecolor=look[1], lw=0.8), True)

    def vector(self, x: float, y: float, numbers: Sequence[float], looks: Sequence[Look], width: float = 30) -> None:
        """Draw a row of cells with numbers, from the left edge x."""
        for place, (number, look) in enumerate(zip(numbers, looks, strict=True)):
            self.box((x + place * width, y - 10, width, 20), fill=look[0], edge=look[1])
            shown = f"{number:g}" if float(number).is_integer() else f"{number:.2f}"
            self.text(x + (place + 0.5) * width, y, shown.replace("-", "−"), 9, side="center")


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    weights: NDArray[np.float64] = powers / powers.sum(-1, keepdims=True)
    return weights


def shades(weights: NDArray[np.float64]) -> list[list[str]]:
    return [[shade(round(25 * float(weight)) / 25) for weight in row] for row in weights]  # few colors: a small file


def fixed(board: Board) -> None:
    """The encoder's last state is all that the decoder knows of the source."""
    word, state, rail, output = 152, 108, 68, 28
    for x, index in ((20, "1"), (72, "2"), (124, "3"), (200, "l_1")):
        board.text(x, word, f"$x_{{{index}}}$", 11, side="center")
        board.arrow((x, word - 11), (x, state + 12))
        board.node(x, state, f"$h_{{{index}}}$", KEY)
    board.arrow((38, state), (54, state))
    board.arrow((90, state), (106, state))
    board.text(162, state, "…", 12, side="center", colour=MUTED)
    board.arrow((218, state), (244, state))
    board.node(262, state, "$c$", SUM)
    board.text(262, state + 25, "$c = h_{l_1}$", 10, side="center")
    board.arrow((280, state), (304, state))
    board.node(322, state, "$s_0$", QUERY)
    board.line((262, state - 12), (262, rail), (516, rail), colour=TEXT, width=1.6)
    for x, index, before in ((382, "1", "0"), (442, "2", "1"), (526, "l_2", "l_2-1")):
        board.text(x, word, f"$y_{{{before}}}$", 11, side="center")
        board.arrow((x, word - 11), (x, state + 12))
        board.node(x, state, f"$s_{{{index}}}$", QUERY)
        board.node(x, output, f"$p(y_{{{index}}})$", PLAIN, 48)
        board.arrow((x - 10, rail), (x - 10, state - 12), colour=TEXT)
        board.arrow((x - 10, rail), (x - 10, output + 12), colour=TEXT)
        board.dot(x - 10, rail)
        board.arrow((x + 10, state - 12), (x + 10, output + 12))
    board.arrow((340, state), (364, state))
    board.arrow((400, state), (424, state))
    board.text(484, state, "…", 12, side="center", colour=MUTED)


def additive(board: Board) -> None:
    """The page's numbers, from [s ; h_j] to the context."""
    s, h = np.array([1.0, 0]), np.array([[0.0, 1], [1, 0], [1, -1]])
    w, v = np.array([[0.0, 1, 1, -1], [1, 0, 0, 1]]), np.array([2.0, 1])
    inner = np.concatenate([np.tile(s, (3, 1)), h], 1) @ w.T
    scores = np.tanh(inner) @ v
    weights = softmax(scores)
    for x, title in (
        (80, "$[s ; h_j]$"),
        (198, "$W\\,[s ; h_j]$"),
        (294, "tanh"),
        (376, "$e_j$"),
        (484, "$\\alpha_j$"),
    ):
        board.text(x, 8, title, 11, side="center")
    for j in range(3):
        y = 38 + j * 36
        board.text(2, y, f"$j={j + 1}$", 10, colour=MUTED, side="right")
        board.vector(20, y, [*s, *h[j]], [QUERY, QUERY, KEY, KEY])
        board.arrow((143, y), (165, y))
        board.vector(168, y, list(inner[j]), [PLAIN] * 2)
        board.arrow((231, y), (259, y))
        board.vector(262, y, list(np.tanh(inner[j])), [PLAIN] * 2, 32)
        board.arrow((329, y), (355, y))
        board.text(341, y - 9, "$v\\,\\cdot$", 10, side="center", colour=MUTED)
        board.vector(358, y, [scores[j]], [PLAIN], 36)
        board.arrow((397, y), (409, y))
        board.arrow((427, y), (443, y))
        board.box((446, y - 10, 60, 20), edge=FAINT)
        board.box((446, y - 10, 60 * weights[j], 20), fill=shade(0.62), counts=False)
        board.text(512, y, f"{weights[j]:.3f}", 9)
    board.box((411, 26, 16, 96), fill=PLAIN[0], edge=MUTED, corner=4)
    board.text(422.5, 74 + 21, "softmax", 9, turn=90)
    y = 164
    for x, name, rows in ((20, "$W=$", w), (210, "$v=$", v[None])):
        board.text(x, y, name, 11)
        for number, row in enumerate(rows):
            top = y + (number - (len(rows) - 1) / 2) * 20
            board.vector(x + 34, top, list(row), [PLAIN] * len(row), 26)
    board.text(424, y, "$c=\\sum_j\\alpha_j\\,h_j=$", 11, side="right")
    board.vector(430, y, list(weights @ h), [SUM] * 2, 38)


def luong(board: Board) -> None:
    """Above: the shapes of the three scores. Below: the order of a step."""
    cell, y, below = 11, 62, 98
    for x, title in ((60, "dot"), (221, "general"), (436, "concat")):
        board.text(x, 0, title, 11, side="center", bold=True)
    for x, matrix in ((36, 0), (158, 1)):
        board.grid(x, y, 1, 4, cell, QUERY)
        board.text(x, below, "$s_t$", 11, side="center")
        board.text(x + 31, y - 1, "·", 13, side="center")
        if matrix:
            board.grid(x + 64, y, 4, 4, cell, PLAIN)
            board.text(x + 64, below, "$W$", 11, side="center")
        end = x + 48 + 58 * matrix
        board.grid(end, y, 4, 1, cell, KEY)
        board.text(end, below, "$h_j$", 11, side="center")
    board.grid(336, y, 1, 4, cell, PLAIN)
    board.text(336, below, "$v$", 11, side="center")
    board.text(367, y - 1, "·", 13, side="center")
    board.text(388, y, "tanh (", 10, side="center")
    board.grid(454, y, 4, 8, cell, PLAIN)
    board.text(454, below, "$W$", 11, side="center")
    board.grid(512, y - 22, 4, 1, cell, QUERY)
    board.grid(512, y + 22, 4, 1, cell, KEY)
    board.text(526, y, ")", 10, side="center")
    board.text(524, y - 22, "$s_t$", 11)
    board.text(524, y + 22, "$h_j$", 11)
    orders = (
        ("Bahdanau", ["s_{t-1}", "\\alpha_t", "c_t", "s_t"]),
        ("Luong", ["s_{t-1}", "s_t", "\\alpha_t", "c_t", "\\tilde{s}_t"]),
    )
    for top, (name, steps) in zip((150, 190), orders, strict=True):
        board.text(14, top, name, 11, bold=True)
        for number, step in enumerate(steps):
            x = 140 + number * 92
            look = SUM if step.startswith("c") else PLAIN if step.startswith("\\a") else QUERY
            board.node(x, top, f"${step}$", look, 46)
            if number:
                board.arrow((x - 69, top), (x - 23, top))


def local(board: Board) -> None:
    """Weights of the same scores with three windows."""
    sources, targets, radius = 10, 7, 2
    j, t = np.arange(sources), np.arange(targets)[:, None]
    scores = 1.6 * np.cos(1.1 * (j - 1.4 * t)) - 0.12 * (j - 1.3 * t) ** 2 + 0.9 * np.sin(3.7 * j + 2.3 * t)
    centre = sources / (1 + np.exp(-(t - 3) / 1.5))  # p_t = l_1 σ(…)
    everywhere, inside_m, inside_p = abs(j - t) < np.inf, abs(j - t) <= radius, abs(j - centre) <= radius
    gain = np.exp(-((j - centre) ** 2) / (2 * (radius / 2) ** 2))
    panels = (
        ("global", everywhere, softmax(scores)),
        ("local-m, $D=2$", inside_m, softmax(np.where(inside_m, scores, -np.inf))),
        ("local-p, $D=2$", inside_p, softmax(np.where(inside_p, scores, -np.inf)) * gain),
    )
    cell = 15.0
    for number, (title, inside, weights) in enumerate(panels):
        x, y = 95 + number * 180, 78
        left, top = x - sources * cell / 2, y - targets * cell / 2
        board.text(x, 10, title, 11, side="center")
        fills = [
            [fill if seen else HIDDEN for fill, seen in zip(*row, strict=True)]
            for row in zip(shades(weights), inside, strict=True)
        ]
        board.grid(x, y, targets, sources, cell, ("none", FAINT), fills=fills)
        if number:
            middles = t[:, 0] if number == 1 else centre[:, 0]
            for line, middle in enumerate(middles):
                at, base = left + (middle + 0.5) * cell, top + line * cell
                board.line((at, base + 2), (at, base + cell - 2), colour=GOLD, width=2)
        board.text(x, top + targets * cell + 12, "source position $j$", 9, side="center", colour=MUTED)
        if number == 0:
            board.text(left - 10, y + 16, "step $t$", 9, turn=90, colour=MUTED)
    board.line((204, 165), (204, 175), colour=GOLD, width=2)
    board.text(210, 170, "center $p_t$", 9, colour=MUTED)
    board.grid(288, 170, 1, 1, 11, (HIDDEN, FAINT))
    board.text(298, 170, "outside of the window", 9, colour=MUTED)


def feeding(board: Board) -> None:
    """Two steps of Luong's decoder; the attentional vector of one is an input of the next."""
    for x, t, before in ((160, "t", "t-1"), (430, "t+1", "t")):
        board.text(x, 196, f"$y_{{{before}}}$", 11, side="center")
        board.arrow((x, 185), (x, 160))
        board.node(x, 148, f"$s_{{{t}}}$", QUERY, 44)
        board.arrow((x, 136), (x, 70))
        board.node(x, 58, f"$\\tilde{{s}}_{{{t}}}$", QUERY, 44)
        board.arrow((x, 46), (x, 26))
        board.text(x, 14, f"$p(y_{{{t}}})$", 11, side="center")
        board.node(x - 72, 98, f"$c_{{{t}}}$", SUM, 44)
        board.arrow((x - 12, 136), (x - 12, 126), (x - 72, 126), (x - 72, 110))
        board.arrow((x - 72, 86), (x - 72, 58), (x - 22, 58))
        board.grid(x - 140, 98, 4, 1, 11, KEY)
        board.text(x - 140, 130, "$h_1 … h_{l_1}$", 10, side="center")
        board.arrow((x - 132, 98), (x - 94, 98))
        board.text(x - 115, 88, f"$\\alpha_{{{t}}}$", 10, side="center")
    board.arrow((182, 148), (408, 148))
    board.arrow((182, 58), (244, 58), (244, 172), (418, 172), (418, 160), colour=GOLD, line=2)
    board.arrow((50, 172), (148, 172), (148, 160), colour=GOLD, line=2)
    board.text(44, 172, "$\\tilde{s}_{t-1}$", 11, side="right")
    board.text(188, 47, "input feeding", 9, colour=MUTED)
    board.line((452, 58), (486, 58), colour=GOLD, width=2)
    board.text(492, 57, "…", 12, colour=MUTED)
    board.arrow((452, 148), (486, 148))
    board.text(492, 147, "…", 12, colour=MUTED)


def self_attentive(board: Board) -> None:
    """Left: the context over all states so far replaces the last state. Right: the LSTMN reads two tapes."""
    board.text(98, 0, "RNN with self-attention, $t=4$", 11, side="center", bold=True)
    for i, weight in enumerate((0.12, 0.5, 0.08, 0.3), 1):
        x, left = 20 + (i - 1) * 52, i < 3
        board.node(x, 118, f"$h_{i}$", QUERY if i == 4 else KEY)
        board.arrow((x, 106), (98 + (i - 2.5) * 8, 56), colour=BLUE, line=0.8 + 5 * weight)
        board.text(x + (-4 if left else 4), 90, f"$\\alpha_{{4{i}}}$", 10, side="right" if left else "left")
    board.node(98, 44, "$c_4$", SUM)
    board.arrow((116, 44), (164, 44), dashed=True)
    board.node(182, 44, "$h_5$", QUERY)
    board.node(110, 172, "$c_3$", SUM)
    board.arrow((128, 172), (168, 172), (168, 130))
    board.text(186, 172, "$x_4$", 11, side="center")
    board.arrow((186, 161), (186, 130))
    board.text(400, 0, "LSTMN, $t=4$", 11, side="center", bold=True)
    for i, weight in enumerate((0.2, 0.65, 0.15), 1):
        x = 282 + (i - 1) * 44
        board.node(x, 64, f"$m_{i}$", KEY)
        board.node(x, 96, f"$h_{i}$", KEY)
        board.box((x - 18, 32, 36, 12), edge=FAINT)
        board.box((x - 18, 32, 36 * weight, 12), fill=shade(0.62), counts=False)
    board.text(258, 38, "$\\alpha_{4i}$", 10, side="right")
    for y, name in ((64, "m"), (96, "h")):
        board.arrow((388, y), (408, y))
        board.node(426, y, f"$\\tilde{{{name}}}_4$", SUM)
        board.arrow((444, y), (464, y))
        board.arrow((508, y), (526, y))
        board.node(544, y, f"${name}_4$", QUERY)
    board.node(486, 80, "LSTM", PLAIN, 44, 58)
    board.text(486, 172, "$x_4$", 11, side="center")
    board.arrow((486, 161), (486, 109))
    board.text(544, 122, "join the tapes", 9, side="center", colour=MUTED)
    board.node(326, 158, "$[x_4 ; \\tilde{h}_3]$", QUERY, 64)
    board.arrow((326, 146), (326, 108))
    board.text(334, 127, "score of each $h_i$", 9, colour=MUTED)


def heads(board: Board) -> None:
    """One head in full; the other heads are the same with matrices of their own."""
    values = np.random.RandomState(5)
    x, w = 0.7 * values.randn(4, 6), values.randn(3, 6, 3)
    q, k, _ = x @ w
    weights = softmax(q @ k.T / np.sqrt(3))
    cell, y = 10, 92
    board.grid(34, y, 4, 6, cell, PLAIN)
    board.text(34, y + 34, "$X$", 11, side="center")
    for top, name, look, label in (
        (30, "Q", QUERY, (88, 46)),
        (y, "K", KEY, (98, 80)),
        (154, "V", KEY, (88, 140)),
    ):
        board.arrow((68, y), (124, top))
        board.text(*label, f"$W^{name}_i$", 10, side="center")
        board.grid(144, top, 4, 3, cell, look)
        board.text(144, top + 32, f"${name}_i$", 11, side="center")
    board.arrow((164, 30), (212, 44))
    board.arrow((164, y), (212, 66))
    board.grid(240, 55, 4, 4, 13, ("none", FAINT), fills=shades(weights))
    board.text(240, 94, "$\\alpha_i$", 11, side="center")
    board.text(240, 12, "softmax($Q_i K_i^\\top /\\,$√$d_k$)", 10, side="center")
    board.arrow((270, 62), (316, 84))
    board.arrow((164, 154), (316, 100))
    for shift in (6, 0):
        board.grid(336 + shift, y - shift, 4, 3, cell, SUM)
    board.text(340, y + 34, "$\\mathrm{head}_i$", 11, side="center")
    board.text(345, y - 38, "$i = 1 … H$", 9, side="center", colour=MUTED)
    board.arrow((362, y), (392, y))
    board.grid(426, y, 4, 6, cell, SUM)
    board.text(426, y + 34, "$[\\mathrm{head}_1 ; … ; \\mathrm{head}_H]$", 10, side="center")
    board.arrow((460, y), (500, y))
    board.text(479, y - 10, "$W^O$", 10, side="center")
    board.grid(534, y, 4, 6, cell, PLAIN)
    board.text(534, y + 34, "output", 10, side="center")


def sites(board: Board) -> None:
    """The three attention sites, each with its mask."""
    source, target = 5, 4
    board.text(60, -20, "encoder layer", 11, side="center", bold=True)
    board.text(330, -20, "decoder layer", 11, side="center", bold=True)
    for x, y, name in (
        (60, 118, "self-attention"),
        (60, 46, "feed-forward"),
        (330, 190, "self-attention"),
        (330, 118, "cross-attention"),
        (330, 46, "feed-forward"),
    ):
        board.node(x, y, name, PLAIN if name.startswith("feed") else QUERY, 104, 26)
        board.arrow((x, y - 13), (x, y - 59 if y > 46 else 16))
    board.text(60, 6, "$h_1 … h_{l_1}$", 11, side="center")
    board.text(60, 238, "$x_1 … x_{l_1}$", 11, side="center")
    board.arrow((60, 227), (60, 131))
    board.text(330, 6, "$p(y_1) … p(y_{l_2})$", 11, side="center")
    board.text(330, 238, "$y_0 … y_{l_2-1}$", 11, side="center")
    board.arrow((330, 227), (330, 203))
    board.text(336, 154, "$Q$", 11)
    board.arrow((92, 6), (254, 6), (254, 118), (278, 118), colour=BLUE, line=2)
    board.text(250, 94, "$K, V$", 11, side="right")
    for x, y, rows, columns in ((162, 118, source, source), (440, 190, target, target), (446, 112, target, source)):
        seen = [[c <= r or columns == source for c in range(columns)] for r in range(rows)]
        fills = [[shade(0.5) if one else HIDDEN for one in row] for row in seen]
        board.grid(x, y, rows, columns, 12, ("none", "#ffffff"), fills=fills)
        names = {source: "source", target: "target"}
        board.text(x, y + rows * 6 + 9, names[columns], 9, side="center", colour=MUTED)
        board.text(x + columns * 6 + 6, y, names[rows], 9, colour=MUTED)


def soft_hard(board: Board) -> None:
    """A grid of regions, the soft weights, and one region drawn from them."""
    size, cell, y = 5, 22.0, 78
    i, j = np.mgrid[:size, :size]
    scores = 3.2 - 1.1 * ((i - 1.2) ** 2 + (j - 2.7) ** 2) + 0.3 * np.sin(5 * i + 3 * j)
    weights = softmax(scores.reshape(1, -1)).reshape(size, size)
    turn = np.linspace(0, 2 * np.pi, 61)
    disc = [(75.4 + 25.3 * np.cos(a), 60.4 + 25.3 * np.sin(a)) for a in turn]
    board.shape(disc, QUERY)
    board.box((11.6, 97.8, 28.6, 28.6), fill=KEY[0], edge=BLUE)
    for x, title, fills in (
        (60, "image", ()),
        (240, "soft", shades(weights / weights.max())),
        (420, "hard", shades(np.where(weights == weights.max(), 1.0, 0.0))),
    ):
        board.text(x, 6, title, 11, side="center", bold=True)
        board.grid(x, y, size, size, cell, ("none", FAINT), fills=fills)
    board.text(60, 152, "$a_1 … a_L$", 11, side="center")
    board.text(240, 152, "$z_t = \\beta_t\\,\\sum_i \\alpha_{ti}\\,a_i$", 11, side="center")
    board.text(420, 152, "$z_t = \\beta_t\\,a_i,\\quad i \\sim \\alpha_t$", 11, side="center")


FIGURES: dict[str, Callable[[Board], None]] = {
    "fixed": fixed,
    "additive": additive,
    "luong": luong,
    "local": local,
    "feeding": feeding,
    "self-attentive": self_attentive,
    "heads": heads,
    "sites": sites,
    "soft-hard": soft_hard,
}


def draw(folder: Path) -> None:
    """Write every figure to a folder; the same bytes each time."""
    folder.mkdir(parents=True, exist_ok=True)
    with drawing():
        matplotlib.rcParams.update(FONTS)
        for name, figure in FIGURES.items():
            board = Board()
            figure(board)
            path = folder / f"{name}.svg"
            write(board.figure, path)
            path.write_text(tidy(path.read_text()))


def tidy(svg: str) -> str:
    """Round coordinates, and name a fallback in formulas, whose only font a viewer may not have."""
    svg = re.sub(r"\d+\.\d{4,}", lambda number: f"{float(number[0]):.2f}", svg)
    return re.sub(r"(font-family: '[^',;]+');", r"\1, sans-serif;", svg)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "mechanisms")
