"""Cells: a sequence is its steps, torch's cells are torch's, and a stack is its layers."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from helpers.models import assert_same_by_name, gradients, loud, same
from saccade import masks
from saccade.errors import ShapeError
from saccade.kernels.dropout import Dropout
from saccade.layers.cells import CELLS, LSTM, Cell, CellStack, ResetBeforeGRU, build_cell

E, D = 3, 4
each_cell = pytest.mark.parametrize("name", CELLS)


def make(name: str) -> Cell:
    return loud(build_cell(name, E, D)).double()


def walk(cell: Cell, inputs: Tensor, state: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Run step by step; a sentence keeps its state where its mask ends."""
    hiddens = []
    for t in range(inputs.shape[1]):
        state = torch.where(mask[:, t, None], cell(inputs[:, t], state), state)
        hiddens.append(state[:, : cell.width])
    return torch.stack(hiddens, 1), state


@each_cell
@pytest.mark.parametrize("lengths", [[1], [7, 1, 3], [2, 5]])
def test_a_sequence_is_its_steps_with_ragged_ends(name: str, lengths: list[int]):
    cell, mask = make(name), masks.padding(torch.tensor(lengths))
    inputs = torch.randn(*mask.shape, E, dtype=torch.float64)
    state = torch.randn(len(lengths), cell.state_width, dtype=torch.float64)
    hiddens, last = cell.sequence(inputs, state, mask)
    wanted, wanted_last = walk(cell, inputs, state, mask)
    assert_close(hiddens[mask], wanted[mask])
    assert_close(last, wanted_last)
    everything = torch.ones_like(mask)
    for got, by_steps in zip(cell.sequence(inputs, state), walk(cell, inputs, state, everything), strict=True):
        assert_close(got, by_steps)


@each_cell
def test_gradients_of_a_sequence_are_those_of_its_steps(name: str):
    cell, mask = make(name), masks.padding(torch.tensor([2, 5, 1]))
    inputs = torch.randn(3, 5, E, dtype=torch.float64)
    state = torch.randn(3, cell.state_width, dtype=torch.float64)

    def outcome(run) -> dict[str, Tensor]:
        hiddens, last = run()
        return gradients(cell, torch.cat([hiddens[mask].flatten(), last.flatten()]))

    assert_same_by_name(
        outcome(lambda: cell.sequence(inputs, state, mask)), outcome(lambda: walk(cell, inputs, state, mask))
    )


@pytest.mark.parametrize(("name", "kind"), [("tanh", nn.RNN), ("gru", nn.GRU), ("lstm", nn.LSTM)])
def test_torchs_cells_are_torchs(name: str, kind: type[nn.RNNBase]):
    cell, theirs = make(name), kind(E, D, batch_first=True).double()
    theirs.load_state_dict(cell.rnn.state_dict())
    inputs, state = torch.randn(2, 6, E, dtype=torch.float64), torch.randn(2, cell.state_width, dtype=torch.float64)
    start = tuple(part[None].contiguous() for part in state.chunk(2, -1)) if kind is nn.LSTM else state[None]
    wanted, last = theirs(inputs, start)
    hiddens, state = cell.sequence(inputs, state)
    assert_close(hiddens, wanted)
    assert_close(state, torch.cat(last, -1)[0] if kind is nn.LSTM else last[0])


@each_cell
def test_projecting_an_input_by_its_columns_sums_up_to_the_whole(name: str):
    cell, inputs = make(name), torch.randn(2, 5, E, dtype=torch.float64)
    parts = cell.project(inputs[..., :1]) + cell.project(inputs[..., 1:], first=1)
    assert_close(parts, cell.project(inputs))
    assert_close(
        cell.advance(parts[:, 0], state := torch.randn(2, cell.state_width).double()), cell(inputs[:, 0], state)
    )


@pytest.mark.parametrize(("takes_new", "wanted"), [(True, [0.0, 0.0]), (False, [0.5, -0.25])])
def test_an_open_update_gate_takes_bahdanaus_new_state_and_keeps_chos_old_one(takes_new: bool, wanted: list[float]):
    cell = ResetBeforeGRU(1, 2, update_takes_new=takes_new)
    for parameter in cell.parameters():
        nn.init.zeros_(parameter)
    cell.bias_ih.data[2:4] = 50.0  # z = 1, and the new state is tanh(0) = 0
    assert_close(cell(torch.ones(1, 1), torch.tensor([[0.5, -0.25]])), torch.tensor([wanted]))


def test_the_papers_reset_gate_works_before_the_matrix_and_torchs_after():
    """One unit closes its reset gate; the matrix swaps the units, so the order shows."""
    state = torch.tensor([[0.5, -0.25]])
    swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    papers, torchs = ResetBeforeGRU(1, 2, update_takes_new=True), build_cell("gru", 1, 2)
    for parameter in [*papers.parameters(), *torchs.parameters()]:
        nn.init.zeros_(parameter)
    papers.weight_hh.data[4:] = torchs.rnn.weight_hh_l0.data[4:] = swap
    papers.bias_ih.data[:] = torch.tensor([-50.0, 50.0, 50.0, 50.0, 0.0, 0.0])  # r = (0, 1), z = 1: the new state
    torchs.rnn.bias_ih_l0.data[:] = torch.tensor([-50.0, 50.0, -50.0, -50.0, 0.0, 0.0])  # z = 0: the new state
    before = torch.tanh(torch.tensor([-0.25, 0.0]))  # U (r * h) = swap (0, -0.25)
    after = torch.tanh(torch.tensor([0.0, 0.5]))  # r * (U h) = (0, 1) * (-0.25, 0.5)
    assert_close(papers(torch.zeros(1, 1), state)[0], before)
    assert_close(torchs(torch.zeros(1, 1), state)[0], after)


