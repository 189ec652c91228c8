"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Beam", "Device", "TrustCode"]

Beam = Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy search.")]
Device = Annotated[str, typer.Option(help="Device: auto, cpu, cuda or mps.")]
TrustCode = Annotated[bool, typer.Option("--trust-code", help="Let recipes import outside code.")]
