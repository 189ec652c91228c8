"""Predict a file: workers of an engine predict its rows in batches, which are written once each, in order."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import torch

from saccade import checksums
from saccade.api import Model, describe
from saccade.bulk.inputs import PARQUET, parquet_modules, rows_of
from saccade.bulk.journal import Journal
from saccade.bulk.predictor import Predictor
from saccade.bulk.ray_crew import RayCrew
from saccade.errors import ConfigError, DataError, unknown_name
from saccade.files import open_to_read, read_text, write_atomically
from saccade.pretrained import find_model
from saccade.runs.crew import Crew, Job, LocalCrew, Work, in_order
from saccade.tasks.batching import WINDOW
from saccade.train.accelerators import find_accelerator
from saccade.train.lock import locked

__all__ = ["ENGINES", "Finished", "predict_file"]

ENGINES = ("local", "ray")
_OUTPUTS = (PARQUET, ".jsonl", ".ndjson")
_DESCRIPTION, _ROWS = "job.json", "rows.jsonl"
_LONGEST = 1 << 20
"""Maximum bytes of a job's description."""


class Finished(NamedTuple):
    """The rows of an output, how many of them failed, and how many an earlier run had made."""

    rows: int
    failed: int
    kept: int


def predict_file(
    model: str | Path,
    file: str | Path,
    out: str | Path,
    *,
    column: str | None = None,
    engine: str = "local",
    workers: int = 1,
    device: str = "auto",
    trust_code: bool = False,
    prefix: str | None = None,
    watch: Callable[[Finished], None] | None = None,
    **options: Any,
) -> Finished:
    """Predict each row of a file, and write line number, output, score and error of each to another.

    file: lines of text, .jsonl (JSON lines) or .parquet; text and JSON may be compressed. out: .jsonl or .parquet.
    column: the field or column that holds the input. engine: "local", processes on this machine, or "ray". options:
    those of `Model.stream`.

    A row that cannot be read keeps its place, with the reason as its error. While it runs, finished rows are in the
    folder OUT.unfinished; called again after a kill, it continues after them, and the output is the same. A worker that
    is killed is started again and repeats its batch. `watch` is called after each batch.
    """
    source, target = Path(file), Path(out)
    _check(target, engine, workers)
    place = find_model(model)
    described = describe(place, trust_code=trust_code)
    job = _description(described, place, source, column=column, prefix=prefix, device=device, **options)
    folder = target.with_name(f"{target.name}.unfinished")
    settings = {"device": device, "trust_code": trust_code, "prefix": prefix, **options}
    with _working_in(folder):
        if (before := _written(target, folder, job)) is not None:
            return before
        _begin(folder, job)
        with Journal(folder / _ROWS, job["batch"]) as journal, _kept_if_any(journal, folder):
            rows = islice(rows_of(source, described.task.reads, column), journal.kept, None)
            batches = _batches(rows, job["batch"])
            for first in batches:  # what cannot be read is reported before workers start
                with _crew(engine, workers, device, place, settings) as crew:
                    for found in in_order(crew, chain([first], batches)):
                        journal.add(found)
                        if watch is not None:
                            watch(Finished(journal.rows, journal.failed, journal.kept))
            done = Finished(journal.rows, journal.failed, journal.kept)
            _write_description(folder, {**job, "finished": done})
            journal.finish(target, parquet=target.suffix.lower() == PARQUET)
        _remove(folder)
    return done


def _check(target: Path, engine: str, workers: int) -> None:
    if target.suffix.lower() not in _OUTPUTS:
        raise ConfigError(f"the output is {target}, but must be named .jsonl or .parquet.")
    if target.suffix.lower() == PARQUET:
        parquet_modules()
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if workers < 1:
        raise ConfigError(f"workers is {workers}, but must be at least 1.")


def _description(model: Model, place: Path, source: Path, device: str, **settings: Any) -> dict[str, Any]:
    """Return all that the rows of the output depend on, and the rows of a batch."""
    options = {name: value for name, value in settings.items() if name not in ("column", "prefix")}
    search = model.search(**options)
    with open_to_read(source, regular=True) as file:
        found = os.fstat(file.fileno())
    checked = place / checksums.LIST
    listed = read_text(checked, _LONGEST, "a list of checksums") if checked.exists() else ""
    together = search.together(torch.device(find_accelerator(device)), large=model.task.reads.large)
    return {
        "version": 1,
        "model": str(place.absolute()),
        "checksums": hashlib.sha256(listed.encode()).hexdigest(),
        "file": str(source.absolute()),
        "bytes": found.st_size,
        "modified": found.st_mtime_ns,
        "column": settings["column"],
        "prefix": settings["prefix"],
        "search": search.model_dump(mode="json"),
        "batch": WINDOW * together,
    }


def _begin(folder: Path, job: dict[str, Any]) -> None:
    """Write the job's description; raise ConfigError if the finished rows are those of another job.

    The journal is opened afterwards, since it removes what is no whole batch, of a size that another job may not have.
    """
    rows = folder / _ROWS
    was = _read_description(folder) if rows.exists() and rows.stat().st_size else job
    changes = [f"- {name}: was {was.get(name)!r}, is {job[name]!r}" for name in job if was.get(name) != job[name]]
    if changes:
        listed = "\n".join(changes)
        raise ConfigError(
            f"{folder} holds the rows of another prediction:\n{listed}\nRestore these to continue, or delete that "
            "folder to begin anew."
        )
    _write_description(folder, job)


def _write_description(folder: Path, job: dict[str, Any]) -> None:
    write_atomically(folder / _DESCRIPTION, json.dumps(job, indent=1) + "\n")


def _read_description(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_text(folder / _DESCRIPTION, _LONGEST, "the description of a job"))
    except (DataError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _written(target: Path, folder: Path, job: dict[str, Any]) -> Finished | None:
    """Return what a killed run of this job has finished, if only its folder is left; else None.

    Raises ConfigError if there is an output that this job did not write.
    """
    if not target.exists():
        return None
    was = _read_description(folder)
    done = was.pop("finished", None)
    if done is None or was != job:
        raise ConfigError(f"{target} is there already. Delete it, or choose another --out.")
    _remove(folder)
    rows, failed, _ = done
    return Finished(rows, failed, rows)


@contextmanager
def _kept_if_any(journal: Journal, folder: Path) -> Iterator[None]:
    """Leave nothing behind after an error before the first batch."""
    try:
        yield
    except BaseException:
        if not journal.rows:
            _remove(folder)
        raise


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    """Hold the folder of a job, and remove it at the end if it is empty."""
    try:
        with locked(folder, "bulk prediction"):
            yield
    finally:
        with suppress(OSError):
            folder.rmdir()


def _remove(folder: Path) -> None:
    for name in (_ROWS, _DESCRIPTION):
        (folder / name).unlink(missing_ok=True)


def _batches(rows: Iterator[Any], size: int) -> Iterator[Job]:
    while batch := list(islice(rows, size)):
        yield (batch,)


def _crew(engine: str, workers: int, device: str, place: Path, settings: dict[str, Any]) -> Crew:
    if engine == "ray":
        return RayCrew(workers, _build, place, settings, gpu=device == "cuda")
    return LocalCrew(workers, _build, place, settings)


def _build(place: Path, settings: dict[str, Any]) -> Work:
    """Return the function that predicts a batch in a worker."""
    return Predictor(place, **settings).rows
