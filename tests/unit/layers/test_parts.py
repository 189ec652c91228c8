"""Errors of the layers' base classes for incomplete subclasses, and where learned positions end."""

import pytest
import torch

from saccade.errors import ShapeError
from saccade.layers.causal import PlainReader, StackedReader
from saccade.layers.cells import CellStack
from saccade.layers.encoder import Encoder, EncoderOutput, RecurrentEncoder
from saccade.layers.grids import Grid
from saccade.layers.pooling import Pooling
from saccade.layers.positions import Learned
from saccade.layers.readout import Readout
from saccade.layers.transformer import PlacedEmbedding

X, MASK = torch.zeros(1, 2, 3), torch.ones(1, 2, dtype=torch.bool)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Encoder()(X, MASK),
        lambda: Grid()(torch.zeros(1, 3, 8, 8)),
        lambda: Pooling(3)(EncoderOutput(X, X[:, 0]), MASK),
        lambda: Readout()(X, None, None),
    ],
    ids=["encoder", "grid", "pooling", "readout"],
)
def test_a_part_that_lacks_its_rule_says_what_to_write(call):
    with pytest.raises(TypeError, match=r"must implement forward\(\)"):
        call()


def test_learned_positions_reach_to_their_last_row_and_no_further():
    table = PlacedEmbedding(Learned(3, 4), 0.0)
    table.check_length(4)
    with pytest.raises(ShapeError, match=r"5 long, but the learned positions end at 4.*larger max_length"):
        table.check_length(5)
    PlacedEmbedding(None, 0.0).check_length(5)


@pytest.mark.parametrize(
    ("part", "run"),
    [
        (lambda: CellStack("gru", 3, 4, 2), lambda part, x: part.sequence(x, torch.zeros(2, 2, 4))[0]),
        (lambda: RecurrentEncoder("gru", 3, 4, 2), lambda part, x: part(x, torch.ones(2, 5).bool()).annotations),
        (lambda: PlainReader("gru", 3, 4, 2), lambda part, x: part(x)),
        (lambda: StackedReader([PlainReader("gru", 3, 4), PlainReader("gru", 4, 4)]), lambda part, x: part(x)),
    ],
    ids=["cells", "encoder", "reader", "readers"],
)
def test_a_stack_that_is_asked_for_nothing_more_is_torchs_in_training_and_after_it(part, run):
    """The default options: forward direction, no dropout, no residual connection."""
    made, inputs = part(), torch.randn(2, 5, 3)
    cells = [module.rnn for module in made.modules() if hasattr(module, "rnn")]
    theirs = torch.nn.GRU(3, 4, 2, batch_first=True)
    for number, cell in enumerate(cells):
        for name, weight in cell.named_parameters():
            getattr(theirs, name.replace("l0", f"l{number}")).data = weight.data
    for training in (True, False):
        torch.testing.assert_close(run(made.train(training), inputs), theirs(inputs)[0])
