"""Beam search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import torch
from torch import Tensor

from saccade.batch import EOS, PAD
from saccade.errors import ConfigError
from saccade.kernels.dispatch import fusable
from saccade.kernels.search_update import Beams, Pool
from saccade.search.constraints import Required, Rule
from saccade.search.history import Ending
from saccade.search.loop import Choice, Strategy
from saccade.search.penalties import Attended, Penalties
from saccade.search.step_scores import StepScores

__all__ = ["Beam"]


class Candidates(NamedTuple):
    """Continuations (B, n), best first: log-probability, the slot (beam) they continue, and the word."""

    logs: Tensor
    parents: Tensor
    tokens: Tensor


class Beam(Strategy):
    """Continue the K best hypotheses; those that end enter a pool of the best finished ones.

        score = log p / lp(length) + β cp - γ op                see Penalties

    A hypothesis ends when EOS is among the K best continuations of its sentence; K live ones remain. A sentence is
    done when no live one can still reach the pool: log p only falls and cp and -op are at most 0, so its score can
    become at most log p over the largest lp still to come. There is no other early stopping.
    Finished hypotheses rank before unfinished ones. If fewer than `nbest` exist, fewer are returned.
    """

    begins_with_one = True

    def __init__(
        self,
        width: int = 5,
        *,
        length_penalty: float = 0.0,
        coverage_penalty: float = 0.0,
        overlap_penalty: float = 0.0,
        nbest: int = 1,
    ) -> None:
        if width < 1:
            raise ConfigError(f"width is {width}, but a beam keeps at least 1 hypothesis.")
        if not 1 <= nbest <= width:
            raise ConfigError(f"nbest is {nbest}, but a beam of width {width} gives 1 to {width} hypotheses. Widen it.")
        self._penalties = Penalties(length_penalty, coverage_penalty, overlap_penalty)
        self.width, self._nbest = width, nbest
        self.wants_attention = self._penalties.of_attention

    def begin(
        self,
        size: int,
        max_length: int,
        constraints: Sequence[Rule],
        device: torch.device,
        *,
        visible: Tensor | None = None,
    ) -> None:
        shape = (size, self.width)
        self._max_length = max_length
        self._t = torch.zeros(size, 1, dtype=torch.long, device=device)  # steps so far
        self._mask = visible
        self._required = _find_required(constraints)
        self._slots = torch.arange(self.width, device=device).expand(shape)
        self._logs = torch.full(shape, -torch.inf, device=device)
        self._logs[:, 0] = 0.0  # all slots hold the same prefix, so only slot 0 starts
        self._attended: Attended | None = None
        nothing = torch.full(shape, -torch.inf, device=device)
        nowhere = torch.zeros_like(self._slots)
        self._finished = Pool(nothing, nothing, nowhere, nowhere)
        self._open = Pool(self._logs, self._logs, nowhere, self._slots)
        self._done = torch.zeros(size, dtype=torch.bool, device=device)
        self._over = self._done  # sentences where no word was allowed before max_length
        self._divisors: Tensor | None = None  # length penalties by length, for the kernel

    def choose(self, view: StepScores) -> Choice:
        if view.attended is not None:
            self._attended = Attended.after(self._attended, view.attended)
        if self._required is None:
            logs, places = view.best_together(self._logs, 2 * self.width)  # at most K of them end, so K others remain
            if self._attended is None and fusable(logs) and logs.shape[1] == 2 * self.width:
                return self._choose_fused(logs, places, view)
            best = Candidates(logs, *_slot_and_word(places, view.vocabulary))
            self._finish(Candidates(*(part[:, : self.width] for part in best)))
            live = _without_ends(best, self.width)
        else:
            totals = self._logs[..., None] + view.log_probabilities  # (B, K, V)
            complete = _complete(self._required, view.written)
            self._finish(_best(totals.masked_fill(~complete[..., None], -torch.inf), self.width))
            live = _share_out(self._required, totals, view.written)
        self._advance(live, view.stopped)
        return Choice(live.parents, torch.where(live.logs.isneginf(), PAD, live.tokens), live.logs)

    def _choose_fused(self, logs: Tensor, places: Tensor, view: StepScores) -> Choice:
        """Run the rest of the step in one kernel."""
        from saccade.kernels.search_update.fused import advance

        if self._divisors is None:
            self._divisors = self._penalties.divisor(torch.arange(self._max_length + 2, device=logs.device))
        parents, tokens, after = advance(
            logs,
            places,
            Beams(self._logs, self._t, self._finished, self._open, self._done, self._over),
            self._divisors,
            view.stopped,
            vocabulary=view.vocabulary,
            nbest=self._nbest,
            max_length=self._max_length,
        )
        self._logs, self._t, self._finished, self._open, self._done, self._over = after
        return Choice(parents, tokens, self._logs)

    def done(self) -> Tensor:
        return self._done

    def keep(self, rows: Tensor, constraints: Sequence[Rule]) -> bool:
        self._required = _find_required(constraints)
        self._mask = None if self._mask is None else self._mask[rows]
        self._slots, self._logs, self._done = self._slots[rows], self._logs[rows], self._done[rows]
        self._over = self._over[rows]
        self._attended = None if self._attended is None else self._attended.of_sentences(rows)
        self._t = self._t[rows]
        self._finished = Pool(*(part[rows] for part in self._finished))
        self._open = Pool(*(part[rows] for part in self._open))
        return True

    def endings(self, rows: Sequence[int] | None = None) -> list[list[Ending]]:
        pools, over = (self._finished, self._open), self._over
        if rows is not None:
            some = torch.tensor(list(rows), dtype=torch.long, device=over.device)
            over, pools = over[some], tuple(Pool(*(part[some] for part in pool)) for pool in pools)  # type: ignore[assignment]
        finished, unfinished = (list(zip(*(part.tolist() for part in pool), strict=True)) for pool in pools)
        found = []
        for ended, going, nothing_left in zip(finished, unfinished, over.tolist(), strict=True):
            best = _endings(ended, EOS, self._nbest)
            # if nothing could continue, the pool holds all possible answers
            if len(best) < self._nbest and not (best and nothing_left):
                best += _endings(going, None, self._nbest - len(best))
            found.append(best)
        return found

    def replace(self, rows: Tensor, others: Self, which: Tensor) -> None:
        def put(old: Tensor, new: Tensor) -> Tensor:
            return old.index_copy(0, rows, new[which].to(old.dtype))

        for name in ("_logs", "_done", "_over", "_t"):
            setattr(self, name, put(getattr(self, name), getattr(others, name)))
        self._finished = Pool(*(put(*pair) for pair in zip(self._finished, others._finished, strict=True)))
        self._open = Pool(*(put(*pair) for pair in zip(self._open, others._open, strict=True)))

    def _finish(self, best: Candidates) -> None:
        """Add the candidates that end to the pool, if they are better than its entries."""
        scores = self._score(best.logs, self._t + 1, self._attended_by(best.parents))
        scores = scores.masked_fill((best.tokens != EOS) | self._done[:, None], -torch.inf)
        logs = best.logs.masked_fill(scores.isneginf(), -torch.inf)
        news = Pool(scores, logs, self._t.expand_as(best.parents), best.parents)
        both = Pool(*(torch.cat(pair, 1) for pair in zip(self._finished, news, strict=True)))
        kept = both.scores.topk(self.width).indices
        self._finished = Pool(*(part.gather(1, kept) for part in both))

    def _advance(self, live: Candidates, stopped: Tensor | None) -> None:
        self._logs, self._attended = live.logs, self._attended_by(live.parents)
        self._t = self._t + 1
        now = Pool(
            self._score(live.logs, self._t, self._attended), live.logs, self._t.expand_as(self._slots), self._slots
        )
        alive = ~live.logs.isneginf().all(1, keepdim=True)  # otherwise keep the last live hypotheses
        self._open = Pool(*(torch.where(alive, new, old) for new, old in zip(now, self._open, strict=True)))
        self._done = self._done | self._settled()
        if stopped is None:
            self._over = self._over | ~alive[:, 0]
        else:
            self._over, self._done = self._over | (~alive[:, 0] & ~stopped), self._done | stopped

    def _score(self, logs: Tensor, length: Tensor, attended: Attended | None) -> Tensor:
        return self._penalties.score(logs, length, attended, self._mask)

    def _attended_by(self, parents: Tensor) -> Attended | None:
        return None if self._attended is None else self._attended.of_parents(parents)

    def _settled(self) -> Tensor:
        """Return the sentences whose n best finished hypotheses cannot be beaten by live ones."""
        reachable = self._penalties.reachable(self._logs.amax(1), self._t[:, 0] + 1, self._max_length)
        return self._finished.scores[:, self._nbest - 1] >= reachable


def _endings(row: tuple[list[float], list[float], list[int], list[int]], last: int | None, most: int) -> list[Ending]:
    """Return the best entries of a sentence's pool, best first; each ends with the word `last`, if given."""
    scores, logs, steps, slots = row
    order = [k for k, log in enumerate(logs) if log > -math.inf]
    order.sort(key=scores.__getitem__, reverse=True)
    return [Ending(steps[k], slots[k], last, scores[k], logs[k]) for k in order[:most]]


