"""Batching: many inputs through a model, in order, a window at a time, so that memory stays flat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from saccade.errors import DataError
from saccade.prediction import NOTHING, Attention, Prediction
from saccade.search import SearchConfig, Stop
from saccade.tasks.inputs import Input, Opened, name_of, size_of

if TYPE_CHECKING:
    from saccade.tasks.base import Task

__all__ = ["blank", "in_batches", "stream"]

_WINDOW = 32
"""Batches that are sorted by length together."""
_TOKENS = 8192
"""The most tokens of a batch, padding counted, whatever the number of its sentences."""
_HELD = 64 * 10**6
"""Bytes of pictures that wait for a window to fill."""
_Ready = Input | Opened
"""An input that can be read, and of which no file needs to be opened any more."""
_Sized = tuple[int, int, _Ready]
"""One behind its length and its number."""


class Workers(Protocol):
    """Processes that share the batches of a window, such as `saccade.runs.workers.Workers`."""

    count: int

    def predict(
        self, batches: Sequence[Sequence[_Ready]], search: SearchConfig, attention: bool, prefix: str | None
    ) -> Iterator[list[Prediction]]:
        """The answers to each batch, in the order of the batches."""


def in_batches(
    task: Task, inputs: Sequence[Input], search: SearchConfig, *, attention: bool = False
) -> list[Prediction]:
    """Predictions for all inputs, in their order."""
    return list(stream(task, inputs, search, attention=attention))


def stream(
    task: Task,
    inputs: Iterable[Input | None],
    search: SearchConfig,
    *,
    attention: bool = False,
    prefix: str | None = None,
    refuse: Callable[[str], None] | None = None,
    workers: Workers | None = None,
    stop: Stop | None = None,
) -> Iterator[Prediction]:
    """Predictions for any number of inputs, in their order, in flat memory; empty texts have empty answers.

    None among the inputs means: answer those so far before asking for more. `refuse` is told of inputs that are too
    long or cannot be read, which then have empty answers; without it they are an error. `workers` share the batches of
    a window. `stop` is called between the steps of a search, or between batches where workers search.
    """

    def predict(batches: list[list[_Ready]]) -> Iterable[list[Prediction]]:
        if workers is not None:
            return _asking(stop, workers.predict(batches, search, attention, prefix))
        return (task.predict(batch, search, attention=attention, prefix=prefix, stop=stop) for batch in batches)

    joined = task.takes_many and not attention and prefix is None
    several = (1 if workers is None else workers.count) if joined else None
    size = search.together(task.device, large=attention or task.reads.large)
    window: list[tuple[int, _Ready | Prediction]] = []
    number = held = 0
    for given in inputs:
        if given is not None:
            number += 1
            window.append((number, _ready(task, number, given, refuse)))
            held += size_of(window[-1][1])
        if len(window) >= size * _WINDOW or held > _HELD or (given is None and window):
            yield from _window(task, window, size, predict, refuse, several)
            window, held = [], 0
    yield from _window(task, window, size, predict, refuse, several)


def _asking(stop: Stop | None, answers: Iterable[list[Prediction]]) -> Iterator[list[Prediction]]:
    for answer in answers:
        if stop is not None:
            stop()
        yield answer


def _ready(task: Task, number: int, given: Input, refuse: Callable[[str], None] | None) -> _Ready | Prediction:
    """An input, opened; or the empty answer to one that is empty or refused."""
    if _is_blank(given):
        return blank(given)
    try:
        ready: _Ready = task.opened(given)
    except DataError as error:
        why = str(error) if name_of(given) is not None else f"input {number}: {error}"
        if refuse is None:
            raise DataError(why) from error
        refuse(why)
        return blank(given)
    return ready


def _window(
    task: Task,
    window: list[tuple[int, _Ready | Prediction]],
    size: int,
    predict: Callable[[list[list[_Ready]]], Iterable[list[Prediction]]],
    refuse: Callable[[str], None] | None,
    workers: int | None,
) -> list[Prediction]:
    found = {number: given for number, given in window if isinstance(given, Prediction)}
    rest = [(number, given) for number, given in window if not isinstance(given, Prediction)]
    lengths = task.lengths([given for _, given in rest])
    sized = sorted((length, number, given) for length, (number, given) in zip(lengths, rest, strict=True))
    while sized and sized[-1][0] > task.longest:
        length, number, given = sized.pop()
        why = f"input {number} has {length:,} tokens, but this model reads at most {task.longest:,}. Split it."
        if refuse is None:
            raise DataError(why)
        refuse(why)
        found[number] = blank(given)
    batches = list(_cut(sized, size))[::-1]  # the longest first, so that workers end together
    if workers is not None:  # who take many sentences at a time
        batches = _loads(batches, size, workers)
    for batch, made in zip(batches, predict([[given for _, _, given in batch] for batch in batches]), strict=True):
        found |= {number: prediction for (_, number, _), prediction in zip(batch, made, strict=True)}
    return [found[number] for number, _ in window]


def _cut(sized: list[_Sized], size: int) -> Iterator[list[_Sized]]:
    batch: list[_Sized] = []
    for entry in sized:  # sorted, so the newest is the longest
        if batch and (len(batch) == size or entry[0] * (len(batch) + 1) > _TOKENS):
            yield batch
            batch = []
        batch.append(entry)
    if batch:
        yield batch


def _loads(batches: list[list[_Sized]], size: int, workers: int) -> list[list[_Sized]]:
    """Full batches joined to larger loads, through which a search keeps its rows full.

    Most of them are dealt out, so that every worker has one large load with as many long sentences as the others. The
    rest come in ever smaller loads: workers take what comes next, and all end at about the same time.
    """
    full = [batch for batch in batches if len(batch) == size]
    short = [batch for batch in batches if len(batch) < size]  # the last, or cut short because sentences are long
    dealt = len(full) * 3 // 4 if workers > 1 else len(full)
    loads = [_joined(full[first:dealt:workers]) for first in range(min(workers, dealt))]
    rest = full[dealt:]
    while rest:
        count = max(1, len(rest) // 4)
        loads.append(_joined(rest[:count]))
        rest = rest[count:]
    return [*short, *loads]


def _joined(batches: list[list[_Sized]]) -> list[_Sized]:
    return [entry for batch in batches for entry in batch]


def blank(given: _Ready) -> Prediction:
    """The answer to an empty input."""
    return Prediction("", 0.0, [], Attention(NOTHING, NOTHING, {}, ()), name_of(given))


def _is_blank(given: Input) -> bool:
    return isinstance(given, str) and not given.strip()
