"""Updates by several processes: together they use the gradient of the whole batch."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from helpers.models import tiny
from saccade.batch import Batch
from saccade.data.batch_sampler import Cursor
from saccade.data.loader import TrainBatch
from saccade.train.objective import WordLoss
from saccade.train.train_config import TrainConfig
from saccade.train.update import Updater

SENTENCES = [([4, 5, 2], [5, 4]), ([6, 2], [6, 7, 8]), ([7, 8, 9, 2], [9]), ([10, 4, 2], [4, 10, 4, 4])]


class OneOf:
    """Fabric in one of several processes, without the others; `summed` holds its all-reduce inputs."""

    device = torch.device("cpu")

    def __init__(self, world_size):
        self.world_size, self.summed, self.waits = world_size, [], []

    def no_backward_sync(self, module, enabled):
        self.waits.append(enabled)
        return nullcontext()

    def backward(self, loss):
        loss.backward()

    def clip_gradients(self, module, optimizer, **limits):
        return torch.zeros(())

    def all_reduce(self, value, reduce_op):
        assert reduce_op == "sum"
        self.summed.append(float(value))
        return value


def load(rows, tokens, weight=1.0):
    batch = Batch.from_lists([SENTENCES[row][0] for row in rows], [SENTENCES[row][1] for row in rows])
    return TrainBatch(batch, tokens, np.array(rows), 0.0, Cursor(0, 1), weight=weight)


def gradients(groups, world_size):
    """Return the gradients of one process, and its share of the loss."""
    torch.manual_seed(3)
    model = tiny("bahdanau")
    fabric, objective, found, told = OneOf(world_size), WordLoss(model), {}, []

    def learnt(news):
        told.append(news.loss)
        found.update({name: parameter.grad.clone() for name, parameter in model.named_parameters()})

    updater = Updater(
        fabric, objective, torch.optim.SGD(model.parameters(), 0.0), TrainConfig(max_grad_norm=None), learnt
    )
    updater.update(groups, 1, 0.0)
    assert fabric.waits == [True] * (len(groups) - 1) + [False], "processes share gradients once, with the last batch"
    return found, fabric.summed[0] if fabric.summed else told[0]


@pytest.mark.parametrize(
    "shares",
    [
        pytest.param([([0, 2], 1.0), ([1, 3], 1.0)], id="two halves"),
        pytest.param([([0, 1, 2], 1.0), ([3], 1.0)], id="of different sizes"),
        pytest.param([([0, 1, 2, 3], 1.0), ([0], 0.0)], id="one borrows a sentence"),
        pytest.param([([0], 1.0), ([1], 1.0), ([2, 3], 1.0)], id="three"),
    ],
)
def test_the_mean_of_what_processes_find_is_the_gradient_of_the_whole_batch(shares):
    """DistributedDataParallel averages, over processes, gradients of sums over words."""
    tokens = sum(len(target) + 1 for _, target in SENTENCES)
    whole, loss = gradients([load([0, 1, 2, 3], tokens)], 1)
    parts = [gradients([load(rows, tokens, weight)], len(shares)) for rows, weight in shares]
    for name, wanted in whole.items():
        assert_close(torch.stack([found[name] for found, _ in parts]).mean(0), wanted)
    assert sum(summed for _, summed in parts) / tokens == pytest.approx(loss)


def test_batches_that_are_added_up_count_by_their_words():
    counts = [len(target) + 1 for _, target in SENTENCES]
    whole, loss = gradients([load([0, 1, 2, 3], sum(counts))], 1)
    halves, again = gradients([load([0, 1], sum(counts[:2])), load([2, 3], sum(counts[2:]))], 1)
    assert again == pytest.approx(loss)
    for name, wanted in whole.items():
        assert_close(halves[name], wanted)
