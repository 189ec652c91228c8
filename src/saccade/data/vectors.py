"""Pretrained word vectors in GloVe's text format: `word 0.1 -0.2 …`, one word per line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.batch import SPECIALS
from saccade.data.text import numbered, shorten
from saccade.errors import DataError, ShapeError

__all__ = ["Vectors", "read_vectors"]

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Vectors:
    """The vectors of a vocabulary: `matrix` (V, E), and `found` (V,), whether the file has each word."""

    matrix: Matrix
    found: NDArray[np.bool_]

    @property
    def coverage(self) -> float:
        """The fraction of words, without special tokens, that the file has."""
        words = self.found[len(SPECIALS) :]
        return float(words.mean()) if len(words) else 0.0


def read_vectors(path: Path, vocabulary: Sequence[str], width: int) -> Vectors:
    """Read the vectors of a vocabulary, (V, width); rows of words that the file does not have are zero.

    Only vectors of the vocabulary are kept, so a file may be larger than memory. If the file does not have a word, it
    gets the vector of its lower-case form. A first line of two whole numbers, as in word2vec and fastText, is skipped.
    .gz, .xz and .zst are decompressed.
    """
    words = vocabulary[len(SPECIALS) :]
    wanted = {*words, *(word.lower() for word in words)}
    known: dict[str, Matrix] = {}
    for number, line in numbered(path):
        if number == 1:
            _check_width(path, line, width)
            if _is_header(line):
                continue
        cells = line.rstrip(" ").rsplit(" ", width)  # some words in GloVe contain a space
        if len(cells) != width + 1:
            raise DataError(
                f"{path}, line {number} has {len(cells) - 1} numbers, but {width} are wanted: {shorten(line)}."
            )
        if cells[0] in wanted and cells[0] not in known:
            known[cells[0]] = _numbers(cells[1:], path, number)
    matrix, found = np.zeros((len(vocabulary), width), np.float32), np.zeros(len(vocabulary), np.bool_)
    for row, word in enumerate(words, len(SPECIALS)):
        vector = known.get(word, known.get(word.lower()))
        if vector is not None:
            matrix[row], found[row] = vector, True
    if not found.any():
        raise DataError(
            f"{path} has a vector for none of the {len(words)} words of the vocabulary. Is it of the same language?"
        )
    return Vectors(matrix, found)


def _is_header(line: str) -> bool:
    cells = line.split()
    return len(cells) == 2 and all(cell.isdecimal() for cell in cells)


def _check_width(path: Path, line: str, width: int) -> None:
    cells = line.split()
    has = int(cells[1]) if _is_header(line) else len(cells) - 1
    if has != width:
        raise ShapeError(
            f"the vectors in {path} have {has} numbers, but the model's embedding has {width}. Set model.embedding "
            f"(for a Transformer model.width) to {has}, or take another file."
        )


def _numbers(cells: Iterable[str], path: Path, number: int) -> Matrix:
    try:
        vector = np.array([float(cell) for cell in cells], np.float32)
    except ValueError as error:
        raise DataError(f"{path}, line {number} holds something else than numbers: {error}.") from None
    if not np.isfinite(vector).all():
        raise DataError(f"{path}, line {number} holds NaN or infinity. Leave the line out.")
    return vector
