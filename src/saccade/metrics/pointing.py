"""Pointing game: whether attention falls on the part of an image that a word describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from saccade.errors import DataError, NumericsError, ShapeError

__all__ = ["Box", "PointingScore", "mass_inside", "pointing_accuracy", "pointing_score", "pointing_statistics"]

Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom edge as fractions of the image, from its upper left corner: (0, 0, 1, 1) is all of it."""

ROUNDING = 1e-6
"""How far an edge may lie outside of the image, to allow for rounding of divided pixels."""


@dataclass(frozen=True)
class PointingScore:
    """Agreement of attention with gold boxes over all words that have one; fractions from 0 to 1.

    accuracy: share of peaks inside the box. mass: attention inside the box. chance_accuracy and chance_mass: the same
    of uniform attention. best_accuracy: share of words whose box holds the center of a cell; other boxes cannot be hit,
    so boxes that are small for the grid bring it below 1.
    """

    accuracy: float
    mass: float
    chance_accuracy: float
    chance_mass: float
    best_accuracy: float
    words: int
    examples: int


def pointing_score(attentions: Sequence[ArrayLike], boxes: Sequence[Sequence[Box | None]]) -> PointingScore:
    """Score attention against gold boxes; see `pointing_statistics` for what is counted."""
    sums = pointing_statistics(attentions, boxes).sum(0)
    words = int(sums[0])
    if not words:
        raise DataError(f"the words of {len(boxes)} examples have 0 gold boxes. Pass some to compare with.")
    _, hits, mass, centres, area, reachable = (sums / words).tolist()
    return PointingScore(hits, mass, centres, area, reachable, words, len(boxes))


def pointing_statistics(attentions: Sequence[ArrayLike], boxes: Sequence[Sequence[Box | None]]) -> Floats:
    """Return the statistics of each example, (N, 6): sums over its words with a box. Words with box None are left out.

    attentions: one (T, rows, columns) for each example, a grid for each of its T words; row 0 is the top of the image.
    boxes: T boxes or None for each example.

        words      1
        hit        whether the peak lies in the box; of several equal peaks the share that does
        mass       Σ weight · share of the cell that the box covers, divided by Σ weight
        by chance  the share of all cells whose center lies in the box: the hits of uniform attention
        area       of the box: the mass of uniform attention
        reachable  whether any center lies in the box

    The peak is the center of the heaviest cell; edges belong to the box. Smooth (bilinear) upsampling to the size of
    the image would have its peak there too, so it is not done. A word whose weights are all zero has no hit and no
    mass.
    Paper: the pointing game of Zhang et al. 2016, arXiv:1608.00507, with boxes and no margin around them.
    """
    if len(attentions) != len(boxes):
        raise DataError(
            f"there are {len(attentions)} attentions for the boxes of {len(boxes)} examples. Pass one each."
        )
    if not boxes:
        raise DataError("there are 0 examples with boxes. Pass at least one.")
    rows = np.zeros((len(boxes), 6))
    for example, (attention, gold) in enumerate(zip(attentions, boxes, strict=True)):
        grids = _grids(example, attention, len(gold))
        for word, box in enumerate(gold):
            if box is not None:
                rows[example] += _word(grids[word], _inside_image(example, word, box))
    return rows


def pointing_accuracy(sums: Floats) -> float:
    """Compute the share of peaks inside their boxes from summed statistics (6,); 0 if no word has a box."""
    return float(sums[1] / sums[0]) if sums[0] else 0.0


def mass_inside(sums: Floats) -> float:
    """Compute the mean share of attention inside the boxes from summed statistics (6,); 0 if no word has a box."""
    return float(sums[2] / sums[0]) if sums[0] else 0.0


def _word(grid: Floats, box: Box) -> Floats:
    left, top, right, bottom = box
    rows, columns = grid.shape
    covered = np.outer(_covered(rows, top, bottom), _covered(columns, left, right))
    centred = np.outer(_centred(rows, top, bottom), _centred(columns, left, right))
    total, heaviest = grid.sum(), grid.max()
    hit = mass = 0.0
    if total > 0:
        hit = float(centred[grid == heaviest].mean())
        mass = float((grid / total * covered).sum())
    return np.array([1.0, hit, mass, centred.mean(), (right - left) * (bottom - top), float(centred.any())])


def _covered(cells: int, start: float, end: float) -> Floats:
    """Return the share of each of the equal parts of [0, 1] that lies between start and end."""
    edges = np.arange(cells + 1) / cells
    return np.asarray(np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], start), 0, None) * cells)


def _centred(cells: int, start: float, end: float) -> Floats:
    """Return 1 for each of the equal parts of [0, 1] whose middle lies between start and end, else 0."""
    middles = (np.arange(cells) + 0.5) / cells
    return np.asarray((middles >= start) & (middles <= end), dtype=np.float64)


def _grids(example: int, attention: ArrayLike, words: int) -> Floats:
    try:
        grids = np.asarray(attention, dtype=np.float64)
    except ValueError:
        raise ShapeError(
            f"example {example}: the grids of attention differ in size. Pass (T, rows, columns)."
        ) from None
    if not words and not grids.size:
        return grids
    if grids.ndim != 3 or 0 in grids.shape[1:]:
        raise ShapeError(
            f"example {example}: the attention is {grids.shape}, but must be (T, rows, columns), a grid for each word."
        )
    if len(grids) != words:
        raise DataError(
            f"example {example} has attention for {len(grids)} words and {words} boxes. Give every word a box or None, "
            "and leave out the attention of the end mark."
        )
    if not np.isfinite(grids).all() or (grids < 0).any():
        raise NumericsError(f"example {example}: the attention has weights that are NaN, infinite or below zero.")
    return grids


def _inside_image(example: int, word: int, box: Box) -> Box:
    left, top, right, bottom = (float(edge) for edge in box)
    within = all(-ROUNDING <= edge <= 1 + ROUNDING for edge in (left, top, right, bottom))
    if not (within and left < right and top < bottom):
        raise DataError(
            f"example {example}, word {word}: the box {tuple(box)} must be (left, top, right, bottom) as fractions of "
            "the image, left < right and top < bottom. Divide pixels by its width and height."
        )
    return max(left, 0.0), max(top, 0.0), min(right, 1.0), min(bottom, 1.0)
