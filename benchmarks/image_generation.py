"""Turns of two players: SAGAN on digits of 32 × 32 pixels, beside a plain torch loop of the same model.

    python benchmarks/image_generation.py            on a GPU if there is one, else on one thread of the CPU

A turn is an update of one player; the figure is a pair of them, one of the discriminator and one of the generator with
the judge. The plain loop uses torch's own layers, its spectral norm and its fused Adam. Medians, a JSON line a way.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from saccade.batch import Batch
from saccade.data.batch_sampler import Cursor
from saccade.data.loader import TrainBatch
from saccade.models.sagan import Judge, SaganConfig
from saccade.train.adversarial import AdversarialLoss
from saccade.train.ema import Ema
from saccade.train.graphed_update import Graphs
from saccade.train.schedules import build_optimizer
from saccade.train.terms import Adversarial
from saccade.train.train_config import TrainConfig
from saccade.train.update import Updater

CLASSES, SIZE, NOISE = 10, 32, 64
DRAWN, READ, ATTEND = [128, 128, 64, 32], [32, 64, 128], 16


def convolution(before: int, after: int, size: int = 3, bias: bool = True) -> nn.Module:
    layer: nn.Module = spectral_norm(nn.Conv2d(before, after, size, padding=size // 2, bias=bias))
    return layer


class PlainAttention(nn.Module):
    """Self-attention between the places of a grid."""

    def __init__(self, width: int) -> None:
        super().__init__()
        inner, values = width // 8, width // 2
        self.query, self.key = convolution(width, inner, 1, False), convolution(width, inner, 1, False)
        self.value, self.out = convolution(width, values, 1, False), convolution(values, width, 1, False)
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (part(x).flatten(2) for part in (self.query, self.key, self.value))
        weights = (query.mT @ key).softmax(-1)
        return self.gamma * self.out((value @ weights.mT).view(len(x), -1, *x.shape[2:])) + x


class PlainNorm(nn.Module):
    """Batch norm with a gain and a bias for each class."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(width, affine=False)
        self.gain, self.bias = nn.Embedding(CLASSES, width), nn.Embedding(CLASSES, width)
        nn.init.ones_(self.gain.weight)
        nn.init.zeros_(self.bias.weight)

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        return self.norm(x) * self.gain(labels)[..., None, None] + self.bias(labels)[..., None, None]


class PlainUp(nn.Module):
    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([PlainNorm(before), PlainNorm(after)])
        self.one, self.two = convolution(before, after), convolution(after, after)
        self.short = convolution(before, after, 1)

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        y = self.one(F.interpolate(F.relu(self.norms[0](x, labels)), scale_factor=2))
        return self.two(F.relu(self.norms[1](y, labels))) + F.interpolate(self.short(x), scale_factor=2)


class PlainDown(nn.Module):
    def __init__(self, before: int, after: int, first: bool) -> None:
        super().__init__()
        self.first = first
        self.one, self.two = convolution(before, after), convolution(after, after)
        self.short = convolution(before, after, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.one(x if self.first else F.relu(x)))
        return F.avg_pool2d(self.two(y), 2) + self.short(F.avg_pool2d(x, 2))


class PlainGenerator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = spectral_norm(nn.Linear(NOISE, DRAWN[0] * 16, bias=False))
        self.ups = nn.ModuleList(PlainUp(*pair) for pair in pairwise(DRAWN))
        self.attention, self.norm = PlainAttention(DRAWN[2]), nn.BatchNorm2d(DRAWN[-1])
        self.last = convolution(DRAWN[-1], 1)

    def forward(self, noise: Tensor, labels: Tensor) -> Tensor:
        x = self.first(noise).view(len(noise), -1, 4, 4)
        for up in self.ups:
            x = up(x, labels)
            if x.shape[-1] == ATTEND:
                x = self.attention(x)
        return torch.tanh(self.last(F.relu(self.norm(x))))


class PlainDiscriminator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        sizes = [1, *READ]
        self.downs = nn.ModuleList(PlainDown(*pair, not n) for n, pair in enumerate(zip(sizes, READ, strict=False)))
        self.attention, self.last = PlainAttention(READ[0]), spectral_norm(nn.Linear(READ[-1], 1))
        self.labels = spectral_norm(nn.Embedding(CLASSES, READ[-1]))

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        for down in self.downs:
            x = down(x)
            if x.shape[-1] == ATTEND:
                x = self.attention(x)
        h = F.relu(x).sum((2, 3))
        return self.last(h)[:, 0] + (self.labels(labels) * h).sum(1)


