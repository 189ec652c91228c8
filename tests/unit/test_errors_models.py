"""Bad input to layers and models: each message has the numbers or names of both sides, and none is torch's own."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from helpers.models import VOCABULARY, tiny
from saccade import masks, pytree
from saccade.attention import build_attention
from saccade.batch import Batch
from saccade.errors import ConfigError, DataError, NumericsError, ShapeError
from saccade.layers.causal import PlainReader
from saccade.layers.cells import CELLS, build_cell
from saccade.layers.encoder import RecurrentEncoder
from saccade.layers.lstmn import LSTMN
from saccade.layers.positions import Rotary
from saccade.layers.self_attentive import SelfAttentiveRNN
from saccade.models import (
    MODELS,
    Seq2Seq,
    build_classifier,
    build_language_model,
    build_seq2seq,
    configure,
)
from saccade.runtime import check_finite

GOOD = Batch.from_lists([[4, 5, 6]] * 2, [[4, 5]] * 2)
FAMILIES = [
    "sutskever",
    "cho",
    "bahdanau",
    "luong-dot",
    "self-attentive-rnn",
    "lstmn",
    "lstmn-shallow",
    "transformer-base",
]
each_family = pytest.mark.parametrize("name", FAMILIES)
each_head = pytest.mark.parametrize("head", ["translator", "language model", "classifier"])


def build(name: str, head: str = "translator", **settings: Any) -> Any:
    settings = MODELS[name].tiny | settings
    if head == "translator":
        return build_seq2seq(name, VOCABULARY, VOCABULARY, **settings)
    if head == "language model":
        return build_language_model(name, VOCABULARY, **settings)
    return build_classifier(name, VOCABULARY, 3, **settings)


def raises(error: type[Exception], *parts: str) -> Any:
    """Expect the error, with a message that has all these parts in this order."""
    return pytest.raises(
        error, match="(?s)" + ".*".join(part.replace("(", r"\(").replace(")", r"\)") for part in parts)
    )


# Batches


@each_family
@each_head
def test_tokens_outside_the_vocabulary(name: str, head: str):
    model = build(name, head)
    for token in (11, 400, -1):
        words = [[4], [5, token]]
        if head != "language model":
            with raises(DataError, "source holds token", str(token), "0..10"):
                model(Batch.from_lists(words, [[4], [5]]))
        if head != "classifier":
            with raises(DataError, "target holds token", str(token), "0..10"):
                model(Batch.from_lists([[4], [5]], words))


@each_family
@each_head
def test_a_missing_side(name: str, head: str):
    model = build(name, head)
    if head != "language model":
        with raises(DataError, "reads a source, but the Batch has none", "Batch.from_lists"):
            model(Batch.from_lists(None, [[4]]))
    if head != "classifier":
        with raises(DataError, "Batch has no target", "Batch.from_lists"):
            model(Batch.from_lists([[4]]))


@each_family
def test_numbers_where_words_are_read(name: str):
    for values in (torch.rand(2, 3, 6), torch.ones(2, 3, 6, dtype=torch.long)):
        batch = Batch(values, torch.ones(2, 3, dtype=torch.bool), GOOD.target, GOOD.target_mask)
        for head in ("translator", "classifier"):
            with raises(ShapeError, "source is (2, 3, 6)", "(B, S)"):
                build(name, head)(batch)


@each_family
@pytest.mark.parametrize("head", ["translator", "language model"])
def test_a_target_with_nothing_to_predict(name: str, head: str):
    batch = Batch(GOOD.source, GOOD.source_mask, GOOD.target[:, :1], GOOD.target_mask[:, :1])
    with raises(DataError, "target is (2, 1)", "no word is left to predict"):
        build(name, head)(batch)


def test_empty_batches_and_sentences():
    with raises(DataError, "source side of the batch has no sentences"):
        Batch.from_lists([], [[4]])
    with raises(DataError, "source 1 of the batch is empty"):
        Batch.from_lists([[4], []], [[4], [5]])
    with raises(DataError, "source is (0, 3)", "it is empty"):
        Batch(torch.ones(0, 3, dtype=torch.long), torch.ones(0, 3, dtype=torch.bool))


# Steps


STEPS: dict[str, tuple[torch.Tensor, tuple[str, ...]]] = {
    "two axes": (torch.full((2, 1), 4), ("tokens are (2, 1)", "2 rows", "(2,)")),
    "no axis": (torch.tensor(4), ("tokens are ()", "2 rows", "(2,)")),
    "too many rows": (torch.full((3,), 4), ("tokens are (3,)", "2 rows", "(2,)")),
    "too few rows": (torch.full((1,), 4), ("tokens are (1,)", "2 rows", "(2,)")),
    "no rows": (torch.zeros(0, dtype=torch.long), ("tokens are (0,)", "2 rows", "(2,)")),
    "numbers": (torch.full((2,), 4.0), ("tokens are (2,) of torch.float32", "torch.int64")),
    "truth values": (torch.ones(2, dtype=torch.bool), ("tokens are (2,) of torch.bool", "torch.int64")),
}


@pytest.mark.parametrize("fault", STEPS)
@pytest.mark.parametrize("head", ["translator", "language model"])
@each_family
def test_steps_that_are_not_one_word_for_each_row(name: str, head: str, fault: str):
    model = build(name, head)
    memory = model.encode(GOOD)
    tokens, parts = STEPS[fault]
    with raises(ShapeError, *parts):
        model.step(memory, model.init_state(memory, 4), tokens)


@pytest.mark.parametrize("head", ["translator", "language model"])
@each_family
def test_prompts_and_states_that_do_not_fit(name: str, head: str):
    model = build(name, head)
    memory = model.encode(GOOD)
    state = model.init_state(memory, 4)
    with raises(ShapeError, "tokens are (2,)", "(2, T)"):
        model.extend(memory, state, torch.full((2,), 4))
    with raises(ShapeError, "tokens are (2, 0)", "T at least 1"):
        model.extend(memory, state, torch.zeros(2, 0, dtype=torch.long))
    with raises(ShapeError, "the state has 3 rows, but the memory 2"):
        model.step(memory, pytree.take_rows(state, torch.tensor([0, 1, 1])), torch.full((3,), 4))


# Learned positions


def test_lengths_beyond_the_learned_positions():
    settings = {"positions": "learned", "max_length": 5}
    said = ("6 long", "end at 5", "max_length")
    translator, writer, classifier = (
        build("transformer-base", head, **settings) for head in ("translator", "language model", "classifier")
    )
    long_source, long_target = Batch.from_lists([[4] * 6], [[4]]), Batch.from_lists([[4]], [[4] * 5])  # BOS makes it 6
    for refused in (
        lambda: translator.encode(long_source),
        lambda: translator(long_source),
        lambda: translator(long_target),
        lambda: translator.init_state(translator.encode(long_target), 6),
        lambda: writer(long_target),
        lambda: writer.init_state(writer.encode(long_target), 6),
        lambda: classifier(long_source),
    ):
        with raises(ShapeError, *said):
            refused()
    fits = Batch.from_lists([[4] * 5], [[4] * 4])
    assert translator(fits).shape == writer(fits).shape == (1, 5, VOCABULARY)
    translator.init_state(translator.encode(fits), 5)


# Settings that cannot be combined


def test_tied_embeddings_of_different_vocabularies_or_widths():
    with raises(ConfigError, "source has 11 words and the target 12"):
        build_seq2seq("transformer-base", 11, 12, **MODELS["transformer-base"].tiny)
    with raises(ConfigError, "output layer is (11, 5) and the embedding (11, 6)"):
        tiny("bahdanau", tied=True)
    for name in ("lstmn", "self-attentive-rnn"):
        with raises(ConfigError, "output layer is (11, 8) and the embedding (11, 6)"):
            tiny(name, tied=True)
    for name, width in (("lstmn", 8), ("self-attentive-rnn", 16)):
        with raises(ConfigError, f"output layer is (11, {width}) and the embedding (11, 6)"):
            build(name, "language model", tied=True)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lstmn", {"embedding": 8}),
        ("self-attentive-rnn", {"embedding": 8}),
        ("luong-dot", {"embedding": 8}),
        ("transformer-base", {}),
    ],
)
def test_tied_embeddings_that_fit_are_one_parameter(name: str, settings: dict[str, Any]):
    model = tiny(name, tied=True, **settings)
    assert model.output.weight is model.target_embedding.weight


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({"decoder": {"width": 9, "layers": 2}}, ("2 layers of 16", "decoder 2 of 18")),
        ({"decoder": {"width": 8, "layers": 3}}, ("2 layers of 16", "decoder 3 of 16")),
        ({"decoder": {"width": 8, "layers": 2, "cell": "gru"}}, ("2 layers of 16", "decoder 2 of 8")),
        (
            {"encoder": {"width": 8, "layers": 2, "reverse": False, "bidirectional": True}},
            ("2 layers of 32", "decoder 2 of 16"),
        ),
    ],
)
def test_start_final_with_other_shapes(settings: dict[str, Any], parts: tuple[str, ...]):
    with raises(ConfigError, "'final'", *parts, "'project'"):
        tiny("luong-dot", **settings)


def test_starts_that_need_another_encoder():
    with raises(ConfigError, "'first-backward' needs a bidirectional encoder"):
        tiny("bahdanau", encoder={"width": 8, "bidirectional": False})
    for start in ("final", "project", "first-backward"):
        with raises(ConfigError, f"initial_state '{start}'", "ReaderEncoder", "'mean', 'last' or 'zero'"):
            tiny("self-attentive-rnn", decoder={"width": 8, "initial_state": start})
        with raises(ConfigError, f"initial_state '{start}'", "only the lowest", "'mean', 'last' or 'zero'"):
            tiny("gnmt", decoder={"width": 8, "layers": 3, "initial_state": start})


COMBINATIONS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "both ways and reversed": ("bahdanau", {"encoder": {"reverse": True}}, ("bidirectional reads both ways",)),
    "fixed context and attention": (
        "bahdanau",
        {"decoder": {"fixed_context": True}},
        ("decoder.fixed_context", "without attention"),
    ),
    "fixed context and cross attention": (
        "self-attentive-rnn",
        {"decoder": {"fixed_context": True}},
        ("decoder.fixed_context",),
    ),
    "old state, new context": (
        "luong-dot",
        {"decoder": {"read_state": "previous"}},
        ("read_state 'previous' needs attend_from 'previous'",),
    ),
    "old state, new cross context": (
        "self-attentive-rnn",
        {"decoder": {"read_state": "previous", "attend_from": "current"}},
        ("read_state 'previous' needs attend_from 'previous'",),
    ),
    "residual over two widths": (
        "gnmt",
        {"encoder": {"residual_from": 2}},
        ("layer 2 reads both directions and writes one", "residual_from to 3 or more"),
    ),
    "lowest layer asks too late": (
        "gnmt",
        {"decoder": {"attend_from": "current"}},
        ("query_layer 'bottom' needs attend_from 'previous'",),
    ),
    "context for layers that are done": (
        "luong-dot",
        {"decoder": {"context_layers": "all"}},
        ("context_layers 'all' needs attend_from 'previous'",),
    ),
    "a context that nothing reads": (
        "luong-dot",
        {"decoder": {"read_context": False}},
        ("read_context false needs attend_from 'previous'",),
    ),
    "no heads": ("transformer-base", {"attention": {"heads": None}}, ("attention", "set heads to 1 or more")),
    "no heads across": ("transformer-base", {"cross": {"heads": None}}, ("cross", "set heads to 1 or more")),
}


@pytest.mark.parametrize("case", COMBINATIONS)
def test_settings_that_cannot_be_combined(case: str):
    name, settings, parts = COMBINATIONS[case]
    with raises(ConfigError, f"model '{name}' cannot be used", *parts):
        configure(name, **settings)


@pytest.mark.parametrize("name", ["transformer-base", "bahdanau"])
def test_heads_that_do_not_divide_the_width(name: str):
    with raises(ConfigError, "width 8 cannot be split into 3 heads"):
        tiny(name, attention={"score": "scaled-dot" if name == "transformer-base" else "additive", "heads": 3})


def test_rotary_positions_turn_pairs():
    with raises(ConfigError, "a head is 3 wide", "even"):
        tiny("transformer-base", width=6, positions="rotary")
    with raises(ConfigError, "a head is 5 wide"):
        Rotary(5)


def test_scores_of_one_width_for_two():
    with raises(ShapeError, "queries are 8 wide and keys 16", "'general'"):
        tiny("bahdanau", attention={"score": "dot"})


# Names


NAMES: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "preset": (lambda: build_seq2seq("bahdanu", 11, 11), ("model 'bahdanu'", "mean 'bahdanau'", "luong-dot")),
    "cell": (
        lambda: tiny("bahdanau", encoder={"cell": "gru-bahdana"}),
        ("encoder.cell", "mean 'gru-bahdanau'", "lstm"),
    ),
    "reader's cell": (lambda: tiny("self-attentive-rnn", cell="tanch"), ("cell 'tanch'", "mean 'tanh'", "lstm")),
    "score": (lambda: tiny("bahdanau", attention={"score": "aditive"}), ("attention.score", "mean 'additive'", "dot")),
    "align": (lambda: tiny("lstmn", cross={"align": "sparsmax"}), ("cross.align", "mean 'sparsemax'", "softmax")),
    "window": (lambda: tiny("lstmn", attention={"window": "localp"}), ("attention.window", "mean 'local-p'", "global")),
    "initial state": (
        lambda: tiny("bahdanau", decoder={"initial_state": "finl"}),
        ("decoder.initial_state", "mean 'final'", "project"),
    ),
    "output": (lambda: tiny("bahdanau", decoder={"output": "max-out"}), ("decoder.output", "mean 'maxout'", "linear")),
    "pooling": (lambda: build_classifier("cho", 11, 3, pooling="meen"), ("pooling 'meen'", "mean 'mean'", "attention")),
    "option": (
        lambda: tiny("bahdanau", attention={"score_options": {"widht": 3}}),
        ("option of score 'additive' 'widht'", "mean 'width'"),
    ),
    "cell, direct": (lambda: build_cell("gruu", 2, 2), ("cell 'gruu'", "mean 'gru'", "tanh")),
    "output of a reader": (
        lambda: SelfAttentiveRNN(build_attention("dot", 2, 2), 2, 2, output="stat"),
        ("output 'stat'", "mean 'state'", "both"),
    ),
}


@pytest.mark.parametrize("kind", NAMES)
def test_unknown_names_come_with_the_nearest_and_all_known(kind: str):
    build_it, parts = NAMES[kind]
    with raises(ConfigError, *parts):
        build_it()


def test_all_faults_of_all_sections_are_told_at_once():
    with pytest.raises(ConfigError) as told:
        configure(
            "bahdanau",
            embedding=0,
            tide=True,
            encoder={"widht": 3, "cell": "gruu", "dropout": 1.0},
            decoder={"layers": "2", "output": "max-out", "initial_state": "zeroo"},
            attention={"scor": "dot", "score": "dott", "heads": 0},
        )
    message = str(told.value)
    for part in (
        "model 'bahdanau' cannot be used as it is",
        "embedding: Input should be greater than or equal to 1 (it is 0)",
        "tide: setting 'tide' does not exist. Did you mean 'tied'?",
        "encoder.widht: setting 'widht' does not exist. Did you mean 'width'?",
        "encoder.cell: cell 'gruu' does not exist. Did you mean 'gru'?",
        "encoder.dropout: Input should be less than 1 (it is 1.0)",
        "decoder.layers: Input should be a valid integer (it is '2')",
        "decoder.output: output layer 'max-out' does not exist. Did you mean 'maxout'?",
        "decoder.initial_state: initial state 'zeroo' does not exist. Did you mean 'zero'?",
        "attention.scor: setting 'scor' does not exist. Did you mean 'score'?",
        "attention.score: score 'dott' does not exist. Did you mean 'dot'?",
        "attention.heads: Input should be greater than or equal to 1 (it is 0)",
    ):
        assert part in message
    assert message.count("\n- ") == 11


@pytest.mark.parametrize(
    ("build_it", "parts"),
    [
        (lambda: build_seq2seq("cho", 0, 11), ("at least 1", "(0, 11)")),
        (lambda: build_seq2seq("cho", 11, "many"), ("at least 1", "(11, 'many')")),
        (lambda: build_language_model("cho", -3), ("at least 1", "(-3,)")),
        (lambda: build_classifier("cho", 11, 0), ("at least 1", "(11, 0)")),
        (lambda: build_classifier("cho", 11, 3, hidden=0), ("hidden is 0", "at least 1")),
        (lambda: build_classifier("cho", 11, 3, head_dropout=1.5), ("head_dropout is 1.5", "below 1")),
    ],
)
def test_sizes_that_cannot_be(build_it: Callable[[], Any], parts: tuple[str, ...]):
    with raises(ConfigError, *parts):
        build_it()


# Single layers


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("name", CELLS)
def test_cells_refuse_inputs_of_another_width(name: str, width: int):
    """Narrower inputs too: `project` would take them for the first columns, and torch's kernels read beyond them."""
    cell = build_cell(name, 3, 4)
    with raises(ShapeError, f"inputs are (2, {width})", "(N, 3)"):
        cell(torch.randn(2, width), torch.zeros(2, cell.state_width))
    with raises(ShapeError, f"inputs are (2, 5, {width})", "(B, T, 3)"):
        cell.sequence(torch.randn(2, 5, width), torch.zeros(2, cell.state_width))


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("options", [{}, {"bidirectional": True}], ids=str)
def test_encoders_refuse_what_does_not_go_together(name: str, options: dict[str, bool]):
    encoder, mask = RecurrentEncoder(name, 3, 4, **options), masks.padding(torch.tensor([5, 2]))
    with raises(ShapeError, "mask is (2, 5)", "inputs are (2, 4, 3)", "(2, 4)"):
        encoder(torch.randn(2, 4, 3), mask)
    with raises(ShapeError, "inputs are (5, 3)", "(B, T, 3)"):
        encoder(torch.randn(5, 3), mask)
    with raises(ShapeError, "inputs are (2, 0, 3)", "no axis of 0"):
        encoder(torch.randn(2, 0, 3), mask[:, :0])
    with raises(ShapeError, "inputs are torch.float64, but this cell is torch.float32"):
        encoder(torch.randn(2, 5, 3, dtype=torch.float64), mask)
    cell = build_cell(name, 3, 4)
    with raises(ShapeError, "state is (3, 4)", "inputs are (2, 5, 3)", f"(2, {cell.state_width})"):
        cell.sequence(torch.randn(2, 5, 3), torch.zeros(3, 4))


