"""Tape: a record of attention weights."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import torch
from torch import Tensor

from saccade.attention.steering import Steering
from saccade.errors import ConfigError, ShapeError, unknown_name

__all__ = ["DISTRIBUTION", "Tape"]

DISTRIBUTION = ".distribution"
"""Suffix for the name of a hard attention's site.

Under the name with this suffix, a tape holds the probabilities from which the attention sampled its weights.
"""


class Tape:
    """Record attention weights by site while a model runs.

        tape = Tape()
        model(batch, tape=tape)
        tape["decoder.attention"]        # (B, H, T, S): sentence, head, output step, input position

    A site is the name of one attention in the model. If an attention writes several times, the tape concatenates the
    steps along T. An attention with a single head has H = 1. Weights stay attached to the autograd graph, so that
    losses can use them; `Tape(detach=True)` detaches them.

    Pass a new tape to each call. The weights on it then cannot be left over from an earlier call. A `detailed` tape
    also records other tensors of the attention, such as queries, keys and scores; see `notes`.

    `finished`: the target is a finished answer, so that models also record what depends on its words, such as copies.
    With `only`, it records these sites alone; the others then keep their fused paths.

    `steering` hides keys and sets weights by hand. `first` is the number of the first step on the tape. Search passes a
    new tape at every step, with the number of that step as `first`.
    """

    def __init__(
        self,
        *,
        detach: bool = False,
        detailed: bool = False,
        steering: Steering | None = None,
        first: int = 0,
        only: Collection[str] | None = None,
        finished: bool = False,
    ) -> None:
        self._detach, self.detailed, self.steering, self._first = detach, detailed, steering, first
        self._only, self.finished = None if only is None else frozenset(only), finished
        self._notes: dict[str, list[Tensor]] = {}
        self._chunks: dict[str, list[Tensor]] = {}
        self._owners: dict[str, object] = {}
        self._prefix = ""
        self.tensors: dict[str, Tensor] = {}
        """Other tensors that a model hands to the terms of an objective, such as the encoder's output, by name."""

    def write(self, site: str, weights: Tensor, *, owner: object = None) -> None:
        """Append the weights (B, H, T, S) of further steps to a site.

        `owner` is the attention that writes. If two attentions write to one site, raise ConfigError.
        """
        site = self._prefix + site
        if self._only is not None and site not in self._only:
            return
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

    def at(self, site: str) -> Tape | None:
        """Return this tape if it records a site or changes its weights, else None."""
        wanted = self._only is None or self._prefix + site in self._only
        return self if wanted or self.detailed or self.steering is not None else None

    def steps(self, site: str) -> int:
        """Return the number of the step that a site will write next."""
        return self._first + sum(chunk.shape[2] for chunk in self._chunks.get(self._prefix + site, ()))

    def note(self, name: str, values: Tensor, *, once: bool = False) -> None:
        """Record the values (..., T, D) of further steps; do nothing if the tape is not detailed.

        With `once`, record only the first call for each name.
        """
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
        inner._notes, inner.tensors = self._notes, self.tensors
        inner._chunks, inner._owners, inner._prefix = self._chunks, self._owners, self._prefix + prefix
        inner._only, inner.finished = self._only, self.finished
        return inner

    def __getitem__(self, site: str) -> Tensor:
        if site not in self._chunks:
            raise unknown_name("attention site", site, self._chunks)
        chunks = self._chunks[site]
        return chunks[0] if len(chunks) == 1 else torch.cat(chunks, 2)

    def mean(self, sites: Sequence[str], head: int | None = None) -> Tensor:
        """Return the mean weights (B, T, S) of some sites, and over their heads if `head` is None."""
        seen = [self[self._prefix + site] for site in sites]
        seen = seen if head is None else [part[:, head, None] for part in seen]
        if len({part.shape[1] for part in seen}) > 1:  # sites count alike, whatever their heads
            seen = [part.mean(1, keepdim=True, dtype=torch.float32) for part in seen]
        parts = torch.stack(seen) if len(seen) > 1 else seen[0][None]  # (sites, B, H, T, S)
        return parts.mean((0, 2), dtype=torch.float32)

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
