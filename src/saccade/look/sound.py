"""Sound: the spectrogram of what was heard, and below it, on the same time axis, where each written word attends.

The layout follows figure 2 of Chan et al. 2016, arXiv:1508.01211: time runs to the right, the written words down.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ConfigError
from saccade.look import text_width
from saccade.look.canvas import Sheet, shade, sheet
from saccade.look.design import FAINT, FAINTEST, MUTED, TEXT
from saccade.look.map import Map
from saccade.look.output import Format
from saccade.look.terminal import SHADES, label

__all__ = ["Spectrogram", "draw_sound", "gray", "save_sound"]

ABOVE, ROW, GAP = 6.0, 1.5, 0.5
"""In letters: the height of the spectrogram, of a row, and of the gap between them."""
STEPS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Seconds between two marks of the time axis."""
MARKS = 12
"""Maximum marks of the time axis."""
COLUMNS = 72
"""Columns of a terminal's map if its width is unknown."""


@dataclass(frozen=True, eq=False)
class Spectrogram:
    """Gray pixels (bands, frames, 3) of a spectrogram, the lowest band at the bottom, and its duration."""

    pixels: NDArray[np.uint8]
    seconds: float


def gray(frames: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Return pixels (bands, frames, 3) of a spectrogram (frames, bands): dark where it is loud."""
    low, high = np.quantile(frames, [0.02, 0.995])
    share = np.clip((frames - low) / max(float(high - low), 1e-6), 0, 1)
    dark = (255 * (1 - share)).round().astype(np.uint8).T[::-1]
    return np.ascontiguousarray(np.repeat(dark[..., None], 3, 2))


def save_sound(map: Map, sound: Spectrogram, path: Path | str, *, title: str | None = None,
               format: Format | None = None) -> None:  # fmt: skip
    """Write the spectrogram and the map below it, in the format of the suffix of `path`."""
    with sheet(path, format or Format(title)) as page:
        key, letters = _key(map), page.size.letters
        width = page.size.widths[-1]
        scale = width / max(sound.seconds, key * len(map.source))
        box = (0.0, 0.0, scale * sound.seconds, ABOVE * letters)
        page.image(sound.pixels, box)
        page.box(box, edge=FAINT, line=0.6)
        top = (ABOVE + GAP) * letters
        boxes, colours = [], []
        for t, row in enumerate(map.weights):
            quiet = t in map.marks.target
            place = top + t * ROW * letters
            middle = place + ROW * letters / 2
            page.text(-0.6 * letters, middle, page.label(map.target[t], 20), letters, colour=MUTED if quiet else TEXT,
                      side="right")  # fmt: skip
            for s, weight in enumerate(row):
                if weight >= FAINTEST:
                    boxes.append((scale * key * s, place, scale * key, 0.9 * ROW * letters))
                    colours.append(shade(weight))
        if boxes:
            page.cells(boxes, colours)
        below = top + len(map.target) * ROW * letters
        page.box((0, top, scale * sound.seconds, below - top), edge=FAINT, line=0.6)
        _axis(page, sound.seconds, scale, below)


def draw_sound(map: Map, *, width: int | None = None) -> str:
    """Return text for a terminal of `width` cells: a row of shades over time for each word, and a time axis."""
    key = _key(map)
    names = [text_width.kept_in_order(label(word)) for word in map.target]
    margin = max(text_width.width(name) for name in names) + 1
    room = COLUMNS if width is None else max(8, width - margin - 1)
    across = min(room, len(map.source))
    weights = np.array(map.weights)
    edges = np.linspace(0, len(map.source), across + 1).round().astype(int)
    merged = np.stack([weights[:, a:b].max(1) for a, b in pairwise(edges)], 1)
    most = max(float(merged.max(initial=0)), 1e-9)
    lines = []
    for name, row in zip(names, merged, strict=True):
        cells = "".join(SHADES[min(len(SHADES) - 1, int(len(SHADES) * weight / most))] for weight in row.tolist())
        lines.append(f"{text_width.pad_left(name, margin)} {cells}".rstrip())
    return "\n".join([*lines, " " * (margin + 1) + _ruler(key * len(map.source), across)])


def _ruler(seconds: float, across: int) -> str:
    """Return a line of `across` cells with the seconds at their places."""
    cells = [" "] * across
    step = next((step for step in STEPS if seconds / step * 5 <= across), STEPS[-1])
    for number in range(int(seconds / step) + 1):
        mark = f"{number * step:g}"
        place = round(number * step / seconds * across)
        if place + len(mark) <= across:
            cells[place : place + len(mark)] = mark
    return "".join(cells).rstrip() + " s"


def _axis(page: Sheet, seconds: float, scale: float, top: float) -> None:
    step = next((step for step in STEPS if seconds / step <= MARKS), STEPS[-1])
    notes = page.size.notes
    for number in range(int(seconds / step + 1e-6) + 1):
        x = scale * number * step
        page.box((x, top, 0.01, 0.35 * notes), edge=MUTED, line=0.5)
        page.text(x, top + 1.1 * notes, f"{number * step:g}", notes, colour=MUTED, side="center")
    page.text(scale * seconds, top + 2.4 * notes, "seconds", notes, colour=MUTED, side="right")


def _key(map: Map) -> float:
    """Return the seconds of a column; raise ConfigError if the columns are not times."""
    try:
        begins = [float(word) for word in map.source]
    except ValueError:
        begins = []
    if not begins:
        raise ConfigError("this figure shows attention over time, but the source has no times. Draw a matrix.")
    return (begins[-1] / (len(begins) - 1) if len(begins) > 1 else 0.0) or 0.01
