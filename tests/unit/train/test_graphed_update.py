"""Updates replayed from CUDA graphs equal eager updates; needs a GPU."""

import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from saccade.batch import Batch
from saccade.data.batch_sampler import Cursor
from saccade.data.loader import TrainBatch
from saccade.models import build_captioner, build_seq2seq, presets_for
from saccade.train.graphed_update import Graphs, graphs_fit
from saccade.train.objective import WordLoss
from saccade.train.schedules import build_optimizer
from saccade.train.train_config import TrainConfig
from saccade.train.update import Updater

CAPTIONERS = presets_for("captioner")

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
WORDS = 20
SMALL = {
    "bahdanau": {"embedding": 8, "encoder.width": 8, "decoder.width": 16, "decoder.output_width": 8},
    "luong-general": {"embedding": 8, "encoder.width": 8, "decoder.width": 8},
    "sutskever": {"embedding": 8, "encoder.width": 8, "decoder.width": 8},
    "transformer-base": {"width": 16, "feed_forward": 32, "layers": 1, "attention.heads": 2},
    "show-attend-tell-soft": {
        "image_encoder": {"kind": "small", "width": 8, "channels": (8,), "frozen": False},
        "embedding": 8,
        "decoder.width": 8,
        "decoder.dropout": 0.0,
    },
}


def loads(count, chance, *, pictures=False):
    for number in range(count):
        length = (4, 8)[number % 2]
        words = [[chance.randrange(4, WORDS) for _ in range(chance.randrange(1, length))] for _ in range(6)]
        words[0] = words[0] + [5] * (length - 1 - len(words[0]))
        batch = Batch.from_lists(None if pictures else [[*row, 2] for row in words], words)
        if pictures:
            batch = replace(batch, pictures=torch.randint(256, (6, 16, 16, 3), dtype=torch.uint8))
        yield TrainBatch(batch, sum(len(row) + 1 for row in words), np.arange(6), 0.0, Cursor(0, number))


def trained(preset, graphs):
    torch.manual_seed(1)
    settings = {}
    for name, value in SMALL[preset].items():
        target = settings
        *path, last = name.split(".")
        for part in path:
            target = target.setdefault(part, {})
        target[last] = value
    seeing = preset in CAPTIONERS
    model = build_captioner(preset, WORDS, **settings) if seeing else build_seq2seq(preset, WORDS, WORDS, **settings)
    config, fabric = (
        TrainConfig(lr=0.01, cuda_graphs=graphs),
        Fabric(accelerator="cuda", devices=1, precision="bf16-mixed"),
    )
    assert graphs_fit(config, fabric) is graphs
    objective = WordLoss(model)
    optimizer = build_optimizer(objective, config, fabric.device if graphs else None)
    objective, optimizer = fabric.setup(objective, optimizer)
    objective.train()
    losses = []
    recorder = Graphs(fabric.device) if graphs else None
    updater = Updater(fabric, objective, optimizer, config, lambda learnt: losses.append(learnt.loss), recorder)
    for number, load in enumerate(loads(14, random.Random(3), pictures=seeing)):
        updater.update([load], number + 1, 0.01 / (number + 1))
    updater.finish()
    return losses, recorder


@needs_gpu
@pytest.mark.parametrize("preset", SMALL)
def test_replayed_updates_are_the_updates(preset):
    plain, _ = trained(preset, False)
    replayed, recorder = trained(preset, True)
    assert recorder.refused is None
    assert len(recorder._captured) == 2
    assert len(replayed) == len(plain) == 14
    torch.testing.assert_close(torch.tensor(replayed), torch.tensor(plain), rtol=0.02, atol=0.0)
    assert len(set(plain)) == 14


@needs_gpu
def test_what_cannot_be_recorded_is_done_without(monkeypatch, caplog):
    whole = WordLoss.losses

    def looking(self, batch):
        found = whole(self, batch)
        assert found.plain.item() >= 0
        return found

    monkeypatch.setattr(WordLoss, "losses", looking)
    losses, recorder = trained("luong-general", True)
    assert recorder.refused
    assert "without CUDA graphs" in caplog.text
    assert len(losses) == 14
    assert losses[-1] < losses[0]


def test_graphs_are_for_one_gpu():
    fabric = Fabric(accelerator="cpu", devices=1)
    assert not graphs_fit(TrainConfig(), fabric)


@pytest.mark.parametrize(
    ("settings", "devices", "reason"),
    [
        ({"accumulate": 2}, 1, "train.accumulate"),
        ({"scheduled_sampling": 0.1}, 1, "train.scheduled_sampling"),
        ({"precision": "fp16"}, 1, "fp16"),
        ({}, 2, "several devices"),
    ],
)
def test_what_cannot_be_recorded_is_said_beforehand(caplog, settings, devices, reason):
    caplog.set_level("INFO", "saccade")
    fabric = SimpleNamespace(device=torch.device("cuda"), world_size=devices)
    assert graphs_fit(TrainConfig(), SimpleNamespace(device=torch.device("cuda"), world_size=1))
    assert not caplog.text
    assert not graphs_fit(TrainConfig(**settings), fabric)
    assert reason in caplog.text
