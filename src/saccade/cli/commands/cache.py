"""saccade cache."""

from __future__ import annotations

from typing import Annotated

import typer

from saccade.cli.terminal import echo, print_json, print_status

__all__ = ["cache"]


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Delete everything in it; training writes it again.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the place and the size of the cache, which holds tokenized data and generated corpora; or clear it.

    Example: saccade cache --clear
    """
    from saccade.data.store import clear as clear_cache
    from saccade.data.store import size_of
    from saccade.files import default_cache

    place = default_cache()
    size = clear_cache(place) if clear else size_of(place)
    if json:
        print_json({"folder": str(place), "bytes": 0 if clear else size, **({"freed": size} if clear else {})})
    elif clear:
        print_status(f"Freed {size / 1e6:,.1f} MB in {place}")
    else:
        echo(f"{place}: {size / 1e6:,.1f} MB")
        print_status("saccade cache --clear empties it.")
