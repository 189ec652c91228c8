"""Property tests of models, over every entry of MODELS as translator, language model, captioner and classifier.

A new entry is tested by being listed. The free combinations at the end have the same properties.
"""

import io
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounter

from helpers.models import (
    ALONE,
    CLASSIFIERS,
    ENGINES,
    MIXED,
    VOCABULARY,
    Ragged,
    assert_same_by_name,
    classifier,
    form_of,
    gradients,
    loud,
    ragged,
    row_of,
    same,
    tiny,
    walk,
    with_junk,
    writer,
)
from helpers.pairwise import pairwise
from saccade import pytree
from saccade.attention import ALIGNS, SCORES, WINDOWS, Tape
from saccade.batch import BOS, EOS, Batch
from saccade.layers.cells import CELLS
from saccade.layers.initial_state import INITIAL_STATES
from saccade.layers.readout import READOUTS
from saccade.models import Seq2Seq, build_seq2seq, presets_for
from saccade.train.hard import learns_by_reward

each_writer = pytest.mark.parametrize("name", ENGINES)
each_classifier = pytest.mark.parametrize("name", CLASSIFIERS)
few = settings(max_examples=8)


# The properties, for any model and any batch


def forward_is_stepping(model: Seq2Seq, batch: Batch) -> None:
    """Also with spare capacity, with a prompt in one call, for the recorded weights, and without a tape."""
    whole, steps, prompted = Tape(), Tape(detach=True), Tape()
    with torch.no_grad():
        logits = model(batch, tape=whole)
        assert logits.isfinite().all()
        same(model(batch), logits)
        same(walk(model, batch, tape=steps)[0], logits)
        same(walk(model, batch, room=3)[0], logits)
        memory, half = model.encode(batch, tape=prompted), batch.inputs.shape[1] // 2
        state, parts = model.init_state(memory, batch.inputs.shape[1]), []
        for words in (batch.inputs[:, :half], batch.inputs[:, half:]):
            if words.shape[1]:
                part, state = model.extend(memory, state, words, tape=prompted)
                parts.append(part)
        same(torch.cat(parts, 1), logits)
    assert set(whole) == set(steps) == set(prompted)
    for site in whole:
        same(steps[site], whole[site])
        same(prompted[site], whole[site])


def neither_padding_nor_batch_mates_matter(model: nn.Module, batch: Batch) -> None:
    together, junked = Tape(), Tape()
    with torch.no_grad():
        logits = model(batch, tape=together)
        beside_junk = model(with_junk(batch), tape=junked)
        for row in range(batch.size):
            single = Tape()
            alone = model(row_of(batch, row), tape=single)[0]
            same(logits[row, : alone.shape[0]], alone)
            same(beside_junk[row, : alone.shape[0]], alone)
            for site in single:
                assert_same_part(together[site][row], single[site][0])
                assert_same_part(junked[site][row], single[site][0])


def assert_same_part(padded: Tensor, alone: Tensor) -> None:
    """Check weights (H, T, S) of a sentence: the padding beyond it gets none."""
    _, T, S = alone.shape
    same(padded[:, :T, :S], alone)
    assert (padded[:, :T, S:] == 0).all()


def states_keep_their_form(model: Seq2Seq, batch: Batch) -> None:
    """Shapes, dtypes and strides; batch first; each tensor in a place of its own; and the memory left alone."""
    with torch.no_grad():
        memory = model.encode(batch)
        before = pytree.map_tensors(torch.clone, memory)
        state = model.init_state(memory, batch.inputs.shape[1])
        form, sources = form_of(state), homes_of(memory)
        assert {shape[0] for shape, _, _ in form} == {batch.size}
        assert len(set(homes_of(state))) == len(homes_of(state)), "two leaves share storage"
        for t in range(batch.inputs.shape[1]):
            assert not set(homes_of(state)) & set(sources), "a step may write into its state, so not into the memory"
            _, state = model.step(memory, state, batch.inputs[:, t])
            assert form_of(state) == form
            assert len(set(homes_of(state))) == len(homes_of(state)), "two leaves share storage"
        for left, right in zip(pytree.leaves(memory), pytree.leaves(before), strict=True):
            assert torch.equal(left, right)


