"""Forms: which parts the examples of a corpus have, and which files hold them.

A task names the form of its data. A new form is a subclass of `Form`; it may be defined outside saccade.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from saccade.data.captions import by_picture, captions
from saccade.data.dialogues import by_dialogue, dialogues
from saccade.data.example import Example
from saccade.data.formats import jsonl, labelled, pairs, text, tsv
from saccade.data.points import order_lines
from saccade.data.questions import by_passage, questions
from saccade.data.speech import speech, write_speech
from saccade.data.stories import is_stories, read_stories
from saccade.data.summaries import summaries
from saccade.data.text import stem_suffix
from saccade.data.write import (
    write_captions,
    write_dialogues,
    write_labelled,
    write_pairs,
    write_questions,
    write_text,
)
from saccade.errors import ConfigError

__all__ = [
    "CAPTIONS",
    "DIALOGUES",
    "LABELS",
    "ORDERS",
    "PAIRS",
    "QUESTIONS",
    "SPEECH",
    "SUMMARIES",
    "TEXT",
    "Form",
    "OneFileForm",
    "TextForm",
]

_KINDS = {".tsv": "tsv", ".jsonl": "jsonl", ".json": "jsonl"}


class Form(ABC):
    """Reads and writes corpora whose examples have certain parts."""

    title: str
    """What error messages call examples of this form."""
    whole_files: ClassVar[tuple[str, ...]] = ()
    """Suffixes of files that the option `keys` applies to."""

    @abstractmethod
    def read(
        self,
        paths: Sequence[Path],
        *,
        columns: Sequence[str] | None = None,
        keys: Mapping[str, str] | None = None,
        first_word: int = 0,
    ) -> Iterator[Example]:
        """Read examples from files; a recipe may set `columns`, `keys` and `first_word`."""

    def write(self, examples: Iterable[Example], folder: Path, name: str, sides: tuple[str, ...]) -> list[Path]:
        """Write examples to files in a folder, in a format that `read` accepts, and return their paths."""
        raise ConfigError(f"{self.title} cannot be written to files.")

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of an example written as a tuple; none if its parts are not all texts."""
        return ()

    def numbered(self, examples: Iterable[Example]) -> Iterator[tuple[int, Example]]:
        """Yield examples with numbers from 0; examples with the same number belong to the same split."""
        return enumerate(examples)


@dataclass(frozen=True)
class TextForm(Form):
    """Texts in one .tsv or .jsonl file, or in parallel plain files."""

    title: str
    needed: tuple[str, ...]
    columns: tuple[str, ...]
    keys: Mapping[str, str]
    plain: Callable[..., Iterator[Example]]
    plain_counts: tuple[int, ...]
    plain_help: str
    writer: Callable[..., list[Path]]

    whole_files = (".jsonl", ".json", ".tsv")
    lines_of_json: ClassVar[Callable[..., Iterator[Example]]] = staticmethod(jsonl)
    """Reads a .jsonl file."""

    def read(
        self,
        paths: Sequence[Path],
        *,
        columns: Sequence[str] | None = None,
        keys: Mapping[str, str] | None = None,
        first_word: int = 0,
    ) -> Iterator[Example]:
        """Read the format given by the suffixes; each file may also end in .gz, .xz or .zst.

        `columns` apply to .tsv, `keys` to .jsonl and, as column numbers or names, to .tsv. Alignments count words from
        `first_word`.
        """
        kinds = [_KINDS.get(stem_suffix(path), "plain") for path in paths]
        self._check_files(paths, kinds)
        if keys is not None and kinds[0] == "tsv":
            self._check_fields("keys", keys)
            return tsv(paths[0], keys, first_word=first_word)
        for setting, given, wanted in (("columns", columns, "tsv"), ("keys", keys, "jsonl")):
            if given is not None and kinds[0] != wanted:
                raise ConfigError(f"{setting} are for a .{wanted} file, but {paths[0]} is none. Leave {setting} out.")
            if given is not None:
                self._check_fields(setting, given)
        if kinds[0] == "tsv":
            return tsv(paths[0], self.columns if columns is None else columns, first_word=first_word)
        if kinds[0] == "jsonl":
            return self.lines_of_json(paths[0], self.keys if keys is None else keys, first_word=first_word)
        return self.plain(*paths, **({"first_word": first_word} if "links" in self.columns else {}))

    def _check_fields(self, setting: str, given: Iterable[str]) -> None:
        """Raise ConfigError if columns or keys lack a part of the examples."""
        if missing := [field for field in self.needed if field not in [*given]]:
            raise ConfigError(f"{setting} do not name {' and '.join(missing)}, which {self.title} need.")

    @property
    def fields(self) -> tuple[str, ...]:
        return (*self.needed, "links") if "target" in self.needed[1:] else self.needed

    def write(self, examples: Iterable[Example], folder: Path, name: str, sides: tuple[str, ...]) -> list[Path]:
        more: tuple[Any, ...] = (sides,) if len(sides) > 1 else sides
        return self.writer(examples, folder, name, *more)

    def _check_files(self, paths: Sequence[Path], kinds: Sequence[str]) -> None:
        """Raise ConfigError if the number of files, or their mixture of formats, is not a corpus."""
        remedy = f"For {self.title}, give {self.plain_help}, or one .tsv or .jsonl."
        if not paths:
            raise ConfigError(f"no file is given to read. {remedy}")
        whole = [path for path, kind in zip(paths, kinds, strict=True) if kind != "plain"]
        if whole and len(paths) > 1:
            raise ConfigError(f"{whole[0]} holds a whole corpus, but comes with {len(paths) - 1} more. {remedy}")
        if not whole and len(paths) not in self.plain_counts:
            named, files = ", ".join(map(str, paths)), "file" if len(paths) == 1 else "files"
            raise ConfigError(f"{len(paths)} plain {files} cannot be read: {named}. {remedy}")


