"""Steering: interventions on where a model looks."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping

import torch
from torch import Tensor

from saccade.errors import ShapeError

__all__ = ["Steering"]


class Steering:
    """Intervene in attention: hide words, and set weights by hand.

    blocked: places that are hidden from every query, as if the mask of the keys hid them, so the align shares all the
    attention out over the other places. A window keeps its place: local-p counts hidden words as if they were seen.
    pulled: {(step, place): weight}. In that step the place gets that weight after the align. The other places share
    what is left of the row's sum in the proportions they had.
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
        """The same for a model inside a model, whose sites are named here with a prefix and there without."""
        inner = copy.copy(self)
        inner.sites = frozenset(site.removeprefix(prefix) for site in self.sites if site.startswith(prefix))
        return inner

    def visible(self, site: str, size: int, device: torch.device) -> Tensor | None:
        """Mask (S,) of the `size` keys of a site, False where a key is blocked; None where none is."""
        if site not in self.sites or not self.blocked:
            return None
        _check_places(site, self.blocked, size)
        return torch.tensor([place not in self.blocked for place in range(size)], device=device)

    def pulls(self, site: str) -> bool:
        """Whether some step of a site has its weights changed after the align."""
        return site in self.sites and bool(self.pulled)

    def pull(self, site: str, first: int, weights: Tensor) -> Tensor:
        """Weights (..., T, S) of the steps from `first` on, with those that are pulled."""
        here = [step for step in range(first, first + weights.shape[-2]) if step in self.pulled]
        if not here or site not in self.sites:
            return weights
        weights = weights.clone()
        for step in here:
            shares = self.pulled[step]
            _check_places(site, shares, weights.shape[-1])
            weights[..., step - first, :] = _give(weights[..., step - first, :], shares)
        return weights


def _give(weights: Tensor, shares: Mapping[int, float]) -> Tensor:
    """Rows whose places have these shares, and whose other places share what is left of the row's sum as they did."""
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
            raise ShapeError(f"steering names place {place}, but {site!r} attends to {size} keys: 0 to {size - 1}.")
