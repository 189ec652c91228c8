"""Operation counts: work done for all steps at once, which comparing results would not show."""

from collections import Counter
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from helpers.models import MIXED, loud, tiny
from saccade.attention import Attention, Score
from saccade.layers.cells import CELLS, Cell, build_cell
from saccade.models import Seq2Seq, build_language_model


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Number of calls of each operation, also by the rank of its input."""
    counter: Counter[str] = Counter()

    def count(owner: type, name: str, label: str) -> None:
        original = getattr(owner, name)

        def counted(self: nn.Module, *given: torch.Tensor, **options: object) -> object:
            counter[label] += 1
            counter[f"{label} of {given[0].dim()} axes"] += 1
            return original(self, *given, **options)

        monkeypatch.setattr(owner, name, counted)

    for kind in {kind for name in CELLS for kind in type(build_cell(name, 1, 1)).__mro__ if issubclass(kind, Cell)}:
        for name in ("sequence", "advance", "project"):
            if name in vars(kind):
                count(kind, name, name)
    for kind in {Score, *Score.__subclasses__()}:
        if "prepare" in vars(kind):
            count(kind, "prepare", "prepare")
    count(Attention, "forward", "attend")
    return counter


def decoder_only(model: Seq2Seq, calls: Counter[str]) -> Counter[str]:
    """The counts of `forward` without those of encoding."""
    batch = MIXED.batch()
    with torch.no_grad():
        calls.clear()
        model.encode(batch)
        encoding = Counter(calls)
        calls.clear()
        model(batch)
    return calls - encoding


def test_luong_without_feeding_makes_one_recurrent_call_a_layer_and_looks_once(calls: Counter[str]):
    model = loud(tiny("luong-general", decoder={"width": 8, "layers": 2, "dropout": 0.0, "input_feeding": False}))
    done = decoder_only(model, calls)
    assert done["sequence"] == 2
    assert done["attend"] == 1
    assert done["advance"] == 0


def test_sutskever_and_cho_read_the_target_in_one_call_a_layer(calls: Counter[str]):
    assert decoder_only(loud(tiny("sutskever")), calls)["sequence"] == 2
    assert decoder_only(loud(tiny("cho")), calls)["sequence"] == 1


@pytest.mark.parametrize("name", ["bahdanau", "luong-general", "luong-location"])
def test_keys_are_prepared_once_a_source(name: str, calls: Counter[str]):
    model, batch = loud(tiny(name)), MIXED.batch()
    with torch.no_grad():
        model(batch)
        assert calls["prepare"] == 1
        calls.clear()
        memory = model.encode(batch)
        state = model.init_state(memory, 4)
        for t in range(4):
            _, state = model.step(memory, state, batch.inputs[:, t])
        assert calls["prepare"] == 1


@pytest.mark.parametrize("name", ["bahdanau", "luong-dot"])
def test_the_words_share_of_the_gates_is_one_product_in_decoders_that_go_step_by_step(name: str, calls: Counter[str]):
    T = MIXED.batch().inputs.shape[1]
    done = decoder_only(loud(tiny(name)), calls)
    assert done["project of 3 axes"] == 1  # words (B, T, E); what comes from the step before is (B, D)
    assert done["attend"] == T
    upper = 1 if name == "luong-dot" else 0
    assert done["project of 2 axes"] == upper * T  # an upper layer's input; what comes from the step before is cut once


@pytest.mark.parametrize("name", ["self-attentive-rnn", "lstmn"])
def test_readers_that_look_back_project_their_words_in_one_product(name: str, calls: Counter[str]):
    model, batch = loud(build_language_model(name, 11, embedding=6, width=8)), MIXED.batch()
    with torch.no_grad():
        model(batch)
    assert calls["project of 3 axes"] == calls["project"] == 1
    assert calls["advance"] == batch.inputs.shape[1]


def test_a_lstmn_decoder_projects_its_words_in_one_product_too(calls: Counter[str]):
    model = loud(tiny("lstmn"))
    with torch.no_grad():
        model(MIXED.batch())
    assert calls["project"] == 2  # the source's words, the target's words


def test_a_transformer_looks_once_a_layer_and_site_whatever_the_length(calls: Counter[str]):
    model = loud(tiny("transformer-base"))
    with torch.no_grad():
        model(MIXED.batch())
    assert calls["attend"] == 2 + 2 * 2
    assert calls["prepare"] == 2 + 2 * 2
