"""Steering: interventions on attention weights."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping

import torch
from torch import Tensor

from saccade.errors import ShapeError

__all__ = ["Steering"]


class Steering:
    """Intervene in attention: hide keys, and set weights by hand.

    blocked: positions hidden from every query, as if masked, so the align gives their weight to the other positions.
    Windows do not move: local-p counts hidden words as if they were visible.
    pulled: {(step, position): weight}. In that step the position gets that weight after the align. The other positions
    are scaled to the rest of the row's sum.
    Only `sites` are changed, usually those that attend to the source.
    """

    def __init__(
        self,
        sites: Collection[str],
        blocked: Collection[int] = (),
        pulled: Mapping[tuple[int, int], float] | None = None,
    ) -> None:
        self.sites, self.blocked = frozenset(sites), frozenset(blocked)
        self.pulled: dict[int, dict[int, float]] = {}
        for (step, place), share in (pulled or {}).items():
            self.pulled.setdefault(step, {})[place] = share

    def under(self, prefix: str) -> Steering:
        """Return the same steering for an inner model, whose site names lack the prefix used here."""
        inner = copy.copy(self)
        inner.sites = frozenset(site.removeprefix(prefix) for site in self.sites if site.startswith(prefix))
        return inner

    def visible(self, site: str, size: int, device: torch.device) -> Tensor | None:
        """Return a mask (S,) of a site's `size` keys, False where blocked, or None if no key is blocked."""
        if site not in self.sites or not self.blocked:
            return None
        _check_places(site, self.blocked, size)
        return torch.tensor([place not in self.blocked for place in range(size)], device=device)

    def pulls(self, site: str) -> bool:
        """Return whether weights of a site are changed after the align in some step."""
        return site in self.sites and bool(self.pulled)

    def pull(self, site: str, first: int, weights: Tensor) -> Tensor:
        """Return the weights (..., T, S) of the steps from `first` on, with the pulled ones replaced."""
        here = [step for step in range(first, first + weights.shape[-2]) if step in self.pulled]
        if not here or site not in self.sites:
            return weights
        weights = weights.clone()
        for step in here:
            shares = self.pulled[step]
            _check_places(site, shares, weights.shape[-1])
            weights[..., step - first, :] = _set_weights(weights[..., step - first, :], shares)
        return weights


def _set_weights(weights: Tensor, shares: Mapping[int, float]) -> Tensor:
    """Set the weights at some positions and scale the others to the rest of each row's sum."""
    places = list(shares)
    given = weights.clone()
    given[..., places] = 0
    rest = (weights.sum(-1, keepdim=True) - sum(shares.values())).clamp_min(0)
    left = given.sum(-1, keepdim=True)
    given = given * torch.where(left > 0, rest / left.clamp_min(1e-30), 0.0)
    given[..., places] = torch.tensor(list(shares.values()), dtype=weights.dtype, device=weights.device)
    return given


def _check_places(site: str, places: Iterable[int], size: int) -> None:
    for place in places:
        if not 0 <= place < size:
            raise ShapeError(f"steering names position {place}, but {site!r} attends to {size} keys: 0 to {size - 1}.")
