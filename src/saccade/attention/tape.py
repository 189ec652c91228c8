"""Tape: a record of attention weights."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from saccade.attention.steering import Steering
from saccade.errors import ConfigError, ShapeError, unknown_name

__all__ = ["DISTRIBUTION", "Tape"]

DISTRIBUTION = ".distribution"
"""Suffix of a hard-attention site: names the record of the probabilities that its weights were sampled from."""


class Tape:
    """Record attention weights by site while a model runs.

        tape = Tape()
        model(batch, tape=tape)
        tape["decoder.attention"]        # (B, H, T, S): sentence, head, output step, input position

    Steps of a recurrent decoder are concatenated on T; a single head has H = 1. Weights stay attached to the
    autograd graph, so that losses can use them; `Tape(detach=True)` detaches them.

    The caller passes a tape as an argument: unlike a module attribute, it belongs to one call and cannot be stale.
    A `detailed` tape also records what the weights were computed from. `steering` hides keys and sets weights;
    `first` is the number of the first step on a new tape.
    """

    def __init__(
        self, *, detach: bool = False, detailed: bool = False, steering: Steering | None = None, first: int = 0
    ) -> None:
        self._detach, self.detailed, self.steering, self._first = detach, detailed, steering, first
        self._notes: dict[str, list[Tensor]] = {}
        self._chunks: dict[str, list[Tensor]] = {}
        self._owners: dict[str, object] = {}
        self._prefix = ""

    def write(self, site: str, weights: Tensor, *, owner: object = None) -> None:
        """Append weights (B, H, T, S) of further steps to a site; `owner` is the attention, one per site."""
        site = self._prefix + site
        chunks = self._chunks.setdefault(site, [])
        if self._owners.setdefault(site, owner) is not owner:
            raise ConfigError(
                f"two attentions write to the site {site!r} of a Tape. Give them names by their places in your model: "
                "call name_sites(model) once it is built."
            )
        if chunks and _fixed_sizes(chunks[0]) != _fixed_sizes(weights):
            raise ShapeError(
                f"the site {site!r} of this Tape holds (B, H, S) = {_fixed_sizes(chunks[0])}, but the new "
                f"weights have {_fixed_sizes(weights)}. Use a fresh Tape for each call."
            )
        chunks.append(weights.detach() if self._detach else weights)

    def steps(self, site: str) -> int:
        """Return the number of the next step that a site writes."""
        return self._first + sum(chunk.shape[2] for chunk in self._chunks.get(self._prefix + site, ()))

    def note(self, name: str, values: Tensor, *, once: bool = False) -> None:
        """Record values (..., T, D) of further steps on a detailed tape; with `once`, of the first call only."""
        name = self._prefix + name
        if self.detailed and not (once and name in self._notes):
            self._notes.setdefault(name, []).append(values.detach())

    @property
    def notes(self) -> dict[str, Tensor]:
        """The recorded values, by name."""
        return {name: torch.cat(chunks, -2) for name, chunks in self._notes.items()}

    def under(self, prefix: str) -> Tape:
        """Return a tape for an inner model: it writes to this tape and adds a prefix to every site."""
        steering = None if self.steering is None else self.steering.under(prefix)
        inner = Tape(detach=self._detach, detailed=self.detailed, steering=steering, first=self._first)
        inner._notes = self._notes
        inner._chunks, inner._owners, inner._prefix = self._chunks, self._owners, self._prefix + prefix
        return inner

    def __getitem__(self, site: str) -> Tensor:
        if site not in self._chunks:
            raise unknown_name("attention site", site, self._chunks)
        chunks = self._chunks[site]
        return chunks[0] if len(chunks) == 1 else torch.cat(chunks, 2)

    def __contains__(self, site: object) -> bool:
        return site in self._chunks

    def __iter__(self) -> Iterator[str]:
        return iter(self._chunks)

    def __len__(self) -> int:
        return len(self._chunks)

    def __repr__(self) -> str:
        return f"Tape({', '.join(f'{site} {tuple(self[site].shape)}' for site in self)})"


def _fixed_sizes(weights: Tensor) -> tuple[int, ...]:
    """Return all sizes except the number of steps."""
    return (*weights.shape[:2], weights.shape[-1])
