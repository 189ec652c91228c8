"""The log of a run: log.jsonl always, TensorBoard where it is installed; and who watches it live."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from saccade.files import told, write_atomically

__all__ = ["Log", "Watcher"]


class Watcher:
    """Is told how training goes; the methods do nothing here. A progress bar is one, so is a test."""

    def begins(self, steps: int, first: int, facts: dict[str, Any]) -> None:
        """Training starts at step `first` of `steps`; facts: what there is to know of model and data."""

    def step(self, entry: dict[str, Any]) -> None:
        """An update was made: step, loss, lr, tokens_per_second, seconds_left."""

    def validated(self, entry: dict[str, Any]) -> None:
        """The model was validated: step, and the metrics."""

    def note(self, text: str) -> None:
        """Something a person should read."""

    def ends(self) -> None:
        """Training is over, well or not."""


class Log:
    """Lines of log.jsonl; resumed at a step it forgets what came after."""

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
        """Add a line, with its `step`."""
        if self._silent:
            return
        with told(self._path), self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(_plain(entry), ensure_ascii=False, allow_nan=False) + "\n")
        if self._board is not None:
            for name, value in _numbers(entry):
                if name != "step":
                    self._board.add_scalar(name, value, entry["step"])

    def close(self) -> None:
        """Finish."""
        if self._board is not None:
            self._board.close()


def _board_writer() -> Any:
    if importlib.util.find_spec("tensorboard") is None:
        return None
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:  # one that does not go with this torch
        return None
    return SummaryWriter


def _plain(value: Any) -> Any:
    """What JSON can say: it knows no NaN and no infinity."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _numbers(entry: dict[str, Any], before: str = "") -> Iterator[tuple[str, float]]:
    for name, value in entry.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{before}{name}/")
        elif isinstance(value, int | float):
            yield before + name, value


def _lines(path: Path) -> list[str]:
    # a killed run may have left half a letter at the end
    return path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1] if path.exists() else []


def _step(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):  # a line that a killed run left half written
        return float("inf")
