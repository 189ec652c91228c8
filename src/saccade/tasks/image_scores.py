"""Evaluation of generated images against real ones, by the features of a classifier trained on the same data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.metrics.generated import Features, covered, frechet_distance, kernel_distance, nearest, precision_recall
from saccade.tasks.base import Evaluation, Statistics

__all__ = ["Judged", "evaluation_of"]

_LEAST = 20
"""Images below which the halves of the real images are not compared with each other."""


class Judged(NamedTuple):
    """Images (N, H, W, 3), the labels they should have (N,), and the judge's features (N, D) and labels (N,)."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    features: Features
    predicted: NDArray[np.int64]


def evaluation_of(
    drawn: Judged,
    real: Judged,
    trained: NDArray[np.uint8],
    classes: int,
    *,
    conditional: bool,
    rule: Callable[[Any], bool] | None,
) -> Evaluation:
    """Compare as many generated images with real ones; `trained`: images of training, which may have been copied."""
    right = {"judge_accuracy": real.predicted == real.labels}
    if conditional:
        right["agreement"] = drawn.predicted == drawn.labels
    if rule is not None:
        right["rule"] = np.array([rule(image) for image in drawn.images])
    statistics = {name: Statistics(np.stack([part, np.ones(len(part))], 1), _share) for name, part in right.items()}
    statistics = dict(reversed(statistics.items()))  # the most important one first
    precision, recall = precision_recall(drawn.features, real.features)
    metrics = {
        **{name: part.value for name, part in statistics.items() if name != "judge_accuracy"},
        "kid": kernel_distance(drawn.features, real.features),
        "fid": frechet_distance(drawn.features, real.features),
        "precision": precision,
        "recall": recall,
        "coverage": covered(drawn.predicted, classes),
        "judge_accuracy": statistics["judge_accuracy"].value,
    }
    apart = {name: nearest(part.images, trained) for name, part in (("generated", drawn), ("real", real))}
    details: dict[str, Any] = {"images": len(drawn.images)}
    details["nearest_training_image"] = {name: float(np.median(found)) for name, found in apart.items()}
    if len(real.features) >= _LEAST:
        details["halves"] = _halves(drawn.features, real.features)
    note = "kid, fid, precision and recall use the model's own classifier: compare them only with the same classifier."
    return Evaluation(metrics, details, statistics, [1] * len(drawn.images), notes=[note])


def _halves(drawn: Features, real: Features) -> dict[str, float]:
    """Return the distances of half the real images from the other half, and of as many generated ones: their ratio."""
    first, second = real[::2], real[1::2]
    return {
        "fid_real": frechet_distance(first, second),
        "fid_generated": frechet_distance(drawn[: len(first)], second),
        "kid_real": kernel_distance(first, second),
        "kid_generated": kernel_distance(drawn[: len(first)], second),
    }


def _share(sums: NDArray[np.float64]) -> float:
    return float(sums[0] / max(sums[1], 1.0))
