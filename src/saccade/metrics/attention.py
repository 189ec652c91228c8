"""Statistics of attention that need no gold alignment, and warnings about degenerate attention.

Meant for cross-attention, where each step may attend to the whole source. With a causal mask the greatest possible
entropy is smaller than log S, and early steps have few positions to choose from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from saccade.errors import DataError, NumericsError, ShapeError

__all__ = ["AttentionStatistics", "HeadStatistics", "attention_statistics", "complaints"]

COVERED = 0.5
"""Total weight from which a source word counts as covered: half of what it gets if each step picks one word."""
FEWEST_STEPS = 50
"""Fewer steps give no warning: a few short sentences may attend to one position by chance."""
UNIFORM = 0.95
"""Fraction of the greatest entropy from which attention counts as uniform. A single peak over ten words reaches it only
with a weight below 0.27."""
TO_THE_END = 0.5
"""Weight on the end mark from which attention counts as idle: as much as on all words together. One step in each
sentence, the one that predicts the end, has a reason to attend to it."""
UNSEEN = 0.3
"""Coverage below which a warning is given: fewer than one source word in three. Words without a counterpart, such as
articles, are rarely two thirds of a sentence."""
STUCK = 0.95
"""Fraction of steps at one position from which a head counts as dead. Only sentences of one or two words justify it."""
UNMOVED = 0.02
"""Movement below which a head counts as dead although the position of its greatest weight varies: every word gets the
same average of the source."""


@dataclass(frozen=True)
class HeadStatistics:
    """Statistics of one head, as means over all steps of all sentences.

    entropy: in nats
    spread: entropy as a fraction of the greatest possible, log S; over sources of two or more positions
    end_share: weight on the end mark; None if there is no such column
    coverage: fraction of source words, without the end mark, that have a total weight of COVERED or more
    position: most frequent position of the greatest weight, from 0; negative: from the end, -1 is the last
    position_share: fraction of steps at this position
    movement: mean total variation distance of a step from the average step of its sentence; 0: all steps are equal;
        None if no sentence has two steps and two positions
    """

    entropy: float
    spread: float
    end_share: float | None
    coverage: float
    position: int
    position_share: float
    movement: float | None


@dataclass(frozen=True)
class AttentionStatistics:
    """Statistics of the heads of one site, and the counts behind them. Properties are means over the heads."""

    site: str
    heads: tuple[HeadStatistics, ...]
    sentences: int
    steps: int
    source_words: int

    @property
    def entropy(self) -> float:
        """Mean entropy in nats."""
        return _mean([head.entropy for head in self.heads])

    @property
    def spread(self) -> float:
        """Entropy as a fraction of the greatest possible."""
        return _mean([head.spread for head in self.heads])

    @property
    def end_share(self) -> float | None:
        """Weight on the end mark; None if there is no such column."""
        shares = [head.end_share for head in self.heads if head.end_share is not None]
        return _mean(shares) if shares else None

    @property
    def coverage(self) -> float:
        """Fraction of source words that are covered."""
        return _mean([head.coverage for head in self.heads])


def attention_statistics(
    matrices: Sequence[ArrayLike], *, site: str = "attention", end_column: int | None = None
) -> AttentionStatistics:
    """Compute statistics of one attention site over some sentences.

    matrices: for each sentence (H, T, S), or (T, S) for a single head, without padding.
    end_column: the column of the source's end mark, -1 for the last column; None if there is none.
    Steps with all weights zero are left out.
    """
    sentences = [_heads(site, index, matrix, end_column) for index, matrix in enumerate(matrices)]
    if not sentences:
        raise DataError(f"there are 0 sentences with attention of {site!r}. Pass at least one.")
    counts = {len(weights) for weights in sentences}
    if len(counts) > 1:
        raise ShapeError(f"the sentences have {' and '.join(map(str, sorted(counts)))} heads of {site!r}.")
    marks = 0 if end_column is None else 1
    return AttentionStatistics(
        site=site,
        heads=tuple(_head([weights[head] for weights in sentences], end_column) for head in range(counts.pop())),
        sentences=len(sentences),
        steps=sum(weights.shape[1] for weights in sentences),
        source_words=sum(weights.shape[2] - marks for weights in sentences),
    )


def complaints(statistics: AttentionStatistics) -> list[str]:
    """Return warnings about degenerate attention; none if it looks normal or there are fewer than FEWEST_STEPS steps.

    Heads are counted from 0, as on a Tape.
    """
    if statistics.steps < FEWEST_STEPS:
        return []
    site, end_share = statistics.site, statistics.end_share
    found = []
    idle = end_share is not None and end_share >= TO_THE_END
    if statistics.spread >= UNIFORM:
        found.append(
            f"attention of {site} is almost uniform: its entropy is {statistics.spread:.2f} of the greatest possible. "
            "It has not learned what to attend to; train longer, or raise the learning rate."
        )
    elif idle:
        found.append(
            f"{end_share:.0%} of the attention of {site} goes to the end mark. "
            "The model hardly uses the words of the source here."
        )
    elif statistics.coverage < UNSEEN and 0 < statistics.source_words <= 2 * statistics.steps:
        found.append(
            f"attention of {site} covers only {statistics.coverage:.0%} of the source words (a total weight of "
            f"{COVERED} or more). Parts of the source may be left out of the output."
        )
    if statistics.spread < UNIFORM:
        found += [
            text
            for index, head in enumerate(statistics.heads)
            for text in _head_complaints(_name(statistics, index), head, idle)
        ]
    return found


def _name(statistics: AttentionStatistics, head: int) -> str:
    return f"{f'head {head}' if len(statistics.heads) > 1 else 'attention'} of {statistics.site}"


def _head_complaints(name: str, head: HeadStatistics, idle: bool) -> list[str]:
    if idle and head.end_share is not None and head.end_share >= TO_THE_END:
        return []  # the warning about the site covers it
    if head.spread >= UNIFORM:
        return [f"{name} is almost uniform: its entropy is {head.spread:.2f} of the greatest possible."]
    if head.position_share >= STUCK:
        return [
            f"{name} always attends to the same position, the {_ordinal(head.position)}: "
            f"it is heaviest in {head.position_share:.0%} of the steps."
        ]
    if head.movement is not None and head.movement < UNMOVED:
        return [
            f"{name} attends the same way at every step: only {head.movement:.1%} of its weight moves between the "
            "words of a sentence."
        ]
    return []


def _heads(site: str, index: int, matrix: ArrayLike, end_column: int | None) -> NDArray[np.float64]:
    try:
        weights = np.asarray(matrix, dtype=np.float64)
    except ValueError:
        raise ShapeError(f"the attention of {site!r} for sentence {index} has rows that differ in length.") from None
    if weights.ndim not in (2, 3) or not weights.size:
        raise ShapeError(
            f"the attention of {site!r} for sentence {index} is {weights.shape}, but must be (H, T, S) or (T, S), "
            "with at least one of each."
        )
    if not np.isfinite(weights).all():
        raise NumericsError(f"the attention of {site!r} for sentence {index} has NaN or infinite weights.")
    width = weights.shape[-1]
    if end_column is not None and not -width <= end_column < width:
        raise ShapeError(f"end_column is {end_column}, but sentence {index} of {site!r} has {width} columns.")
    return weights[None] if weights.ndim == 2 else weights


def _head(sentences: Sequence[NDArray[np.float64]], end_column: int | None) -> HeadStatistics:
    entropies, spreads, ends, movements, covered = [], [], [], [], []
    from_start, from_end = [], []
    for weights in sentences:  # (T, S)
        covered.append(_covered(weights, end_column))
        rows = weights[weights.sum(1) > 0]
        if not len(rows):
            continue
        rows = rows / rows.sum(1, keepdims=True)
        entropy = -(rows * np.log(np.where(rows > 0, rows, 1.0))).sum(1)
        width = rows.shape[1]
        entropies.append(entropy)
        if end_column is not None:
            ends.append(rows[:, end_column])
        if width == 1:
            continue  # a single position: spread, position and movement mean nothing
        spreads.append(entropy / np.log(width))
        from_start.append(rows.argmax(1))
        from_end.append(rows.argmax(1) - width)
        if len(rows) > 1:
            movements.append(np.abs(rows - rows.mean(0)).sum(1) / 2)
    position, share = _commonest(from_start, from_end)
    return HeadStatistics(
        entropy=_pooled(entropies),
        spread=_pooled(spreads),
        end_share=None if end_column is None else _pooled(ends),
        coverage=_pooled(covered),
        position=position,
        position_share=share,
        movement=_pooled(movements) if movements else None,
    )


def _covered(weights: NDArray[np.float64], end_column: int | None) -> NDArray[np.float64]:
    """Return 1 for each covered source word, else 0."""
    totals: NDArray[np.float64] = weights.sum(0)
    if end_column is not None:
        totals = np.delete(totals, end_column)
    seen: NDArray[np.float64] = (totals >= COVERED).astype(np.float64)
    return seen


def _commonest(from_start: Sequence[NDArray[np.int64]], from_end: Sequence[NDArray[np.int64]]) -> tuple[int, float]:
    """Return the most frequent position and its share of steps; positions from the end win only if more frequent."""
    if not from_start:
        return 0, 0.0
    best, most, steps = 0, 0, 0
    for positions in (np.concatenate(from_start), np.concatenate(from_end)):
        values, counts = np.unique(positions, return_counts=True)
        steps = len(positions)
        if counts.max() > most:
            best, most = int(values[counts.argmax()]), int(counts.max())
    return best, most / steps


def _pooled(arrays: Sequence[NDArray[np.float64]]) -> float:
    values = np.concatenate(arrays) if arrays else np.zeros(0)
    return float(values.mean()) if len(values) else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _ordinal(position: int) -> str:
    """Name a position: 0 -> first, -1 -> last, 11 -> 12th, -2 -> 2nd from the end."""
    count = position + 1 if position >= 0 else -position
    if count == 1:
        return "first" if position >= 0 else "last"
    ending = "th" if 10 < count % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
    return f"{count}{ending}" if position >= 0 else f"{count}{ending} from the end"
