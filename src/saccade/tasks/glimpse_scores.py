"""The evaluation of glimpses: accuracy after each glimpse, and how many glimpses lie on the object."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saccade.metrics import accuracy, classification_statistics
from saccade.prediction import Prediction
from saccade.tasks.base import Evaluation, Statistics

__all__ = ["evaluation_of", "inside"]

_FROM = 2
"""The first glimpse, from 0, that `on_target` counts: the first is always at the center."""


def inside(predictions: Sequence[Prediction], boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which glimpses (N, T) have their middle in the box (N, 4) of the object."""
    centers = np.stack([found.path.centers for found in predictions if found.path is not None])
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    return np.asarray(((centers >= low) & (centers <= high)).all(-1))


def evaluation_of(
    predictions: Sequence[Prediction], gold: Sequence[str], labels: Sequence[str], boxes: NDArray[np.float64] | None
) -> Evaluation:
    """Return accuracy, and with boxes (N, 2, 4) the share of glimpses on objects; details have both by glimpse.

    The boxes are of the whole image of the object, which counts for `on_target`, and of its ink.
    """
    every = sorted({*labels, *gold})
    counts = classification_statistics([found.text for found in predictions], list(gold), every)
    statistics = {"accuracy": Statistics(counts, accuracy)}
    details: dict[str, object] = {"examples": len(predictions)}
    paths = [found.path for found in predictions if found.path is not None]
    if paths:
        right = np.array([[one == label for one in path.best] for path, label in zip(paths, gold, strict=True)])
        details["accuracy_after_glimpse"] = right.mean(0).round(4).tolist()
    if paths and boxes is not None:
        hits = inside(predictions, boxes[:, 0])
        details["on_ink_by_glimpse"] = inside(predictions, boxes[:, 1]).mean(0).round(4).tolist()
        details["on_target_by_glimpse"] = hits.mean(0).round(4).tolist()
        later = hits[:, _FROM:] if hits.shape[1] > _FROM else hits[:, -1:]
        sums = np.stack([later.sum(1), np.full(len(later), later.shape[1])], 1).astype(np.float64)
        statistics["on_target"] = Statistics(sums, lambda total: float(total[0] / max(total[1], 1.0)))
    metrics = {name: part.value for name, part in statistics.items()}
    return Evaluation(
        metrics, details, statistics, [1] * len(predictions), list(predictions), groups={"label": [*gold]}
    )
