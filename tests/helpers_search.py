"""What the tests of search share: models with decided opinions, a model made of a table, and slow, plain searches."""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from saccade import pytree
from saccade.attention.tape import Tape
from saccade.batch import BOS, EOS, PAD, Batch
from saccade.models import MODELS, Seq2Seq, build_language_model, build_seq2seq, presets_for
from saccade.search import Beam, Greedy, Hypothesis, Limits, Sample, run

SEQ2SEQ = list(presets_for("sequence_to_sequence"))
LANGUAGE = list({entry.family: name for name, entry in reversed(presets_for("sequence_to_sequence").items())}.values())
"""One preset of each family: a family's language model does not depend on how a decoder looks at a source."""
APART = [("self-attentive-rnn", "not itself"), ("transformer-base", "not itself")]
"""Self-attention in which no word looks at itself, so that the first one looks at nothing."""
EVERY = [(name, "seq2seq") for name in SEQ2SEQ] + [(name, "language") for name in LANGUAGE] + APART
MAX_LENGTH = 8


# The plain loop, which every faster way to search is compared with


def greedy(model: Seq2Seq, batch: Batch, **limits) -> list[Hypothesis]:
    """One hypothesis a sentence; for `limits` see saccade.search.Limits."""
    return [found[0] for found in run(model, batch, Greedy(), Limits.parse(limits))]


def beam(model: Seq2Seq, batch: Batch, width: int = 5, **options) -> list[list[Hypothesis]]:
    """The best of each sentence; `options`: those of Beam, and limits."""
    own = {name: options.pop(name) for name in ("length_penalty", "coverage_penalty", "nbest") if name in options}
    return run(model, batch, Beam(width, **{"nbest": 1, "length_penalty": 0.0, **own}), Limits.parse(options))


def sample(model: Seq2Seq, batch: Batch, samples: int = 1, **options) -> list[list[Hypothesis]]:
    """Drawn ones; `options`: those of Sample, and limits."""
    own = {name: options.pop(name) for name in ("temperature", "top_k", "top_p", "generator") if name in options}
    return run(model, batch, Sample(samples, **own), Limits.parse(options))


# Models


def make_model(name: str, kind: str = "seq2seq", vocabulary: int = 9, *, seed: int = 1, scale: float = 1.5) -> Seq2Seq:
    """A tiny model in float64 with large weights, so that every word matters."""
    torch.manual_seed(seed)
    tiny = dict(MODELS[name].tiny)
    if "tied" in MODELS[name].family.model_fields:  # one that predicts with its own embedding repeats its last word
        tiny["tied"] = False
    if kind == "not itself":
        tiny["attention"] = {**tiny.get("attention", {}), "itself": False}
    if kind == "language":
        model = build_language_model(name, vocabulary, **tiny)
    else:
        model = build_seq2seq(name, vocabulary, vocabulary, **tiny)
    with torch.no_grad():
        for part, parameter in model.named_parameters():
            noise = torch.randn_like(parameter)
            if parameter.dim() == 1:
                parameter.add_(0.3 * noise)
            else:
                parameter.copy_(noise * (2.0 if "embedding" in part else 1.0 if part == "output.weight" else scale))
    return model.double().eval()


@functools.cache
def lively_case(name: str, kind: str) -> tuple[Seq2Seq, Batch]:
    """A model and sentences whose greedy answers have several words and, given sources, several lengths."""
    for seed, scale in itertools.product(range(200), (1.5, 0.3)):
        model = make_model(name, kind, seed=seed, scale=scale)
        batch = make_batch(kind, lengths=(5, 1, 3, 4))
        answers = greedy(model, batch, max_length=MAX_LENGTH, attention=False)
        several_words = any(one.finished and len(set(one.tokens)) >= 3 and len(one.tokens) >= 4 for one in answers)
        if several_words and (kind == "language" or len({len(one.tokens) for one in answers}) >= 2):
            return model, batch
    raise AssertionError(f"no {name} {kind} model has anything to say")


def make_batch(kind: str = "seq2seq", vocabulary: int = 9, lengths: Sequence[int] = (5, 1, 3)) -> Batch:
    """Sources of different lengths, or as many blank lines for a language model."""
    if kind == "language":
        return Batch.blank(len(lengths))
    return Batch.from_lists([torch.randint(3, vocabulary, (length,)).tolist() for length in lengths])


def sentence_of(batch: Batch, row: int) -> Batch:
    """One sentence of a batch, without its padding."""
    if batch.source is None:
        return Batch.blank(1)
    length = int(batch.source_mask[row].sum())
    return Batch(batch.source[row : row + 1, :length], batch.source_mask[row : row + 1, :length])


@pytree.node
class Written:
    """The state of a Table model: its words so far (N, T), how many there are, and the sentence's number."""

    words: Tensor
    count: Tensor
    sentence: Tensor


@pytree.node
class Sources:
    """Its memory: the first word of each source, and how long the sources are."""

    first: Tensor
    mask: Tensor


