"""Output of the parts of faults.py: raw lines in faults.jsonl.xz, and sections of faults.md."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TextIO

Record = Callable[[dict[str, Any]], None]


class Section(NamedTuple):
    """A section of faults.md. faults: number of faults found."""

    title: str
    command: str
    text: str
    faults: int


def record_to(lines: TextIO, part: str, day: str) -> Record:
    """Return a function that writes a raw line to a file and prints it."""

    def record(line: dict[str, Any]) -> None:
        text = json.dumps({"part": part, **line, "day": day})
        print(text, file=sys.stderr, flush=True)
        lines.write(text + "\n")

    return record


def replace_section(report: str, title: str, body: str) -> str:
    """Replace one section of a report, or append it."""
    first, *sections = re.split(r"^## ", report or "# Faults\n\n", flags=re.MULTILINE)
    kept = [section for section in sections if section.partition("\n")[0] != title]
    return (
        "".join([first, *(f"## {section.rstrip()}\n\n" for section in [*kept, f"{title}\n\n{body}"])]).rstrip() + "\n"
    )
