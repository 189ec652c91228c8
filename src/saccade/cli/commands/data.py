"""saccade data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from saccade.cli.terminal import echo, print_json, print_status, table

__all__ = ["data"]


def data(
    corpus: Annotated[
        str | None, typer.Argument(help="A built-in corpus or a public data set; default: list all.")
    ] = None,
    from_: Annotated[Path | None, typer.Option("--from", help="Folder with a downloaded public data set.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write to; default: print sentences.")] = None,
    size: Annotated[int, typer.Option(min=1, help="Training examples to write, or sentences to print.")] = 20,
    held_out: Annotated[
        int, typer.Option(min=1, help="Validation examples to write, and as many test examples.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the corpus generator.")] = 1,
    lengths: Annotated[
        tuple[int, int] | None,
        typer.Option(
            help="Minimum and maximum words, for talk turns; default: 3 20, articles 60 160, stories 40 120, talk 2 14."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a corpus setting: --set data.spoken.kind=sentences")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    clear_cache: Annotated[bool, typer.Option("--clear-cache", help="Delete all cached tokenized data.")] = False,
) -> None:
    """List corpora, print or write a built-in corpus, or convert a public data set for its recipes.

    Example: saccade data english-french --size 100000 --out corpus
    """
    from saccade.corpora import CORPORA
    from saccade.data.public import PUBLIC
    from saccade.errors import ConfigError, unknown_name

    if clear_cache:
        from saccade.data.store import clear
        from saccade.files import default_cache

        print_status(f"Freed {clear(default_cache()) / 1e6:,.1f} MB in {default_cache()}")
        return
    if corpus is None:
        _list(CORPORA, PUBLIC, json)
        return
    if corpus in PUBLIC:
        _public(corpus, from_, out, json)
        return
    if from_ is not None:
        raise ConfigError(f"--from is for public data sets ({', '.join(PUBLIC)}). Leave it out.")
    if corpus not in CORPORA:
        raise unknown_name("corpus", corpus, {*CORPORA, *PUBLIC})
    entry = CORPORA[corpus]
    low, high = lengths or entry.lengths
    options = entry.options(_settings(corpus, set_ or []))
    if out is None:
        for example in entry.generate("train", size, seed, min_length=low, max_length=high, **options):
            links = None if example.links is None else str(example.links)
            parts = (example.source, example.question, *example.turns, example.target, links)
            echo("\t".join(part for part in parts if part is not None))
        return
    written: list[Path] = []
    for split, count in (("train", size), ("valid", held_out), ("test", held_out)):
        examples = entry.generate(split, count, seed, min_length=low, max_length=high, **options)
        written += entry.form.write(examples, out, split, entry.sides)
    if json:
        print_json([str(path) for path in written])
    else:
        print_status(f"Wrote {', '.join(path.name for path in written)} to {out}")


def _settings(corpus: str, changes: list[str]) -> Any:
    """Return the settings of a recipe's data section for a built-in corpus, with changes."""
    from saccade.config import parse
    from saccade.errors import ConfigError
    from saccade.recipes import RecipeText, override
    from saccade.recipes.schema import DataConfig

    settings = override(RecipeText({"data": {"corpus": corpus}}, "--set"), changes).settings
    if [*settings] != ["data"] or settings["data"].get("corpus") != corpus:
        raise ConfigError(f"--set can change the section data alone here, and not its corpus, which is {corpus}.")
    return parse(DataConfig, settings["data"], "--set")


def _list(built_in: dict[str, Any], public: dict[str, Any], json: bool) -> None:
    if json:
        listed: dict[str, Any] = {name: {"about": it.about, "task": it.task} for name, it in built_in.items()}
        for name, entry in public.items():
            origin = {"address": entry.address, "licence": entry.licence, "get": entry.get}
            listed[name] = {"about": entry.about, "task": entry.task, **origin}
        print_json(listed)
        return
    head = ("name", "task", "what it is")
    table("Built-in corpora", head, [(name, entry.task, entry.about) for name, entry in built_in.items()])
    echo("")
    table("Public data sets", head, [(name, entry.task, entry.about) for name, entry in public.items()])
    print_status("For download instructions and the license: saccade data NAME")


def _public(name: str, origin: Path | None, out: Path | None, json: bool) -> None:
    """Print how to download a public data set, or convert a downloaded one."""
    from saccade.data.public import PUBLIC
    from saccade.errors import ConfigError

    entry = PUBLIC[name]
    if origin is None and out is None:
        echo(entry.instructions(name))
        return
    if entry.convert is None:
        raise ConfigError(f"{name} needs no conversion: its recipes read it as it is.\n{entry.instructions(name)}")
    if origin is None or out is None:
        raise ConfigError(f"name both folders: saccade data {name} --from DIR --out {name}")
    written = entry.convert(origin, out)
    if json:
        print_json([str(path) for path in written])
    else:
        print_status(f"Wrote {', '.join(path.name for path in written)} to {out}")
