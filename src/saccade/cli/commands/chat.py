"""saccade chat."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from saccade.cli.options import Beam, Device, TrustCode
from saccade.cli.terminal import echo, print_status

__all__ = ["chat"]


def chat(
    model: Annotated[Path, typer.Argument(help="A model folder whose task is chat.")],
    beam: Beam = None,
    sample: Annotated[
        bool | None, typer.Option("--sample/--search", help="Sample tokens, or search for the most likely reply.")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Sampling temperature; below 1 favors likely tokens.")
    ] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Sample only from the most likely tokens with this total probability.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Sampling seed.")] = None,
    mbr: Annotated[
        int | None,
        typer.Option(min=2, help="Minimum Bayes risk: samples of which the one most like all others is the reply."),
    ] = None,
    min_length: Annotated[int | None, typer.Option(min=0, help="Minimum tokens of a reply.")] = None,
    max_length: Annotated[int | None, typer.Option(min=1, help="Maximum tokens of a reply.")] = None,
    no_repeat_ngram: Annotated[
        int | None, typer.Option(min=1, max=100, help="Length of n-grams that must not repeat in a reply.")
    ] = None,
    unknown: Annotated[
        bool | None, typer.Option("--unknown/--no-unknown", help="Allow <unk>, which stands for a rare word, or not.")
    ] = None,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Talk to a chat model: one line is one turn. /help lists the commands; Ctrl-D ends the dialogue.

    Example: saccade chat runs/talk --sample
    """
    from saccade.api import load
    from saccade.cli.conversation import Conversation
    from saccade.errors import ConfigError
    from saccade.tasks.inputs import DIALOGUE

    loaded = load(model, device=device, trust_code=trust_code)
    if loaded.task.reads is not DIALOGUE:
        raise ConfigError(f"{model} is a model of the task {loaded.task.name}, but this command needs one of chat.")
    options: dict[str, Any] = {
        "beam": beam,
        "sample": sample,
        "temperature": temperature,
        "top_p": top_p,
        "seed": seed,
        "mbr": mbr,
        "min_length": min_length,
        "max_length": max_length,
        "no_repeat_ngram": no_repeat_ngram,
        "unknown": unknown,
    }
    chosen = {name: value for name, value in options.items() if value is not None}
    loaded.search(**chosen)  # fail before the first turn
    talk = Conversation(loaded, echo, print_status, **chosen)
    for line in _lines():
        if not talk.answer(line):
            break


def _lines() -> Iterator[str]:
    """Yield lines of standard input until it ends; with a prompt and line editing on a terminal."""
    if not sys.stdin.isatty():
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(encoding="utf-8", errors="replace")
        yield from sys.stdin
        return
    with suppress(ImportError):  # input() edits lines and remembers them if it is loaded
        import_module("readline")
    print_status("/help lists the commands; Ctrl-D ends.")
    while True:
        try:
            yield input("> ")
        except (EOFError, KeyboardInterrupt):
            print_status()
            return