def _find_required(constraints: Sequence[Rule]) -> Required | None:
    return next((rule for rule in constraints if isinstance(rule, Required)), None)


def _best(totals: Tensor, count: int) -> Candidates:
    """Return the `count` best of all continuations (B, K, V)."""
    vocabulary = totals.shape[-1]
    best = totals.flatten(1).topk(min(count, totals[0].numel()))
    return Candidates(best.values, *_slot_and_word(best.indices, vocabulary))


def _slot_and_word(places: Tensor, vocabulary: int) -> tuple[Tensor, Tensor]:
    return places // vocabulary, places % vocabulary


def _without_ends(best: Candidates, width: int) -> Candidates:
    logs, order = best.logs.masked_fill(best.tokens == EOS, -torch.inf).topk(width)
    return Candidates(logs, best.parents.gather(1, order), best.tokens.gather(1, order))


def _complete(required: Required, written: Tensor) -> Tensor:
    """Return which hypotheses (B, K) contain everything their sentence requires."""
    complete = [[not required.missing(row, words) for words in beams] for row, beams in enumerate(written.tolist())]
    return torch.tensor(complete, device=written.device)


def _share_out(required: Required, totals: Tensor, written: Tensor) -> Candidates:
    """Choose the next hypotheses, sharing slots between those with more and those with fewer required words.

    Candidates are the best continuations and all that continue a required phrase. Each belongs to the bank of those
    that miss the same number of words. The best of every bank come first, then all second best, and so on.
    """
    width, vocabulary = totals.shape[1:]
    going_on = totals.clone()
    going_on[..., EOS] = -torch.inf
    chosen = []
    for row, beams in enumerate(written.tolist()):
        flat = going_on[row].flatten()
        indices = set(flat.topk(min(2 * width, flat.numel())).indices.tolist())
        for slot, words in enumerate(beams):
            indices |= {slot * vocabulary + word for word in required.following(row, words)}
        order = sorted(indices)
        candidates = sorted(zip(flat[order].tolist(), order, strict=True), key=lambda entry: -entry[0])
        taken: dict[int, int] = {}
        ranked = []
        for log, index in candidates:
            slot, word = divmod(index, vocabulary)
            missing = required.missing(row, [*beams[slot], word])
            taken[missing] = taken.get(missing, 0) + 1
            ranked.append((log == -torch.inf, taken[missing], -log, index))
        chosen.append([index for *_, index in sorted(ranked)[:width]])
    indices_kept = torch.tensor(chosen, device=totals.device)
    logs = going_on.flatten(1).gather(1, indices_kept)
    return Candidates(logs, indices_kept // vocabulary, indices_kept % vocabulary)
