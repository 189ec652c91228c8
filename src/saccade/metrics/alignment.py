"""Word alignments read from attention, scored against gold alignments."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from saccade.data.example import Link, Links
from saccade.errors import ConfigError, DataError, NumericsError, ShapeError

__all__ = [
    "AlignmentScore",
    "ShiftReport",
    "align",
    "alignment_error_rate",
    "alignment_statistics",
    "best_shift",
    "error_rate",
    "link_statistics",
]

MUCH_BETTER = 0.05
"""Smallest difference in error rate that gives a warning. Attention models differ among themselves by 0.02 to 0.05
(Luong et al. 2015, Table 6), so a smaller gap may be a property of the model; a wrong shift costs tenths."""


@dataclass(frozen=True)
class AlignmentScore:
    """Agreement of predicted links with gold links over a whole corpus; fractions from 0 to 1.

    `links` counts the predicted links. A fraction with denominator 0 counts as 1: no link is wrong or missing.
    """

    error_rate: float
    precision: float
    recall: float
    links: int
    sentences: int


@dataclass(frozen=True)
class ShiftReport:
    """Alignment scores for several shifts between target words and rows of attention; see `align`.

    `expected` is the first shift passed in, `best` the shift with the lowest error rate (the first of equal ones).
    """

    scores: dict[int, AlignmentScore]
    expected: int
    best: int

    @property
    def gain(self) -> float:
        """Expected error rate minus the best one."""
        return self.scores[self.expected].error_rate - self.scores[self.best].error_rate

    def warning(self) -> str | None:
        """Return a warning if another shift is much better than the expected one, else None."""
        if self.gain < MUCH_BETTER:
            return None
        best, expected = self.scores[self.best].error_rate, self.scores[self.expected].error_rate
        return (
            f"the attention aligns {_reading(self.best)} (alignment error rate {best:.2f} with shift {self.best}) much "
            f"better than {_reading(self.expected)} ({expected:.2f} with shift {self.expected}). "
            f"Read this model's alignments with shift={self.best}."
        )


def align(weights: ArrayLike, *, shift: int = 0, words: int | None = None) -> set[Link]:
    """Link each target word to its source word of the greatest weight.

    weights (T, S): one row for each decoder step, one column for each source word (no column for the end mark).
    Target word t is read from row t + shift:
        shift 0: the row of the step that predicts word t
        shift 1: the row of the step that takes word t as input, one later. If the query is the newest decoder state,
            as with Luong's content scores, this step may attend to the source of its input word.
    `words` is the number of target words. Without it, every row that the shift allows counts as a word. A matrix that
    has a row for the end mark needs it: align(weights, words=len(weights) - 1).

    Each target word gets one link, as in Luong et al. 2015, arXiv:1508.04025, Table 6: the first of equal weights. It
    gets none if no weight is above zero or the row does not exist.
    """
    matrix = _matrix(weights)
    rows = len(matrix)
    count = min(rows, rows - shift) if words is None else words
    links = set()
    for target in range(count):
        row = target + shift
        if 0 <= row < rows and matrix.shape[1]:
            source = int(matrix[row].argmax())
            if matrix[row, source] > 0:
                links.add((source, target))
    return links


def alignment_error_rate(predicted: Sequence[AbstractSet[Link]], gold: Sequence[Links]) -> AlignmentScore:
    """Compute the alignment error rate over a corpus; 0 is perfect.

        AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)     precision |A ∩ P| / |A|     recall |A ∩ S| / |S|

    A: the predicted links, S: the sure links, P: the possible links (S ⊆ P); counted over all sentences.
    Paper: Och and Ney 2003, "A systematic comparison of various statistical alignment models".
    """
    counts = alignment_statistics(predicted, gold)
    if not any(links.possible for links in gold):
        raise DataError(f"the gold alignments of {len(gold)} sentences have 0 links. Pass some to compare with.")
    totals = counts.sum(0)
    sure, possible, links, wanted = (int(total) for total in totals)
    return AlignmentScore(
        error_rate=error_rate(totals),
        precision=possible / links if links else 1.0,
        recall=sure / wanted if wanted else 1.0,
        links=links,
        sentences=len(gold),
    )


def alignment_statistics(predicted: Sequence[AbstractSet[Link]], gold: Sequence[Links]) -> NDArray[np.float64]:
    """Return the counts of each sentence, (N, 4): |A ∩ S|, |A ∩ P|, |A| and |S|."""
    if len(predicted) != len(gold):
        raise DataError(f"there are {len(predicted)} alignments for {len(gold)} gold ones. Pass one for each sentence.")
    if not gold:
        raise DataError("there are 0 alignments to compare. Pass at least one sentence.")
    rows = [
        (len(links & truth.sure), len(links & truth.possible), len(links), len(truth.sure))
        for links, truth in zip(predicted, gold, strict=True)
    ]
    return np.array(rows, dtype=np.float64)


def link_statistics(matrices: Sequence[ArrayLike], gold: Sequence[Links]) -> NDArray[np.float64]:
    """Return the counts of each sentence, (N, 2): linked target words that point at a gold word, and all linked ones.

    matrices: one (T + 1, S) for each sentence, with a last row for the end mark; see `align`. Target words without a
    gold link do not count, unlike in the alignment error rate.
    """
    if len(matrices) != len(gold):
        raise DataError(f"there are {len(matrices)} alignments for {len(gold)} gold ones. Pass one for each sentence.")
    rows = []
    for matrix, truth in zip(matrices, gold, strict=True):
        linked = {target for _, target in truth.possible}
        hits = align(matrix, words=len(_matrix(matrix)) - 1) & truth.possible
        rows.append((len(hits), len(linked)))
    return np.array(rows, dtype=np.float64).reshape(-1, 2)


def error_rate(sums: NDArray[np.float64]) -> float:
    """Compute the alignment error rate from summed counts (4,); 0 if there are no predicted and no sure links."""
    sure, possible, links, wanted = sums.tolist()
    return 1.0 - (sure + possible) / (links + wanted) if links + wanted else 0.0


def best_shift(matrices: Sequence[ArrayLike], gold: Sequence[Links], shifts: Sequence[int] = (0, 1)) -> ShiftReport:
    """Compare the error rates of several shifts; see `align` for what a shift is.

    Each matrix is (T + 1, S): a row for each of the T target words and a LAST ROW FOR THE END MARK, as teacher forcing
    gives them. Shift 0 does not use the row of the end mark. Shift 1 uses it for the last word, which is the input of
    that step. So both shifts align T words and their rates can be compared. Put the shift you expect first.
    """
    if not shifts:
        raise ConfigError("there are 0 shifts to try. Pass at least one, such as shifts=(0, 1).")
    if len(matrices) != len(gold):
        raise DataError(f"there are {len(matrices)} matrices for {len(gold)} gold alignments. Pass one each.")
    read = [_matrix(weights) for weights in matrices]
    for sentence, (matrix, links) in enumerate(zip(read, gold, strict=True)):
        _check_inside(sentence, matrix, links)
    scores = {
        shift: alignment_error_rate([align(matrix, shift=shift, words=len(matrix) - 1) for matrix in read], gold)
        for shift in shifts
    }
    return ShiftReport(scores, expected=shifts[0], best=min(scores, key=lambda shift: scores[shift].error_rate))


def _reading(shift: int) -> str:
    known = {0: "the word that a step predicts", 1: "the word that is fed into a step"}
    return known.get(shift, f"the word {abs(shift)} steps {'before' if shift > 0 else 'after'} the predicted one")


def _matrix(weights: ArrayLike) -> NDArray[np.float64]:
    try:
        matrix = np.asarray(weights, dtype=np.float64)
    except ValueError:
        raise ShapeError("the rows of an attention matrix differ in length. Pass (T, S) numbers.") from None
    if matrix.size == 0 and matrix.ndim <= 2:
        return matrix.reshape(len(matrix), 0)
    if matrix.ndim != 2:
        raise ShapeError(
            f"an attention matrix is {matrix.shape}, but must be (T, S): target words by source words. "
            "Choose a sentence and a head, or average the heads."
        )
    if np.isnan(matrix).any():
        row = int(np.isnan(matrix).any(1).argmax())
        raise NumericsError(f"row {row} of an attention matrix {matrix.shape} has NaN. Check the model's loss first.")
    return matrix


def _check_inside(sentence: int, matrix: NDArray[np.float64], links: Links) -> None:
    target_words, source_words = len(matrix) - 1, matrix.shape[1]
    if target_words < 0:
        raise ShapeError(f"the matrix of sentence {sentence} has 0 rows, but needs at least one, for the end mark.")
    for source, target in sorted(links.possible):
        if target >= target_words or source >= source_words:
            raise DataError(
                f"sentence {sentence}: the gold link {source}-{target} lies outside its {source_words} source and "
                f"{target_words} target words. The matrix must have a row for each target word and one for the end."
            )
