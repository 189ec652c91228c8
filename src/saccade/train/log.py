"""The log of a run: log.jsonl and log.csv, TensorBoard or Weights & Biases by switch, and callbacks for progress."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from saccade.data.text import import_extra
from saccade.deprecated import renamed, warn_renamed
from saccade.files import wrap_os_errors, write_atomically

__all__ = ["Log", "TrainingCallback", "TrainingCallbacks"]


class TrainingCallback:
    """Methods that the training loop calls, such as those of a progress bar. Here they do nothing."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for old, new in (("begins", "on_train_begin"), ("ends", "on_train_end")):
            if old in cls.__dict__:
                warn_renamed(f"{cls.__name__}.{old}", f"{cls.__name__}.{new}")
                setattr(cls, new, cls.__dict__[old])

    def on_train_begin(self, steps: int, first: int, facts: dict[str, Any]) -> None:
        """Handle the start of training at step `first` of `steps`; facts: on model and data, see `Job.facts`."""

    def step(self, entry: dict[str, Any]) -> None:
        """Handle the end of an update; entry: step, loss, lr, tokens, tokens_per_second, seconds_left."""

    def validated(self, entry: dict[str, Any]) -> None:
        """Handle the end of a validation; entry: step, seconds, valid (metrics by name), best (whether it is)."""

    def note(self, text: str) -> None:
        """Show a message to the user."""

    def on_train_end(self) -> None:
        """Handle the end of training, also after an error."""


class TrainingCallbacks(TrainingCallback):
    """Calls several callbacks, which may have only some of the methods."""

    def __init__(self, callbacks: Sequence[Any]) -> None:
        self._callbacks = callbacks

    def _call(self, name: str, *given: Any) -> None:
        for callback in self._callbacks:
            getattr(callback, name, _nothing)(*given)

    def on_train_begin(self, steps: int, first: int, facts: dict[str, Any]) -> None:
        self._call("on_train_begin", steps, first, facts)

    def step(self, entry: dict[str, Any]) -> None:
        self._call("step", entry)

    def validated(self, entry: dict[str, Any]) -> None:
        self._call("validated", entry)

    def note(self, text: str) -> None:
        self._call("note", text)

    def on_train_end(self) -> None:
        self._call("on_train_end")


def _nothing(*_: Any) -> None:
    """Stand in for a method that a callback does not have."""


class Log:
    """Writes log.jsonl, and at its end log.csv. A log that is resumed at a step drops all later lines.

    loggers: tensorboard, wandb.
    """

    def __init__(self, folder: Path, step: int = 0, *, silent: bool = False, loggers: Sequence[str] = ()) -> None:
        self._path, self._silent = folder / "log.jsonl", silent
        self._boards: list[Any] = []
        if silent:
            return
        kept = [line for line in _lines(self._path) if _step(line) <= step] if step else []
        write_atomically(self._path, "".join(f"{line}\n" for line in kept))
        self._boards = [_BOARDS[name](folder, step) for name in loggers]

    def write(self, entry: dict[str, Any]) -> None:
        """Append an entry, which must have a `step`, as one line."""
        if self._silent:
            return
        with wrap_os_errors(self._path), self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(_plain(entry), ensure_ascii=False, allow_nan=False) + "\n")
        numbers = {name: value for name, value in _numbers(entry) if name != "step"}
        for board in self._boards:
            board.write(numbers, entry["step"])

    def close(self) -> None:
        """Write log.csv and close the other logs."""
        if not self._silent:
            write_atomically(self._path.with_suffix(".csv"), _as_csv(_lines(self._path)))
        for board in self._boards:
            board.close()


class _TensorBoard:
    def __init__(self, folder: Path, step: int) -> None:
        import_extra("tensorboard", "tensorboard", "the logger tensorboard")
        from torch.utils.tensorboard import SummaryWriter

        self._writer: Any = SummaryWriter(folder / "tensorboard", purge_step=step + 1)

    def write(self, numbers: dict[str, float], step: int) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class _WeightsAndBiases:
    def __init__(self, folder: Path, step: int) -> None:
        library = import_extra("wandb", "wandb", "the logger wandb")
        identity = hashlib.sha256(str(folder.absolute()).encode()).hexdigest()[:16]  # a resumed run continues its page
        self._run = library.init(project="saccade", name=folder.name, id=identity, dir=str(folder), resume="allow")

    def write(self, numbers: dict[str, float], step: int) -> None:
        self._run.log(numbers, step=step)

    def close(self) -> None:
        self._run.finish()


_BOARDS = {"tensorboard": _TensorBoard, "wandb": _WeightsAndBiases}


def _as_csv(lines: Sequence[str]) -> str:
    """Return the entries of a log as CSV: a column for each number that occurs."""
    rows = [dict(_numbers(entry)) for entry in (_entry(line) for line in lines)]
    names = [*dict.fromkeys(name for row in rows for name in row)]
    text = io.StringIO()
    table = csv.DictWriter(text, names, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


def _entry(line: str) -> dict[str, Any]:
    """Return the entry of a line; nothing for a partial line of a killed run."""
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError):
        return {}


def _plain(value: Any) -> Any:
    """Replace NaN and infinity by None, since JSON has neither."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _numbers(entry: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    for name, value in entry.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{prefix}{name}/")
        elif isinstance(value, int | float):
            yield prefix + name, value


def _lines(path: Path) -> list[str]:
    # a killed run may have left part of a UTF-8 character at the end
    return path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1] if path.exists() else []


def _step(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):  # a killed run may have left a partial line
        return float("inf")


__getattr__ = renamed(__name__, {"Watcher": (__name__, "TrainingCallback")})
