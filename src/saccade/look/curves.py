"""Score against sentence length, with a confidence interval at each point."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from saccade.errors import NumericsError, ShapeError
from saccade.look import text_width
from saccade.look.canvas import drawing
from saccade.look.design import FAINT, MUTED
from saccade.look.output import Format, check_suffix, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Curve", "Point", "clear", "draw_line", "name_ends", "save_lengths"]

# the first eight after Okabe and Ito, for color-blind readers; markers and dashes differ as well
LOOKS = (
    ("#0072b2", "o", "-"),
    ("#d55e00", "s", "--"),
    ("#009e73", "^", "-."),
    ("#b0528a", "D", ":"),
    ("#56b4e9", "v", "-"),
    ("#8a6d00", "P", "--"),
    ("#4d4d4d", "X", "-."),
    ("#e69f00", "h", ":"),
    ("#8c2d04", ">", "-"),
    ("#6a51a3", "p", "--"),
)
"""Color, marker and dashes of each curve."""


class Point(NamedTuple):
    """The score of sentences of `low` to `high` words, with its confidence interval from `lower` to `upper`."""

    low: float
    high: float
    score: float
    lower: float
    upper: float

    @property
    def middle(self) -> float:
        """The point's position on the length axis."""
        return (self.low + self.high) / 2


@dataclass(frozen=True, init=False)
class Curve:
    """A system's name and its points, which may be plain tuples (low, high, score, lower, upper)."""

    name: str
    points: tuple[Point, ...]

    def __init__(self, name: str, points: Iterable[Sequence[float]]) -> None:
        object.__setattr__(self, "name", name)  # the dataclass is frozen
        object.__setattr__(self, "points", tuple(sorted(_point(name, numbers) for numbers in points)))
        if not self.points:
            raise ShapeError(f"the curve {name!r} has no points. Leave it out, or score some sentences.")


def _point(name: str, numbers: Sequence[float]) -> Point:
    if len(numbers) != 5:
        raise ShapeError(
            f"a point of {name!r} has {len(numbers)} numbers, but needs 5: low, high, score, lower, upper."
        )
    point = Point(*(float(number) for number in numbers))
    if not all(map(math.isfinite, point)):
        raise NumericsError(
            f"a point of {name!r} is {tuple(point)}. Only finite numbers can be drawn: leave out lengths without "
            "sentences, and end the last range at its longest sentence."
        )
    return point


def save_lengths(
    curves: Iterable[Curve],
    path: Path | str,
    trained_to: float | None = None,
    *,
    score: str = "BLEU",
    title: str | None = None,
) -> None:
    """Write the curves with their confidence intervals, and shade the lengths above `trained_to` words.

    `trained_to` is the maximum length in training. Equal curves give equal bytes on one machine.
    """
    path, curves = Path(path), list(curves)
    check_suffix(path)
    if not curves:
        raise ShapeError("there are 0 curves to draw. Pass one for each system.")
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 4))
        axes = figure.add_axes((0, 0, 1, 1))
        for number, curve in enumerate(curves):
            _curve(axes, curve, number)
        _frame(axes, curves, trained_to, score)
        name_ends(axes, [(curve.name, curve.points[-1].score) for curve in curves])
        if title:
            axes.set_title(text_width.visible(title), loc="left", fontsize=12, fontweight="bold", pad=14)
        write(figure, path, Format(title, f"{score} by the length of the input", _told(curves)))


def _told(curves: list[Curve]) -> str:
    """Return the points in words."""
    told = (
        f"{curve.name}: " + ", ".join(f"{point.score:.1f} ({point.low:g} to {point.high:g})" for point in curve.points)
        for curve in curves
    )
    return text_width.visible("; ".join(told)) + "."


def _curve(axes: Axes, curve: Curve, number: int) -> None:
    lengths = [point.middle for point in curve.points]
    lower, upper = [point.lower for point in curve.points], [point.upper for point in curve.points]
    axes.fill_between(lengths, lower, upper, color=LOOKS[number % len(LOOKS)][0], alpha=0.15, linewidth=0)
    draw_line(axes, lengths, [point.score for point in curve.points], number)


def draw_line(axes: Axes, along: Sequence[float], heights: Sequence[float], number: int) -> None:
    """Draw curve `number` in its own color, marker and dashes."""
    colour, marker, dashes = LOOKS[number % len(LOOKS)]
    axes.plot(
        along,
        heights,
        color=colour,
        marker=marker,
        linestyle=dashes,
        linewidth=1.8,
        markersize=5.5,
        markeredgecolor="white",
        markeredgewidth=0.8,
    )


def _frame(axes: Axes, curves: list[Curve], trained_to: float | None, score: str) -> None:
    points = [point for curve in curves for point in curve.points]
    longest = max(*(point.high for point in points), trained_to or 0)
    bottom, top = min(0.0, *(point.lower for point in points)), max(point.upper for point in points)
    axes.set_xlim(0, longest)
    axes.set_ylim(bottom, (top - bottom or 1) * 1.08 + bottom)
    axes.set_xlabel("words in the input", labelpad=8)
    axes.set_ylabel(text_width.visible(score), labelpad=8)
    clear(axes)
    if trained_to is not None:
        _border(axes, trained_to, longest)


def clear(axes: Axes) -> None:
    """Remove frame and ticks, and draw faint horizontal grid lines."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set(edgecolor=FAINT)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, pad=6)


def _border(axes: Axes, trained_to: float, longest: float) -> None:
    """Mark where the lengths seen in training end."""
    axes.axvspan(trained_to, longest, color="#f3f4f7", zorder=0)
    axes.axvline(trained_to, color=MUTED, linewidth=1, zorder=1)
    left = trained_to > longest / 2  # put the label where there is more room
    axes.annotate(
        "trained up to here" if left else "longer than in training",
        (trained_to, 1),
        xycoords=axes.get_xaxis_transform(),
        xytext=(-6 if left else 6, 6),
        textcoords="offset points",
        horizontalalignment="right" if left else "left",
        fontsize=8.5,
        color=MUTED,
    )


def name_ends(axes: Axes, ends: Sequence[tuple[str, float]]) -> None:
    """Write each name at the end of its curve, moved apart where two would overlap; this replaces a legend."""
    bottom, top = axes.get_ylim()
    order = sorted(range(len(ends)), key=lambda number: ends[number][1])
    heights = _apart([ends[number][1] for number in order], (top - bottom) * 0.065, top)
    for number, height in zip(order, heights, strict=True):
        axes.annotate(
            text_width.clip(text_width.visible(ends[number][0]), 40),
            (1, height),
            xycoords=axes.get_yaxis_transform(),
            xytext=(8, 0),
            textcoords="offset points",
            verticalalignment="center",
            color=LOOKS[number % len(LOOKS)][0],
            fontweight="bold",
            fontsize=9.5,
        )


def _apart(heights: Sequence[float], gap: float, top: float) -> list[float]:
    """Move rising heights at least `gap` apart: push them up, then down again from `top` if they exceed it."""
    moved: list[float] = []
    for height in heights:
        moved.append(max(height, moved[-1] + gap) if moved else height)
    for place, height in reversed(list(enumerate(moved))):
        moved[place] = min(height, top if place == len(moved) - 1 else moved[place + 1] - gap)
    return moved
