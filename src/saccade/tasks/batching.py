"""Batching: predict any number of inputs, in order, in windows of bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from saccade.errors import DataError
from saccade.prediction import NOTHING, AttentionMaps, Prediction
from saccade.search import SearchConfig, Stop
from saccade.tasks.inputs import Input, Opened, name_of, size_of

if TYPE_CHECKING:
    from saccade.tasks.base import Task

__all__ = ["WINDOW", "blank", "in_batches", "stream"]

WINDOW = 32
"""Number of batches in a window; inputs are sorted by length within a window."""
_TOKENS = 8192
"""Maximum tokens of a batch, including padding."""
_HELD = 64 * 10**6
"""Maximum bytes of images held in a window."""
_Ready = Input | Opened
"""An input whose file has been read."""
_Sized = tuple[int, int, _Ready]
"""Length, number and input."""


class Workers(Protocol):
    """Processes that share the batches of a window, such as `saccade.runs.workers.Workers`."""

    count: int

    def predict(
        self, batches: Sequence[Sequence[_Ready]], search: SearchConfig, attention: bool, prefix: str | None
    ) -> Iterator[list[Prediction]]:
        """Yield the predictions of each batch, in the order of the batches."""


def in_batches(
    task: Task, inputs: Sequence[Input | Opened], search: SearchConfig, *, attention: bool = False
) -> list[Prediction]:
    """Return predictions for all inputs, in order."""
    return list(stream(task, inputs, search, attention=attention))


def stream(
    task: Task,
    inputs: Iterable[Input | Opened | None],
    search: SearchConfig,
    *,
    attention: bool = False,
    prefix: str | None = None,
    on_error: Callable[[str], None] | None = None,
    workers: Workers | None = None,
    stop: Stop | None = None,
) -> Iterator[Prediction]:
    """Yield predictions for any number of inputs, in order and in bounded memory; empty texts get empty predictions.

    A None among the inputs flushes: all earlier predictions are yielded before the next input is read. `on_error` is
    called with the reason for each input that is invalid, too long or unreadable; its prediction is empty but for the
    reason. Without `on_error`, such an input raises DataError. `workers` share the batches of a window. `stop` is
    called between search steps, or between batches with `workers`.
    """

    def predict(batches: list[list[_Ready]]) -> Iterable[list[Prediction]]:
        if workers is not None:
            return _checked(stop, workers.predict(batches, search, attention, prefix))
        return (task.predict(batch, search, attention=attention, prefix=prefix, stop=stop) for batch in batches)

    joined = task.takes_many and not attention and prefix is None
    several = (1 if workers is None else workers.count) if joined else None
    size = search.together(task.device, large=attention or task.reads.large)
    window: list[tuple[int, _Ready | Prediction]] = []
    number = held = 0
    for given in inputs:
        if given is not None:
            number += 1
            window.append((number, _ready(task, number, given, on_error)))
            held += size_of(window[-1][1])
        if len(window) >= size * WINDOW or held > _HELD or (given is None and window):
            yield from _window(task, window, size, predict, on_error, several)
            window, held = [], 0
    yield from _window(task, window, size, predict, on_error, several)


def _checked(stop: Stop | None, answers: Iterable[list[Prediction]]) -> Iterator[list[Prediction]]:
    for answer in answers:
        if stop is not None:
            stop()
        yield answer


def _ready(
    task: Task, number: int, given: Input | Opened, on_error: Callable[[str], None] | None
) -> _Ready | Prediction:
    """Read an input; return an empty prediction if it is empty, invalid or unreadable."""
    if _is_blank(given):
        return blank(given)
    fault = None if isinstance(given, Opened) else task.reads.fault(given)
    if fault is not None:
        return _refused(given, fault, f"input {number} {fault}", on_error)
    try:
        ready: _Ready = task.opened(given)
    except DataError as error:
        why = str(error) if name_of(given) is not None else f"input {number}: {error}"
        return _refused(given, str(error), why, on_error, error)
    return ready


def _refused(
    given: _Ready,
    why: str,
    message: str,
    on_error: Callable[[str], None] | None,
    cause: DataError | None = None,
) -> Prediction:
    """Return the prediction of an input that cannot be read; without `on_error`, raise DataError with the message."""
    if on_error is None:
        raise DataError(message) from cause
    on_error(message)
    return replace(blank(given), error=why)


def _window(
    task: Task,
    window: list[tuple[int, _Ready | Prediction]],
    size: int,
    predict: Callable[[list[list[_Ready]]], Iterable[list[Prediction]]],
    on_error: Callable[[str], None] | None,
    workers: int | None,
) -> list[Prediction]:
    found = {number: given for number, given in window if isinstance(given, Prediction)}
    rest = [(number, given) for number, given in window if not isinstance(given, Prediction)]
    lengths = task.lengths([given for _, given in rest])
    sized = sorted((length, number, given) for length, (number, given) in zip(lengths, rest, strict=True))
    while sized and sized[-1][0] > task.longest:
        length, number, given = sized.pop()
        why = f"has {length:,} tokens, but this model reads at most {task.longest:,}. Split it."
        found[number] = _refused(given, why, f"input {number} {why}", on_error)
    batches = list(_cut(sized, size))[::-1]  # longest first, so that workers finish at about the same time
    if workers is not None:  # several batches per call, for continuous batching
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
    """Join full batches into larger loads for continuous batching.

    With several workers, three quarters of the batches form one large load per worker, with equal shares of long
    sentences. The rest form ever smaller loads: a free worker takes the next one, so all finish at about the same time.
    """
    full = [batch for batch in batches if len(batch) == size]
    short = [batch for batch in batches if len(batch) < size]  # the last one, and those limited by _TOKENS
    split = len(full) * 3 // 4 if workers > 1 else len(full)
    loads = [_joined(full[first:split:workers]) for first in range(min(workers, split))]
    rest = full[split:]
    while rest:
        count = max(1, len(rest) // 4)
        loads.append(_joined(rest[:count]))
        rest = rest[count:]
    return [*short, *loads]


def _joined(batches: list[list[_Sized]]) -> list[_Sized]:
    return [entry for batch in batches for entry in batch]


def blank(given: _Ready) -> Prediction:
    """Return the prediction for an empty input."""
    return Prediction("", 0.0, [], AttentionMaps(NOTHING, NOTHING, {}, ()), name_of(given))


def _is_blank(given: Input | Opened) -> bool:
    return isinstance(given, str) and not given.strip()
