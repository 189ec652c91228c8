"""saccade explain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from saccade.cli.options import Beam, Device, TrustCode
from saccade.cli.terminal import echo, input_or_sample, model_and_inputs, print_notes

__all__ = ["explain"]


def explain(
    model: Annotated[
        Path | None, typer.Argument(help="A model folder or a shipped model; with a text alone, the default model.")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="The input: a text, a .txt or image file, or a question and its passage; default: one to try."
        ),
    ] = None,
    step: Annotated[int | None, typer.Option(min=1, help="One step, counted from 1; default: all.")] = None,
    beam: Beam = None,
    site: Annotated[
        str | None,
        typer.Option(
            help="One attention site; default: the last that attends to the source, or the first of a few-shot model."
        ),
    ] = None,
    head: Annotated[int, typer.Option(min=1, help="Attention head of the site, counted from 1.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print the whole trace as JSON.")] = False,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Explain each output word: state, scores, attention weights, context and alternatives.

    Example: saccade explain "the European Economic Area" --step 2
    """
    from saccade.api import load
    from saccade.trace.explain import explain as explain_steps

    options: dict[str, Any] = {"beam": beam} if beam else {}
    place, words = model_and_inputs(model, inputs)
    loaded = load(place, device=device, trust_code=trust_code)
    trace = loaded.trace(input_or_sample(loaded, words), detail=True, **options)
    if json:
        echo(trace.dump())
        return
    for paragraph in explain_steps(trace, step=step, site=site, head=head - 1):
        echo(paragraph)
    print_notes(trace.left_out)
