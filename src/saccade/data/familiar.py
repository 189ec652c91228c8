"""Familiar spellings: words outside a vocabulary that it has in another case, and a note of those it lacks."""

from __future__ import annotations

from typing import NamedTuple

from saccade.batch import UNK
from saccade.data.tokenizer import Tokenizer

__all__ = ["Familiar", "familiar"]

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


def familiar(tokenizer: Tokenizer, text: str) -> Familiar:
    """Spell the unknown words of a text in lower case or with a capital, where the vocabulary has them so."""
    (tokens,) = tokenizer.tokens([text])
    if UNK not in tokens:
        return Familiar(text, [])
    unknown: dict[str, None] = {}
    parts, done = [], 0
    for token, (begin, end) in zip(tokens, tokenizer.offsets([text])[0], strict=True):
        if token == UNK:
            known = _other_case(tokenizer, text[begin:end])
            unknown |= {} if known else {text[begin:end]: None}
            parts += [text[done:begin], known or text[begin:end]]
            done = end
    return Familiar("".join([*parts, text[done:]]), [*unknown])


def _other_case(tokenizer: Tokenizer, word: str) -> str | None:
    for spelling in (word.lower(), word.capitalize()):
        (found,) = tokenizer.tokens([spelling])
        if len(found) == 1 and found[0] != UNK:
            return spelling
    return None
