"""Slow, plain searches over lists of words, scored by `forward` alone."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from saccade.attention.tape import Tape
from saccade.batch import BOS, EOS, PAD, Batch
from saccade.models import Seq2Seq
from saccade.search import Hypothesis


@dataclass(frozen=True)
class Replay:
    """Log-probabilities (T, V) at each position of some words and after the last; attention by site."""

    logs: Tensor
    looks: dict[str, Tensor]


@torch.no_grad()
def replay(model: Seq2Seq, sentence: Batch, targets: Sequence[Sequence[int]]) -> list[Replay]:
    """Teacher forcing: the model's predictions at BOS and after each word of the targets (without EOS)."""
    count = len(targets)
    rows = Batch.from_lists(targets=targets)
    if sentence.source is not None:
        rows = Batch(
            sentence.source.expand(count, -1), sentence.source_mask.expand(count, -1), rows.target, rows.target_mask
        )
    tape = Tape()
    logs = torch.log_softmax(model(rows, tape=tape), -1)
    return [
        Replay(logs[row, : len(words) + 1], {site: tape[site][row] for site in tape})
        for row, words in enumerate(targets)
    ]


def words_of(tokens: Sequence[int]) -> list[int]:
    """The words without EOS."""
    return [token for token in tokens if token != EOS]


def log_probability(said: Replay, tokens: Sequence[int]) -> float:
    return sum(float(said.logs[t, token]) for t, token in enumerate(tokens))


def mean_attention(said: Replay, sites: Sequence[str], steps: int) -> list[list[float]]:
    """A row for each of the first steps: the attention to each source word, the mean of sites and heads."""
    return torch.stack([said.looks[site][:, :steps].mean(0) for site in sites]).mean(0).tolist()


# The same searches as in saccade, slow and plain

Allowed = Callable[[Sequence[int], int], bool]
"""Whether a word may follow some words."""


def no_repeat(size: int) -> Allowed:
    """No run of `size` words stands twice."""

    def allowed(words: Sequence[int], word: int) -> bool:
        text = [*words, word]
        runs = [tuple(text[at : at + size]) for at in range(len(text) - size + 1)]
        return word == EOS or len(set(runs)) == len(runs)

    return allowed


def at_least(length: int) -> Allowed:
    """No end before `length` words."""
    return lambda words, word: word != EOS or len(words) >= length


@dataclass(frozen=True)
class Penalties:
    """α, β and γ of a beam search."""

    length: float = 0.0
    coverage: float = 0.0
    overlap: float = 0.0

    def score(self, log: float, length: int, looks: list[list[float]] | None) -> float:
        """`looks`: the attention to each source word, a row for each step."""
        score = log / ((5 + length) / 6) ** self.length
        for column in zip(*looks or (), strict=True):
            if self.coverage:
                score += self.coverage * math.log(max(min(sum(column), 1.0), 1e-10))
            for step, share in enumerate(column):
                score -= self.overlap * min(share, sum(column[:step]))
        return score


@dataclass(frozen=True)
class Found:
    """A hypothesis of a slow search."""

    tokens: tuple[int, ...]
    log: float
    score: float

    @property
    def finished(self) -> bool:
        return self.tokens[-1:] == (EOS,)


def rank(found: Sequence[Found]) -> list[Found]:
    """Finished ones first, the best of them first."""
    return sorted(found, key=lambda one: (not one.finished, -one.score))


def score_all(
    model: Seq2Seq, sentence: Batch, candidates: Sequence[Sequence[int]], penalties: Penalties
) -> list[Found]:
    """Each candidate scored by `forward`."""
    found = []
    for tokens, said in zip(candidates, replay(model, sentence, [words_of(c) for c in candidates]), strict=True):
        log = log_probability(said, tokens)
        wanted = penalties.coverage or penalties.overlap
        looks = mean_attention(said, model.source_sites, len(tokens)) if wanted else None
        found.append(Found(tuple(tokens), log, penalties.score(log, len(tokens), looks)))
    return found


def brute_force(model: Seq2Seq, sentence: Batch, max_length: int, penalties: Penalties) -> list[Found]:
    """All possible answers, best first."""
    words = range(EOS + 1, model.vocabulary)
    finished = [(*written, EOS) for length in range(max_length) for written in itertools.product(words, repeat=length)]
    unfinished = list(itertools.product(words, repeat=max_length))
    return rank(score_all(model, sentence, finished + unfinished, penalties))


def slow_greedy(model: Seq2Seq, sentence: Batch, max_length: int) -> list[int]:
    tokens: list[int] = []
    while len(tokens) < max_length and tokens[-1:] != [EOS]:
        logs = replay(model, sentence, [tokens])[0].logs[-1].clone()
        logs[[PAD, BOS]] = -math.inf
        tokens.append(int(logs.argmax()))
    return tokens


def slow_beam(
    model: Seq2Seq,
    sentence: Batch,
    width: int,
    max_length: int,
    penalties: Penalties,
    nbest: int,
    *,
    stop_early: bool = True,
    rules: Sequence[Allowed] = (),
) -> list[Found]:
    """Beam search over lists; without `stop_early` it always goes on to max_length."""
    pool: list[Found] = []
    beams: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    for step in range(1, max_length + 1):
        said = replay(model, sentence, [words for words, _ in beams])
        every = [
            ((*words, word), log + float(view.logs[-1, word]))
            for (words, log), view in zip(beams, said, strict=True)
            for word in range(EOS, model.vocabulary)
            if all(allowed(words, word) for allowed in rules)
        ]
        every.sort(key=lambda one: -one[1])
        ended = [tokens for tokens, _ in every[:width] if tokens[-1] == EOS]
        if ended:
            pool = rank([*pool, *score_all(model, sentence, ended, penalties)])
        beams = [(tokens, log) for tokens, log in every if tokens[-1] != EOS][:width]
        if not beams:
            return pool[:nbest]
        if stop_early and len(pool) >= nbest:
            lengths = range(step + 1, max_length + 1)
            hopes = [penalties.score(beams[0][1], length, None) for length in lengths]
            if not hopes or pool[nbest - 1].score >= max(hopes):
                break
    if len(pool) < nbest:
        pool = pool + rank(score_all(model, sentence, [tokens for tokens, _ in beams], penalties))
    return pool[:nbest]


# Comparing


def assert_found(got: Sequence[Hypothesis], wanted: Sequence[Found], tolerance: float = 1e-9) -> None:
    """The same words in the same order with the same numbers."""
    assert [tuple(one.tokens) for one in got] == [one.tokens for one in wanted]
    for one, other in zip(got, wanted, strict=True):
        assert math.isclose(one.score, other.score, rel_tol=tolerance, abs_tol=tolerance), (one, other)
        assert math.isclose(one.log_probability, other.log, rel_tol=tolerance, abs_tol=tolerance), (one, other)
        assert one.finished == other.finished
