"""Training steps of glimpses and of SNAIL, beside plain torch loops of the same models.

    python benchmarks/looking.py            on a GPU if there is one, else on one thread of the CPU

Glimpses: six of 12 × 12 values at three scales, on 60 × 60 pixels, an LSTM of 256, REINFORCE. SNAIL: the paper's sizes,
episodes of 5 classes with 5 images each and 20 queries. One plain loop of SNAIL embeds each image once, too, and
repeats the support for every query; the other one runs each query as an episode of its own, as public code does.
Whole optimizer steps with clipping; medians, a JSON line for each way.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import torch
import torch.nn.functional as F
from listening import captured, seconds, stepper
from torch import Tensor, nn

from saccade.batch import Batch, EpisodeBatch
from saccade.models import build_head
from saccade.models.build import configure
from saccade.train.episode_loss import EpisodeLoss
from saccade.train.glimpse_loss import GlimpseLoss
from saccade.train.objective import Objective, losses_of
from saccade.train.terms import GlimpseReward

SIDE, SIZE, SCALES, GLIMPSES, WIDTH, CLASSES, DEVIATION, REWARD = 60, 12, 3, 6, 256, 10, 0.1, 0.1
WAYS, SHOTS, QUERIES, PIXELS, FILTERS = 5, 5, 20, 28, 64


class PlainGlimpses(nn.Module):
    """The recurrent attention model in torch's own layers, with its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.what, self.where = nn.Linear(SCALES * SIZE**2, 128), nn.Linear(2, 128)
        self.what_out, self.where_out = nn.Linear(128, WIDTH), nn.Linear(128, WIDTH, bias=False)
        self.core, self.label, self.baseline = nn.LSTMCell(WIDTH, WIDTH), nn.Linear(WIDTH, CLASSES), nn.Linear(WIDTH, 1)
        self.locator = nn.Sequential(nn.Linear(WIDTH, WIDTH // 2), nn.ReLU(), nn.Linear(WIDTH // 2, 2))
        self.finest = nn.Sequential(nn.Linear(SIZE**2, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES))

    def retina(self, images: Tensor, places: Tensor) -> Tensor:
        """Return patches (B, scales, size, size), coarse ones as means over pixels, as in public implementations."""
        seen = []
        for scale in range(SCALES):
            side = SIZE << scale
            padded = F.pad(images, [side // 2] * 4)
            corners = ((places + 1) / 2 * (SIDE - 1)).long()
            steps = torch.arange(side, device=images.device)
            rows, columns = corners[:, 1, None] + steps, corners[:, 0, None] + steps
            number = torch.arange(len(images), device=images.device)[:, None, None]
            seen.append(F.avg_pool2d(padded[number, 0, rows[:, :, None], columns[:, None]], 1 << scale))
        return torch.stack(seen, 1)

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        """Return the loss per image."""
        place, state = images.new_zeros(len(images), 2), None
        beliefs, alone, chances, expected = [], [], [], []
        for t in range(GLIMPSES):
            if t:
                assert state is not None
                policy = torch.distributions.Normal(self.locator(state[0]).tanh(), DEVIATION)
                sample = policy.sample()
                chances.append(policy.log_prob(sample).sum(1))
                expected.append(self.baseline(state[0].detach())[:, 0])
                place = sample.clamp(-1, 1)
            patches = self.retina(images, place)
            what, where = F.relu(self.what(patches.flatten(1))), F.relu(self.where(place))
            state = self.core(F.relu(self.what_out(what) + self.where_out(where)), state)
            beliefs.append(self.label(state[0]))
            alone.append(self.finest(patches[:, 0].flatten(1)))
        loss = sum(F.cross_entropy(one, labels) for one in [*beliefs, *alone]) / GLIMPSES
        sure, fine = (
            torch.stack([one.softmax(1).gather(1, labels[:, None])[:, 0] for one in part[1:]], 1)
            for part in (beliefs, alone)
        )
        later = sure.detach().flip(1).cumsum(1).flip(1) / torch.arange(GLIMPSES - 1, 0, -1, device=images.device)
        advantage = later + fine.detach() - torch.stack(expected, 1)
        policy_loss = -(advantage.detach() * torch.stack(chances, 1)).sum(1).mean()
        return torch.as_tensor(loss + REWARD * policy_loss + advantage.square().sum(1).mean())


class PlainSnail(nn.Module):
    """SNAIL in torch's own layers, with its loss."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before in (1, FILTERS, FILTERS, FILTERS):
            layers += [nn.Conv2d(before, FILTERS, 3, padding=1), nn.BatchNorm2d(FILTERS), nn.ReLU(), nn.MaxPool2d(2)]
        self.embedding, width = nn.Sequential(*layers), FILTERS + WAYS
        self.blocks = nn.ModuleList()
        for keys, values in ((64, 32), (256, 128), (512, 256)):
            self.blocks.append(
                nn.ModuleList([nn.Linear(width, keys), nn.Linear(width, keys), nn.Linear(width, values)])
            )
            width += values
            for dilation in (2, 4, 8, 16, 32) if keys < 512 else ():
                self.blocks.append(nn.Conv1d(width, 256, 2, dilation=dilation))
                width += 128
        self.label = nn.Linear(width, WAYS)

    def apart(self, support: Tensor, codes: Tensor, queries: Tensor, labels: Tensor) -> Tensor:
        """Return the loss per query, each an episode of its own."""
        again = support.repeat_interleave(QUERIES, 0), codes.repeat_interleave(QUERIES, 0)
        return self(*again, queries.flatten(0, 1)[:, None], labels.view(-1, 1))

    def forward(self, support: Tensor, codes: Tensor, queries: Tensor, labels: Tensor) -> Tensor:
        """Return the loss per query."""
        rows, size = codes.shape
        images = torch.cat([support, queries], 1)
        vectors = (
            self.embedding(1 - images.movedim(-1, 2).flatten(0, 1).float() / 255).flatten(1).unflatten(0, (rows, -1))
        )
        shown = torch.cat([vectors[:, :size], F.one_hot(codes.long(), WAYS).to(vectors.dtype)], 2)
        asked = F.pad(vectors[:, size:], (0, WAYS))
        x = torch.cat([shown[:, None].expand(-1, queries.shape[1], -1, -1), asked[:, :, None]], 2).flatten(0, 1)
        mask = torch.ones(size + 1, size + 1, dtype=torch.bool, device=x.device).tril()
        for block in self.blocks:
            if isinstance(block, nn.Conv1d):
                values, gates = block(F.pad(x.mT, (block.dilation[0], 0))).chunk(2, 1)
                x = torch.cat([x, (values.tanh() * gates.sigmoid()).mT], 2)
                continue
            assert isinstance(block, nn.ModuleList)
            query, key, value = (part(x) for part in block)
            scores = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf)
            x = torch.cat([x, scores.softmax(-1) @ value], 2)
        return F.cross_entropy(self.label(x[:, -1]), labels.flatten())


def glimpses(rows: int, device: str) -> tuple[nn.Module, Callable[[], Tensor], Objective, Batch]:
    """Return the plain model and its loss, and our objective and its batch."""
    images, labels = torch.randint(256, (rows, SIDE, SIDE, 1), dtype=torch.uint8), torch.randint(CLASSES, (rows,))
    batch = Batch(pictures=images, labels=labels).to(torch.device(device))
    retina = {"size": SIZE, "scales": SCALES}
    model = build_head("image_classifier", configure("ram", core="lstm", finest=WIDTH, retina=retina), CLASSES)
    model.deviation.fill_(DEVIATION)
    plain = PlainGlimpses().to(device)
    assert batch.pictures is not None
    ink = (255 - batch.pictures).movedim(-1, 1).float() / 255
    return plain, lambda: plain(ink, batch.labels), GlimpseLoss(model, GlimpseReward(weight=REWARD)), batch


def snail(rows: int, device: str) -> tuple[nn.Module, Callable[[], Tensor], Objective, Batch]:
    """Return the plain model and its loss, and our objective and its batch."""
    size = WAYS * SHOTS
    support, queries = (
        torch.randint(256, (rows, count, PIXELS, PIXELS, 1), dtype=torch.uint8) for count in (size, QUERIES)
    )
    codes = torch.arange(size).remainder(WAYS).expand(rows, -1).contiguous()
    batch = EpisodeBatch(
        source=codes,
        source_mask=torch.ones(rows, size, dtype=torch.bool),
        support=support,
        queries=queries,
        labels=torch.randint(WAYS, (rows, QUERIES)),
    ).to(torch.device(device))
    model = build_head("few_shot", configure("snail"), WAYS, size + 1)
    plain = PlainSnail().to(device)
    return (
        plain,
        lambda: plain(batch.support, batch.source, batch.queries, batch.labels),
        EpisodeLoss(model, QUERIES),
        batch,
    )


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        torch.set_num_threads(1)
    times = 20 if device == "cuda" else 3
    for name, made, rows, each in (("glimpses", glimpses, 256, 1), ("snail", snail, 16, QUERIES)):
        plain, loss, objective, batch = made(rows if device == "cuda" else rows // 8, device)
        count = each * (rows if device == "cuda" else rows // 8)
        own = objective.to(device).train()
        steps = {"plain torch": stepper(plain.train(), loss)}
        if isinstance(plain, PlainSnail):
            given = batch.support, batch.source, batch.queries, batch.labels
            steps["plain torch, queries apart"] = stepper(plain, lambda plain=plain, given=given: plain.apart(*given))
        steps["saccade"] = stepper(own, lambda own=own, batch=batch, count=count: losses_of(own, batch).total / count)
        for way, step in steps.items():
            size = sum(part.numel() for part in (own if way == "saccade" else plain).parameters())
            _print(name, way, device, seconds(step, device, times), count, size)
        if device == "cuda":
            _print(name, "saccade, CUDA graph", device, seconds(captured(steps["saccade"]), device, times), count, size)


def _print(name: str, way: str, device: str, taken: float, count: int, size: int) -> None:
    line = {"model": name, "way": way, "device": device, "parameters": size, "step_ms": round(1000 * taken, 2)}
    print(json.dumps(line | {"answers_a_second": round(count / taken)}), flush=True)


if __name__ == "__main__":
    main()
