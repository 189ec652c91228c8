"""Word alignments read from attention, scored against gold ones."""

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
]

MUCH_BETTER = 0.05
"""How much lower an error rate must be for a warning. Models that differ in their attention differ by 0.02 to 0.05
(Luong et al. 2015, Table 6), so a smaller gap may be the model's own; a wrong shift costs tenths."""


@dataclass(frozen=True)
class AlignmentScore:
    """How well links agree with gold ones over a whole corpus; shares from 0 to 1.

    `links` is how many were predicted. A share of nothing counts as 1: no link was wrong, or none was missed.
    """

    error_rate: float
    precision: float
    recall: float
    links: int
    sentences: int


@dataclass(frozen=True)
class ShiftReport:
    """The alignment scores for several ways to read the rows of attention.

    `expected` is the way that was meant (the first asked for), `best` the one with the lowest error rate; of equals
    the first.
    """

    scores: dict[int, AlignmentScore]
    expected: int
    best: int

    @property
    def gain(self) -> float:
        """How much lower the best error rate is than the expected one."""
        return self.scores[self.expected].error_rate - self.scores[self.best].error_rate

    def warning(self) -> str | None:
        """What to tell the user if another reading is much better, or None."""
        if self.gain < MUCH_BETTER:
            return None
        best, expected = self.scores[self.best].error_rate, self.scores[self.expected].error_rate
        return (
            f"the attention aligns {_reading(self.best)} (alignment error rate {best:.2f} with shift {self.best}) much "
            f"better than {_reading(self.expected)} ({expected:.2f} with shift {self.expected}). "
            f"Read this model's alignments with shift={self.best}."
        )


def align(weights: ArrayLike, *, shift: int = 0, words: int | None = None) -> set[Link]:
    """Links by the heaviest source word of each target word.

    weights (T, S): one row a step of the decoder, one column a source word (no column for the end mark).
    Target word t is read from row t + shift:
        shift 0: the row of the step that predicts word t
        shift 1: the row of the step that word t is fed into, one later. Attention that asks with the newest
            decoder state, as Luong's content scores do, may look at the source of the word just read.
    `words` is the number of target words; without it every row that can be one is a word. A matrix that has a row
    for the end mark needs it: align(weights, words=len(weights) - 1).

    Each target word gets one link, as in Luong et al. 2015, arXiv:1508.04025, Table 6: the first of equal weights; none
    where no weight is above zero or where there is no such row.
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
    """The alignment error rate over a corpus; 0 is perfect.

        AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)     precision |A ∩ P| / |A|     recall |A ∩ S| / |S|

    A: the predicted links, S: the sure ones, P: the possible ones, which include the sure; counted over all sentences.
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
    """What each sentence adds to the error rate: (N, 4) with |A ∩ S|, |A ∩ P|, |A| and |S|."""
    if len(predicted) != len(gold):
        raise DataError(f"there are {len(predicted)} alignments for {len(gold)} gold ones. Pass one for each sentence.")
    if not gold:
        raise DataError("there are 0 alignments to compare. Pass at least one sentence.")
    rows = [
        (len(links & truth.sure), len(links & truth.possible), len(links), len(truth.sure))
        for links, truth in zip(predicted, gold, strict=True)
    ]
    return np.array(rows, dtype=np.float64)


def error_rate(sums: NDArray[np.float64]) -> float:
    """The alignment error rate from summed statistics (4,); 0 where nothing was wanted and nothing said."""
    sure, possible, links, wanted = sums.tolist()
    return 1.0 - (sure + possible) / (links + wanted) if links + wanted else 0.0


def best_shift(matrices: Sequence[ArrayLike], gold: Sequence[Links], shifts: Sequence[int] = (0, 1)) -> ShiftReport:
    """The error rate of attention read in several ways; see `align` for what a shift is.

    Each matrix is (T + 1, S): a row for each of the T target words and a LAST ROW FOR THE END MARK, as teacher forcing
    gives them. The end's row aligns no word under shift 0; under shift 1 it is the one that the last word is fed into,
    so both ways have T words and their rates can be compared. Put the shift you mean first.
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
        raise NumericsError(f"row {row} of an attention matrix {matrix.shape} has NaN. Look at the model's loss first.")
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
