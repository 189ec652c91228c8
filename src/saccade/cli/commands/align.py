"""saccade align."""

from __future__ import annotations

import json as json_library
from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.options import Device, TrustCode
from saccade.cli.terminal import echo

__all__ = ["align"]


def align(
    model: Annotated[Path, typer.Argument(help="A model folder or a shipped model, from text to text with attention.")],
    files: Annotated[
        list[Path], typer.Argument(help="Pairs as in a recipe: a .tsv, a .jsonl, or two files line by line.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines with source, target and links.")] = False,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Align the words of sentence pairs: a line of Pharaoh links for each, source word first, from 0.

    The model is made to write the target, and each target word is linked to the source word that it attends to most.

    Example: saccade align demo pairs.tsv
    """
    from itertools import tee

    from saccade.api import load
    from saccade.runs.corpus import Corpus

    loaded = load(model, device=device, trust_code=trust_code)
    pairs, again = tee(Corpus(loaded.task.recipe).read(files))
    for pair, links in zip(again, loaded.align(pairs), strict=True):
        if json:
            found = {"source": pair.source, "target": pair.target, "links": links}
            echo(json_library.dumps(found, ensure_ascii=False))
        else:
            echo(" ".join(f"{source}-{target}" for source, target in links))
