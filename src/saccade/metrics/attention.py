"""What attention looks like as such, without a gold alignment, and whether something is wrong with it.

For cross attention, where each step may look at the whole source. Where a mask hides part of it (a decoder looking
back at itself) the greatest entropy is smaller than log S, and early steps have no choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from saccade.errors import DataError, NumericsError, ShapeError

__all__ = ["AttentionStatistics", "HeadStatistics", "attention_statistics", "complaints"]

COVERED = 0.5
"""The total weight from which a source word counts as seen: half of what it gets if each step picks one word."""
FEWEST_STEPS = 50
"""Steps below which nothing is said: a few short sentences look at one place by chance."""
UNIFORM = 0.95
"""The share of the greatest entropy from which attention hardly tells words apart. One word of ten that stands out
would have to get less than 0.27 of the weight."""
TO_THE_END = 0.5
"""The share of the end mark from which attention is called idle: as much as all words get together. One step in each
sentence, the one that writes the end, has a reason to look there."""
UNSEEN = 0.3
"""The share of source words seen below which attention is said to leave too many out: fewer than one in three. Words
without a counterpart, articles and the like, are rarely that many."""
STUCK = 0.95
"""The share of steps at one position from which a head is dead. Only sentences of a word or two have a good reason."""
UNMOVED = 0.02
"""The share of weight that moves from step to step below which a head is dead although its greatest weight wanders: it
adds the same average of the source to every word."""


@dataclass(frozen=True)
class HeadStatistics:
    """One head, as means over all steps of all sentences.

    entropy: in nats; `spread`: the same as a share of the greatest possible, log S, over sources of two or more
    end_share: the weight on the end mark; None where there is no such column
    coverage: the share of source words, the end mark left out, with a total weight of COVERED or more
    position: where the greatest weight most often is, from 0; negative: from the end of the source, -1 being the last
    position_share: how often it is there
    movement: the share of weight that lies elsewhere than in the sentence's average step; 0: all steps are alike;
        None where no sentence has two steps and two places to look at
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
    """The heads of one site and how much was seen of it. The other fields are means over the heads."""

    site: str
    heads: tuple[HeadStatistics, ...]
    sentences: int
    steps: int
    source_words: int

    @property
    def entropy(self) -> float:
        """In nats."""
        return _mean([head.entropy for head in self.heads])

    @property
    def spread(self) -> float:
        """The entropy as a share of the greatest possible."""
        return _mean([head.spread for head in self.heads])

    @property
    def end_share(self) -> float | None:
        """The weight on the end mark; None where there is no such column."""
        shares = [head.end_share for head in self.heads if head.end_share is not None]
        return _mean(shares) if shares else None

    @property
    def coverage(self) -> float:
        """The share of source words that were seen."""
        return _mean([head.coverage for head in self.heads])


def attention_statistics(
    matrices: Sequence[ArrayLike], *, site: str = "attention", end_column: int | None = None
) -> AttentionStatistics:
    """Statistics of one attention over some sentences.

    matrices: for each sentence (H, T, S), or (T, S) for a single head, without padding.
    end_column: where the end mark of the source is, -1 for the last column; None if there is none.
    Steps that see nothing, with all weights zero, are left out.
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
    """What seems wrong with an attention, in words; nothing if all is well or too little was seen.

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
            "It has not learnt where to look; train longer, or raise the learning rate."
        )
    elif idle:
        found.append(
            f"{end_share:.0%} of the attention of {site} goes to the end mark. "
            "The model hardly uses the words of the source here."
        )
    elif statistics.coverage < UNSEEN and 0 < statistics.source_words <= 2 * statistics.steps:
        found.append(
            f"attention of {site} sees only {statistics.coverage:.0%} of the source words (a total weight of {COVERED} "
            "or more). Parts of the source may be left out of the output."
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
        return []  # already said of the site
    if head.spread >= UNIFORM:
        return [f"{name} is almost uniform: its entropy is {head.spread:.2f} of the greatest possible."]
    if head.position_share >= STUCK:
        return [
            f"{name} always looks at the same position, the {_ordinal(head.position)}: "
            f"it is heaviest in {head.position_share:.0%} of the steps."
        ]
    if head.movement is not None and head.movement < UNMOVED:
        return [
            f"{name} looks the same way at every step: only {head.movement:.1%} of its weight moves between the words "
            "of a sentence."
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
            continue  # nothing to choose from
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
    """For each source word, 1 if it was seen, else 0."""
    totals: NDArray[np.float64] = weights.sum(0)
    if end_column is not None:
        totals = np.delete(totals, end_column)
    seen: NDArray[np.float64] = (totals >= COVERED).astype(np.float64)
    return seen


def _commonest(from_start: Sequence[NDArray[np.int64]], from_end: Sequence[NDArray[np.int64]]) -> tuple[int, float]:
    """The position that is heaviest most often and how often; counted from the start where that makes no odds."""
    if not from_start:
        return 0, 0.0
    best, most, steps = 0, 0, 0
    for positions in (np.concatenate(from_start), np.concatenate(from_end)):
        values, counts = np.unique(positions, return_counts=True)
        steps = len(positions)
        if counts.max() > most:
            best, most = int(values[counts.argmax()]), int(counts.max())
    return best, most / steps


def _pooled(pieces: Sequence[NDArray[np.float64]]) -> float:
    values = np.concatenate(pieces) if pieces else np.zeros(0)
    return float(values.mean()) if len(values) else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _ordinal(position: int) -> str:
    """0 -> first, -1 -> last, 11 -> 12th, -2 -> 2nd from the end."""
    count = position + 1 if position >= 0 else -position
    if count == 1:
        return "first" if position >= 0 else "last"
    ending = "th" if 10 < count % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
    return f"{count}{ending}" if position >= 0 else f"{count}{ending} from the end"
