"""Passages: a question and its passage as a reader of questions reads them, a long passage in windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from saccade.batch import EOS, SPECIALS
from saccade.data.tokenizer import Offsets, Tokenizer, words_of
from saccade.errors import DataError
from saccade.prediction import Side, side
from saccade.tasks.spans import Span

__all__ = ["Asked", "Window", "windows_of"]


Compare = Callable[[Sequence[str], Sequence[str]], Any]


class Asked(NamedTuple):
    """A question on a passage."""

    question: str
    passage: str

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Asked:
        """Return an input of the modality QUESTION; raise DataError if one of its texts is empty."""
        for name in ("question", "passage"):
            if not given[name].strip():
                raise DataError(f"the {name} is empty. Give a question and the passage that answers it.")
        return cls(given["question"], given["passage"])

    @property
    def joined(self) -> str:
        """Both as one text, for models with one source."""
        return f"{self.question} {_BETWEEN} {self.passage}"


_BETWEEN = "|"


@dataclass(frozen=True)
class Read:
    """A text, or some tokens of it with their words, as the model reads it; offsets are those in the text."""

    text: str
    words: list[str]
    tokens: list[int]
    pieces: list[str]
    word_of: list[int]
    offsets: Offsets

    @classmethod
    def of(cls, text: str, tokenizer: Tokenizer) -> Read:
        """Encode a text."""
        encoded, (offsets,) = tokenizer.encode(text), tokenizer.offsets([text])
        return cls(text, words_of(text), encoded.tokens, tokenizer.pieces(encoded.tokens), encoded.words, offsets)

    def side(self) -> Side:
        """Return the tokens and words for attention maps."""
        return side(self.pieces, self.words, self.word_of, SPECIALS[EOS])

    def part(self, begin: int, end: int) -> Read:
        """Return some of the tokens."""
        own = self.word_of[begin:end]
        words = self.words[own[0] : own[-1] + 1] if own else []
        cut = slice(begin, end)
        numbers = [word - own[0] for word in own]
        return Read(self.text, words, self.tokens[cut], self.pieces[cut], numbers, self.offsets[cut])

    @property
    def spelled(self) -> list[str]:
        """The text of each token."""
        return [self.text[begin:end] for begin, end in self.offsets]


@dataclass(frozen=True)
class Window:
    """A question with a passage or a part of it, which the model reads at once.

    number: that of the question among the inputs. matches: see `question_features`; None if the model sees none.
    """

    number: int
    question: Read
    passage: Read
    matches: Any

    @property
    def size(self) -> int:
        """Tokens of the passage; the end token after them stands for "no answer"."""
        return len(self.passage.tokens)

    def characters(self, span: Span) -> tuple[int, int] | None:
        """Return the characters of the whole passage that are an answer; None for no answer."""
        if span.first is None or span.last is None:
            return None
        return self.passage.offsets[span.first][0], self.passage.offsets[span.last][1]

    def target(self, span: Span) -> Side:
        """Return the side of an answer: its first and its last word, or twice the end for no answer."""
        if span.first is None or span.last is None:
            return Side([SPECIALS[EOS]] * 2, [], [0, 0])
        words = [self.passage.pieces[place] for place in (span.first, span.last)]
        return Side(words, words, [0, 1])

    def sides(self, target: Side) -> dict[str, Side]:
        """Return all sides of the attention to and from an answer."""
        whole = Side([_WHOLE], [_WHOLE], [0])
        return {"source": self.passage.side(), "question": self.question.side(), "target": target, "summary": whole}


_WHOLE = "the question"
"""The single row of attention whose query is the whole question."""


def windows_of(number: int, asked: Asked, tokenizer: Tokenizer, size: int, compare: Compare | None) -> list[Window]:
    """Return the windows of `size` tokens of a passage, which overlap by half; `compare` returns its matches."""
    question, passage = Read.of(asked.question, tokenizer), Read.of(asked.passage, tokenizer)
    found = None if compare is None else compare(passage.spelled, question.spelled)
    if len(passage.tokens) <= size:
        return [Window(number, question, passage, found)]
    starts = range(0, len(passage.tokens) - size // 2, max(size // 2, 1))
    cuts = [(begin, min(begin + size, len(passage.tokens))) for begin in starts]
    parts = [None if found is None else found[slice(*cut)] for cut in cuts]
    return [Window(number, question, passage.part(*cut), part) for cut, part in zip(cuts, parts, strict=True)]