def homes_of(node: Any) -> list[int]:
    return [leaf.untyped_storage().data_ptr() for leaf in pytree.leaves(node) if leaf.numel()]


# The laws, over every entry


@each_writer
@few
@given(ragged)
@example(ALONE)
@example(MIXED)
def test_forward_is_stepping(name: str, lengths: Ragged):
    forward_is_stepping(writer(name), lengths.batch())


@each_writer
@settings(max_examples=4)
@given(ragged)
@example(MIXED)
def test_gradients_of_forward_are_those_of_stepping(name: str, lengths: Ragged):
    model, batch = writer(name), lengths.batch()
    whole = gradients(model, model(batch))
    assert_same_by_name(gradients(model, walk(model, batch, room=1)[0]), whole, atol=1e-4, rtol=1e-4)


@each_writer
@few
@given(ragged)
@example(MIXED)
def test_neither_padding_nor_batch_mates_matter(name: str, lengths: Ragged):
    neither_padding_nor_batch_mates_matter(writer(name), lengths.batch())


@each_writer
@few
@given(ragged, st.integers(0, 6), st.integers(1, 9))
@example(MIXED, 2, 1)
def test_later_words_do_not_leak(name: str, lengths: Ragged, kept: int, shift: int):
    model, batch = writer(name), lengths.batch()
    later = torch.arange(batch.target.shape[1]) > kept
    changed = torch.where(later, (batch.target + shift) % VOCABULARY, batch.target)
    with torch.no_grad():
        logits = model(batch)
        other = model(replace(batch, target=changed))
    same(other[:, : kept + 1], logits[:, : kept + 1])
    if logits.shape[1] > kept + 1:
        assert (other[:, kept + 1] - logits[:, kept + 1]).abs().max() > 1e-4, "the model does not read its inputs"


@each_writer
@few
@given(ragged, st.integers(2, 3), st.randoms())
@example(MIXED, 3, random.Random(5))
def test_hypotheses_are_served_by_one_memory_and_can_be_reordered(
    name: str, lengths: Ragged, beams: int, draw: random.Random
):
    """K hypotheses of a sentence = the batch repeated K times; reorder then step = step then reorder."""
    model, batch = writer(name), lengths.batch()
    rows = batch.size * beams
    tokens = torch.tensor([[draw.randrange(VOCABULARY) for _ in range(3)] for _ in range(rows)])
    order = torch.tensor([row // beams * beams + draw.randrange(beams) for row in range(rows)])
    with torch.no_grad():
        memory, copied = model.encode(batch), model.encode(pytree.repeat_rows(batch, beams))
        shared = pytree.repeat_rows(model.init_state(memory, 4), beams)
        own = model.init_state(copied, 4)
        assert form_of(shared) == form_of(own)
        for t in range(2):
            wanted, own = model.step(copied, own, tokens[:, t])
            got, shared = model.step(memory, shared, tokens[:, t])
            same(got, wanted)
        moved, after = model.step(memory, pytree.take_rows(shared, order), tokens[order, 2])
        stayed, before = model.step(memory, pytree.map_tensors(torch.clone, shared), tokens[:, 2])
        same(moved, stayed.index_select(0, order))
        assert form_of(after) == form_of(before) == form_of(shared)
        for left, right in zip(pytree.leaves(after), pytree.leaves(pytree.take_rows(before, order)), strict=True):
            same(left, right)


@each_writer
@few
@given(ragged)
@example(ALONE)
@example(MIXED)
def test_states_keep_their_form(name: str, lengths: Ragged):
    states_keep_their_form(writer(name), lengths.batch())


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("sutskever", 2),
        ("bahdanau", 2),
        ("luong-local-p", 1),
        ("self-attentive-rnn", 1),
        ("self-attentive-rnn, language model", 2),
        ("lstmn", 1),
        ("lstmn", 2),
        ("lstmn-shallow", 1),
        ("transformer-base", 2),
        ("transformer-big, language model", 1),
    ],
)
def test_one_graph_serves_all_steps(name: str, rows: int):
    torch._dynamo.reset()
    model, batch, counter = writer(name), Ragged(((3, 5),) * rows).batch(), CompileCounter()
    step = torch.compile(model.step, backend=counter, fullgraph=True, dynamic=False)
    with torch.no_grad():
        logits, memory = model(batch), model.encode(batch)
        state = model.init_state(memory, 6)
        for t in range(5):
            got, state = step(memory, state, batch.inputs[:, t].clone())
            same(got, logits[:, t])
    assert counter.frame_count == 1


