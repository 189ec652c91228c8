"""saccade models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from saccade.cli.terminal import echo, print_json, print_status, table
from saccade.errors import install_extra

__all__ = ["models"]

READS = {
    "answering": "question, passage",
    "captioning": "image",
    "chat": "dialogue",
    "classification": "text",
    "drawing": "text",
    "episodes": "labeled images",
    "glimpses": "image",
    "image-generation": "seed",
    "language-modeling": "text",
    "ordering": "points",
    "questions": "question, passage",
    "speech": "sound",
    "summarization": "text",
    "translation": "text",
}
"""What the models of each task read. A table, since the tasks import torch, which takes seconds."""


def models(
    folder: Annotated[
        Path, typer.Argument(help="A folder of model folders to list, too; or a shipped model, to read its card.")
    ] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the models that ship with saccade, and those in a folder. `saccade.load` takes their names or paths.

    Example: saccade models
    """
    from saccade.pretrained import missing_extra, pretrained

    if (one := pretrained().get(str(folder))) is not None and not json:
        echo((one / "README.md").read_text(encoding="utf-8").rstrip())
        return
    shipped = {name: _about(path) for name, path in pretrained().items()}
    own = {str(path.parent): _about(path.parent) for path in sorted(folder.glob("*/model.safetensors"))}
    if json:
        print_json(shipped | own)
        return
    rows = [
        (name, about["task"], about["reads"], f"{about['bytes'] / 1e6:.1f}", about["note"])
        for name, about in (shipped | own).items()
    ]
    table("Models", ("name", "task", "reads", "MB", "what it does"), rows)
    print_status('Try one: saccade look "the European Economic Area", or saccade look demo-questions')
    for name in shipped:
        if (extra := missing_extra(name)) is not None:
            print_status(f"{name} needs the extra `{extra}`. {install_extra(extra)}")


def _about(folder: Path) -> dict[str, Any]:
    """Return task, input, note and size of a model folder; blank if its recipe cannot be read."""
    from saccade.errors import SaccadeError
    from saccade.recipes import read_yaml

    try:
        settings = read_yaml(folder / "recipe.yaml").settings
    except SaccadeError:
        settings = {}
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    task = str(settings.get("task", ""))
    reads = READS.get(task, "")
    return {"task": task, "reads": reads, "note": str(settings.get("note") or ""), "bytes": size}