class CaptionForm(Form):
    """Captions of images; see `data/captions.py` for their files."""

    title = "captions"

    def read(
        self,
        paths: Sequence[Path],
        *,
        columns: Sequence[str] | None = None,
        keys: Mapping[str, str] | None = None,
        first_word: int = 0,
    ) -> Iterator[Example]:
        if columns is not None or keys is not None:
            raise ConfigError("files of captions have fixed columns and keys. Leave columns and keys out.")
        return captions(paths)

    def write(self, examples: Iterable[Example], folder: Path, name: str, sides: tuple[str, ...]) -> list[Path]:
        return write_captions(examples, folder, name)

    def numbered(self, examples: Iterable[Example]) -> Iterator[tuple[int, Example]]:
        return by_picture(examples)


@dataclass(frozen=True)
class OneFileForm(Form):
    """Examples in one file, of which several in a row may belong together, such as the questions about a passage."""

    title: str
    layouts: str
    reader: Callable[..., Iterator[Example]]
    writer: Callable[..., list[Path]]
    grouping: Callable[[Iterable[Example]], Iterator[tuple[int, Example]]]
    several: bool = False
    """Whether several files may be read, one after the other."""

    whole_files = (".jsonl", ".json")

    def read(
        self,
        paths: Sequence[Path],
        *,
        columns: Sequence[str] | None = None,
        keys: Mapping[str, str] | None = None,
        first_word: int = 0,
    ) -> Iterator[Example]:
        """Read the layout given by the suffix; the file may also end in .gz, .xz or .zst. `keys` apply to .jsonl."""
        if len(paths) != 1 and not (self.several and paths):
            given = ", ".join(map(str, paths)) or "nothing"
            raise ConfigError(f"{self.title} are read from one file, but given is {given}. Name {self.layouts}.")
        if columns is not None:
            raise ConfigError(f"columns are for a .tsv file, and {self.title} have none. Leave columns out.")
        for path in paths if keys is not None else ():
            if stem_suffix(path) not in self.whole_files:
                raise ConfigError(f"keys are for a .jsonl file, but {path} is none. Leave keys out.")
        return chain(*[self.reader(path, keys, first_word=first_word) for path in paths])

    def write(self, examples: Iterable[Example], folder: Path, name: str, sides: tuple[str, ...]) -> list[Path]:
        return self.writer(examples, folder, name)

    def numbered(self, examples: Iterable[Example]) -> Iterator[tuple[int, Example]]:
        return self.grouping(examples)


PAIRS = TextForm(
    "sentence pairs",
    ("source", "target"),
    ("source", "target", "links"),
    {"source": "source", "target": "target", "links": "links"},
    pairs,
    (2, 3),
    "two plain files or three with alignments",
    write_pairs,
)
TEXT = TextForm("texts", ("target",), ("target",), {"target": "text"}, text, (1,), "one plain file", write_text)
LABELS = TextForm(
    "labeled texts",
    ("source", "label"),
    ("label", "source"),
    {"source": "text", "label": "label"},
    labelled,
    (1,),
    "one plain file of LABEL text",
    write_labelled,
)
CAPTIONS = CaptionForm()


class SummaryForm(TextForm):
    """Texts with summaries: files of pairs, JSON lines in which both may be lists, or folders of `.story` files."""

    lines_of_json = staticmethod(summaries)

    def read(
        self,
        paths: Sequence[Path],
        *,
        columns: Sequence[str] | None = None,
        keys: Mapping[str, str] | None = None,
        first_word: int = 0,
    ) -> Iterator[Example]:
        if not paths or not all(map(is_stories, paths)):
            return super().read(paths, columns=columns, keys=keys, first_word=first_word)
        if columns is not None or keys is not None:
            raise ConfigError(f"{paths[0]} has stories, which have no columns or keys. Leave columns and keys out.")
        return read_stories(paths)


SUMMARIES = SummaryForm(
    "texts with summaries",
    ("source", "target"),
    ("source", "target", "links"),
    {"source": "source", "target": "target", "links": "links"},
    pairs,
    (2, 3),
    "two plain files or three with alignments, folders of .story files",
    write_pairs,
)


class OrderForm(TextForm):
    """Points with an order of their positions: files of pairs, or JSON lines in which both may be arrays."""

    lines_of_json = staticmethod(order_lines)


ORDERS = OrderForm(
    "points with an order",
    ("source", "target"),
    ("source", "target"),
    {"source": "points", "target": "order"},
    pairs,
    (2,),
    "two plain files",
    write_pairs,
)
QUESTIONS = OneFileForm(
    "questions about passages",
    "a .json file in SQuAD's layout, or a .jsonl file with passage, question and answers",
    questions,
    write_questions,
    by_passage,
)
DIALOGUES = OneFileForm(
    "dialogues",
    "a plain file with __eou__ after each turn, or a .jsonl file with turns",
    dialogues,
    write_dialogues,
    by_dialogue,
)
SPEECH = OneFileForm(
    "recordings with transcripts",
    "a .jsonl file with sound and text, or a plain file with a file name, a tab and the text on each line",
    speech,
    write_speech,
    enumerate,
    several=True,
)
