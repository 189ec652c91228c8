"""The three steps in which lectures build self-attention, by plain loops; and decoding them word by word."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from helpers.models import loud, tiny
from saccade import masks
from saccade.attention import Attention, MultiHead, Tape, build_attention
from saccade.errors import ConfigError
from saccade.models import configure
from saccade.runtime import StepEngine, engine_of

B, T, D, HEADS = 2, 5, 4, 2
PROJECT = ("none", "qk", "qkv")


def linear(layer: nn.Linear | None, x: Tensor) -> Tensor:
    return x if layer is None else layer.weight @ x + layer.bias


@torch.no_grad()
def by_loops(attention: MultiHead, words: Tensor, *, project: str, itself: bool, causal: bool) -> Tensor:
    """One sentence (T, D): what each word gets, head by head and key by key."""
    out = []
    queries = [linear(attention.query, word) for word in words]
    keys = [linear(attention.key, word) for word in words]
    values = keys if project == "qk" else [linear(attention.value, word) for word in words]
    for t in range(len(words)):
        joined = []
        for head in range(HEADS):
            part = slice(head * D // HEADS, (head + 1) * D // HEADS)
            seen = [i for i in range(len(words)) if (i <= t or not causal) and (i != t or itself)]
            scores = [float(queries[t][part] @ keys[i][part]) / math.sqrt(D / HEADS) for i in seen]
            total = sum(math.exp(score) for score in scores)
            context = torch.zeros(D // HEADS, dtype=words.dtype)
            for i, score in zip(seen, scores, strict=True):
                context = context + math.exp(score) / total * values[i][part]
            joined.append(context)
        out.append(linear(attention.output, torch.cat(joined)))
    return torch.stack(out)


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("itself", [False, True])
@pytest.mark.parametrize("project", PROJECT)
def test_each_step_is_what_loops_compute(project: str, itself: bool, causal: bool, recorded: bool):
    attention = build_attention("scaled-dot", D, D, heads=HEADS, project=project, itself=itself).double()
    attention = loud(attention)
    words = torch.randn(B, T, D, dtype=torch.float64)
    mask = masks.causal(T) if causal else None
    found = attention.over(words, mask, tape=Tape() if recorded else None).context
    for row in range(B):
        assert_close(
            found[row].detach(), by_loops(attention, words[row], project=project, itself=itself, causal=causal)
        )


@pytest.mark.parametrize(
    ("project", "names"),
    [("none", set()), ("qk", {"query", "key", "output"}), ("qkv", {"query", "key", "value", "output"})],
)
def test_a_step_has_no_other_projections(project: str, names: set[str]):
    attention = build_attention("scaled-dot", D, D, heads=HEADS, project=project)
    assert {name.split(".")[0] for name, _ in attention.named_parameters()} == names


def test_without_heads_a_projection_makes_one_head():
    assert isinstance(build_attention("dot", D, D), Attention)
    assert isinstance(build_attention("dot", D, D, project="none"), Attention)
    one = build_attention("dot", D, D, project="qk")
    assert isinstance(one, MultiHead)
    assert one.heads == 1


def test_raw_vectors_need_one_width():
    with pytest.raises(ConfigError, match="one width"):
        build_attention("scaled-dot", 4, 6, heads=2, project="none")


def test_the_word_alone_sees_nothing():
    attention = build_attention("scaled-dot", D, D, project="none", itself=False)
    words = torch.randn(1, 1, D)
    attended = attention(words, attention.bank(words))
    assert attended.context.eq(0).all()


def test_attention_to_another_sequence_is_as_it_was():
    model = tiny("transformer-base", attention={"heads": 2, "project": "none", "itself": False}, cross={"dropout": 0.1})
    for layer in model.decoder.layers:
        assert layer.self_attention.query is None
        assert layer.cross.query is not None
        assert not layer.self_attention.inner.itself
        assert layer.cross.inner.itself
    with pytest.raises(ConfigError, match="project"):
        configure("transformer-base", cross={"project": "qk"})


@pytest.mark.parametrize("steps", [{"project": "none"}, {"project": "qk"}, {"itself": False}])
def test_fast_writers_give_way(steps: dict[str, object]):
    assert type(engine_of(tiny("transformer-base").eval())) is not StepEngine
    model = tiny("transformer-base", attention={"heads": 2, **steps}).eval()
    assert type(engine_of(model)) is StepEngine


def test_a_model_that_was_packed_notices_the_change():
    model = loud(tiny("transformer-base"))
    assert type(engine_of(model)) is not StepEngine
    model.decoder.layers[1].self_attention.inner.itself = False
    assert type(engine_of(model)) is StepEngine
