"""Beam search."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from saccade.batch import EOS, PAD, Batch
from saccade.errors import ConfigError
from saccade.search.constraints import Required
from saccade.search.loop import Choice, Strategy, View
from saccade.search.trace import Ending

__all__ = ["Beam"]


class Pool(NamedTuple):
    """The best finished hypotheses (B, P): final score, log-probability, steps before EOS, slot it came from."""

    scores: Tensor
    logs: Tensor
    steps: Tensor
    slots: Tensor


class Beam(Strategy):
    """The K best beginnings go on; those that end go to a pool of the best finished ones.

        score = log p / lp(length) + cp
        lp = ((5 + length) / 6)^α                     length counts EOS
        cp = β Σ_s log min(Σ_t a[t, s], 1)            for every source word that was not looked at enough

    A hypothesis ends when EOS is among the K best continuations of its sentence; the live ones stay K. A
    sentence is done when no live one can still reach the pool: log p only falls and cp is at most 0, so the
    best it can become is log p over the largest lp still to come. Nothing is stopped earlier than that.
    Papers: Wu et al. 2016, arXiv:1609.08144, section 7 (penalties).
    """

    def __init__(
        self,
        width: int = 5,
        *,
        length_penalty: float = 0.0,
        coverage_penalty: float = 0.0,
        nbest: int = 1,
        required: Required | None = None,
    ) -> None:
        if not 1 <= nbest <= width:
            raise ConfigError(f"nbest is {nbest}, but a beam of width {width} gives 1 to {width} hypotheses. Widen it.")
        if coverage_penalty < 0:
            raise ConfigError(f"coverage_penalty is {coverage_penalty}, but a penalty is 0 or more.")
        self.width, self._nbest, self._required = width, nbest, required
        self._alpha, self._beta = length_penalty, coverage_penalty
        self.wants_attention = coverage_penalty > 0

    def begin(self, sentences: int, max_length: int, batch: Batch, device: torch.device) -> None:
        shape = (sentences, self.width)
        self._max_length, self._t = max_length, 0
        self._logs = torch.full(shape, -torch.inf, device=device)
        self._logs[:, 0] = 0.0  # all slots hold the same beginning, so one of them starts
        none = torch.full(shape, -torch.inf, device=device)
        nowhere = torch.zeros(shape, dtype=torch.long, device=device)
        self._pool = Pool(none, none, nowhere, nowhere)
        self._done = torch.zeros(sentences, dtype=torch.bool, device=device)
        self._covered: Tensor | None = None
        self._mask = batch.source_mask

    def choose(self, view: View) -> Choice:
        self._cover(view.attended)
        totals = self._logs[..., None] + view.log_probabilities  # (B, K, V)
        vocabulary = totals.shape[-1]
        best = totals.flatten(1).topk(min(2 * self.width, self.width * vocabulary))
        parents, tokens = best.indices // vocabulary, best.indices % vocabulary  # (B, 2K)
        ends = tokens == EOS
        self._finish(best.values[:, : self.width], ends[:, : self.width], parents[:, : self.width])
        if self._required is not None:
            logs, parents, tokens = self._with_required(totals, view.written)
        else:
            live = best.values.masked_fill(ends, -torch.inf)
            logs, order = live.topk(self.width)
            parents, tokens = parents.gather(1, order), tokens.gather(1, order)
        self._logs = logs
        if self._covered is not None:
            self._covered = self._covered.gather(1, parents[..., None].expand_as(self._covered))
        self._t += 1
        self._done = self._done | self._settled()
        return Choice(parents, torch.where(logs.isneginf(), PAD, tokens))

    def done(self) -> Tensor:
        return self._done

    def endings(self) -> list[list[Ending]]:
        found = []
        live_scores = self._final(self._logs, self._t, self._covered)
        for row in range(self._logs.shape[0]):
            ended = [Ending(int(s), int(k), EOS, f, p) for f, p, s, k in self._rows(row) if f > -torch.inf]
            open_ = [
                Ending(self._t, slot, None, float(live_scores[row, slot]), float(self._logs[row, slot]))
                for slot in live_scores[row].argsort(descending=True).tolist()
                if self._logs[row, slot] > -torch.inf
            ]
            found.append((ended + open_)[: self._nbest])
        return found

    def _rows(self, row: int) -> list[tuple[float, ...]]:
        return list(zip(*(part[row].tolist() for part in self._pool), strict=True))

    def _cover(self, attended: Tensor | None) -> None:
        if attended is not None:
            self._covered = attended if self._covered is None else self._covered + attended

    def _finish(self, logs: Tensor, ends: Tensor, parents: Tensor) -> None:
        """Put the candidates that end into the pool, where they are better than what it holds."""
        covered = None
        if self._covered is not None:
            covered = self._covered.gather(1, parents[..., None].expand(-1, -1, self._covered.shape[-1]))
        scores = self._final(logs, self._t + 1, covered)
        scores = scores.masked_fill(~ends | self._done[:, None], -torch.inf)
        steps = torch.full_like(parents, self._t)
        news = Pool(scores, logs, steps, parents)
        both = Pool(*(torch.cat(pair, 1) for pair in zip(self._pool, news, strict=True)))
        kept = both.scores.topk(self.width).indices
        self._pool = Pool(*(part.gather(1, kept) for part in both))

    def _final(self, logs: Tensor, length: int, covered: Tensor | None) -> Tensor:
        scores = logs / self._length_divisor(length)
        if covered is None:
            return scores
        logs_covered = covered.clamp(1e-10, 1.0).log()
        if self._mask is not None:
            logs_covered = logs_covered * self._mask[:, None]
        return scores + self._beta * logs_covered.sum(-1)

    def _length_divisor(self, length: int) -> float:
        return float(((5 + length) / 6) ** self._alpha)

    def _settled(self) -> Tensor:
        """Sentences whose n best finished hypotheses no live one can pass any more."""
        nearest, furthest = self._length_divisor(self._t + 1), self._length_divisor(self._max_length)
        reachable = self._logs.amax(1) / max(nearest, furthest)
        return self._pool.scores[:, self._nbest - 1] >= reachable

    def _with_required(self, totals: Tensor, written: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The next beams, with room shared between hypotheses that have more and fewer of the required words.

        Candidates are the best continuations and all that bring a required word nearer. Each belongs to the
        bank of those missing as many words; the best of every bank go first, then all second best, and so on.
        """
        required = self._required
        assert required is not None
        chosen = []
        words = written.tolist()
        for row, scores in enumerate(totals.masked_fill(_only(totals, EOS), -torch.inf)):
            flat = scores.flatten()
            indices = set(flat.topk(min(2 * self.width, flat.numel())).indices.tolist())
            for slot in range(self.width):
                _, following = required.progress(row, words[row][slot])
                indices |= {slot * scores.shape[-1] + word for word in following}
            candidates = sorted(
                ((float(flat[i]), *divmod(i, scores.shape[-1])) for i in indices), key=lambda entry: -entry[0]
            )
            taken: dict[int, int] = {}
            ranked = []
            for log, slot, word in candidates:
                missing, _ = required.progress(row, [*words[row][slot], word])
                taken[missing] = taken.get(missing, -1) + 1
                ranked.append((log == -torch.inf, taken[missing], -log, slot, word))
            ranked.sort()
            chosen.append([(-log, slot, word) for _, _, log, slot, word in ranked[: self.width]])
        logs, slots, tokens = (list(column) for column in zip(*(zip(*row, strict=True) for row in chosen), strict=True))
        device = totals.device
        return (
            torch.tensor(logs, device=device),
            torch.tensor(slots, device=device),
            torch.tensor(tokens, device=device),
        )


def _only(totals: Tensor, word: int) -> Tensor:
    mask = torch.zeros(totals.shape[-1], dtype=torch.bool, device=totals.device)
    mask[word] = True
    return mask
