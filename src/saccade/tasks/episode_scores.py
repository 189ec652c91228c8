"""The evaluation of few-shot learning: accuracy by kind of episode, and where queries attend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.data.episodes import Episode, Setting
from saccade.tasks.base import Evaluation, Statistics

__all__ = ["Asked", "evaluation_of"]


class Asked(NamedTuple):
    """An episode, the predicted codes (Q), and by site the weights (Q, S + 1) of queries, the last on themselves."""

    episode: Episode
    predicted: NDArray[np.int64]
    weights: Mapping[str, NDArray[Any]]

    def right(self) -> float:
        """Count the correct predictions."""
        return float((self.predicted == self.episode.labels).sum())

    def own_class(self, site: str) -> float:
        """Sum, over queries, the weight on labeled images of the query's own class."""
        given, weights = self.episode.given, self.weights[site]
        same = given == self.episode.labels[:, None]
        return float((weights[:, : len(given)] * same).sum())

    def itself(self, site: str) -> float:
        """Sum, over queries, the weight on the query itself."""
        return float(self.weights[site][:, -1].sum())


def evaluation_of(found: Mapping[Setting, Sequence[Asked]]) -> Evaluation:
    """Return accuracy and attention over all episodes, and in groups by their kind.

    `own_class` is the weight of queries on their own class at the site where it is largest; details have every site.
    """
    every = [one for asked in found.values() for one in asked]
    sites = list(every[0].weights)
    statistics = {"accuracy": _shares([one.right() for one in every], every)}
    own = {site: _shares([one.own_class(site) for one in every], every) for site in sites}
    if own:
        statistics["own_class"] = max(own.values(), key=lambda part: part.value)
    itself = {site: _shares([one.itself(site) for one in every], every).value for site in sites}
    details = {
        "episodes": len(every),
        "queries": int(sum(len(one.predicted) for one in every)),
        "attention": {site: {"own_class": own[site].value, "itself": itself[site]} for site in sites},
    }
    groups = {"episodes": [str(setting) for setting, asked in found.items() for _ in asked]}
    lengths = [len(one.episode.given) for one in every]
    metrics = {name: part.value for name, part in statistics.items()}
    return Evaluation(metrics, details, statistics, lengths, groups=groups)


def _shares(sums: Sequence[float], asked: Sequence[Asked]) -> Statistics:
    counts = np.array([[each, len(one.predicted)] for each, one in zip(sums, asked, strict=True)], np.float64)
    return Statistics(counts, _share)


def _share(counts: NDArray[np.float64]) -> float:
    return float(counts[0] / counts[1]) if counts[1] else 0.0
