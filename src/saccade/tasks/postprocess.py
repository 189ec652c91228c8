"""Convert tokens to text, and map tokens to words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from saccade.batch import EOS, SPECIALS
from saccade.data.example import Example
from saccade.data.tokenizer import Encoded, Spelling, words_of
from saccade.prediction import Side, side

__all__ = ["read_side", "spelled", "texts_of", "written_side"]


def texts_of(examples: Iterable[Example], *sides: str) -> Iterator[str]:
    """Yield the texts of some sides, in the order of the examples; a missing one is empty."""
    for example in examples:
        for name in sides:
            yield getattr(example, name) or ""


def read_side(tokenizer: Spelling, text: str, encoded: Encoded) -> Side:
    """Return the side of an encoded text, with its end token."""
    return side(tokenizer.pieces(encoded.tokens), words_of(text), encoded.words, SPECIALS[EOS])


def written_side(tokenizer: Spelling, tokens: list[int], *, ends: bool) -> Side:
    """Return the side of generated tokens; `ends`: whether the model generated the end token."""
    return spelled(tokenizer, tokens, ends=ends)[1]


def spelled(tokenizer: Spelling, tokens: list[int], *, ends: bool, words: bool = True) -> tuple[str, Side]:
    """Return the text of generated tokens, and their side; without `words`, the side has tokens but no words."""
    text, encoded = tokenizer.spelled(tokens, words=words)
    pieces = tokenizer.pieces(encoded.tokens)
    end = SPECIALS[EOS] if ends else None
    if not words:
        return text, Side(pieces if end is None else [*pieces, end], [], [])
    return text, side(pieces, words_of(text), encoded.words, end)
