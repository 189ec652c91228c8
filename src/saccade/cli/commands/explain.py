"""saccade explain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from saccade.cli.terminal import echo, model_and_inputs, print_notes

__all__ = ["explain"]


def explain(
    model: Annotated[
        Path, typer.Argument(help="A model folder or a shipped model; with a text alone, the default model.")
    ],
    inputs: Annotated[
        list[str] | None, typer.Argument(help="The input: a text, a .txt or image file, or a question and its passage.")
    ] = None,
    step: Annotated[int | None, typer.Option(min=1, help="One step, counted from 1; default: all.")] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy search.")] = None,
    site: Annotated[
        str | None,
        typer.Option(
            help="One attention site; default: the last that attends to the source, or the first of a few-shot model."
        ),
    ] = None,
    head: Annotated[int, typer.Option(min=1, help="Attention head of the site, counted from 1.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print the whole trace as JSON.")] = False,
    device: Annotated[str, typer.Option(help="Device: auto, cpu, cuda or mps.")] = "auto",
    trust_code: Annotated[
        bool, typer.Option("--trust-code", help="Let the model's recipe import outside code.")
    ] = False,
) -> None:
    """Explain each output word: state, scores, attention weights, context and alternatives.

    Example: saccade explain "the European Economic Area" --step 2
    """
    from saccade.api import load
    from saccade.tasks.inputs import one_input
    from saccade.trace.explain import explain as explain_steps

    options: dict[str, Any] = {"beam": beam} if beam else {}
    place, words = model_and_inputs(model, inputs)
    loaded = load(place, device=device, trust_code=trust_code)
    trace = loaded.trace(one_input(loaded.task.reads, words), detail=True, **options)
    if json:
        echo(trace.dump())
        return
    for paragraph in explain_steps(trace, step=step, site=site, head=head - 1):
        echo(paragraph)
    print_notes(trace.left_out)