@each_writer
def test_the_same_seed_gives_the_same_parameters(name: str):
    copies = []
    for _ in range(2):
        torch.manual_seed(7)
        copies.append(ENGINES[name]().state_dict())
    assert copies[0].keys() == copies[1].keys()
    assert all(torch.equal(copies[0][key], copies[1][key]) for key in copies[0])


@pytest.mark.parametrize(
    ("make", "built"),
    [*((ENGINES[name], lambda n=name: writer(n)) for name in ENGINES)]
    + [(CLASSIFIERS[name], lambda n=name: classifier(n)) for name in CLASSIFIERS if name.endswith("attention")],
    ids=[*ENGINES, *(f"classifier {name}" for name in CLASSIFIERS if name.endswith("attention"))],
)
def test_saved_weights_give_the_same_logits(make: Callable[[], nn.Module], built: Callable[[], nn.Module]):
    batch, file = MIXED.batch(), io.BytesIO()
    torch.save(built().state_dict(), file)
    file.seek(0)
    fresh = make().eval()
    with torch.no_grad():
        wanted = built()(batch)
        assert not torch.allclose(fresh(batch), wanted)
        fresh.load_state_dict(torch.load(file, weights_only=True))
        torch.testing.assert_close(fresh(batch), wanted, rtol=0, atol=0)


@pytest.mark.parametrize(
    "built",
    [*(lambda n=name: writer(n) for name in ENGINES), *(lambda n=name: classifier(n) for name in CLASSIFIERS)],
    ids=[*ENGINES, *(f"classifier {name}" for name in CLASSIFIERS)],
)
def test_every_parameter_gets_a_gradient(built: Callable[[], nn.Module]):
    model, batch = built(), Ragged(((7, 5), (5, 7))).batch()
    batch.source[:, 2] = BOS  # a second turn, for models that read dialogues
    grads = gradients(model, model(batch))
    silent = {name for name, grad in grads.items() if not grad.abs().max() > 1e-6}
    # A key's bias adds the same to all scores of a query, so a softmax does not see it, unless positions turn it.
    turned = any(type(module).__name__ == "Rotary" for module in model.modules())
    excused = {name for name in grads if name.endswith("attention.key.bias") and not turned}
    # Hard attention picks a region, which has no gradient: its score learns by reward.
    excused |= {name for name in grads if learns_by_reward(model) and name.startswith("attention.score.")}
    assert silent <= excused | {name for name in grads if name.endswith("cross.key.bias")}


def test_bahdanaus_attention_starts_even_so_its_matrices_learn_nothing_in_the_first_step():
    """v is 0 at the paper's init; every other parameter learns."""
    model, tape, batch = tiny("bahdanau", init={"kind": "groundhog"}), Tape(), MIXED.batch()
    grads = gradients(model, model(batch, tape=tape))
    even = batch.source_mask / batch.source_mask.sum(-1, keepdim=True)
    same(tape["attention"], even[:, None, None].expand_as(tape["attention"]))
    silent = {name for name, grad in grads.items() if grad.abs().max() == 0}
    assert silent == {"attention.score.query_weight", "attention.score.key_weight"}


# Classifiers


@each_classifier
@settings(max_examples=4)
@given(ragged)
@example(ALONE)
@example(MIXED)
def test_classifiers_ignore_padding_batch_mates_and_tapes(name: str, lengths: Ragged):
    model, batch = classifier(name), lengths.batch()
    neither_padding_nor_batch_mates_matter(lambda *a, **k: model(*a, **k)[:, None], batch)
    with torch.no_grad():
        assert model(batch).shape == (batch.size, 3)
        same(model(batch, tape=Tape()), model(batch))


