"""saccade predict."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from saccade.cli.options import Beam, Device, TrustCode
from saccade.cli.terminal import echo, model_and_inputs, one_line, print_error, print_notes, print_status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from saccade.api import Model
    from saccade.prediction import Prediction
    from saccade.tasks.inputs import Modality

__all__ = ["predict"]

_EVERY = 30
"""Seconds between lines about the progress of a file."""


def predict(
    model: Annotated[Path, typer.Argument(help="A model folder or a shipped model; may be left out before a text.")],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Texts, .txt files of one text each, paths of images or sounds, dialogues, a question and its "
            "passage, or a folder of labeled images and images to classify; default: lines of --file or stdin."
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="File to read lines from, also .gz, .xz or .zst; with --out .parquet too.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="With --file: .jsonl or .parquet to write, with line numbers. Run again to continue. For drawings: "
            ".png to write; of several, each gets a number.",
        ),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="With --out: field of JSON lines, or column of Parquet, to read; default: text.")
    ] = None,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="With --out: what runs the workers, this machine or Ray.")
    ] = "local",
    beam: Beam = None,
    nbest: Annotated[int | None, typer.Option(min=1, help="Answers to each input.")] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Sample tokens instead of searching for the most likely.")
    ] = False,
    temperature: Annotated[
        float | None, typer.Option(help="Sampling temperature; below 1 favors likely tokens.")
    ] = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="Sample only from the k most likely tokens.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Sample only from the most likely tokens with this total probability.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of sampling, or of a drawing.")] = None,
    mbr: Annotated[
        int | None,
        typer.Option(min=2, help="Minimum Bayes risk: samples of which the one most like all others is the answer."),
    ] = None,
    prefix: Annotated[str | None, typer.Option(help="Text that every answer must begin with.")] = None,
    max_length: Annotated[int | None, typer.Option(min=1, help="Maximum tokens of an answer.")] = None,
    min_length: Annotated[int | None, typer.Option(min=0, help="Minimum tokens of an answer.")] = None,
    no_repeat_ngram: Annotated[
        int | None, typer.Option(min=1, max=100, help="Length of n-grams that must not repeat in an answer.")
    ] = None,
    unknown: Annotated[
        bool | None, typer.Option("--unknown/--no-unknown", help="Allow <unk>, which stands for a rare word, or not.")
    ] = None,
    length_penalty: Annotated[
        float | None, typer.Option(help="Beam length penalty; above 0 favors longer answers.")
    ] = None,
    coverage_penalty: Annotated[
        float | None, typer.Option(help="Beam penalty on source words that get little attention.")
    ] = None,
    overlap_penalty: Annotated[
        float | None, typer.Option(help="Beam penalty on attending to the same source words again.")
    ] = None,
    ctc: Annotated[
        float | None, typer.Option(min=0, max=1, help="For speech: weight of the CTC layer in the search.")
    ] = None,
    fusion: Annotated[
        Path | None, typer.Option(help="Folder of a language model whose scores are added: shallow fusion.")
    ] = None,
    fusion_weight: Annotated[float, typer.Option(min=0, max=10, help="Weight of the language model.")] = 0.3,
    no_answer: Annotated[
        float | None, typer.Option(help='Nats by which "no answer" must be more likely than an answer to a question.')
    ] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Batch size, in inputs.")] = None,
    precision: Annotated[
        Literal["full", "int8"] | None, typer.Option(help="Precision; int8 is faster on a CPU, but less exact.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes, for many inputs on a CPU.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, help="CPU threads; default: one for a small model, else all cores.")
    ] = None,
    timestamps: Annotated[
        bool,
        typer.Option("--timestamps", help="For speech: a line of begin, end and text for each word, tabs between."),
    ] = False,
    window: Annotated[
        float | None,
        typer.Option(help="For speech: cut long recordings at pauses into windows of at most this many seconds."),
    ] = None,
    links: Annotated[
        bool, typer.Option("--links", help="Add word alignment links, source word first, after a tab or in the JSON.")
    ] = False,
    format: Annotated[
        Literal["text", "jsonl"], typer.Option(help="Output format; jsonl has scores and attention.")
    ] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format jsonl.")] = False,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Translate, summarize, transcribe, continue, classify, caption or draw inputs, or answer questions; a line each.

    Example: saccade predict runs/demo "the European Economic Area" --beam 5
    """
    import torch

    from saccade.api import describe, load
    from saccade.errors import ConfigError

    place, words = model_and_inputs(model, inputs)
    if words and file is not None:
        raise ConfigError("both texts and --file are given. Give one of them.")
    if threads is not None:
        if workers > 1:
            raise ConfigError(f"{workers} workers have one thread each. Give --workers or --threads.")
        torch.set_num_threads(threads)
    options: dict[str, Any] = {
        "beam": beam,
        "nbest": nbest,
        "sample": sample or None,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
        "mbr": mbr,
        "max_length": max_length,
        "min_length": min_length,
        "no_repeat_ngram": no_repeat_ngram,
        "unknown": unknown,
        "length_penalty": length_penalty,
        "coverage_penalty": coverage_penalty,
        "overlap_penalty": overlap_penalty,
        "ctc": ctc,
        "fusion": None if fusion is None else {"model": str(fusion), "weight": fusion_weight},
        "no_answer": no_answer,
        "batch_size": batch_size,
        "precision": precision,
    }
    chosen = {name: value for name, value in options.items() if value is not None}
    image, out = (out, None) if out is not None and out.suffix.lower() == ".png" else (None, out)
    for_files = {"--column": column, "--engine": engine != "local"}
    for_lines = {
        "a text": words,
        "--nbest": nbest,
        "--threads": threads,
        "--timestamps": timestamps,
        "--window": window,
        "--links": links,
        "--format": format != "text" or as_json,
    }
    for name, given in (for_files if out is None else for_lines).items():
        if given:
            other = (
                "needs --file and --out. Add them"
                if out is None
                else f"cannot be combined with --out {out.name}. Leave one out"
            )
            raise ConfigError(f"{name} {other}.")
    if out is not None:
        if file is None:
            raise ConfigError(
                "--out needs --file: only a file can be read again from where a killed run ended. A picture "
                "is written to a .png file."
            )
        settings = {"column": column, "engine": engine, "workers": workers, "device": device, "prefix": prefix}
        sampled = describe(place, trust_code=trust_code).search(**chosen).sample
        _check_sampling(chosen, sampled=sampled, draws=False)
        _predict_file(place, file, out, settings | {"trust_code": trust_code}, chosen)
        return
    loaded = load(place, device=device, trust_code=trust_code)
    draws = "images to generate" in loaded.task.offers
    if image is not None and not draws:
        raise ConfigError(f"this model draws no images, so it cannot write {image.name}. Leave --out out.")
    _check_sampling(chosen, sampled=loaded.search(**chosen).sample, draws=draws)
    format = "jsonl" if as_json else format
    refused: list[str] = []
    notes: dict[str, None] = {}

    def on_error(why: str) -> None:
        print_error(why)
        refused.append(why)

    if timestamps and loaded.task.reads.name != "sound":
        raise ConfigError("--timestamps is for models of speech. Leave it out.")
    lines, attention = _lines(loaded.task.reads, words, file), timestamps or links or format == "jsonl"
    answers = (
        loaded.stream(lines, attention=attention, prefix=prefix, on_error=on_error, workers=workers, **chosen)
        if window is None
        else _transcribed(loaded, lines, window, on_error, chosen)
    )
    for number, prediction in enumerate(answers, 1):
        notes |= dict.fromkeys(prediction.notes)
        if image is not None and prediction.image is not None:
            _write_image(
                image if len(words or ()) == 1 else image.with_stem(f"{image.stem}-{number}"), prediction.image
            )
        echo(_as_json(prediction, links) if format == "jsonl" else _as_text(prediction, links, timestamps))
    print_notes([*notes])
    if refused:
        raise typer.Exit(1)


