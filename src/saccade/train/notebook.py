"""A progress bar in notebooks."""

from __future__ import annotations

import html
import sys
from typing import Any

from saccade.train.log import TrainingCallback

__all__ = ["NotebookProgress", "in_notebook"]


def in_notebook() -> bool:
    """Return whether this is a notebook's kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class NotebookProgress(TrainingCallback):
    """Shows training as a bar with its loss and the last validation; prints lines outside of notebooks."""

    def __init__(self) -> None:
        self._steps, self._text, self._valid, self._shown = 1, "", "", -1
        self._handle: Any = None

    def on_train_begin(self, steps: int, first: int, facts: dict[str, Any]) -> None:
        self._steps, self._text = steps, f"{facts.get('model')}, {facts.get('parameters', 0):,} parameters"
        self._show(first)

    def step(self, entry: dict[str, Any]) -> None:
        self._text = f"loss {entry['loss']:.3f}, {entry['seconds_left']:,.0f} s left"
        if 100 * entry["step"] // self._steps > self._shown:
            self._show(entry["step"])

    def validated(self, entry: dict[str, Any]) -> None:
        found = (f"{name} {value:.3f}" for name, value in entry["valid"].items() if "/" not in name)
        self._valid = f"; validation at {entry['step']:,}: {', '.join(found)}"
        self._show(entry["step"])

    def note(self, text: str) -> None:
        print(text, file=sys.stderr)

    def _show(self, step: int) -> None:
        """Update the bar, at most once for each percent and validation."""
        self._shown = 100 * step // self._steps
        text = f"step {step:,} of {self._steps:,}, {self._text}{self._valid}"
        if not in_notebook():
            print(text, file=sys.stderr)
            return
        from IPython.display import HTML, display  # type: ignore[import-not-found]

        bar = HTML(f'<progress max="{self._steps}" value="{step}"></progress> {html.escape(text)}')
        if self._handle is None:
            self._handle = display(bar, display_id=True)
        else:
            self._handle.update(bar)