# Paper sizes


def parameter_count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def on_meta(name: str, source: int, target: int) -> Seq2Seq:
    with torch.device("meta"):
        return build_seq2seq(name, source, target)


@pytest.mark.parametrize("name", presets_for("sequence_to_sequence"))
def test_every_preset_is_built_at_its_paper_size(name: str):
    model = on_meta(name, 30_000, 30_000)
    assert all(parameter.is_meta for parameter in model.parameters())
    assert 10e6 < parameter_count(model) < 500e6


@pytest.mark.parametrize(
    ("name", "vocabularies", "millions"),
    [
        ("transformer-base", (37_000, 37_000), 65),
        ("transformer-big", (37_000, 37_000), 213),
        ("sutskever", (160_000, 80_000), 384),
    ],
)
def test_parameter_counts_are_the_papers(name: str, vocabularies: tuple[int, int], millions: int):
    assert parameter_count(on_meta(name, *vocabularies)) / 1e6 == pytest.approx(millions, rel=0.04)


def test_sutskever_has_64_million_recurrent_parameters_and_hands_over_8000_numbers():
    model = on_meta("sutskever", 160_000, 80_000)
    assert parameter_count(model.encoder) / 1e6 == pytest.approx(32, rel=0.01)
    assert parameter_count(model.cells) / 1e6 == pytest.approx(32, rel=0.01)
    assert model.first_state.shape == (4, 2000)


def test_bahdanau_has_the_shapes_of_the_paper():
    m, n, units, K = 620, 1000, 500, 30_000
    model = on_meta("bahdanau", K, K)
    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    gru = {"weight_ih": (3 * n, m), "weight_hh": (3 * n, n), "bias_ih": (3 * n,)}
    assert shapes == {
        "source_embedding.weight": (K, m),
        "target_embedding.weight": (K, m),
        **{f"encoder.layers.0.{way}.{part}": shape for way in (0, 1) for part, shape in gru.items()},
        "first_state.layer.weight": (n, n),
        "first_state.layer.bias": (n,),
        "cells.cells.0.weight_ih": (3 * n, m + 2 * n),
        "cells.cells.0.weight_hh": (3 * n, n),
        "cells.cells.0.bias_ih": (3 * n,),
        "attention.score.query_weight": (n, n),
        "attention.score.key_weight": (n, 2 * n),
        "attention.score.v": (1, n),
        "readout.layer.weight": (2 * units, n + 2 * n + m),
        "readout.layer.bias": (2 * units,),
        "output.weight": (K, units),
        "output.bias": (K,),
    }


# Free combination: any score, align and window, in one head or several, wherever a model attends

OPTIONS = {
    "location": {"max_length": 16},
    "location-aware": {"filters": 2, "kernel": 3},
    "local-m": {"radius": 2},
    "local-p": {"radius": 2},
}
PARTS = {"score": list(SCORES), "align": list(ALIGNS), "window": list(WINDOWS), "heads": [None, 2]}
LOOKS = {
    "parts": [
        ("additive", "softmax", "global"),
        ("location-aware", "softmax", "global"),
        ("coverage", "sigmoid", "monotonic"),
        ("concat", "monotonic", "global"),
        ("general", "hard", "monotonic"),
        ("projected-dot", "sparsemax", "local-p"),
        ("location", "entmax-1.5", "local-m"),
    ],
    "heads": [None, 2],
}
"""Fewer, where attention occurs in many places of a model: each kind that keeps a past, and a plain one."""


def attention_of(choice: dict[str, Any]) -> dict[str, Any]:
    """Settings for the attention a choice describes, taken out of it."""
    parts = choice.pop("parts", None) or [choice.pop(part) for part in ("score", "align", "window")]
    names = dict(zip(("score", "align", "window"), parts, strict=True))
    options = {f"{part}_options": OPTIONS.get(name, {}) for part, name in names.items()}
    own = {name: choice.pop(name) for name in ("project", "itself") if name in choice}
    return {**names, **options, **own, "heads": choice.pop("heads")}


