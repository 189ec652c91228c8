"""Metrics of generated images: distances between the features of generated and of real images.

Features come from a classifier trained on the same data, so the values compare only models measured with the same one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ShapeError

__all__ = ["covered", "frechet_distance", "kernel_distance", "nearest", "neighbors", "precision_recall", "spread"]

Features = NDArray[np.floating[Any]]
"""(images, features)."""
_NEIGHBORS = 3
"""An image is within the reach of a set if it is closer to a member than that member's third neighbor."""


def frechet_distance(first: Features, second: Features) -> float:
    """Return the Fréchet distance of two normal distributions fitted to the features (FID).

        |m₁ - m₂|² + tr(C₁ + C₂ - 2 (C₁ C₂)^½)

    Biased upwards for few images. Paper: Heusel et al. 2017, arXiv:1706.08500; Inception features there.
    """
    _check(first, second)
    one, other = (np.atleast_2d(np.cov(features.T)) for features in (first, second))
    overlap = np.linalg.eigvalsh(_root(one) @ other @ _root(one))
    traces = np.trace(one) + np.trace(other)
    means = ((first.mean(0) - second.mean(0)) ** 2).sum()
    return float(means + traces - 2 * np.sqrt(np.maximum(overlap, 0)).sum())


def kernel_distance(first: Features, second: Features) -> float:
    """Return the squared maximum mean discrepancy for the kernel (x·y / D + 1)³ (KID): unbiased, so it may be negative.

    Paper: Bińkowski et al. 2018, arXiv:1801.01401; the mean over subsets there, all pairs here.
    """
    _check(first, second)

    def kernel(one: Features, other: Features) -> Features:
        found: Features = (one @ other.T / one.shape[1] + 1) ** 3
        return found

    def within(one: Features) -> float:
        pairs = kernel(one, one)
        return float((pairs.sum() - np.trace(pairs)) / (len(one) * (len(one) - 1)))

    return within(first) + within(second) - 2 * float(kernel(first, second).mean())


def precision_recall(generated: Features, real: Features) -> tuple[float, float]:
    """Return the share of generated images within the reach of real ones, and of real ones within that of generated.

    Paper: Kynkäänniemi et al. 2019, arXiv:1904.06991.
    """
    _check(generated, real)
    return float(_within(generated, real).mean()), float(_within(real, generated).mean())


def covered(labels: NDArray[np.int64], classes: int) -> float:
    """Return the share of the classes that occur among the labels."""
    return len(np.unique(labels)) / classes


def nearest(images: NDArray[np.uint8], known: NDArray[np.uint8]) -> Features:
    """Return, for each image (N, H, W, C), its distance from the nearest of some known ones: root mean square bytes."""
    found: Features = _apart(images, known).min(1).astype(np.float64) / np.sqrt(images[0].size)
    return found


def neighbors(images: NDArray[np.uint8], known: NDArray[np.uint8], count: int) -> NDArray[np.int64]:
    """Return the numbers (N, count) of the known images that are nearest to each image, the nearest first."""
    return np.argsort(_apart(images, known), 1, kind="stable")[:, :count]


def spread(features: Features) -> float:
    """Return the mean squared distance of features from their mean: near 0 if all images look alike."""
    return float(((features - features.mean(0)) ** 2).sum(1).mean())


def _within(points: Features, members: Features) -> NDArray[np.bool_]:
    reach = np.partition(_distances(members, members), _NEIGHBORS, 1)[:, _NEIGHBORS]  # each member is its own nearest
    return np.asarray((_distances(points, members) <= reach).any(1))


def _apart(images: NDArray[np.uint8], known: NDArray[np.uint8]) -> Features:
    return _distances(*(part.reshape(len(part), -1).astype(np.float32) for part in (images, known)))


def _distances(first: Features, second: Features) -> Features:
    squares = (first**2).sum(1)[:, None] + (second**2).sum(1) - 2 * first @ second.T
    found: Features = np.sqrt(np.maximum(squares, 0))
    return found


def _root(matrix: Features) -> Features:
    values, vectors = np.linalg.eigh(matrix)
    found: Features = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return found


def _check(first: Features, second: Features) -> None:
    if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1] or min(len(first), len(second)) < 2:
        raise ShapeError(
            f"features are {first.shape} and {second.shape}, but must be (images, features) with the same number of "
            "features, of two images or more."
        )
