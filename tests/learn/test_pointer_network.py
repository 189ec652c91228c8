"""A pointer network learns to sort."""

from itertools import count

import numpy as np
import torch

from helpers.learning import teach, token_accuracy
from saccade.batch import Batch
from saccade.data.points import padded_points
from saccade.models import build_head, configure
from saccade.models.pointer_network import FIRST, PointsConfig


def lists(seed):
    for number in count():
        chance = np.random.default_rng([seed, number])
        numbers = [chance.random((int(size), 1)) for size in chance.integers(2, 6, 64)]
        targets = Batch.from_lists(targets=[(FIRST + part[:, 0].argsort()).tolist() for part in numbers])
        parts = padded_points(numbers, 1, len(numbers))
        yield Batch(**parts, target=targets.target, target_mask=targets.target_mask)


def test_it_sorts():
    torch.manual_seed(1)
    family = configure("pointer-network", embedding=16, width=48, init={"kind": "default"})
    model = build_head("pointer_network", family, PointsConfig(dimensions=1, choose="every"))
    teach(model, lists(1), steps=400, goal=0.02)
    assert token_accuracy(model, next(lists(2))) >= 0.97
