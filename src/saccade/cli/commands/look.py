"""saccade look."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.terminal import echo, say

__all__ = ["look"]


def look(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    text: Annotated[str, typer.Argument(help="What the model is to answer.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A .png, .svg, .pdf or .html; left out, the terminal.")
    ] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy search.")] = None,
    site: Annotated[
        str | None, typer.Option(help="One place in the model that looks; left out, those at the source.")
    ] = None,
    head: Annotated[int | None, typer.Option(min=0, help="One head; left out, their mean.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    trust_code: Annotated[
        bool, typer.Option("--trust-code", help="Let the model's recipe import outside code.")
    ] = False,
) -> None:
    """Draw where the model looked while it answered.

    Example: saccade look runs/demo "the European Economic Area" -o area.png
    """
    from saccade.errors import DataError
    from saccade.files import write_atomically
    from saccade.front import load
    from saccade.look import draw, report, save

    if not text.strip():
        raise DataError("the input is empty, so there is nothing to look at. Give a text.")
    prediction = load(model, device=device, trust_code=trust_code)(text, **({"beam": beam} if beam else {}))
    picture = prediction.attention.map(site, head)
    if out is None:
        echo(draw(picture, width=shutil.get_terminal_size().columns, colour=sys.stdout.isatty()))
        return
    if out.suffix.lower() == ".html":
        write_atomically(out, report(prediction.text, {}, [(text, picture, None)]))
    else:
        save(picture, out)
    say(f"Wrote {out}")
