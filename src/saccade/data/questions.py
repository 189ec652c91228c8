"""Questions about passages: SQuAD's layout, or JSON lines. Answers are character spans of their passage.

The offsets of a file need not match its answers; SQuAD's do not always. Such an answer gets the nearest place in the
passage that has its text, or is left out. A question of which no answer is left is skipped. One warning counts them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from saccade.data.example import Example, Span
from saccade.data.formats import records
from saccade.data.json_files import first_object, listed, whole_object
from saccade.data.text import check_encodable, shown, stem_suffix
from saccade.errors import DataError, unknown_name

__all__ = ["by_passage", "question_lines", "questions", "squad"]

_KEYS = {"passage": "passage", "question": "question", "answers": "answers", "evidence": "evidence"}
"""The parts of a question, and their usual keys in JSON lines."""


def questions(path: Path, keys: Mapping[str, str] | None = None, *, first_word: int = 0) -> Iterator[Example]:
    """Read a .json file in SQuAD's layout, or JSON lines with `keys`."""
    if keys is None and stem_suffix(path) == ".json":
        first = first_object(path)
        if first is None or "data" in first:
            return squad(path)
    return question_lines(path, keys)


def squad(path: Path) -> Iterator[Example]:
    """Read SQuAD 1.1 or 2.0: articles in `data`, with `paragraphs`, with a `context` and questions in `qas`."""
    whole = whole_object(path, "'data', a list of articles with paragraphs, as SQuAD has it")
    found: Counter[str] = Counter()
    for a, article in enumerate(_list(whole, "data", str(path)), 1):
        for p, paragraph in enumerate(_list(article, "paragraphs", f"{path}, article {a}"), 1):
            where = f"{path}, article {a}, paragraph {p}"
            passage = _text(paragraph, "context", where)
            for q, record in enumerate(_list(paragraph, "qas", where), 1):
                place = f"{where}, question {q}"
                question = _text(record, "question", place)
                answers = [] if record.get("is_impossible") is True else _answers(record, "answers", place)
                yield from _examples(passage, question, answers, (), found)
    _warn(path, found)


def question_lines(path: Path, keys: Mapping[str, str] | None = None) -> Iterator[Example]:
    """Read one JSON object per line: {"passage": …, "question": …, "answers": […], "evidence": [[0, 21]]}.

    An answer is a text, whose first place in the passage counts, or {"text": …, "start": …}; {"text": […],
    "answer_start": […]} for all answers also works. A list without entries means that the passage has no answer.
    `evidence` is optional: [begin, end) of each sentence that the answer follows from. `keys` renames the four.
    """
    keys = _KEYS | dict(keys or {})
    for field in keys:
        if field not in _KEYS:
            raise unknown_name("field", field, _KEYS)
    return _question_lines(path, keys)


def by_passage(examples: Iterable[Example]) -> Iterator[tuple[int, Example]]:
    """Yield each example with the number of its passage, from 0; consecutive examples of one passage share it."""
    number, last = -1, None
    for position, example in enumerate(examples, 1):
        if example.source is None:
            raise DataError(f"example {position} has no source, which is the passage of a question. Add it.")
        if number < 0 or example.source != last:
            number, last = number + 1, example.source
        yield number, example


class _Answer(NamedTuple):
    """An answer of a file; start: where the file says that it begins."""

    text: str
    start: int | None


def _question_lines(path: Path, keys: Mapping[str, str]) -> Iterator[Example]:
    found: Counter[str] = Counter()
    for where, record in records(path, {key: keys[key] for key in ("passage", "question", "answers")}):
        passage, question = _text(record, keys["passage"], where), _text(record, keys["question"], where)
        answers = _answers(record, keys["answers"], where)
        evidence = _evidence(record.get(keys["evidence"]), passage, f"{where}: {keys['evidence']!r}")
        yield from _examples(passage, question, answers, evidence, found)
    _warn(path, found)


def _examples(
    passage: str, question: str, answers: Sequence[_Answer], evidence: tuple[Span, ...], found: Counter[str]
) -> Iterator[Example]:
    """Yield the example of a question, unless none of its answers is in the passage; count what was wrong."""
    spans = [span for answer in answers if (span := _place(passage, answer, found)) is not None]
    if answers and not spans:
        found["skipped"] += 1
        return
    texts = tuple(passage[begin:end] for begin, end in spans)
    yield Example(
        source=passage,
        question=question,
        target=texts[0] if texts else "",
        references=texts,
        spans=tuple(spans),
        evidence=evidence,
    )


