"""What the layers' base classes say to somebody who derives from them, and where learned positions end."""

import pytest
import torch

from saccade.errors import ShapeError
from saccade.layers.encoder import Encoder, Reading
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
        lambda: Pooling(3)(Reading(X, X[:, 0]), MASK),
        lambda: Readout()(X, None, None),
    ],
    ids=["encoder", "grid", "pooling", "readout"],
)
def test_a_part_that_lacks_its_rule_says_what_to_write(call):
    with pytest.raises(TypeError, match=r"does not say .* write forward\(\)"):
        call()


def test_learned_positions_reach_to_their_last_row_and_no_further():
    table = PlacedEmbedding(Learned(3, 4), 0.0)
    table.check_length(4)
    with pytest.raises(ShapeError, match=r"5 long, but the learned positions end at 4.*larger max_length"):
        table.check_length(5)
    PlacedEmbedding(None, 0.0).check_length(5)
