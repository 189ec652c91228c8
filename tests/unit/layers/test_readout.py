"""Read-outs by pencil and paper."""

import pytest
import torch

from saccade.errors import ConfigError
from saccade.layers.readout import READOUTS, build_readout

STATE, CONTEXT, WORD = torch.tensor([[1.0, -1.0]]), torch.tensor([[0.5]]), torch.tensor([[2.0]])


def test_linear_lays_the_parts_side_by_side():
    assert build_readout("linear", 2, 1, 1)(STATE, CONTEXT, WORD).tolist() == [[1.0, -1.0, 0.5, 2.0]]
    assert build_readout("linear", 2, 0, 1)(STATE, None, WORD).tolist() == [[1.0, -1.0, 2.0]]
    assert build_readout("linear", 2)(STATE, None, None).tolist() == [[1.0, -1.0]]


def test_tanh_reads_the_context_before_the_state():
    readout = build_readout("tanh", 2, 1, 1, 1)
    readout.vector.join.weight.data = torch.tensor([[1.0, 10.0, 100.0, 1000.0]]) / 4000
    wanted = torch.tanh(torch.tensor((0.5 + 10 - 100 + 2000) / 4000))
    assert readout(STATE, CONTEXT, WORD).item() == pytest.approx(wanted.item())
    assert build_readout("tanh", 2)(STATE, None, None).shape == (1, 2)


def test_maxout_lets_neighbours_compete():
    readout = build_readout("maxout", 2, 1, 1, 2)
    readout.layer.bias.data = torch.zeros(4)
    readout.layer.weight.data = torch.tensor(
        [[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 1.0]]
    )  # t̃ = (1, -1, 0.5, 2)
    assert readout(STATE, CONTEXT, WORD).tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("name", [name for name in READOUTS if name != "sum"])
@pytest.mark.parametrize("width", [None, 3])
def test_width_is_what_comes_out_with_any_number_of_axes(name: str, width: int | None):
    readout = build_readout(name, 2, 1, 1, width)
    steps = [part[:, None].expand(-1, 5, -1) for part in (STATE, CONTEXT, WORD)]
    assert readout(*steps).shape == (1, 5, readout.width)
    torch.testing.assert_close(readout(*steps)[:, 3], readout(STATE, CONTEXT, WORD))
    assert readout.width == {"linear": 4}.get(name, width or 2)


def test_sum_adds_state_and_context_to_the_word():
    readout = build_readout("sum", 2, 1, 1)
    readout.of_state.weight.data, readout.of_context.weight.data = torch.tensor([[3.0, 1.0]]), torch.tensor([[4.0]])
    assert readout(STATE, CONTEXT, WORD).tolist() == [[2.0 + 3.0 - 1.0 + 2.0]]
    assert build_readout("sum", 2, 0, 1).width == 1
    for word, width in ((0, None), (1, 3)):
        with pytest.raises(ConfigError, match="read_word"):
            build_readout("sum", 2, 1, word, width)
