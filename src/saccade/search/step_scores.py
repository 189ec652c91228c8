"""StepScores: the scores of one search step, computed only as far as the strategy needs them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from saccade.batch import BOS
from saccade.kernels.ranking import best, best_together
from saccade.search.constraints import Constraint, MaximumLengths, Rule

__all__ = ["StepScores", "top"]


class StepScores:
    """One step of a search: the log-probabilities of the next words.

    written (B, K, t): the words so far. steps_left includes this step. attended (B, K, S): the attention to each
    source word in this step, if the strategy wants it. stopped (B,): sentences that may have no further word.
    summed: whether logits are scores already, which are not normalized (`Seq2Seq.sums_scores`).
    """

    def __init__(
        self,
        logits: Tensor,
        written: Tensor,
        steps_left: int,
        attended: Tensor | None = None,
        constraints: Sequence[Rule] = (),
        stopped: Tensor | None = None,
        *,
        summed: bool = False,
    ) -> None:
        self.written, self.steps_left, self.attended = written, steps_left, attended
        self._logits, self.stopped, self._summed = logits, stopped, summed  # (B·K, V), (B,)
        active = [rule for rule in constraints if not _rests(rule, written.shape[-1])]
        self._constraints = [rule for rule in active if not isinstance(rule, MaximumLengths)]
        for rule in active:
            if isinstance(rule, MaximumLengths):
                over = rule.stopped(written.shape[-1], logits.device)
                self.stopped = over if self.stopped is None else self.stopped | over

    @property
    def vocabulary(self) -> int:
        """Number of words to choose from."""
        return self._logits.shape[-1]

    @cached_property
    def log_probabilities(self) -> Tensor:
        """Log-probabilities (B, K, V) of the next word, -inf where it is not allowed."""
        logits = self._logits.float() if self._logits.dtype.itemsize < 4 else self._logits
        normalized = logits.clone() if self._summed else torch.log_softmax(logits, -1)
        logs = normalized.view(*self.written.shape[:2], -1)
        self.questionable = logs
        logs[..., : BOS + 1] = -torch.inf  # PAD and BOS
        for constraint in self._constraints:
            logs = constraint(logs, self.written, self.steps_left)
        return logs if self.stopped is None else logs.masked_fill(self.stopped[:, None, None], -torch.inf)

    def best(self, count: int) -> tuple[Tensor, Tensor]:
        """Return the best continuations of each hypothesis, best first: log-probabilities and words (B, K, count)."""
        found = None if self._constraints or self._summed else best(self._logits, BOS + 1, count)
        if found is None:
            logs = self.log_probabilities
            found = top(logs.flatten(0, 1), min(count, logs.shape[-1]))
        values, words = (part.view(*self.written.shape[:2], -1) for part in found)
        self._note_scores(values)
        return self._mask_stopped(values), words

    def best_together(self, before: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Return the best continuations of each sentence, best first.

        `before` (B, K): the log-probabilities of its hypotheses. Returns the total log-probabilities and the indices
        k·V + word, both (B, count).
        """
        found = None if self._constraints or self._summed else best_together(self._logits, before, BOS + 1, count)
        if found is None:
            logs = self.log_probabilities
            found = top(logs, min(count, logs[0].numel()), before)
        values, places = found
        self._note_scores(values)
        return self._mask_stopped(values), places

    def _mask_stopped(self, values: Tensor) -> Tensor:
        """Set values (B, ...) to -inf for sentences that may have no further word."""
        if self.stopped is None:
            return values
        return values.masked_fill(self.stopped.view(-1, *[1] * (values.dim() - 1)), -torch.inf)

    def _note_scores(self, values: Tensor) -> None:
        if not self._constraints:
            self.questionable = values  # log_softmax spreads a NaN over its row, and topk ranks NaN first

    @property
    def broken(self) -> Tensor:
        """True if any score used in this step is NaN."""
        return self.questionable.isnan().any()

    @cached_property
    def questionable(self) -> Tensor:
        """Scores used in this step; if a prediction was NaN, one of these is NaN."""
        return self._logits[:0]


def top(values: Tensor, count: int, before: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return `values.topk(count)` of rows (N, V), searching only the blocks with the greatest maxima.

    This is fast for counts far below V. With `before` (B, K), return the top of (before + values).flatten(1) for
    values (B, K, V).

    A block is every C-th column, so that maxima are taken along contiguous memory. The greatest `count` numbers lie
    in the `count` blocks with the greatest maxima, or in the columns left over, which are all searched.
    """
    size = values.shape[-1]
    blocks = 64 * round((size * count) ** 0.5 / 64)  # a multiple of 64, for SIMD
    if blocks == 0 or 4 * blocks > size:
        found = (values if before is None else (values + before[..., None]).flatten(1)).topk(count)
        return found.values, found.indices
    length = size // blocks
    maxima = values[..., : length * blocks].unflatten(-1, (length, blocks)).amax(-2)
    firsts = torch.arange(blocks, device=values.device)
    if before is not None:
        maxima = (maxima + before[..., None]).flatten(1)
        slots = torch.arange(before.shape[1], device=values.device)[:, None]
        firsts = (slots * size + firsts).flatten()
    chosen = maxima.argmax(1, keepdim=True) if count == 1 else maxima.topk(count, sorted=False).indices
    every = torch.arange(0, length * blocks, blocks, device=values.device)
    places = (firsts[chosen][..., None] + every).flatten(1)
    rest = torch.arange(length * blocks, size, device=values.device)
    if before is not None:
        rest = (slots * size + rest).flatten()
    places = torch.cat([places, rest.expand(len(values), -1)], 1)
    candidates = values.flatten(1).gather(1, places)
    if before is not None:
        candidates = candidates + before.gather(1, places // size)
    found = candidates.topk(count)
    return found.values, places.gather(1, found.indices)


def _rests(rule: Rule, written: int) -> bool:
    return isinstance(rule, Constraint) and rule.rests(written)
