"""saccade recipes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from saccade.cli.terminal import echo, print_json, table

__all__ = ["recipes"]


def recipes(
    name: Annotated[str | None, typer.Argument(help="Recipe to print, as a start for your own.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the built-in recipes, or print one.

    Example: saccade recipes english-french > my.yaml
    """
    from saccade.recipes import find_recipe, read_recipe, read_text_of, shipped

    if name is not None and json:
        print_json(read_recipe(name).settings)
        return
    if name is not None:
        echo(read_text_of(find_recipe(name)).rstrip())
        return
    found = {entry: read_recipe(entry).settings for entry in shipped()}
    if json:
        print_json(found)
        return
    first = [name for name in ("own-data", "english-french") if name in found]
    rows = [
        (
            entry,
            str(found[entry]["task"]),
            _data(entry, found[entry]),
            found[entry].get("takes", ""),
            _note(found[entry]),
        )
        for entry in [*first, *(name for name in found if name not in first)]
    ]
    table("Recipes", ("name", "task", "data", "takes", "what it does"), rows)


def _note(settings: dict[str, Any]) -> str:
    return str(settings.get("note", ""))


def _data(name: str, settings: dict[str, Any]) -> str:
    """Return where the data of a recipe come from."""
    from saccade.data.public import public_set

    if settings.get("data", {}).get("corpus"):
        return "built in"
    known = public_set(name)
    return f"files: saccade data {known}" if known else "your files"
