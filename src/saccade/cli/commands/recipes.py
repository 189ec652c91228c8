"""saccade recipes."""

from __future__ import annotations

from typing import Annotated

import typer

from saccade.cli.terminal import echo, print_json, table

__all__ = ["recipes"]


def recipes(
    name: Annotated[str | None, typer.Argument(help="Print this recipe, to change it to your needs.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """List the recipes that ship, with what they are for; or print one.

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
