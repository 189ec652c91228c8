"""Output of the commands: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from saccade.train.log import TrainingCallback

if TYPE_CHECKING:
    from saccade.api import Model

__all__ = [
    "LiveProgress",
    "clock",
    "echo",
    "input_or_sample",
    "model_and_inputs",
    "number",
    "one_line",
    "print_error",
    "print_json",
    "print_notes",
    "print_status",
    "table",
]

_NOTES = 5
"""Maximum notes that are printed."""
_errors = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def print_error(text: str) -> None:
    """Print an error as one paragraph."""
    _errors.print("saccade:", style="bold red", end=" ")
    _errors.print(text, markup=False)


def print_status(text: str = "", style: str | None = None) -> None:
    """Print a line about the progress or the outcome of a command."""
    _errors.print(text, style=style, markup=False)


def print_notes(notes: Sequence[str]) -> None:
    """Print notes on inputs, at most a few."""
    for note in notes[:_NOTES]:
        print_status(f"note: {one_line(note)}", style="yellow")
    if len(notes) > _NOTES:
        print_status(f"note: {len(notes) - _NOTES:,} more notes of this kind; --json has all of them", style="yellow")


def echo(text: str) -> None:
    """Print a result and flush, so that a pipe gets it at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def one_line(text: str) -> str:
    """Replace line breaks and control characters by spaces."""
    return "".join(" " if unicodedata.category(letter) in ("Cc", "Zl", "Zp") else letter for letter in text)


def print_json(value: Any) -> None:
    """Print results as JSON."""
    echo(json.dumps(value, ensure_ascii=False, indent=1))


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print results as a table."""
    wide = None if sys.stdout.isatty() else 10_000  # in a pipe, never wrap a row
    console = Console(highlight=False, emoji=False, markup=False, width=wide)
    console.print(title, style="bold")  # printed separately: rich wraps a table's own title at the width of the table
    made = Table(box=None, pad_edge=False)
    for name, cells in zip(head, zip(*rows, strict=True), strict=True):
        numbers = all(cell.replace(",", "")[:1].isdecimal() or cell[:1] in ("", "-", "+") for cell in cells)
        made.add_column(name, justify="right" if numbers else "left", style=None, header_style="dim")
    for row in rows:
        made.add_row(*row)
    console.print(made)


def number(value: float) -> str:
    """Format a metric: three decimals below 10, else one."""
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def clock(seconds: float) -> str:
    """Format a duration as minutes:seconds, such as 3:07, or hours:minutes:seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def model_and_inputs(model: str | Path | None, inputs: Sequence[str] | None) -> tuple[Path, list[str]]:
    """Return the model of a command and its inputs; a text in place of the model is an input of the shipped one."""
    from saccade.pretrained import DEFAULT

    words, name = [*(inputs or [])], str(model)
    if model is None or (any(letter.isspace() for letter in name) and not Path(name).exists()):
        return Path(DEFAULT), [*([] if model is None else [name]), *words]
    return Path(model), words


def input_or_sample(model: Model, words: Sequence[str]) -> Any:
    """Return the only input of a command; without any, one that the model has to try."""
    from saccade.errors import DataError
    from saccade.tasks.inputs import one_input

    if words:
        return one_input(model.task.reads, words)
    samples = model.sample_inputs
    if not samples:
        raise DataError(f"there is no input, and this model has none to try. Give {model.task.reads.entry}s after it.")
    shown = "" if isinstance(samples[0], bytes) else f": {json.dumps(samples[0], ensure_ascii=False)}"
    print_status(f"No input was given, so this is a {model.task.reads.name} to try{shown}")
    return samples[0]


class LiveProgress(TrainingCallback):
    """Shows training as a progress bar on a terminal, and as lines elsewhere."""

    def __init__(self, title: str = "training", every: int = 50) -> None:
        self._title, self._every = title, every
        self._bar: Progress | None = None
        self._task: Any = None
        self._steps = 0

    def on_train_begin(self, steps: int, first: int, facts: dict[str, Any]) -> None:
        """Print the model, the data and the device; start the progress bar on a terminal."""
        self._steps = steps
        sizes = " and ".join(f"{size:,} {side} tokens" for side, size in facts["vocabulary"].items())
        print_status(
            f"{self._title}: {facts['model']}, {facts['parameters']:,} parameters, {facts['examples']:,} examples, "
            f"{sizes}{sizes and ', '}on {facts['device']}"
        )
        for why, count in facts["left_out"].items():
            print_status(f"  {count:,} examples were left out: {why.replace('_', ' ')}")
        if (vectors := facts.get("vectors")) is not None:
            what = "are trained" if vectors["tuned"] else "stay fixed"
            known = f"{vectors['found']:,} of {vectors['words']:,} words"
            print_status(f"  {known} start from the vectors in {vectors['file']}, which {what}")
        if first:
            print_status(f"  resuming from step {first:,}")
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
        """Update the progress bar, or print a line every `every` steps."""
        loss, speed = f"{entry['loss']:.3f}", f"{entry['tokens_per_second']:,.0f}"
        left = clock(entry["seconds_left"])
        if self._bar is not None:
            self._bar.update(self._task, completed=entry["step"], loss=loss, speed=speed, left=left)
        elif entry["step"] % self._every == 0:
            print_status(f"  step {entry['step']:,}/{self._steps:,}   loss {loss}   {speed} tokens/s   {left} left")

    def validated(self, entry: dict[str, Any]) -> None:
        """Print the metrics of a validation."""
        shown = [f"{name} {value:.3f}" for name, value in entry["valid"].items() if "/" not in name]
        print_status(
            f"  step {entry['step']:,}: validation {', '.join(shown)}{'   (best so far)' if entry['best'] else ''}"
        )

    def note(self, text: str) -> None:
        """Print a note."""
        print_status(f"  note: {text}", style="yellow")

    def on_train_end(self) -> None:
        """Remove the progress bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