def _predict_file(place: Path, file: Path, out: Path, settings: dict[str, Any], options: dict[str, Any]) -> None:
    """Predict a file into another, and print how far it is every so often."""
    from saccade.bulk import Finished, predict_file

    began = said = time.monotonic()

    def watch(so_far: Finished) -> None:
        nonlocal said
        if (now := time.monotonic()) - said >= _EVERY:
            said = now
            print_status(f"  {so_far.rows:,} rows, {(so_far.rows - so_far.kept) / (now - began):,.0f} rows/s")

    try:
        done = predict_file(place, file, out, watch=watch, **settings, **options)
    except KeyboardInterrupt:
        print_status("Stopped. Run the same command again to continue after the last finished batch.")
        raise typer.Exit(1) from None
    kept = f" ({done.kept:,} of them by an earlier run)" if done.kept else ""
    print_status(f"{out} has {done.rows:,} rows{kept}; {done.failed:,} failed, see their field error.")
    if done.failed:
        raise typer.Exit(1)


def _as_json(prediction: Prediction, links: bool) -> str:
    return json.dumps(prediction.to_dict() | ({"links": prediction.links} if links else {}), ensure_ascii=False)


def _as_text(prediction: Prediction, links: bool, timestamps: bool) -> str:
    if timestamps:  # the format of label tracks in sound editors; an empty line ends a recording
        return "".join(f"{word.begin:.2f}\t{word.end:.2f}\t{one_line(word.text)}\n" for word in prediction.words)
    texts = [one_line(part.text) for part in (prediction, *prediction.alternatives)]
    pharaoh = [" ".join(f"{source}-{target}" for source, target in prediction.links)] if links else []
    return "\t".join([*texts, *pharaoh])


