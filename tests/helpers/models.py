"""Tiny models by name, ragged batches, and ways to run and compare models."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

import torch
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from saccade import pytree
from saccade.batch import Batch
from saccade.config import merge
from saccade.models import (
    MODELS,
    Ensemble,
    Seq2Seq,
    build_captioner,
    build_classifier,
    build_head,
    build_language_model,
    build_recognizer,
    build_seq2seq,
    configure,
    presets_for,
)
from saccade.models.listening import Listener
from saccade.models.pointer_network import PointsConfig

VOCABULARY = 11
Model = TypeVar("Model", bound=nn.Module)

same = partial(assert_close, rtol=1e-5, atol=1e-5)


def loud(model: Model, seed: int = 3) -> Model:
    """The model in evaluation mode, without parameters at zero, which would hide errors."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator).to(parameter.dtype))
    return model.eval()


def tiny(name: str, **overrides: Any) -> Seq2Seq:
    """A preset in the size for tests, as it is built."""
    return build_seq2seq(name, VOCABULARY, VOCABULARY, **(MODELS[name].tiny | overrides))


class OverWords(Seq2Seq):
    """A pointer network over words: seven extra points before those of the source stand for words to point at.

    The last word of the source is the end.
    """

    def __init__(self, choose: str, **settings: Any) -> None:
        super().__init__()
        family = configure("pointer-network", **MODELS["pointer-network"].tiny | settings)
        self.inner = build_head("pointer_network", family, PointsConfig(choose=choose))
        self.register_buffer("table", torch.rand(VOCABULARY, 2, generator=torch.Generator().manual_seed(5)))

    @property
    def source_sites(self) -> list[str]:
        return self.inner.source_sites

    def pointed(self, batch: Batch) -> Batch:
        words = torch.arange(4, VOCABULARY).expand(batch.size, -1)
        mask = torch.cat([torch.ones_like(words, dtype=torch.bool), batch.source_mask], 1)
        return replace(batch, source=self.table[torch.cat([words, batch.source], 1)], source_mask=mask)

    def widened(self, logs: Tensor) -> Tensor:
        """Pad logits to one width for every batch, since the tests compare lengths, and make them finite."""
        return nn.functional.pad(logs.clamp_min(-80.0), (0, 24 - logs.shape[-1]), value=-80.0)

    def encode(self, batch: Batch, **options: Any) -> Any:
        return self.inner.encode(self.pointed(batch), **options)

    def init_state(self, memory: Any, max_length: int) -> Any:
        return self.inner.init_state(memory, max_length)

    def step(self, memory: Any, state: Any, tokens: Tensor, **options: Any) -> tuple[Tensor, Any]:
        logs, state = self.inner.step(memory, state, tokens, **options)
        return self.widened(logs), state

    def forward(self, batch: Batch, **options: Any) -> Tensor:
        return self.widened(self.inner(self.pointed(batch), **options))


class HeardWords(Listener):
    """A listener that reads words, each as two frames of its own."""

    def read_source(self, batch: Batch, tape: Any) -> Any:
        table = torch.rand(VOCABULARY, 2 * self.frames, generator=torch.Generator().manual_seed(5))
        frames = table.to(self.output.weight)[batch.source].view(batch.size, -1, self.frames)
        mask = batch.source_mask.repeat_interleave(2, 1)
        return super().read_source(replace(batch, source=frames, source_mask=mask), tape)

    def visible(self, batch: Batch) -> dict[str, Tensor]:
        return {"source": self.encoder.keys(batch.source_mask.repeat_interleave(2, 1))}


def heard(name: str, **overrides: Any) -> Seq2Seq:
    """A listener in the size for tests, over words."""
    model = build_recognizer(name, 6, VOCABULARY, **merge(MODELS[name].tiny, overrides))
    model.__class__ = HeardWords
    return model


ENGINES: dict[str, Callable[[], Seq2Seq]] = {
    **{name: partial(tiny, name) for name in presets_for("sequence_to_sequence")},
    **{
        f"{name}, language model": partial(build_language_model, name, VOCABULARY, **entry.tiny)
        for name, entry in presets_for("sequence_to_sequence").items()
    },
    **{
        f"{name}, captioner": partial(build_captioner, name, VOCABULARY, **entry.tiny)
        for name, entry in presets_for("captioner").items()
    },
    "pointer-network, any": partial(OverWords, "any"),
    "pointer-network, once": partial(OverWords, "once"),
    "pointer-network, every": partial(OverWords, "every", encoder="transformer", embedding=8, width=8, heads=2),
    **{f"{name}, words": partial(heard, name) for name in presets_for("recognizer")},
    "las, conformer": partial(
        heard,
        "las",
        sound_encoder={"kind": "conformer", "width": 8, "heads": 2, "feed_forward": 6, "kernel": 3, "layers": 2},
    ),
    "las, convolution": partial(heard, "las", sound_encoder={"kind": "convolution", "factor": 4, "channels": 2}),
    "las, location": partial(heard, "las", attention={"score": "location-aware", "score_options": {"kernel": 3}}),
    "ensemble": lambda: Ensemble([tiny("bahdanau"), tiny("transformer-base")]),
}
"""All generating models: each preset as translator, language model or captioner, and an ensemble."""

