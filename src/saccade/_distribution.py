"""Notice the other package called saccade: PyPI has one, whose modules would mix with ours."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

__all__ = ["warn_of_namesake"]

_SUMMARY = "Sequence-to-sequence models with attention"


def warn_of_namesake(places: list[str] | None = None) -> None:
    """Warn if a distribution called `saccade` is installed that is not this one, which is `saccade-attention`."""
    for place in sys.path if places is None else places:
        for found in Path(place).glob("saccade-[0-9]*.dist-info/METADATA"):
            if _SUMMARY not in found.read_text(encoding="utf-8", errors="replace"):
                warnings.warn(
                    f"another package called saccade is installed ({found.parent}). Its modules mix with those of "
                    "saccade-attention. Run: pip uninstall saccade, then install the clone or the wheel again.",
                    stacklevel=2,
                )
                return
