"""Small tasks, and a training loop just big enough for them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F

from helpers.search import greedy
from saccade.attention import Tape
from saccade.batch import UNK, Batch
from saccade.models import Seq2Seq

FIRST = UNK + 1
Task = Callable[[list[int]], list[int]]
Lengths = tuple[int, int]


def copy(words: list[int]) -> list[int]:
    return words


def reverse(words: list[int]) -> list[int]:
    return words[::-1]


def sentences(seed: int, vocabulary: int, lengths: Lengths) -> Iterator[list[int]]:
    """Sentences of distinct words in random order, so that every output word has one source position."""
    chance = random.Random(seed)
    words = range(FIRST, FIRST + vocabulary)
    while True:
        yield chance.sample(words, chance.randint(*lengths))


def batches(task: Task, seed: int, size: int, vocabulary: int, lengths: Lengths) -> Iterator[Batch]:
    stream = sentences(seed, vocabulary, lengths)
    while True:
        sources = [next(stream) for _ in range(size)]
        yield Batch.from_lists(sources, [task(source) for source in sources])


def sequence_loss(model: Seq2Seq, batch: Batch) -> torch.Tensor:
    return F.cross_entropy(model(batch)[batch.expected_mask], batch.expected[batch.expected_mask])


def teach(
    model: Seq2Seq,
    data: Iterator[Any],
    *,
    steps: int,
    lr: float = 5e-3,
    goal: float = 0.003,
    loss_of: Callable[..., torch.Tensor] = sequence_loss,
) -> int:
    """Train until the loss stays below `goal` for a few steps, at most `steps`; how many it took."""
    optimiser = torch.optim.Adam(model.parameters(), lr, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: min(1, (s + 1) / 40) * max(0.05, 1 - s / steps))
    calm = 0
    model.train()
    for step in range(1, steps + 1):
        example = next(data)
        loss = loss_of(model, *(example if isinstance(example, tuple) else (example,)))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        calm = calm + 1 if loss.item() < goal else 0
        if calm == 10:
            return step
    return steps


def token_accuracy(model: Seq2Seq, batch: Batch) -> float:
    """The share of words, the end included, that a free-running greedy search gets right."""
    found = greedy(model, batch, max_length=batch.expected.shape[1], attention=False)
    right = total = 0
    for hypothesis, expected, mask in zip(found, batch.expected, batch.expected_mask, strict=True):
        wanted = expected[mask].tolist()
        total += len(wanted)
        right += sum(a == b for a, b in zip(hypothesis.tokens, wanted, strict=False))
    return right / total


@torch.no_grad()
def pointing_accuracy(model: Seq2Seq, batch: Batch) -> float:
    """The share of steps in which attention peaks at the source word being written (words of a source differ)."""
    model.eval()
    tape = Tape()
    model(batch, tape=tape)
    looks = torch.stack([tape[site].mean(1) for site in model.source_sites]).mean(0)  # (B, T, S)
    words = batch.expected_mask & (batch.expected >= FIRST)
    peaks = batch.source.gather(1, looks.argmax(-1))  # the attended word
    return float((peaks == batch.expected)[words].float().mean())


def look_back(seed: int, size: int, *, words: int, pairs: tuple[int, int]) -> Iterator[tuple[Batch, torch.Tensor]]:
    """Pairs of words, then the first words again in another order: each is to be answered with its second.

    As many first as second words; every row has a number of pairs of its own. The mask (B, T) is True where an
    answer is asked for.
    """
    chance = random.Random(seed)
    while True:
        rows, counts = [], []
        for _ in range(size):
            counts.append(chance.randint(*pairs))
            firsts = chance.sample(range(FIRST, FIRST + words), counts[-1])
            facts = [(first, chance.randrange(FIRST + words, FIRST + 2 * words)) for first in firsts]
            rows.append([word for pair in facts + chance.sample(facts, counts[-1]) for word in pair])
        batch = Batch.from_lists(targets=rows)
        asked = torch.zeros_like(batch.expected_mask)
        for row, count in zip(asked, counts, strict=True):
            row[2 * count + 1 : 4 * count : 2] = True
        yield batch, asked


def look_back_loss(model: Seq2Seq, batch: Batch, asked: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(model(batch)[asked], batch.expected[asked])


@torch.no_grad()
def look_back_accuracy(model: Seq2Seq, batch: Batch, asked: torch.Tensor) -> float:
    model.eval()
    return float((model(batch)[asked].argmax(-1) == batch.expected[asked]).float().mean())
