"""The log of a run: log.jsonl, TensorBoard if it is installed, and callbacks for live progress."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from saccade.deprecated import renamed, warn_renamed
from saccade.files import wrap_os_errors, write_atomically

__all__ = ["Log", "TrainingCallback"]


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


class Log:
    """Writes log.jsonl. A log that is resumed at a step drops all later lines."""

    def __init__(self, folder: Path, step: int = 0, *, silent: bool = False) -> None:
        self._path, self._silent = folder / "log.jsonl", silent
        self._board: Any = None
        if silent:
            return
        kept = [line for line in _lines(self._path) if _step(line) <= step] if step else []
        write_atomically(self._path, "".join(f"{line}\n" for line in kept))
        if (writer := _board_writer()) is not None:
            self._board = writer(folder / "tensorboard", purge_step=step + 1)

    def write(self, entry: dict[str, Any]) -> None:
        """Append an entry, which must have a `step`, as one line."""
        if self._silent:
            return
        with wrap_os_errors(self._path), self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(_plain(entry), ensure_ascii=False, allow_nan=False) + "\n")
        if self._board is not None:
            for name, value in _numbers(entry):
                if name != "step":
                    self._board.add_scalar(name, value, entry["step"])

    def close(self) -> None:
        """Close the TensorBoard writer."""
        if self._board is not None:
            self._board.close()


def _board_writer() -> Any:
    if importlib.util.find_spec("tensorboard") is None:
        return None
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:  # a TensorBoard version that this torch does not support
        return None
    return SummaryWriter


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
