"""saccade models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from saccade.cli.terminal import print_json, print_status, table

__all__ = ["models"]


def models(
    folder: Annotated[Path, typer.Argument(help="A folder of model folders to list, too.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the models that ship with saccade, and those in a folder. `saccade.load` takes their names or paths.

    Example: saccade models
    """
    from saccade.pretrained import pretrained

    shipped = {name: _about(path) for name, path in pretrained().items()}
    own = {str(path.parent): _about(path.parent) for path in sorted(folder.glob("*/model.safetensors"))}
    if json:
        print_json(shipped | own)
        return
    rows = [(name, about["task"], f"{about['bytes'] / 1e6:.1f}", about["note"]) for name, about in shipped.items()]
    rows += [(name, about["task"], f"{about['bytes'] / 1e6:.1f}", about["note"]) for name, about in own.items()]
    table("Models", ("name", "task", "MB", "what it does"), rows)
    print_status('Try one: saccade look "the European Economic Area"')


def _about(folder: Path) -> dict[str, Any]:
    """Return task, note and size of a model folder; blank if its recipe cannot be read."""
    from saccade.errors import SaccadeError
    from saccade.recipes import read_yaml

    try:
        settings = read_yaml(folder / "recipe.yaml").settings
    except SaccadeError:
        settings = {}
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    return {"task": str(settings.get("task", "")), "note": str(settings.get("note") or ""), "bytes": size}