def test_an_lstm_adds_what_comes_from_elsewhere_to_its_memory():
    cell, gates, state = LSTM(E, D), torch.randn(2, 4 * D), torch.randn(2, 2 * D)
    plain = cell.advance(gates, state)
    more = cell.advance(gates, state, torch.full((2, D), 0.5))
    assert_close(more[:, D:], plain[:, D:] + 0.5)
    ratio = plain[:, :D] / torch.tanh(plain[:, D:])  # the output gate
    assert_close(more[:, :D], ratio * torch.tanh(more[:, D:]))


@each_cell
@pytest.mark.parametrize("residual", [False, True])
def test_a_stacks_sequence_is_its_steps(name: str, residual: bool):
    stack = loud(CellStack(name, E, D, 3, residual=residual))
    inputs, state = torch.randn(2, 5, E), torch.randn(2, 3, stack.state_width)
    outputs, last = stack.sequence(inputs, state)
    for t in range(5):
        output, state = stack.advance(stack.first.project(inputs[:, t]), state)
        same(output, outputs[:, t])
        if not residual:
            same(output, stack.split(state)[-1][0])
    same(state, last)


def test_residual_adds_a_layers_input_to_its_output_from_the_second_layer_on():
    stack = loud(CellStack("tanh", D, D, 2, residual=True))
    inputs, state = torch.randn(1, 1, D), torch.zeros(1, 2, D)
    below = stack.cells[0](inputs[:, 0], state[:, 0])
    above = stack.cells[1](below, state[:, 1])
    outputs, _ = stack.sequence(inputs, state)
    same(outputs[:, 0], above + below)


def test_upper_layers_read_what_stands_beside_and_residual_leaves_it_out():
    stack = loud(CellStack("tanh", D, D, 3, residual=True, residual_from=3, beside_width=2))
    inputs, beside, state = torch.randn(1, 1, D), torch.randn(1, 1, 2), torch.zeros(1, 3, D)
    first, second, third = stack.cells
    low = first(inputs[:, 0], state[:, 0])
    middle = second(torch.cat([low, beside[:, 0]], -1), state[:, 1])
    high = third(torch.cat([middle, beside[:, 0]], -1), state[:, 2])
    same(stack.sequence(inputs, state, beside)[0][:, 0], high + middle)
    output, _ = stack.recurrence()(first.project(inputs[:, 0]), stack.split(state), beside[:, 0])
    same(output, high + middle)


def test_dropout_is_between_layers_and_only_in_training():
    single, double = (CellStack("gru", E, D, layers, dropout=Dropout(0.9)) for layers in (1, 2))
    inputs = torch.randn(1, 4, E)
    for stack, drops in ((single, False), (double, True)):
        state = torch.zeros(1, stack.layers, D)
        runs = [stack.train().sequence(inputs, state)[0] for _ in range(2)]
        assert torch.equal(*runs) != drops
        quiet = [stack.eval().sequence(inputs, state)[0] for _ in range(2)]
        assert torch.equal(*quiet)


def test_locked_dropout_is_the_same_in_every_step_of_a_loop_and_of_a_sequence():
    stack = CellStack("gru", E, D, 3, dropout=Dropout(0.5, locked=True)).train()
    inputs, state = torch.randn(2, 5, E), torch.zeros(2, 3, D)
    torch.manual_seed(1)
    whole, last = stack.sequence(inputs, state)
    torch.manual_seed(1)
    advance, gates = stack.recurrence(), stack.first.project(inputs)
    layered = stack.split(state)
    for t in range(5):
        output, layered = advance(gates[:, t], layered)
        same(output, whole[:, t])
    same(stack.join(layered), last)


@each_cell
def test_what_does_not_go_together_is_refused_with_its_shapes(name: str):
    cell = build_cell(name, E, D)
    wide, state, mask = cell.state_width, torch.zeros(2, cell.state_width), torch.ones(2, 5, dtype=torch.bool)
    inputs = torch.zeros(2, 5, E)
    assert cell.sequence(inputs, state, mask)[0].shape == (2, 5, D)
    for wrong, said in (
        ((torch.zeros(2, 5, E + 1), state, mask), r"inputs are \(2, 5, 4\), but this layer reads \(B, T, 3\)"),
        ((torch.zeros(2, E), state, mask), r"inputs are \(2, 3\), but this layer reads \(B, T, 3\)"),
        ((torch.zeros(2, 0, E), state, mask[:, :0]), r"inputs are \(2, 0, 3\), .* with no axis of 0"),
        ((inputs.double(), state, mask), r"inputs are torch.float64, but this cell is torch.float32"),
        ((inputs, state[:1], mask), rf"state is \(1, {wide}\), but inputs are \(2, 5, 3\) .* must be \(2, {wide}\)"),
        ((inputs, state[:, 1:], mask), rf"state is \(2, {wide - 1}\), .* must be \(2, {wide}\)"),
        ((inputs, state, mask[:, 1:]), r"mask is \(2, 4\), but inputs are \(2, 5, 3\), so it must be \(2, 5\)"),
    ):
        with pytest.raises(ShapeError, match=said):
            cell.sequence(*wrong)
    for wrong in (torch.zeros(2, E + 1), inputs, torch.zeros(0, E)):
        with pytest.raises(ShapeError, match=r"but this layer reads \(N, 3\), with no axis of 0"):
            cell(wrong, state)
