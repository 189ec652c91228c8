"""saccade explain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from saccade.cli.terminal import echo

__all__ = ["explain"]


def explain(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    text: Annotated[str, typer.Argument(help="What the model is to answer.")],
    step: Annotated[int | None, typer.Option(min=1, help="One step, counted from 1; left out, all of them.")] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy search.")] = None,
    site: Annotated[
        str | None, typer.Option(help="One place in the model that looks; left out, the last one at the source.")
    ] = None,
    head: Annotated[int, typer.Option(min=0, help="One of its heads.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="The whole trace, for machines.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    trust_code: Annotated[
        bool, typer.Option("--trust-code", help="Let the model's recipe import outside code.")
    ] = False,
) -> None:
    """Tell how each word came about: state, scores, shares, context, and what else was likely.

    Example: saccade explain runs/demo "the European Economic Area" --step 2
    """
    from saccade.front import load
    from saccade.trace.explain import explain as tell

    options: dict[str, Any] = {"beam": beam} if beam else {}
    trace = load(model, device=device, trust_code=trust_code).trace(text, detail=True, **options)
    if json:
        echo(trace.dump())
        return
    for paragraph in tell(trace, step=step, site=site, head=head):
        echo(paragraph)
