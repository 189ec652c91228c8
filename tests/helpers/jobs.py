"""A job for the training loop that needs no files."""

from itertools import chain

import numpy as np
import torch

from helpers.models import tiny
from saccade.batch import Batch
from saccade.data.batch_sampler import Cursor
from saccade.data.loader import TrainBatch
from saccade.train import checkpoint
from saccade.train.log import TrainingCallback
from saccade.train.loop import fit
from saccade.train.objective import WordLoss
from saccade.train.train_config import TrainConfig

SENTENCES = [([4, 5, 2], [5, 4]), ([6, 2], [6, 7, 8]), ([7, 8, 9, 2], [9]), ([10, 4, 2], [4, 10, 4, 4])]


class Sentences(TrainingCallback):
    """A job without files: batches of SENTENCES, and given validation losses. It is its own callback."""

    width = 8

    def __init__(self, cuts, losses=None, **objective):
        torch.manual_seed(3)
        self.model = tiny("bahdanau")
        self.objective = WordLoss(self.model, **objective)
        self.cuts, self.losses = cuts, chain(losses or [], iter(lambda: 1.0, None))
        self.exported, self.rates, self.notes, self.validations = [], [], [], []

    def loader(self, rank, ranks, *, rounded):
        def loads(place):
            while True:
                for number, rows in enumerate(self.cuts, 1):
                    yield self._load(rows, Cursor(0, number))

        return loads

    def _load(self, rows, place):
        batch = Batch.from_lists([SENTENCES[row][0] for row in rows], [SENTENCES[row][1] for row in rows])
        return TrainBatch(batch, int(batch.expected_mask.sum()), np.array(rows) + 1, 0.0, place)

    def held_out(self):
        return [self._load([0], Cursor(0, 1))]

    def measure(self):
        value = next(self.losses)
        return value if isinstance(value, dict) else {"loss": value}

    def facts(self):
        return {}

    def export(self, weights):
        self.exported.append({name: tensor.clone() for name, tensor in weights.items()})

    def step(self, entry):
        self.rates.append(entry["lr"])

    def validated(self, entry):
        self.validations.append((entry["step"], entry["best"]))


def run(job, folder, *, resume=False, **changes):
    known = {"steps": 1, "precision": "fp32", "device": "cpu", "lr": 0.1, "schedule": "constant"}
    return fit(job, TrainConfig(**(known | changes)), folder, resume=resume, watcher=job)


def weights_after(job, folder, **changes):
    run(job, folder, **changes)
    return checkpoint.weights_of(job.model)
