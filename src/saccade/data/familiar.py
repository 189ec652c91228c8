"""Familiar spellings: unknown words that the vocabulary has in another case or without a mark; a note of the others."""

from __future__ import annotations

from typing import NamedTuple

from saccade.batch import UNK
from saccade.data.tokenizer import Tokenizer

__all__ = ["Familiar", "familiar"]

_MARKS = ".,;:!?"
_SHOWN = 8
"""Maximum unknown words that a note lists."""


class Familiar(NamedTuple):
    """A text as the model reads it, and the words that are unknown to it."""

    text: str
    unknown: list[str]

    @property
    def notes(self) -> list[str]:
        """One note that names the unknown words; none if there are none."""
        if not self.unknown:
            return []
        more = f" and {len(self.unknown) - _SHOWN} more" if len(self.unknown) > _SHOWN else ""
        return [f"not in this model's vocabulary: {', '.join(self.unknown[:_SHOWN])}{more}"]


def familiar(tokenizer: Tokenizer, text: str, *, marks: bool = False) -> Familiar:
    """Spell the unknown words of a text in lower case or with a capital, where the vocabulary has them so.

    `marks`: whether to set marks apart, such as the period of "name.", if words are split only at spaces and the
    vocabulary has the mark. This changes the number of words.
    """
    (tokens,) = tokenizer.tokens([text])
    if UNK not in tokens:
        return Familiar(text, [])
    unknown: dict[str, None] = {}
    parts, done = [], 0
    for token, (begin, end) in zip(tokens, tokenizer.offsets([text])[0], strict=True):
        if token == UNK:
            word, end_marks = _apart(tokenizer, text[begin:end]) if marks else (text[begin:end], "")
            known = _known(tokenizer, word)
            unknown |= {} if known else {word: None}
            parts += [text[done:begin], " ".join([known or word, *end_marks])]
            done = end
    return Familiar("".join([*parts, text[done:]]), [*unknown])


def _apart(tokenizer: Tokenizer, word: str) -> tuple[str, str]:
    """Return a word without the marks at its end, and these; all of it if the vocabulary lacks one of them."""
    stem = word.rstrip(_MARKS)
    marks = word[len(stem) :]
    return (stem, marks) if stem and all(_known(tokenizer, mark) for mark in marks) else (word, "")


def _known(tokenizer: Tokenizer, word: str) -> str | None:
    """Return the word, in lower case or with a capital if need be, as the vocabulary has it; None if it has not."""
    for spelling in (word, word.lower(), word.capitalize()):
        (found,) = tokenizer.tokens([spelling])
        if len(found) == 1 and found[0] != UNK:
            return spelling
    return None
