"""The evaluation of replies: their quality, how varied they are, and whether they recall what was said before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.batch import UNK
from saccade.data.example import Example
from saccade.data.tokenizer import words_of
from saccade.metrics import (
    answer_scores,
    distinct,
    dull_share,
    perplexities,
    reply_f1,
    reply_length,
    slots_written,
    text_statistics,
    turns_pointed_at,
)
from saccade.prediction import Prediction
from saccade.tasks.base import Evaluation, Statistics
from saccade.tasks.forced import reply_losses

if TYPE_CHECKING:
    from saccade.tasks.chat import Chat

__all__ = ["evaluate_replies"]

_BATCH = 32


class _Slot(NamedTuple):
    """A linked word of a reference: its turns, and how many turns ago it was said first; the newest turn is 1."""

    example: int
    word: int
    turns: set[int]
    distance: int


def evaluate_replies(task: Chat, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Evaluation:
    """Compute all metrics of some replies; those of slots where there are gold links."""
    texts, references = [prediction.text for prediction in predictions], [each.target or "" for each in examples]
    scores = {"bleu": text_statistics("bleu", texts, references)}
    scores["f1"] = reply_f1(texts, references)
    scores["exact"] = answer_scores(texts, [[reference] for reference in references])["exact"]
    scores["reply_length"] = reply_length(texts)
    statistics = {name: Statistics(part.counts, part.score) for name, part in scores.items()}
    losses, unknown = _losses(task, examples)
    words = np.array([len(words_of(reference)) + 1.0 for reference in references])
    statistics["perplexity_per_word"] = Statistics(np.stack([losses[:, 0], words], 1), _perplexity)
    slots = [slot for number, example in enumerate(examples) for slot in _slots(number, example)]
    details: dict[str, Any] = {"replies": len(examples), "unknown_tokens": unknown}
    details["signatures"] = {name: part.signature for name, part in scores.items()}
    details["references"] = {**_variety(references), "reply_length": reply_length(references).total().value}
    if slots:
        found = {"slots": _written(slots, texts, references)}
        if task.model.source_sites:
            found["pointing"] = _pointed_at(task, slots, examples)
        for name, hits in found.items():
            statistics[name] = Statistics(_by_example(slots, hits, len(examples)), _share)
            details[f"{name}_by_distance"] = _by_distance(slots, hits)
    metrics = {name: part.value for name, part in statistics.items()} | _variety(texts)
    metrics["perplexity"] = _perplexity(losses.sum(0))
    lengths = [sum(len(words_of(turn)) for turn in example.turns) for example in examples]
    return Evaluation(metrics, details, statistics, lengths, list(predictions))


def _losses(task: Chat, examples: Sequence[Example]) -> tuple[NDArray[np.float64], int]:
    """Return the loss of each reference and its tokens, (N, 2), and how many of these are unknown."""
    rows, unknown = np.zeros((len(examples), 2)), 0
    opened = [task.opened(task.given(example)) for example in examples]
    order = sorted(range(len(examples)), key=lambda number: len(opened[number].value.tokens))
    for start in range(0, len(order), _BATCH):
        chosen = order[start : start + _BATCH]
        inputs = [opened[number] for number in chosen]
        tokens = [
            task.spelling(given).encode(examples[number].target or "").tokens
            for given, number in zip(inputs, chosen, strict=True)
        ]
        unknown += sum(part.count(UNK) for part in tokens)
        rows[chosen] = reply_losses(task.model, task.read(inputs, sides=False).batch, tokens)
    return rows, unknown


def _slots(number: int, example: Example) -> list[_Slot]:
    if example.links is None:
        return []
    turn_of = [turn for turn, text in enumerate(example.turns) for _ in words_of(text)]
    found = []
    for word in sorted({target for _, target in example.links.sure}):
        sure = min(turn_of[source] for source, target in example.links.sure if target == word)
        turns = {turn_of[source] for source, target in example.links.possible if target == word}
        found.append(_Slot(number, word, turns, len(example.turns) - sure))
    return found


def _written(slots: Sequence[_Slot], texts: Sequence[str], references: Sequence[str]) -> list[bool]:
    found: dict[tuple[int, int], bool] = {}
    for number in {slot.example for slot in slots}:
        own = [slot.word for slot in slots if slot.example == number]
        hits = slots_written(texts[number], references[number], own)
        found |= {(number, word): hit for word, hit in hits.items()}
    return [found[slot.example, slot.word] for slot in slots]


def _pointed_at(task: Chat, slots: Sequence[_Slot], examples: Sequence[Example]) -> list[bool]:
    """Return whether attention points at the turn of each slot, under teacher forcing; never at a dropped turn."""
    site, head = task.pointing_site
    numbers = sorted({slot.example for slot in slots})
    matrices = dict(zip(numbers, task.attend([examples[number] for number in numbers]), strict=True))
    found = []
    for slot in slots:
        matrix = matrices[slot.example].by_turn(site, head)
        dropped = len(examples[slot.example].turns) - (matrix.shape[1] - 1)
        gold = {turn - dropped for turn in slot.turns}
        found.append(turns_pointed_at(matrix, {slot.word: gold})[slot.word])
    return found


def _by_example(slots: Sequence[_Slot], hits: Sequence[bool], count: int) -> NDArray[np.float64]:
    rows = np.zeros((count, 2))
    for slot, hit in zip(slots, hits, strict=True):
        rows[slot.example] += hit, 1
    return rows


def _by_distance(slots: Sequence[_Slot], hits: Sequence[bool]) -> dict[str, dict[str, float]]:
    """Return the share of hits and the number of slots by the turns since the word was said."""
    found = {}
    for distance in sorted({slot.distance for slot in slots}):
        own = [hit for slot, hit in zip(slots, hits, strict=True) if slot.distance == distance]
        found[str(distance)] = {"share": sum(own) / len(own), "slots": len(own)}
    return found


def _variety(replies: Sequence[str]) -> dict[str, float]:
    return {"distinct_1": distinct(replies, 1), "distinct_2": distinct(replies, 2), "dull": dull_share(replies)}


def _perplexity(sums: NDArray[np.float64]) -> float:
    return perplexities(float(sums[0]), int(sums[1])).per_token


def _share(sums: NDArray[np.float64]) -> float:
    return float(sums[0] / sums[1]) if sums[1] else 0.0
