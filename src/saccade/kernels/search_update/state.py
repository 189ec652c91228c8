"""The state of a search for every sentence, from step to step."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

__all__ = ["Beams", "Pool", "Walks"]


class Pool(NamedTuple):
    """Hypotheses (B, K), best first: final score, log-probability, choices made so far, slot in the beam."""

    scores: Tensor
    logs: Tensor
    steps: Tensor
    slots: Tensor


class Beams(NamedTuple):
    """The state of a beam search: log-probabilities (B, K) of live hypotheses, choices so far (B, 1), both pools.

    done (B,): no further step can change the result. over (B,): no live hypothesis was left before the length limit.
    """

    logs: Tensor
    t: Tensor
    finished: Pool
    open: Pool
    done: Tensor
    over: Tensor


class Walks(NamedTuple):
    """Independent hypotheses (B, K), as in greedy search: log-probability, words without EOS, flags ended and stopped.

    A hypothesis stops when it ends with EOS or when no word is allowed.
    """

    logs: Tensor
    steps: Tensor
    ended: Tensor
    stopped: Tensor
