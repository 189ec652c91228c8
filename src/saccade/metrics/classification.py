"""Compare predicted labels with gold labels: accuracy, F1 by class, and confusion counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError, unknown_name

__all__ = [
    "ClassScore",
    "ClassificationScore",
    "accuracy",
    "classification_score",
    "classification_statistics",
    "macro_f1",
]


@dataclass(frozen=True)
class ClassScore:
    """Precision, recall and F1 of one label, each from 0 to 1.

    `gold` counts the examples whose gold label it is; `predicted` counts those whose predicted label it is. A label
    that is never predicted has precision 0. A label that is never gold has recall 0.
    """

    label: str
    precision: float
    recall: float
    f1: float
    gold: int
    predicted: int


@dataclass(frozen=True)
class ClassificationScore:
    """Agreement of predicted labels with gold labels.

    `confusion[i][j]` counts the examples of gold label `classes[i]` with predicted label `classes[j]`. `macro_f1` is
    the unweighted mean F1 of the labels that occur, predicted or gold.
    """

    accuracy: float
    macro_f1: float
    classes: tuple[ClassScore, ...]
    confusion: tuple[tuple[int, ...], ...]
    examples: int


def classification_score(
    predicted: Sequence[str], gold: Sequence[str], labels: Sequence[str] | None = None
) -> ClassificationScore:
    """Compute accuracy, macro-F1, scores by class and confusion counts.

    `labels` gives the order of the classes and may include labels that do not occur. By default, the classes are the
    labels that occur, sorted.
    """
    names = _names(predicted, gold, labels)
    position = {name: index for index, name in enumerate(names)}
    confusion = np.zeros((len(names), len(names)), dtype=np.int64)
    for said, right in zip(predicted, gold, strict=True):
        confusion[position[right], position[said]] += 1
    sums = np.stack([confusion.diagonal(), confusion.sum(0), confusion.sum(1)], axis=1).astype(np.float64)  # (C, 3)
    return ClassificationScore(
        accuracy=accuracy(sums.ravel()),
        macro_f1=macro_f1(sums.ravel()),
        classes=tuple(_class_score(name, *row) for name, row in zip(names, sums.tolist(), strict=True)),
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        examples=len(gold),
    )


def classification_statistics(
    predicted: Sequence[str], gold: Sequence[str], labels: Sequence[str] | None = None
) -> NDArray[np.float64]:
    """Return the statistics (N, 3C) of each example, from which a bootstrap computes scores.

    Each class has three columns of 0 or 1: hit (predicted and gold), predicted, and gold. To compare two systems, pass
    the same `labels` for both. Otherwise the same column may stand for different classes.
    """
    names = _names(predicted, gold, labels)
    position = {name: index for index, name in enumerate(names)}
    each = np.arange(len(names))
    said = np.array([position[label] for label in predicted])[:, None] == each  # (N, C)
    right = np.array([position[label] for label in gold])[:, None] == each
    return np.stack([said & right, said, right], axis=2).reshape(len(gold), -1).astype(np.float64)


def accuracy(sums: NDArray[np.float64]) -> float:
    """Compute the share of examples with the right label, from statistics (3C,) summed over examples."""
    hit, _, right = sums.reshape(-1, 3).sum(0)
    return float(hit / right)


def macro_f1(sums: NDArray[np.float64]) -> float:
    """Compute the mean F1 of the classes that occur, from statistics (3C,) summed over examples."""
    hit, said, right = sums.reshape(-1, 3).T
    occurs = said + right > 0
    return float((2 * hit[occurs] / (said + right)[occurs]).mean())


def _class_score(label: str, hit: float, said: float, right: float) -> ClassScore:
    return ClassScore(
        label=label,
        precision=hit / said if said else 0.0,
        recall=hit / right if right else 0.0,
        f1=2 * hit / (said + right) if said + right else 0.0,
        gold=int(right),
        predicted=int(said),
    )


def _names(predicted: Sequence[str], gold: Sequence[str], labels: Sequence[str] | None) -> list[str]:
    if len(predicted) != len(gold):
        raise DataError(f"there are {len(predicted)} predicted labels for {len(gold)} gold ones. Pass one for each.")
    if not gold:
        raise DataError("there are 0 labels to compare. Pass at least one.")
    if labels is None:
        return sorted({*predicted, *gold})
    names = list(labels)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the label {twice!r} is listed {names.count(twice)} times. List each once.")
    for kind, values in (("predicted label", predicted), ("gold label", gold)):
        for row, value in enumerate(values):
            if value not in names:
                raise DataError(f"example {row}: {unknown_name(kind, value, names)}")
    return names
