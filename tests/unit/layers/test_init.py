"""Parameter initialization of the papers."""

import pytest
import torch
from torch.testing import assert_close

from saccade.layers.cells import CELLS, LSTM, build_cell
from saccade.layers.init import init_embeddings, init_forget_gates, init_groundhog, init_uniform
from saccade.layers.pooling import build_pooling
from saccade.layers.positions import Learned
from saccade.models import MODELS, build_language_model, build_seq2seq


@pytest.mark.parametrize("name", CELLS)
def test_groundhog_makes_the_recurrent_matrix_of_each_gate_orthogonal_and_biases_zero(name: str):
    cell = build_cell(name, 5, 6)
    init_groundhog(cell)
    found = dict(cell.named_parameters())
    recurrent = next(found.pop(key) for key in list(found) if "weight_hh" in key)
    for gate in recurrent.split(6):
        assert_close(gate @ gate.T, torch.eye(6))
    assert recurrent.shape[0] // 6 == {"tanh": 1, "lstm": 4}.get(name, 3)
    for key, parameter in found.items():
        assert (parameter == 0).all() if "bias" in key else 0 < parameter.std() < 0.02


def test_groundhog_sets_bahdanaus_score_apart():
    model = build_seq2seq("bahdanau", 500, 500, embedding=32, encoder={"width": 32}, decoder={"width": 32})
    score = model.attention.score
    assert (score.v == 0).all()
    assert score.query_weight.std().item() == pytest.approx(0.001, rel=0.1)
    assert score.key_weight.std().item() == pytest.approx(0.001, rel=0.1)
    for weight in (model.source_embedding.weight, model.output.weight, model.readout.layer.weight):
        assert weight.std().item() == pytest.approx(0.01, rel=0.1)
    for name, parameter in model.named_parameters():
        if "bias" in name:
            assert (parameter == 0).all(), name


@pytest.mark.parametrize(("preset", "scale"), [("sutskever", 0.08), ("luong-dot", 0.1)])
def test_uniform_fills_its_bounds_in_every_parameter(preset: str, scale: float):
    small = {"embedding": 16, "encoder": {"width": 16, "layers": 2}, "decoder": {"width": 16, "layers": 2}}
    model = build_seq2seq(preset, 50, 50, **small)
    for name, parameter in model.named_parameters():
        assert parameter.abs().max() <= scale, name
        assert parameter.abs().max() > 0.9 * scale, name
        assert parameter.mean().abs() < 0.5 * scale, name


def test_uniform_takes_any_scale():
    cell = build_cell("gru", 8, 8)
    init_uniform(cell, 3.0)
    assert all(2.5 < parameter.abs().max() <= 3.0 for parameter in cell.parameters())


def test_a_language_model_starts_the_same_way():
    model = build_language_model("sutskever", 50, embedding=16, decoder={"width": 16, "layers": 2})
    assert all(0.07 < parameter.abs().max() <= 0.08 for parameter in model.parameters())


def test_word_vectors_start_small_and_tied_output_layers_with_them():
    model = build_seq2seq(
        "bahdanau", 500, 500, embedding=64, decoder={"output_width": 64}, tied=True, init={"kind": "default"}
    )
    for embedding in (model.source_embedding, model.target_embedding):
        assert abs(embedding.weight.std() - 0.1) < 0.005
    assert model.output.weight is model.target_embedding.weight


@pytest.mark.parametrize("preset", ["lstmn", "self-attentive-rnn"])
def test_how_readers_start_can_be_chosen(preset):
    model = build_language_model(preset, 500, embedding=64, init={"kind": "uniform", "scale": 0.01})
    assert max(parameter.abs().max() for parameter in model.parameters()) <= 0.01
    assert abs(build_language_model(preset, 500, embedding=64).embedding.weight.std() - 0.1) < 0.005


def test_forget_gates_start_open():
    """A step from h = 0 without input keeps σ(bias) of the memory; the input gate is unchanged."""
    cell, plain = build_cell("lstm", 3, 4), build_cell("lstm", 3, 4)
    plain.load_state_dict(cell.state_dict())
    init_forget_gates(cell, 2.0)
    memory = torch.tensor([[0.0] * 4 + [1.0] * 4])
    nothing = torch.zeros(1, 8)
    gained = [c.advance(c.project(torch.zeros(1, 3)), nothing)[:, 4:] for c in (cell, plain)]
    kept = cell.advance(cell.project(torch.zeros(1, 3)), memory)[:, 4:] - gained[0]
    assert_close(gained[0], gained[1])
    assert_close(kept, torch.full((1, 4), 2.0).sigmoid())


@pytest.mark.parametrize("preset", ["lstmn", "sutskever"])
def test_forget_gates_are_a_setting_whatever_the_kind(preset):
    model = build_language_model(
        preset, 20, **MODELS[preset].tiny | {"init": {"kind": "uniform", "scale": 0.08, "forget_bias": 1.0}}
    )
    cells = [module for module in model.modules() if isinstance(module, LSTM)]
    assert cells
    for cell in cells:
        biases = cell.rnn.bias_ih_l0 + cell.rnn.bias_hh_l0
        assert (biases.split(cell.width)[1] == 1).all()
        assert (biases.split(cell.width)[0].abs() <= 0.16).all()


def test_tables_inside_of_parts_are_left_alone():
    part = torch.nn.Sequential(torch.nn.Embedding(3, 2))
    torch.nn.init.constant_(part[0].weight, 7.0)
    model = torch.nn.ModuleDict({"words": torch.nn.Embedding(500, 64), "grid": part})
    init_embeddings(model, 0.1)
    assert abs(model["words"].weight.std() - 0.1) < 0.005
    assert (part[0].weight == 7.0).all()


def test_learned_places_and_questions_start_about_as_long_as_one_whatever_their_width():
    for width in (16, 400):
        lengths = Learned(width, 200)(torch.arange(200)).norm(dim=-1)
        assert lengths.mean().item() == pytest.approx(1.0, rel=0.05)
        questions = torch.stack([build_pooling("attention", width).question[0, 0] for _ in range(5)])
        assert questions.norm(dim=-1).mean().item() == pytest.approx(1.0, rel=0.3)


@pytest.mark.parametrize("name", CELLS)
def test_cells_start_within_one_over_the_root_of_their_width(name: str):
    for parameter in (part for key, part in build_cell(name, 30, 16).named_parameters() if "weight" in key):
        assert 0.95 * 0.25 < parameter.abs().max() <= 0.25
        assert abs(parameter.mean()) < 0.02
