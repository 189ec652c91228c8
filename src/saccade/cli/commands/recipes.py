"""saccade recipes."""

from __future__ import annotations

from typing import Annotated

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
    rows = [(entry, str(settings["task"]), str(settings.get("note", ""))) for entry, settings in found.items()]
    table("Recipes", ("name", "task", "what it does"), rows)