def recurrent_settings(choice: dict[str, Any]) -> dict[str, Any]:
    choice = dict(choice)
    attention, layers, ways = attention_of(choice), choice.pop("layers"), choice.pop("ways")
    encoder_cell, residual = choice.pop("encoder_cell"), choice.pop("residual")
    if choice["initial_state"] == "final":
        encoder_cell = choice["cell"]
    if choice["initial_state"] == "first-backward" or (
        ways == "lowest" and choice["initial_state"] in ("final", "project")
    ):
        ways = "both"
    encoder = {
        "cell": encoder_cell,
        # annotations are as wide as decoder states, which 'dot' wants
        "width": 4 if ways == "both" or (ways == "lowest" and layers == 1) else 8,
        "layers": layers,
        "bidirectional": ways in ("both", "lowest"),
        "bidirectional_layers": 1 if ways == "lowest" else None,
        "reverse": ways == "reverse",
        "residual": residual,
        "residual_from": 3 if ways == "lowest" else 2,
    }
    decoder = {**choice, "layers": layers, "width": 8, "residual": residual, "output_width": None}
    if decoder["attend_from"] == "current":
        decoder |= {"read_state": "current", "query_layer": "top", "context_layers": "bottom", "read_context": True}
    if decoder["output"] == "sum":
        decoder["read_word"] = True
    return {"embedding": 6, "encoder": encoder, "decoder": decoder, "attention": attention, "init": {"kind": "default"}}


RECURRENT = {
    **PARTS,
    "cell": list(CELLS),
    "encoder_cell": list(CELLS),
    "initial_state": list(INITIAL_STATES),
    "output": list(READOUTS),
    "ways": ["forward", "reverse", "both", "lowest"],
    "layers": [1, 2, 3],
    "attend_from": ["previous", "current"],
    "query_layer": ["top", "bottom"],
    "context_layers": ["bottom", "all"],
    "read_context": [True, False],
    "input_feeding": [False, True],
    "read_state": ["previous", "current"],
    "read_word": [False, True],
    "gated": [False, True],
    "residual": [False, True],
}
WITHOUT_ATTENTION = {
    key: RECURRENT[key]
    for key in (
        "cell",
        "output",
        "ways",
        "layers",
        "context_layers",
        "input_feeding",
        "read_state",
        "read_word",
        "read_context",
        "residual",
    )
} | {"fixed_context": [False, True], "initial_state": ["zero", "final", "project", "mean"]}
STEPS = {"project": [None, "none", "qk", "qkv"], "itself": [True, False]}
TURNS = {
    "score": ["additive", "general", "projected-dot", "coverage", "location-aware", "location"],
    "align": ["softmax", "sparsemax", "entmax-1.5", "sigmoid"],
    "attend_from": ["previous", "current"],
    "input_feeding": [False, True],
    "initial_state": ["last", "mean", "zero"],
    "bidirectional": [False, True],
    "both_turns": [False, True],
    "cell": ["gru", "lstm"],
}
SELF_ATTENTIVE = {
    **LOOKS,
    **STEPS,
    "cell": ["tanh", "lstm", "gru-bahdanau"],
    "layers": [1, 2],
    "keep_state": [False, True],
    "output": ["state", "context", "both"],
}
LSTMNS = {**LOOKS, "fusion": ["deep", "shallow"], "layers": [1, 2], "skip": [False, True]}
TRANSFORMERS = {
    **LOOKS,
    **STEPS,
    "heads": [1, 2],
    "norm": ["post", "pre"],
    "positions": ["sinusoidal", "learned", "rotary"],
    "tied": [True, False],
    "decoder_layers": [None, 1],
}


def label(choice: dict[str, Any]) -> str:
    values = (value if isinstance(value, tuple) else (value,) for value in choice.values())
    return "-".join(str(part) for parts in values for part in parts)


SOURCES = [[4, 5, 6, 7, 8, 9, 10], [10, 8, 9]]


