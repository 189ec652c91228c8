"""The plain search loop, and tiny models whose answers have several words."""

import functools
import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from saccade.batch import Batch
from saccade.models import MODELS, Seq2Seq, build_language_model, build_seq2seq, presets_for
from saccade.search import Beam, Greedy, Hypothesis, Limits, Sample, run

SEQ2SEQ = list(presets_for("sequence_to_sequence"))
LANGUAGE = list({entry.family: name for name, entry in reversed(presets_for("sequence_to_sequence").items())}.values())
"""One preset of each family: a family's language model does not depend on attention to a source."""
APART = [("self-attentive-rnn", "not itself"), ("transformer-base", "not itself")]
"""Self-attention in which no word attends to itself, so that the first one attends to no key."""
EVERY = [(name, "seq2seq") for name in SEQ2SEQ] + [(name, "language") for name in LANGUAGE] + APART
MAX_LENGTH = 8


# The plain loop, which every faster way to search is compared with


def greedy(model: Seq2Seq, batch: Batch, **limits) -> list[Hypothesis]:
    """One hypothesis a sentence; for `limits` see saccade.search.Limits."""
    return [found[0] for found in run(model, batch, Greedy(), Limits.parse(limits))]


def beam(model: Seq2Seq, batch: Batch, width: int = 5, **options) -> list[list[Hypothesis]]:
    """The best of each sentence; `options`: those of Beam, and limits."""
    names = ("length_penalty", "coverage_penalty", "overlap_penalty", "nbest")
    own = {name: options.pop(name) for name in names if name in options}
    return run(model, batch, Beam(width, **{"nbest": 1, "length_penalty": 0.0, **own}), Limits.parse(options))


def sample(model: Seq2Seq, batch: Batch, samples: int = 1, **options) -> list[list[Hypothesis]]:
    """Sampled hypotheses; `options`: those of Sample, and limits."""
    own = {name: options.pop(name) for name in ("temperature", "top_k", "top_p", "generator") if name in options}
    return run(model, batch, Sample(samples, **own), Limits.parse(options))


# Models


def make_model(name: str, kind: str = "seq2seq", vocabulary: int = 9, *, seed: int = 1, scale: float = 1.5) -> Seq2Seq:
    """A tiny model in float64 with large weights, so that every word matters."""
    torch.manual_seed(seed)
    tiny = dict(MODELS[name].tiny)
    if "tied" in MODELS[name].family.model_fields:  # a model with tied embeddings repeats its last word
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


def assert_same_attention(got: dict[str, Tensor], wanted: dict[str, Tensor], tolerance: float = 1e-5) -> None:
    """Assert equal weights; extra columns, for padding or later words, must be 0."""
    assert got.keys() == wanted.keys()
    for site in got:
        one, other = got[site], wanted[site]
        shared = min(one.shape[-1], other.shape[-1])
        torch.testing.assert_close(one[..., :shared], other[..., :shared], rtol=0, atol=tolerance)
        assert not one[..., shared:].any(), site
        assert not other[..., shared:].any(), site


def contains(words: Sequence[int], phrase: Sequence[int]) -> bool:
    """Whether the words contain a phrase."""
    return any(list(words[i : i + len(phrase)]) == list(phrase) for i in range(len(words) - len(phrase) + 1))
