"""Steering: a hand on where a model looks."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import torch
from torch import Tensor

__all__ = ["Steering"]


class Steering:
    """Interference with where a model looks: words it may not look at, and weights it has to give.

    blocked: places that get nothing. pulled: {(step, place): weight}; in that step the place gets that weight. What is
    left of a row is shared by the other places as it was, so that the row adds up to what it did. Only `sites` are
    touched, usually those that look at the source.
    """

    def __init__(
        self,
        sites: Collection[str],
        blocked: Collection[int] = (),
        pulled: Mapping[tuple[int, int], float] | None = None,
    ) -> None:
        self.sites, self.blocked = frozenset(sites), sorted(set(blocked))
        self.pulled: dict[int, dict[int, float]] = {}
        for (step, place), share in (pulled or {}).items():
            self.pulled.setdefault(step, {})[place] = share

    def __call__(self, site: str, first: int, weights: Tensor) -> Tensor:
        """Weights (..., T, S) of the steps from `first` on, steered."""
        if site not in self.sites:
            return weights
        if self.blocked:
            weights = _give(weights, self.blocked, [0.0] * len(self.blocked))
        here = [step for step in range(first, first + weights.shape[-2]) if step in self.pulled]
        if here:
            weights = weights.clone()
        for step in here:
            row = weights[..., step - first, :]
            weights[..., step - first, :] = _give(row, list(self.pulled[step]), list(self.pulled[step].values()))
        return weights


def _give(weights: Tensor, places: list[int], shares: list[float]) -> Tensor:
    """Rows whose places have these shares, and whose other places share what is left of the row's sum as they did."""
    given = weights.clone()
    given[..., places] = 0
    rest = (weights.sum(-1, keepdim=True) - sum(shares)).clamp_min(0)
    left = given.sum(-1, keepdim=True)
    given = given * torch.where(left > 0, rest / left.clamp_min(1e-30), 0.0)
    given[..., places] = torch.tensor(shares, dtype=weights.dtype, device=weights.device)
    return given
