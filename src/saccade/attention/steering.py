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
        self.sites, self.blocked, self.pulled = frozenset(sites), sorted(set(blocked)), dict(pulled or {})

    def __call__(self, site: str, first: int, weights: Tensor) -> Tensor:
        """Weights (..., T, S) of the steps from `first` on, steered."""
        if site not in self.sites:
            return weights
        if self.blocked:
            free = torch.ones_like(weights)
            free[..., self.blocked] = 0
            weights = _keep_sum(weights * free, weights)
        for (step, place), share in self.pulled.items():
            if first <= step < first + weights.shape[-2]:
                row = weights[..., step - first, :]
                weights = weights.clone()
                weights[..., step - first, :] = _pull(row, place, share)
        return weights


def _keep_sum(changed: Tensor, before: Tensor) -> Tensor:
    left = changed.sum(-1, keepdim=True)
    return torch.where(left > 0, changed * (before.sum(-1, keepdim=True) / left.clamp_min(1e-30)), changed)


def _pull(row: Tensor, place: int, share: float) -> Tensor:
    others = row.clone()
    others[..., place] = 0
    rest = (row.sum(-1, keepdim=True) - share).clamp_min(0)
    left = others.sum(-1, keepdim=True)
    pulled = others * torch.where(left > 0, rest / left.clamp_min(1e-30), 0.0)
    pulled[..., place] = share
    return pulled
