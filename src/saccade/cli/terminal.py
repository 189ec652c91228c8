"""What the commands print with: results to standard output, all else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from saccade.train.log import Watcher

__all__ = ["LiveProgress", "clock", "complain", "echo", "number", "print_json", "say", "table"]

_errors = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def complain(text: str) -> None:
    """An error, as one paragraph."""
    _errors.print("saccade:", style="bold red", end=" ")
    _errors.print(text, markup=False)


def say(text: str = "", style: str | None = None) -> None:
    """Something about the work, for people."""
    _errors.print(text, style=style, markup=False)


def echo(text: str) -> None:
    """A result, whole and at once, so that a pipe sees it."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def print_json(value: Any) -> None:
    """Results for machines."""
    echo(json.dumps(value, ensure_ascii=False, indent=1))


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Results for people."""
    wide = None if sys.stdout.isatty() else 10_000  # in a pipe every row is one line
    console = Console(highlight=False, emoji=False, markup=False, width=wide)
    console.print(title, style="bold")  # by itself: a title of the table is broken where the table ends
    made = Table(box=None, pad_edge=False)
    for name, cells in zip(head, zip(*rows, strict=True), strict=True):
        numbers = all(cell.replace(",", "")[:1].isdecimal() or cell[:1] in ("", "-", "+") for cell in cells)
        made.add_column(name, justify="right" if numbers else "left", style=None, header_style="dim")
    for row in rows:
        made.add_row(*row)
    console.print(made)


def number(value: float) -> str:
    """A metric: shares with three places, percentages with one."""
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def clock(seconds: float) -> str:
    """3:07."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class LiveProgress(Watcher):
    """Training as a progress bar on a terminal, as lines elsewhere."""

    def __init__(self, title: str = "training", every: int = 50) -> None:
        self._title, self._every = title, every
        self._bar: Progress | None = None
        self._task: Any = None
        self._steps = 0

    def begins(self, steps: int, first: int, facts: dict[str, Any]) -> None:
        """Say what is trained, and on what."""
        self._steps = steps
        sizes = " and ".join(f"{size:,} {side} tokens" for side, size in facts["vocabulary"].items())
        say(
            f"{self._title}: {facts['model']}, {facts['parameters']:,} parameters, {facts['examples']:,} examples, "
            f"{sizes}, on {facts['device']}"
        )
        for why, count in facts["left_out"].items():
            say(f"  {count:,} examples were left out: {why.replace('_', ' ')}")
        if (laid := facts.get("vectors")) is not None:
            what = "are tuned" if laid["tuned"] else "stay as they are"
            known = f"{laid['found']:,} of {laid['words']:,} words"
            say(f"  {known} begin with the vectors of {laid['file']}, which {what}")
        if first:
            say(f"  going on after step {first:,}")
        if _errors.is_terminal and first < steps:
            self._bar = Progress(
                SpinnerColumn(),
                BarColumn(bar_width=24),
                TextColumn("step {task.completed:,.0f}/{task.total:,.0f}"),
                TextColumn("loss [bold]{task.fields[loss]}"),
                TextColumn("{task.fields[speed]} tokens/s"),
                TextColumn("{task.fields[left]} left"),
                console=_errors,
                transient=True,
            )
            self._task = self._bar.add_task("", total=steps, completed=first, loss="…", speed="…", left="…")
            self._bar.start()

    def step(self, entry: dict[str, Any]) -> None:
        """Move the bar."""
        loss, speed = f"{entry['loss']:.3f}", f"{entry['tokens_per_second']:,.0f}"
        left = clock(entry["seconds_left"])
        if self._bar is not None:
            self._bar.update(self._task, completed=entry["step"], loss=loss, speed=speed, left=left)
        elif entry["step"] % self._every == 0:
            say(f"  step {entry['step']:,}/{self._steps:,}   loss {loss}   {speed} tokens/s   {left} left")

    def validated(self, entry: dict[str, Any]) -> None:
        """A line for each validation."""
        shown = [f"{name} {value:.3f}" for name, value in entry["valid"].items() if "/" not in name]
        say(f"  step {entry['step']:,}: validation {', '.join(shown)}{'   (best so far)' if entry['best'] else ''}")

    def note(self, text: str) -> None:
        """A sentence."""
        say(f"  note: {text}", style="yellow")

    def ends(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