CLASSIFIERS: dict[str, Callable[[], nn.Module]] = {
    f"{name}, {pooling}": partial(build_classifier, name, VOCABULARY, 3, pooling=pooling, hidden=hidden, **entry.tiny)
    for name, entry in presets_for("sequence_to_sequence").items()
    for pooling, hidden in (("mean", None), ("last", 5), ("attention", None))
}


@cache
def writer(name: str) -> Seq2Seq:
    """One of WRITERS with large parameters; built once, so do not change it."""
    torch.manual_seed(2)
    return loud(ENGINES[name]())


@cache
def classifier(name: str) -> nn.Module:
    """One of CLASSIFIERS with large parameters; do not change it."""
    torch.manual_seed(2)
    return loud(CLASSIFIERS[name]())


@dataclass(frozen=True)
class Ragged:
    """The lengths of each sentence pair of a batch: S words of source, T words to predict."""

    pairs: tuple[tuple[int, int], ...]

    def batch(self, seed: int = 0) -> Batch:
        """Random words in these lengths, and for captioners, an image for each sentence."""
        draw = random.Random(seed)
        words = [
            ([draw.randrange(4, 11) for _ in range(S)], [draw.randrange(4, 11) for _ in range(T - 1)])
            for S, T in self.pairs
        ]
        sources, targets = zip(*words, strict=True)
        return replace(Batch.from_lists(sources, targets), pictures=_pictures(len(sources), seed))


@cache
def _pictures(count: int, seed: int) -> Tensor:
    chance = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (count, 12, 12, 3), generator=chance, dtype=torch.uint8)


ragged = st.lists(st.tuples(st.sampled_from([1, 2, 3, 7]), st.sampled_from([1, 2, 5, 7])), min_size=1, max_size=3).map(
    lambda pairs: Ragged(tuple(pairs))
)
ALONE = Ragged(((1, 1),))
MIXED = Ragged(((3, 7), (7, 2), (1, 5)))


def row_of(batch: Batch, row: int) -> Batch:
    """One sentence of a batch without its padding."""
    S, T = int(batch.source_mask[row].sum()), int(batch.target_mask[row].sum())
    here = slice(row, row + 1)
    sides = batch.source[here, :S], batch.source_mask[here, :S], batch.target[here, :T], batch.target_mask[here, :T]
    return Batch(*sides, pictures=None if batch.pictures is None else batch.pictures[here])


def with_junk(batch: Batch, more: int = 2) -> Batch:
    """The batch with more padding, and random words in the padding."""

    def fill(tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        mask = nn.functional.pad(mask, (0, more))
        junk = torch.randint(1, VOCABULARY, mask.shape)
        return torch.where(mask, nn.functional.pad(tokens, (0, more)), junk), mask

    sides = *fill(batch.source, batch.source_mask), *fill(batch.target, batch.target_mask)
    return Batch(*sides, pictures=batch.pictures)


def walk(model: Seq2Seq, batch: Batch, *, room: int = 0, **options: Any) -> tuple[Tensor, Any]:
    """Logits (B, T, V) and last state, a step at a time; `room`: unused capacity of the state."""
    memory = model.encode(batch, **options)
    state = model.init_state(memory, batch.inputs.shape[1] + room)
    return Seq2Seq.extend(model, memory, state, batch.inputs, **options)


def gradients(model: nn.Module, output: Tensor) -> dict[str, Tensor]:
    """By name, the gradients of a fixed mix of the output's entries."""
    mix = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    grads = torch.autograd.grad((output * mix).sum(), named.values(), allow_unused=True, materialize_grads=True)
    return dict(zip(named, grads, strict=True))


def assert_same_by_name(got: dict[str, Tensor], wanted: dict[str, Tensor], **tolerance: float) -> None:
    """The same names and, up to rounding, the same numbers."""
    assert got.keys() == wanted.keys()
    for name in got:
        same(got[name], wanted[name], msg=lambda message, name=name: f"{name}: {message}", **tolerance)


def form_of(state: Any) -> list[tuple[Any, ...]]:
    """What must stay as it is from step to step: shape, dtype and stride of every tensor of a state."""
    return [(tuple(leaf.shape), leaf.dtype, leaf.stride()) for leaf in pytree.leaves(state)]