def test_an_lstm_names_the_sentence_that_is_empty():
    cell = build_cell("lstm", 3, 4)
    with raises(DataError, "sentence 1 of the batch is empty"):
        cell.sequence(torch.randn(3, 4, 3), torch.zeros(3, 8), masks.padding(torch.tensor([4, 0, 2])))


@pytest.mark.parametrize(
    "reader",
    [
        PlainReader("gru", 3, 4),
        SelfAttentiveRNN(build_attention("concat", 4, 4), 3, 4),
        LSTMN(build_attention("additive", 7, 4, 8), 3, 4),
    ],
    ids=lambda reader: type(reader).__name__,
)
def test_readers_refuse_inputs_of_another_width(reader: Any):
    for width in (2, 4):
        with raises(ShapeError, f"inputs are (2, 5, {width})", "(B, T, 3)"):
            reader(torch.randn(2, 5, width))
        with raises(ShapeError, f"inputs are (2, {width})", "(N, 3)"):
            reader.step(torch.randn(2, width), reader.start(2, 5, torch.zeros(1)))


# NaN and infinity


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_check_finite_names_the_parameter_and_counts(bad: float):
    model: Seq2Seq = tiny("bahdanau")
    check_finite(model)
    with torch.no_grad():
        model.attention.score.key_weight[0, :3] = bad
    with raises(NumericsError, "parameter attention.score.key_weight holds 3", "of 128"):
        check_finite(model)
