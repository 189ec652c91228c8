"""saccade data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.terminal import echo, print_json, say, table

__all__ = ["data"]


def data(
    corpus: Annotated[str | None, typer.Argument(help="A built-in corpus; left out, all are listed.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write it to this folder; left out, sentences are printed.")] = None,
    size: Annotated[int, typer.Option(min=1, help="Training examples to write, or sentences to print.")] = 20,
    held_out: Annotated[int, typer.Option(min=1, help="Validation and test examples to write.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another corpus.")] = 1,
    lengths: Annotated[tuple[int, int], typer.Option(help="The shortest and the longest sentence, in words.")] = (
        3,
        20,
    ),
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    clear_cache: Annotated[
        bool, typer.Option("--clear-cache", help="Delete all tokenised data that are kept.")
    ] = False,
) -> None:
    """List the built-in corpora, print some of their sentences, or write them to disk.

    Example: saccade data english-french --size 100000 --out corpus
    """
    from saccade.data.corpora import CORPORA
    from saccade.errors import lookup

    if clear_cache:
        from saccade.data.store import clear
        from saccade.tasks.corpus import default_cache

        say(f"Freed {clear(default_cache()) / 1e6:,.1f} MB in {default_cache()}")
        return
    if corpus is None:
        if json:
            print_json({name: {"about": entry.about, "task": entry.task} for name, entry in CORPORA.items()})
        else:
            rows = [(name, entry.task, entry.about) for name, entry in CORPORA.items()]
            table("Built-in corpora", ("name", "task", "what it is"), rows)
        return
    entry = lookup("corpus", corpus, CORPORA)
    low, high = lengths
    if out is None:
        for example in entry.generate("train", size, seed, min_length=low, max_length=high):
            parts = (example.source, example.target, None if example.links is None else str(example.links))
            echo("\t".join(part for part in parts if part is not None))
        return
    from saccade.data.write import write_captions, write_pairs, write_text

    written: list[Path] = []
    for split, count in (("train", size), ("valid", held_out), ("test", held_out)):
        examples = entry.generate(split, count, seed, min_length=low, max_length=high)
        if entry.task == "captioning":
            written += write_captions(examples, out, split)
        elif len(entry.sides) == 2:
            written += write_pairs(examples, out, split, entry.sides)
        else:
            written += write_text(examples, out, split, *entry.sides)
    if json:
        print_json([str(path) for path in written])
    else:
        say(f"Wrote {', '.join(path.name for path in written)} to {out}")