def plain(rows: int, device: torch.device) -> Callable[[], Any]:
    """Return a pair of turns as one would write them without a toolkit."""
    drawer, reader, judge = PlainGenerator().to(device), PlainDiscriminator().to(device), Judge(1, CLASSES).to(device)
    made = {"betas": (0.0, 0.9), "fused": True}
    drawers = torch.optim.Adam(
        [{"params": drawer.parameters()}, {"params": judge.parameters(), "lr": 4e-4}], 1e-4, **made
    )
    readers = torch.optim.Adam(reader.parameters(), 4e-4, **made)
    averaged = torch.optim.swa_utils.AveragedModel(
        drawer, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999)
    )
    loads = [data(rows) for _ in range(4)]
    losses = []

    def turns() -> None:
        images, labels = (part.to(device, non_blocking=True) for part in loads[0])
        loads.append(loads.pop(0))
        real = images[..., 1:2].movedim(-1, 1) / 127.5 - 1
        with torch.no_grad():
            drawn = drawer(torch.randn(rows, NOISE, device=device), labels)
        scores = reader(torch.cat([real, drawn]), labels.repeat(2)).view(2, -1)
        loss = F.relu(1 - scores[0]).mean() + F.relu(1 + scores[1]).mean()
        readers.zero_grad(set_to_none=True)
        loss.backward()
        readers.step()
        images, labels = (part.to(device, non_blocking=True) for part in loads[0])
        loads.append(loads.pop(0))
        reader.requires_grad_(False)
        drawn = drawer(torch.randn(rows, NOISE, device=device), labels)
        mistaken = F.cross_entropy(judge(images[..., 1:2])[1], labels)
        drawers.zero_grad(set_to_none=True)
        (mistaken - reader(drawn, labels).mean()).backward()
        drawers.step()
        reader.requires_grad_(True)
        averaged.update_parameters(drawer)
        losses[:] = [loss.detach()]

    for module in (drawer, reader, judge):
        module.train()
    return turns


def ours(rows: int, device: torch.device, *, graphs: bool) -> Callable[[], Any]:
    """Return a pair of turns as training runs them."""
    config = SaganConfig(noise=NOISE, generator=DRAWN, discriminator=READ, attend=[ATTEND], color=False)
    objective: Any = AdversarialLoss(config.image_generator(CLASSES), Adversarial()).train()
    settings = TrainConfig(
        optimizer="adam", lr=1e-4, betas=(0.0, 0.9), max_grad_norm=None, precision="fp32", schedule="constant"
    )
    fabric = Fabric(accelerator=device.type, devices=1)
    optimizer = build_optimizer(objective, settings, device if graphs else None)
    objective, wrapped = fabric.setup(objective, optimizer)
    averaged = Ema(objective.module.model, 0.999)
    found: list[float] = []
    runner = Updater(
        fabric, objective, wrapped, settings, lambda one: found.append(one.loss), Graphs(device) if graphs else None
    )
    loads = [
        TrainBatch(Batch(pictures=images, labels=labels), rows, np.arange(rows), 0.0, Cursor(0, 0))
        for images, labels in map(data, [rows] * 4)
    ]
    step = 0

    def turns() -> None:
        nonlocal step
        for _ in range(2):
            step += 1
            objective.module.take_turn(step)
            runner.update([loads[step % 4]], step, 1e-4)
            averaged.update(objective.module.model)
        found.clear()

    return turns


def data(rows: int) -> tuple[Tensor, Tensor]:
    """Return random images and labels."""
    return torch.randint(0, 256, (rows, SIZE, SIZE, 3), dtype=torch.uint8), torch.randint(0, CLASSES, (rows,))


def milliseconds(turns: Callable[[], Any], device: torch.device, times: int) -> float:
    """Return the time of a pair of turns, the median of several blocks; on the CPU, of the processor's time."""
    cuda = device.type == "cuda"
    clock, block = (time.perf_counter, 5) if cuda else (time.process_time, 1)
    found = []
    for number in range(times + 1):
        if cuda:
            torch.cuda.synchronize()
        begun = clock()
        for _ in range(block):
            turns()
        if cuda:
            torch.cuda.synchronize()
        if number:
            found.append((clock() - begun) / block)
    return 1000 * statistics.median(found)


def main(sizes: list[int]) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cpu":
        torch.set_num_threads(1)
    times = 9 if device.type == "cuda" else 5
    for rows in sizes:
        ways = {"plain torch": plain(rows, device), "saccade": ours(rows, device, graphs=False)}
        if device.type == "cuda":
            ways["saccade, CUDA graphs"] = ours(rows, device, graphs=True)
        for name, turns in ways.items():
            taken = milliseconds(turns, device, times)
            print(
                json.dumps({"way": name, "device": device.type, "images": rows, "pair_ms": round(taken, 2)}), flush=True
            )


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or [64])