def hold_the_laws(model: Seq2Seq, sources: list[list[int]] = SOURCES) -> None:
    """In float64 and without repeated words: rounding would decide a hard choice between equal keys."""
    model, batch = loud(model.double()), Batch.from_lists(sources, [[5], [9, 6, 4, 10]])
    forward_is_stepping(model, batch)
    neither_padding_nor_batch_mates_matter(model, batch)
    states_keep_their_form(model, row_of(batch, 1))
    grads = gradients(model, model(batch))
    assert all(grad.isfinite().all() for grad in grads.values())
    assert_same_by_name(gradients(model, walk(model, batch)[0]), grads)


@pytest.mark.parametrize("choice", pairwise(RECURRENT), ids=label)
def test_any_recurrent_combination_holds_the_laws(choice: dict[str, Any]):
    hold_the_laws(build_seq2seq("bahdanau", VOCABULARY, VOCABULARY, **recurrent_settings(choice)))


@pytest.mark.parametrize("choice", pairwise(WITHOUT_ATTENTION), ids=label)
def test_any_combination_without_attention_holds_the_laws(choice: dict[str, Any]):
    unused = {"score": "dot", "align": "softmax", "window": "global", "heads": None, "attend_from": "previous"}
    settings = recurrent_settings({**unused, "encoder_cell": choice["cell"], **choice})
    hold_the_laws(build_seq2seq("cho", VOCABULARY, VOCABULARY, **settings | {"attention": None}))


DIALOGUES = [[BOS, 4, 5, 6, EOS, 7, BOS, 8, 9, EOS], [BOS, 10, 8, EOS, 9, EOS]]


@pytest.mark.parametrize(
    "choice", [None, *pairwise(TURNS)], ids=lambda choice: "none" if choice is None else label(choice)
)
def test_any_attention_over_turns_holds_the_laws(choice: dict[str, Any] | None):
    if choice is None:
        return hold_the_laws(tiny("hred"), DIALOGUES)
    choice = dict(choice)
    score, align, cell = choice.pop("score"), choice.pop("align"), choice.pop("cell")
    options = OPTIONS.get(score, {})
    encoder = {"cell": cell, "width": 4, "bidirectional": choice.pop("bidirectional")}
    turns = {"cell": cell, "width": 4, "bidirectional": choice.pop("both_turns")}
    attention = {"score": score, "align": align, "score_options": options}
    decoder = {**choice, "cell": cell, "width": 8}
    return hold_the_laws(
        tiny("hred-attention", encoder=encoder, turns=turns, decoder=decoder, attention=attention), DIALOGUES
    )


@pytest.mark.parametrize("cell", CELLS)
def test_a_fed_back_state_keeps_its_form_too(cell: str):
    """The linear read-out of a decoder without attention is its state, which is a part of the cells' state."""
    decoder = {"cell": cell, "width": 8, "initial_state": "zero", "output": "linear", "output_width": None}
    plain = {"input_feeding": True, "fixed_context": False, "read_word": False}
    hold_the_laws(tiny("cho", decoder=decoder | plain))


@pytest.mark.parametrize("choice", pairwise(SELF_ATTENTIVE), ids=label)
def test_any_self_attentive_rnn_holds_the_laws(choice: dict[str, Any]):
    choice = dict(choice)
    attention = attention_of(choice)
    model = tiny("self-attentive-rnn", attention=attention, **choice)
    hold_the_laws(model)


@pytest.mark.parametrize("choice", pairwise(LSTMNS), ids=label)
def test_any_lstmn_holds_the_laws(choice: dict[str, Any]):
    choice = dict(choice)
    attention = attention_of(choice)
    hold_the_laws(tiny("lstmn", attention=attention, cross=attention, **choice))


@pytest.mark.parametrize("choice", pairwise(TRANSFORMERS), ids=label)
def test_any_transformer_holds_the_laws(choice: dict[str, Any]):
    choice = dict(choice)
    hold_the_laws(tiny("transformer-base", attention=attention_of(choice), max_length=16, **choice))
