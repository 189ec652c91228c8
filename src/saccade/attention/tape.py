"""Tape: the record of where a model looked."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from saccade.attention.steering import Steering
from saccade.errors import ConfigError, ShapeError, unknown_name

__all__ = ["DISTRIBUTION", "Tape"]

DISTRIBUTION = ".distribution"
"""Behind the name of a site with hard attention: the record of the probabilities that its weights were drawn from."""


class Tape:
    """Attention weights by site, written down while a model runs.

        tape = Tape()
        model(batch, tape=tape)
        tape["decoder.attention"]        # (B, H, T, S): sentence, head, output step, input position

    Steps of a recurrent decoder are laid one after the other on T; a single head counts as H = 1. Weights
    stay attached to the graph, so that losses can read them; `Tape(detach=True)` cuts them off.

    A tape that is passed as an argument cannot go stale like an attribute and is as private as the call.
    A `detailed` tape also takes notes of what weights were made from. `steering` hides keys and sets weights;
    `first` is the step that a fresh tape begins at.
    """

    def __init__(
        self, *, detach: bool = False, detailed: bool = False, steering: Steering | None = None, first: int = 0
    ) -> None:
        self._detach, self.detailed, self.steering, self._first = detach, detailed, steering, first
        self._notes: dict[str, list[Tensor]] = {}
        self._pieces: dict[str, list[Tensor]] = {}
        self._owners: dict[str, object] = {}
        self._prefix = ""

    def write(self, site: str, weights: Tensor, *, owner: object = None) -> None:
        """Add weights (B, H, T, S) of some further steps to a site; `owner`: who looked, one for each site."""
        site = self._prefix + site
        pieces = self._pieces.setdefault(site, [])
        if self._owners.setdefault(site, owner) is not owner:
            raise ConfigError(
                f"two attentions write to the site {site!r} of a Tape. Give them names by their places in your model: "
                "call name_sites(model) once it is built."
            )
        if pieces and _rest(pieces[0]) != _rest(weights):
            raise ShapeError(
                f"the site {site!r} of this Tape holds (B, H, S) = {_rest(pieces[0])}, but now come {_rest(weights)}. "
                "Use a fresh Tape for each call."
            )
        pieces.append(weights.detach() if self._detach else weights)

    def steps(self, site: str) -> int:
        """The number of the step that a site writes next."""
        return self._first + sum(piece.shape[2] for piece in self._pieces.get(self._prefix + site, ()))

    def note(self, name: str, values: Tensor, *, once: bool = False) -> None:
        """On a detailed tape, take down numbers (..., T, D) of some further steps; `once`: of the first call only."""
        name = self._prefix + name
        if self.detailed and not (once and name in self._notes):
            self._notes.setdefault(name, []).append(values.detach())

    @property
    def notes(self) -> dict[str, Tensor]:
        """What was noted, by name."""
        return {name: torch.cat(pieces, -2) for name, pieces in self._notes.items()}

    def under(self, prefix: str) -> Tape:
        """The same record, with a prefix on every site written: for models inside a model."""
        steering = None if self.steering is None else self.steering.under(prefix)
        inner = Tape(detach=self._detach, detailed=self.detailed, steering=steering, first=self._first)
        inner._notes = self._notes
        inner._pieces, inner._owners, inner._prefix = self._pieces, self._owners, self._prefix + prefix
        return inner

    def __getitem__(self, site: str) -> Tensor:
        if site not in self._pieces:
            raise unknown_name("attention site", site, self._pieces)
        pieces = self._pieces[site]
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces, 2)

    def __contains__(self, site: object) -> bool:
        return site in self._pieces

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)

    def __repr__(self) -> str:
        return f"Tape({', '.join(f'{site} {tuple(self[site].shape)}' for site in self)})"


def _rest(weights: Tensor) -> tuple[int, ...]:
    """All sizes but the number of steps."""
    return (*weights.shape[:2], weights.shape[-1])