def _transcribed(
    model: Model, paths: Iterator[Any], window: float, on_error: Callable[[str], None], options: dict[str, Any]
) -> Iterator[Prediction]:
    """Yield the transcripts of long recordings; a file that cannot be read gets an empty one."""
    from saccade.errors import DataError
    from saccade.tasks.batching import blank

    for path in filter(None, paths):
        try:
            yield model.transcribe(path, window=window, **options)
        except DataError as error:
            on_error(str(error))
            yield blank(path)


def _check_sampling(chosen: dict[str, Any], *, sampled: bool, draws: bool) -> None:
    """Raise ConfigError for options of sampling without sampling; a drawing has a seed, too."""
    from saccade.errors import ConfigError

    names = ("temperature", "top_k", "top_p", "mbr", *(() if draws else ("seed",)))
    idle = [f"--{name.replace('_', '-')}" for name in names if name in chosen]
    if idle and not sampled:
        raise ConfigError(f"{', '.join(idle)} changes nothing without --sample. Add --sample, or leave it out.")


def _write_image(path: Path, image: NDArray[np.uint8]) -> None:
    from saccade.files import write_atomically
    from saccade.look.picture import png

    write_atomically(path, png(image))


def _lines(reads: Modality, inputs: list[str] | None, file: Path | None) -> Iterator[Any]:
    """Yield the inputs; None asks to answer those so far before waiting for more."""
    from saccade.data.text import lines
    from saccade.errors import DataError

    if inputs:
        yield from reads.of_words(inputs)
        return
    try:
        for line in lines(file) if file is not None else _standard_input():
            yield None if line is None else reads.of_line(line)
    except DataError:
        yield None  # answer the lines read so far before reporting the error
        raise


def _standard_input() -> Iterator[str | None]:
    """Yield lines of standard input as they arrive, so that interactive input is answered line by line."""
    waiting: queue.Queue[str | Exception | None] = queue.Queue(4096)

    def read() -> None:
        from saccade.data.text import decoded_lines

        try:
            # not sys.stdin: at exit, Python would wait for its lock, which this blocked read would hold
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
