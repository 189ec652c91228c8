"""Attention over the turns of a dialogue, then over the words within each turn."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from saccade import pytree
from saccade.attention.aligns import Align
from saccade.attention.core import Attention, AttentionOutput, Bank, next_state, spread_mask
from saccade.attention.scores import AttentionState, Score
from saccade.attention.windows.base import joined
from saccade.errors import ConfigError
from saccade.kernels.dot import Sight
from saccade.kernels.dropout import dropout

__all__ = ["TurnAttention", "TurnBank", "Turns"]


@pytree.node
class Turns:
    """Which positions of a source (B, S) belong to which turn; K turns of up to L words.

    of (B, S): the turn of each position; the last turn for padding. places (B, K, L): the position of each word.
    mask (B, K, L): whether a turn has that word. flat (B, S): where a position is among the K·L words; 0 for padding.
    """

    of: Tensor
    places: Tensor
    mask: Tensor
    flat: Tensor

    @classmethod
    def starting(cls, starts: Tensor, mask: Tensor, room: tuple[int, int] | None = None) -> Turns:
        """Build turns from the positions (B, S) where one begins; the first position begins one in any case.

        `room`: K and L, if they are known to suffice. Otherwise the device is waited for, to read them.
        """
        starts = starts & mask
        first = torch.zeros_like(starts)
        first[:, 0] = True
        starts = starts | first
        of = starts.long().cumsum(1) - 1
        positions = torch.arange(mask.shape[1], device=mask.device).expand_as(of)
        within = positions - positions.masked_fill(~starts, 0).cummax(1).values
        count, longest = room or (int(of.max()) + 1, int(within.masked_fill(~mask, 0).max()) + 1)
        size = count * longest
        slots = (of * longest + within).masked_fill(~mask, size)  # padding goes to a column of its own
        places = of.new_zeros(len(of), size + 1).scatter(1, slots, positions)[:, :-1]
        real = torch.zeros_like(places, dtype=torch.bool)
        real = torch.cat([real, real[:, :1]], 1).scatter(1, slots, True)[:, :-1]
        shape = (count, longest)
        return cls(of, places.unflatten(1, shape), real.unflatten(1, shape), slots.masked_fill(~mask, 0))

    def split(self, vectors: Tensor) -> Tensor:
        """Sort vectors by turn: (B, S, D) -> (B, K, L, D)."""
        index = self.places.flatten(1)[..., None].expand(-1, -1, vectors.shape[-1])
        found: Tensor = vectors.gather(1, index).unflatten(1, self.mask.shape[1:])
        return found

    def join(self, vectors: Tensor) -> Tensor:
        """Undo `split`: (B, K, L, D) -> (B, S, D); padding gets the vector of some word."""
        vectors = vectors.flatten(1, 2)
        return vectors.gather(1, self.flat[..., None].expand(-1, -1, vectors.shape[-1]))

    def split_weights(self, weights: Tensor) -> Tensor:
        """Sort one number per position by turn: (B, T, S) -> (B, T, K, L)."""
        index = self.places.flatten(1)[:, None].expand(-1, weights.shape[1], -1)
        found: Tensor = weights.expand(len(index), -1, -1).gather(2, index).unflatten(2, self.mask.shape[1:])
        return found

    def join_weights(self, weights: Tensor) -> Tensor:
        """Undo `split_weights`: (B, T, K, L) -> (B, T, S)."""
        weights = weights.flatten(2)
        return weights.gather(2, self.flat[:, None].expand(-1, weights.shape[1], -1))

    def total(self, weights: Tensor) -> Tensor:
        """Sum the weights of each turn: (B, T, S) -> (B, T, K)."""
        return (self.split_weights(weights) * self.mask[:, None]).sum(-1)


@pytree.node
class TurnBank(Bank):
    """A bank of words, with the prepared keys (B, K, P) of the turns."""

    turn_keys: Tensor | None = None
    turns: Turns | None = None


class TurnAttention(Attention):
    """Attention over turns, and over the words within each turn, multiplied into one distribution over all words.

        e[t, s] = log b[t, turn(s)] + log w[t, s]
        b[t, k] = align(turn_score(q[t], g[k]))          over the turns k
        w[t, s] = align(score(q[t], h[s]))               over the words s of one turn
        a[t, s] = b[t, turn(s)] · w[t, s]

    The weights of a turn's words sum to b. `score` compares the query with words, `turn_score` with turns; a score
    that keeps a state, such as coverage, reads for a turn the sum of its words.
    Paper: Xing et al. 2018, arXiv:1701.07149. Differs: there the vectors of turns are recomputed for every word of
    the reply, from the attention to their words.
    """

    def __init__(
        self,
        score: Score,
        turn_score: Score,
        align: Align | None = None,
        *,
        dropout: float = 0.0,
        site: str = "attention",
    ) -> None:
        super().__init__(score, align, dropout=dropout, site=site)
        if self.align.sequential or self.align.samples or score.heads is not None or turn_score.heads is not None:
            raise ConfigError(
                "attention over turns has one head and an align without state or samples. Leave heads out, and use "
                "softmax, sparsemax or entmax."
            )
        self.turn_score = turn_score

    @property
    def sequential(self) -> bool:
        """Whether a step depends on the weights of the previous step."""
        return super().sequential or self.turn_score.sequential

    def bank_of_turns(self, words: Tensor, turns: Tensor, mask: Tensor, where: Turns) -> TurnBank:
        """Prepare words (B, S, Dk), which are the values too, and turns (B, K, Dg); mask (B, S)."""
        keys, values = self.project(words)
        return TurnBank(keys, values, spread_mask(mask, keys), self.turn_score.prepare(turns), where)

    def _compute(
        self,
        query: Tensor,
        bank: Bank,
        positions: Tensor,
        past: AttentionState | None,
        *,
        recorded: bool,
        detailed: bool,
        visible: Tensor | None,
        pull: Callable[[Tensor], Tensor] | None,
        sight: Sight = "any",
    ) -> AttentionOutput:
        assert isinstance(bank, TurnBank)
        assert bank.mask is not None
        mask = bank.mask if visible is None else joined(bank.mask, visible)
        weights = self._weights(query, bank, mask, past)
        scores = weights.log() if detailed else None  # their softmax is the weights
        if pull is not None:
            weights = pull(weights)
        context = dropout(weights, self.dropout if self.training else 0.0) @ bank.values
        return AttentionOutput(context, weights, None, next_state(past, weights, mask), scores)

    def _weights(self, query: Tensor, bank: TurnBank, mask: Tensor, past: AttentionState | None) -> Tensor:
        """Return the weights (B, T, S) of all words; mask (B, 1, S)."""
        turns, turn_keys = bank.turns, bank.turn_keys
        assert turns is not None
        assert turn_keys is not None
        shown = turns.split_weights(mask) & turns.mask[:, None]  # (B, 1, K, L)
        of_turns = None if past is None else AttentionState(turns.total(past.previous), turns.total(past.total))
        words = self.align(turns.split_weights(self.score(query, bank.keys, past)), shown)
        between = self.align(self.turn_score(query, turn_keys, of_turns), shown.any(-1))
        return turns.join_weights(between[..., None] * words).masked_fill(~mask, 0.0)
