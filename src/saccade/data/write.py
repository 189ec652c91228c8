"""Write a stream of Examples to files that `saccade.data.formats` reads back; never leave partial files."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any

from saccade.data.captions import by_picture
from saccade.data.dialogues import by_dialogue
from saccade.data.example import Example
from saccade.data.text import check_encodable, import_extra, shorten
from saccade.errors import ConfigError, DataError
from saccade.files import writing, writing_folder

__all__ = ["write_captions", "write_dialogues", "write_labelled", "write_pairs", "write_questions", "write_text"]

_ALIGN = "align"


def write_pairs(
    examples: Iterable[Example], folder: Path, name: str, sides: tuple[str, str] = ("en", "fr")
) -> list[Path]:
    """Write NAME.en, NAME.fr and, if there are links, NAME.align in Pharaoh format; return the paths."""
    if len({*sides, _ALIGN}) != 3:
        raise ConfigError(f"sides {sides[0]!r} and {sides[1]!r} must differ from each other and from {_ALIGN!r}.")
    stream = iter(examples)
    first = list(islice(stream, 1))
    linked = bool(first) and first[0].links is not None
    names = [f"{name}.{side}" for side in (*sides, *([_ALIGN] if linked else []))]
    return _write(_pair_rows(chain(first, stream), linked), folder, names)


def write_text(examples: Iterable[Example], folder: Path, name: str, side: str = "en") -> list[Path]:
    """Write plain texts, the targets, to NAME.en; return the path."""
    rows = ([_text(example, "target", number)] for number, example in enumerate(examples, 1))
    return _write(rows, folder, [f"{name}.{side}"])


def write_labelled(examples: Iterable[Example], folder: Path, name: str) -> list[Path]:
    """Write labels and texts, separated by tabs, to NAME.tsv; return the path."""
    return _write(_labelled_rows(examples), folder, [f"{name}.tsv"])


def write_captions(examples: Iterable[Example], folder: Path, name: str) -> list[Path]:
    """Write images to the folder NAME.images, and captions with boxes to NAME.jsonl; return both paths.

    The .jsonl names its images, so only this file has to be given to read the corpus back.
    """
    import_extra("PIL", "images", "writing images")
    library = importlib.import_module("PIL.Image")
    images = folder / f"{name}.images"

    def rows(place: Path) -> Iterator[list[str]]:
        for number, group in groupby(by_picture(examples), lambda entry: entry[0]):
            of_one = [example for _, example in group]
            picture = of_one[0].image
            assert picture is not None  # by_picture refuses examples without
            library.fromarray(picture.load()).save(place / f"{number:06}.png")
            record = {
                "image": f"{images.name}/{number:06}.png",
                "captions": [_text(example, "target", number + 1) for example in of_one],
            }
            boxes = [example.boxes for example in of_one]
            yield [json.dumps(record if None in boxes else {**record, "boxes": boxes}, ensure_ascii=False)]

    with writing_folder(images) as draft:
        return [*_write(rows(draft), folder, [f"{name}.jsonl"]), images]


def write_questions(examples: Iterable[Example], folder: Path, name: str) -> list[Path]:
    """Write passages, questions, and answers with their offsets to NAME.jsonl; return the path."""
    return _write(_question_rows(examples), folder, [f"{name}.jsonl"])


def write_dialogues(examples: Iterable[Example], folder: Path, name: str) -> list[Path]:
    """Write dialogues to NAME.jsonl, all replies of one on a line; return the path."""
    return _write(_dialogue_rows(examples), folder, [f"{name}.jsonl"])


def _question_rows(examples: Iterable[Example]) -> Iterator[list[str]]:
    for number, example in enumerate(examples, 1):
        passage, question = (_given(example, field, number) for field in ("source", "question"))
        if example.target and not example.spans:
            raise DataError(f"example {number} has an answer without its place: {shorten(example.target)}. Set spans.")
        for begin, end in (*example.spans, *example.evidence):
            if not 0 <= begin < end <= len(passage):
                raise DataError(f"example {number}: its span {begin} to {end} exceeds {len(passage)} characters.")
        answers = [{"text": passage[begin:end], "start": begin} for begin, end in example.spans]
        record = {"passage": passage, "question": question, "answers": answers}
        yield [_json(record | {"evidence": example.evidence} if example.evidence else record)]


def _dialogue_rows(examples: Iterable[Example]) -> Iterator[list[str]]:
    place = 0
    for _, group in groupby(by_dialogue(examples), lambda entry: entry[0]):
        found = [example for _, example in group]
        turns = [*found[-1].turns, _given(found[-1], "target", place + len(found))]
        for number, turn in enumerate(turns, 1):
            check_encodable(turn, f"example {place + len(found)}, turn {number}")
        record: dict[str, Any] = {"turns": turns}
        replies = [len(example.turns) for example in found]
        if replies != [*range(1, len(turns))]:
            record["replies"] = replies
        links = {len(example.turns): str(example.links) for example in found if example.links is not None}
        if links:
            record["links"] = [links.get(turn) for turn in range(len(turns))]
        place += len(found)
        yield [_json(record)]


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False)


def _given(example: Example, field: str, number: int) -> str:
    """Return one text of an example, which may have several lines; raise DataError if it is missing."""
    text: str | None = getattr(example, field)
    if text is None:
        raise DataError(f"example {number} has no {field} to write.")
    check_encodable(text, f"example {number}: its {field}")
    return text


def _pair_rows(examples: Iterable[Example], linked: bool) -> Iterator[list[str]]:
    for number, example in enumerate(examples, 1):
        if (example.links is not None) != linked:
            has, had = ("no links", "some") if linked else ("links", "none")
            raise DataError(f"example {number} has {has}, but those before it have {had}: all or none must have them.")
        row = [_text(example, "source", number), _text(example, "target", number)]
        yield row if example.links is None else [*row, str(example.links)]


def _labelled_rows(examples: Iterable[Example]) -> Iterator[list[str]]:
    for number, example in enumerate(examples, 1):
        row = [_text(example, "label", number), _text(example, "source", number)]
        for cell in row:
            if "\t" in cell:
                raise DataError(f"example {number} holds a tab, which separates columns: {shorten(cell)}.")
        yield ["\t".join(row)]


def _text(example: Example, field: str, number: int) -> str:
    """Return one text of an example; raise DataError if it is missing or does not fit on a line."""
    text = _given(example, field, number)
    if "\n" in text or text.endswith("\r"):
        raise DataError(f"example {number}: its {field} holds a line end and would not be read back: {shorten(text)}.")
    return text


def _write(rows: Iterable[Sequence[str]], folder: Path, names: Sequence[str]) -> list[Path]:
    """Write one line to each file per row; on an error, leave no new files and keep the old ones."""
    paths = [folder / name for name in names]
    empty = True
    with ExitStack() as stack:
        files = [stack.enter_context(writing(path)) for path in paths]
        for row in rows:
            for file, line in zip(files, row, strict=True):
                # readers drop one byte order mark at the start, so one that belongs to the text is doubled
                mark = "\ufeff" if empty and line.startswith("\ufeff") else ""
                file.write(f"{mark}{line}\n")
            empty = False
        if empty:
            raise DataError(f"there is no example to write to {paths[0]}.")
    return paths
