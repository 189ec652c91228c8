"""saccade predict."""

from __future__ import annotations

import json
import queue
import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from saccade.cli.terminal import complain, echo

__all__ = ["predict"]


def predict(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="Texts, or paths of pictures; left out, lines of --file or standard input."),
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Read lines from this file; also .gz, .xz, .zst.")] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy search.")] = None,
    nbest: Annotated[int | None, typer.Option(min=1, help="How many answers to each input.")] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw the words instead of taking the likeliest.")] = False,
    temperature: Annotated[float | None, typer.Option(help="For --sample: below 1 is safer.")] = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="For --sample: only from the k likeliest words.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="For --sample: only from the likeliest that hold this share.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="For --sample.")] = None,
    prefix: Annotated[str | None, typer.Option(help="What every answer must begin with.")] = None,
    max_length: Annotated[int | None, typer.Option(min=1, help="The most tokens of an answer.")] = None,
    length_penalty: Annotated[float | None, typer.Option(help="For beams: above 0 favours longer answers.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Inputs searched together.")] = None,
    precision: Annotated[
        Literal["full", "int8"] | None, typer.Option(help="int8 is faster on a CPU, and a little less exact.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that share the work; for many inputs on a CPU.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Threads on a CPU; left out, one for a small model.")
    ] = None,
    format: Annotated[Literal["text", "jsonl"], typer.Option(help="jsonl has scores and attention.")] = "text",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    trust_code: Annotated[
        bool, typer.Option("--trust-code", help="Let the model's recipe import outside code.")
    ] = False,
) -> None:
    """Answer inputs: translate, go on with a text, label it, or describe a picture; a line out for every line in.

    Example: saccade predict runs/demo "the European Economic Area" --beam 5
    """
    import torch

    from saccade.errors import ConfigError
    from saccade.front import load

    if inputs and file is not None:
        raise ConfigError("there are texts and a --file to answer. Give one of them.")
    if threads is not None:
        if workers > 1:
            raise ConfigError(f"{workers} workers have one thread each. Give --workers or --threads.")
        torch.set_num_threads(threads)
    loaded = load(model, device=device, trust_code=trust_code)
    options: dict[str, Any] = {
        "beam": beam,
        "nbest": nbest,
        "sample": sample or None,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
        "max_length": max_length,
        "length_penalty": length_penalty,
        "batch": batch,
        "precision": precision,
    }
    chosen = {name: value for name, value in options.items() if value is not None}
    refused: list[str] = []

    def refuse(why: str) -> None:
        complain(why)
        refused.append(why)

    lines, attention = _lines(inputs, file), format == "jsonl"
    for prediction in loaded.stream(
        lines, attention=attention, prefix=prefix, refuse=refuse, workers=workers, **chosen
    ):
        if format == "jsonl":
            echo(json.dumps(prediction.as_json(), ensure_ascii=False))
        else:
            echo("\t".join(_one_line(part.text) for part in (prediction, *prediction.others)))
    if refused:
        raise typer.Exit(1)


def _one_line(text: str) -> str:
    """A text that takes one line and has no power over a terminal; jsonl has it as it is."""
    return "".join(" " if unicodedata.category(letter) in ("Cc", "Zl", "Zp") else letter for letter in text)


def _lines(inputs: list[str] | None, file: Path | None) -> Iterator[str | None]:
    """The inputs, one after the other; None where those so far should be answered before waiting for more."""
    from saccade.data.text import lines
    from saccade.errors import DataError

    if inputs:
        yield from inputs
        return
    try:
        yield from lines(file) if file is not None else _standard_input()
    except DataError:
        yield None  # what could be read is answered before the rest is complained about
        raise


def _standard_input() -> Iterator[str | None]:
    """Lines of standard input as they come: a person who types, or a program, is answered line by line."""
    waiting: queue.Queue[str | Exception | None] = queue.Queue(4096)

    def read() -> None:
        from saccade.data.text import decoded_lines

        try:
            # not sys.stdin: Python, when it ends, would wait for its lock, which a reader that waits for input holds
            with open(0, "rb", closefd=False) as stream:
                for line in decoded_lines(stream, "standard input"):
                    waiting.put(line)
            waiting.put(None)
        except Exception as error:
            waiting.put(error)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            entry = waiting.get_nowait()
        except queue.Empty:
            yield None
            entry = waiting.get()
        if entry is None:
            return
        if isinstance(entry, Exception):
            raise entry
        yield entry
