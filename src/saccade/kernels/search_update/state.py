"""What searches keep of every sentence from step to step."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

__all__ = ["Beams", "Pool", "Walks"]


class Pool(NamedTuple):
    """Hypotheses (B, K), best first: final score, log-probability, choices made so far, the slot they stand in."""

    scores: Tensor
    logs: Tensor
    steps: Tensor
    slots: Tensor


class Beams(NamedTuple):
    """A beam search: the live hypotheses' logs (B, K), the choices made so far (B, 1), both pools.

    done (B,): no further step can change the answer; over (B,): nothing was left to be written, though there was room.
    """

    logs: Tensor
    t: Tensor
    finished: Pool
    open: Pool
    done: Tensor
    over: Tensor


class Walks(NamedTuple):
    """Hypotheses (B, K) that walk on their own: log-probability, words without the end, whether they ended or stopped.

    One that has ended has stopped; so has one for which no word was allowed.
    """

    logs: Tensor
    steps: Tensor
    ended: Tensor
    stopped: Tensor
