"""Evaluation of generated images against real ones, by the features of a classifier trained on the same data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.metrics import caption_statistics
from saccade.metrics.generated import (
    Features,
    covered,
    frechet_distance,
    kernel_distance,
    nearest,
    precision_recall,
    spread,
)
from saccade.tasks.base import Evaluation, Statistics

__all__ = ["Judged", "Readings", "evaluation_of", "evaluation_of_drawings", "health_of_players"]

_COLLAPSED, _WINS = 0.1, 0.05
"""The generator has collapsed if its images vary less than this share of real ones; the discriminator wins outright if
its loss is lower than this."""
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


class Readings(NamedTuple):
    """Sentences that were drawn, what a captioner reads in the pictures, and what it reads in the real ones.

    captioner: its folder; None for the model's own judge.
    """

    asked: list[str]
    drawn: list[str]
    real: list[str]
    captioner: str | None


def evaluation_of_drawings(
    read: Readings, drawn: Features, real: Features, kept: Callable[[str, str], tuple[int, int]] | None
) -> Evaluation:
    """Compare sentences with what a captioner reads in their pictures; `kept`: counts the things that agree."""
    statistics = _agreement(read.asked, read.drawn, kept)
    ceiling = {name: part.value for name, part in _agreement(read.asked, read.real, kept).items()}
    precision, recall = precision_recall(drawn, real)
    distances = {"kid": kernel_distance(drawn, real), "fid": frechet_distance(drawn, real)}
    metrics = {name: part.value for name, part in statistics.items()}
    metrics |= {**distances, "precision": precision, "recall": recall}
    details: dict[str, Any] = {
        "pictures": len(read.asked),
        "captioner": read.captioner,
        "read_in_real_pictures": ceiling,
    }
    if len(real) >= _LEAST:
        details["halves"] = _halves(drawn, real)
    own = [] if read.captioner else [_OWN_JUDGE]
    return Evaluation(metrics, details, statistics, [len(text.split()) for text in read.asked], notes=own)


_OWN_JUDGE = (
    "the pictures were read by the model's own judge, which the generator may have learned to please. Name a captioner "
    "that was trained apart: --set search.captioner=FOLDER."
)


def _agreement(
    asked: list[str], read: list[str], kept: Callable[[str, str], tuple[int, int]] | None
) -> dict[str, Statistics]:
    pairs = list(zip(asked, read, strict=True))
    found = {} if kept is None else {"nouns": Statistics(np.array([kept(*pair) for pair in pairs], float), _share)}
    found["exact"] = Statistics(np.array([[float(one == other), 1.0] for one, other in pairs]), _share)
    cider = caption_statistics("cider_d", read, [[one] for one in asked])
    return found | {"cider_d": Statistics(cider.counts, cider.score)}


def health_of_players(
    real: Features,
    drawn: Features,
    of_real: NDArray[np.floating[Any]],
    of_drawn: NDArray[np.floating[Any]],
    *,
    relativistic: bool = False,
) -> tuple[dict[str, float], list[str]]:
    """Return numbers for the log, and warnings, from the features of images and the discriminator's scores of them."""
    variety = spread(drawn) / max(spread(real), 1e-9)
    loss = float(np.maximum(0, 1 - of_real).mean() + np.maximum(0, 1 + of_drawn).mean())
    if relativistic:
        loss = float(np.logaddexp(0, of_drawn - of_real).mean())
    notes = []
    if variety < _COLLAPSED:
        notes.append(
            f"the generator has collapsed: its images vary {variety:.0%} as much as real ones. If this stays, "
            "start again with a lower train.lr, or with larger batches."
        )
    if loss < _WINS:
        notes.append(
            f"the discriminator wins outright: its loss is {loss:.3f}, so the generator learns nothing from it. If "
            "this stays, lower objective.adversarial.discriminator_rate, set penalty there to 1, or set shift if there "
            "are few images."
        )
    return {"variety": variety, "discriminator_loss": loss}, notes


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