class Table(Seq2Seq):
    """A model on paper: `opinion(sentence, words)` gives the probabilities of the next word after those words.

    `sentence` is the first word of the source. `looks(sentence, words)` gives the attention of that step.
    `fed` counts the steps taken.
    """

    dtype = torch.float64

    def __init__(
        self,
        vocabulary: int,
        opinion: Callable[[int, tuple[int, ...]], dict[int, float]],
        looks: Callable[[int, tuple[int, ...]], Sequence[float]] | None = None,
    ) -> None:
        super().__init__()
        self.vocabulary, self.opinion, self.looks = vocabulary, opinion, looks
        self.fed = 0

    @property
    def source_sites(self) -> list[str]:
        return [] if self.looks is None else ["attention"]

    def encode(self, batch: Batch, *, tape: Tape | None = None) -> Sources:
        return Sources(batch.source[:, 0], batch.source_mask)

    def init_state(self, memory: Sources, max_length: int) -> Written:
        words = memory.first.new_full((memory.first.shape[0], max_length + 1), PAD)
        return Written(words, torch.zeros_like(memory.first), memory.first.clone())

    def step(self, memory: Sources, state: Written, tokens: Tensor, *, tape: Tape | None = None):
        self.fed += 1
        words = pytree.write_at(state.words, state.count, tokens)
        state = Written(words, state.count + 1, state.sentence)
        beginnings = [
            (sentence, tuple(row[1:count]))
            for row, count, sentence in zip(words.tolist(), state.count.tolist(), state.sentence.tolist(), strict=True)
        ]
        chances = torch.zeros(len(beginnings), self.vocabulary, dtype=torch.float64)
        for row, beginning in enumerate(beginnings):
            for word, chance in self.opinion(*beginning).items():
                chances[row, word] = chance
        if tape is not None and self.looks is not None:
            weights = torch.zeros(len(beginnings), 1, 1, memory.mask.shape[1], dtype=torch.float64)
            for row, beginning in enumerate(beginnings):
                look = torch.tensor(self.looks(*beginning), dtype=torch.float64)[: weights.shape[-1]]
                weights[row, 0, 0, : len(look)] = look
            tape.write("attention", weights)
        return chances.log().to(self.dtype), state


def random_table(seed: int, vocabulary: int = 7, source: int = 3, end: float = 1.0, sharpness: float = 2.0) -> Table:
    """Opinions and looks that are random but depend on the sentence and on every word so far."""

    @functools.cache
    def numbers(kind: int, sentence: int, words: tuple[int, ...], size: int) -> Tensor:
        generator = torch.Generator().manual_seed(hash((seed, kind, sentence, *words)) % 2**31)
        return torch.randn(size, generator=generator, dtype=torch.float64)

    def opinion(sentence: int, words: tuple[int, ...]) -> dict[int, float]:
        logits = sharpness * numbers(0, sentence, words, vocabulary)
        logits[EOS] += end
        return dict(enumerate(torch.softmax(logits, 0).tolist()))

    def looks(sentence: int, words: tuple[int, ...]) -> list[float]:
        return torch.softmax(2 * numbers(1, sentence, words, source), 0).tolist()

    return Table(vocabulary, opinion, looks)


# What a model says of given words, through `forward` alone


@dataclass(frozen=True)
class Replay:
    """Log-probabilities (T, V) of what comes at each place of some words and after them; attention by site."""

    logs: Tensor
    looks: dict[str, Tensor]


@torch.no_grad()
def replay(model: Seq2Seq, sentence: Batch, targets: Sequence[Sequence[int]]) -> list[Replay]:
    """Teacher forcing: what the model thinks at BOS and after each word of the targets (without EOS)."""
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
    """Without the end."""
    return [token for token in tokens if token != EOS]


def log_probability(said: Replay, tokens: Sequence[int]) -> float:
    return sum(float(said.logs[t, token]) for t, token in enumerate(tokens))


def coverage(said: Replay, sites: Sequence[str], steps: int) -> Tensor:
    """(S,): the attention each source word got in the first steps, the mean of sites and heads."""
    return torch.stack([said.looks[site][:, :steps].mean(0).sum(0) for site in sites]).mean(0)


# The same searches as in saccade, slow and plain


@dataclass(frozen=True)
class Penalties:
    """α and β of a beam search."""

    length: float = 0.0
    coverage: float = 0.0

    def score(self, log: float, length: int, covered: Tensor | None) -> float:
        score = log / ((5 + length) / 6) ** self.length
        if self.coverage and covered is not None:
            score += self.coverage * sum(math.log(max(min(share, 1.0), 1e-10)) for share in covered.tolist())
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
        covered = coverage(said, model.source_sites, len(tokens)) if penalties.coverage else None
        found.append(Found(tuple(tokens), log, penalties.score(log, len(tokens), covered)))
    return found


def brute_force(model: Seq2Seq, sentence: Batch, max_length: int, penalties: Penalties) -> list[Found]:
    """All there is to write, best first."""
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
        ]
        every.sort(key=lambda one: -one[1])
        ended = [tokens for tokens, _ in every[:width] if tokens[-1] == EOS]
        if ended:
            pool = rank([*pool, *score_all(model, sentence, ended, penalties)])
        beams = [(tokens, log) for tokens, log in every if tokens[-1] != EOS][:width]
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


def assert_same_attention(got: dict[str, Tensor], wanted: dict[str, Tensor], tolerance: float = 1e-5) -> None:
    """The same weights; what one has more of, columns for padding or for words to come, holds none."""
    assert got.keys() == wanted.keys()
    for site in got:
        one, other = got[site], wanted[site]
        shared = min(one.shape[-1], other.shape[-1])
        torch.testing.assert_close(one[..., :shared], other[..., :shared], rtol=0, atol=tolerance)
        assert not one[..., shared:].any(), site
        assert not other[..., shared:].any(), site


def contains(words: Sequence[int], phrase: Sequence[int]) -> bool:
    """Whether a phrase stands somewhere in the words."""
    return any(list(words[i : i + len(phrase)]) == list(phrase) for i in range(len(words) - len(phrase) + 1))