def _place(passage: str, answer: _Answer, found: Counter[str]) -> Span | None:
    """Return the place of the answer's text that is nearest to its offset; None if the passage does not have it."""
    text = answer.text.strip()
    start = (answer.start or 0) + len(answer.text) - len(answer.text.lstrip())
    after = passage.find(text, max(start, 0)) if text else -1
    if after != start or start < 0:
        before = passage.rfind(text, 0, max(start, 0) + len(text)) if text else -1
        places = [place for place in (before, after) if place >= 0]
        found["moved" if places else "lost"] += bool(answer.start is not None or not places)
        if not places:
            return None
        after = min(places, key=lambda place: abs(place - start))
    return after, after + len(text)


def _answers(record: Mapping[str, Any], key: str, where: str) -> list[_Answer]:
    given = record.get(key)
    if isinstance(given, Mapping):  # columns instead of rows
        texts, starts = given.get("text"), given.get("answer_start")
        if isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts):
            given = [{"text": text, "start": start} for text, start in zip(texts, starts, strict=True)]
    if not isinstance(given, list):
        raise DataError(
            f"{where}: {key!r} is {shown(given)}, but must be a list of answers, each a text or "
            '{"text": …, "start": …}. Write [] for a question that the passage does not answer.'
        )
    return [_answer(entry, f"{where}, answer {number}") for number, entry in enumerate(given, 1)]


def _answer(entry: Any, where: str) -> _Answer:
    if isinstance(entry, str):
        entry = {"text": entry}
    if not isinstance(entry, Mapping):
        raise DataError(f'{where} is {shown(entry)}, but must be a text or {{"text": …, "start": …}}.')
    start = entry.get("answer_start", entry.get("start"))
    if start is not None and (not isinstance(start, int) or isinstance(start, bool)):
        raise DataError(f"{where}: its start is {shown(start)}, but must count characters of the passage from 0.")
    return _Answer(_text(entry, "text", where), start)


def _evidence(given: Any, passage: str, where: str) -> tuple[Span, ...]:
    spans = [] if given is None else given
    if not isinstance(spans, list):
        raise DataError(f"{where} is {shown(given)}, but must be a list of [begin, end].")
    for span in spans:
        whole = isinstance(span, list) and len(span) == 2 and all(type(edge) is int for edge in span)
        if not whole or not 0 <= span[0] < span[1] <= len(passage):
            raise DataError(
                f"{where} has {shown(span)}, but each entry must be [begin, end) in the {len(passage)} characters of "
                "the passage."
            )
    return tuple((begin, end) for begin, end in spans)


def _list(record: Any, key: str, where: str) -> list[Any]:
    value = record.get(key) if isinstance(record, Mapping) else None
    if not isinstance(value, list):
        has = listed(record) if isinstance(record, Mapping) else shown(record)
        raise DataError(
            f"{where} has no list {key!r}, which SQuAD's layout needs: data, paragraphs, qas. It has: {has}. Other "
            "files of questions are .jsonl, one object with passage, question and answers on each line."
        )
    return value


def _text(record: Any, key: str, where: str) -> str:
    value = record.get(key) if isinstance(record, Mapping) else None
    if not isinstance(value, str):
        raise DataError(f"{where}: {key!r} is {shown(value)}, but must be a text.")
    check_encodable(value, f"{where}: {key!r}")
    return value


def _warn(path: Path, found: Counter[str]) -> None:
    """Log how many answers did not match; once, since training reads its files several times."""
    parts = [
        f"{found[kind]} answers {text}"
        for kind, text in (("moved", "were moved to the nearest place of their text"), ("lost", "were left out"))
        if found[kind]
    ]
    parts += [f"{found['skipped']} questions were skipped since no answer was left"] if found["skipped"] else []
    if parts:
        _log(f"{path}: answers that are not where the file says: {', '.join(parts)}")


@cache
def _log(message: str) -> None:
    logging.getLogger("saccade").warning(message)
