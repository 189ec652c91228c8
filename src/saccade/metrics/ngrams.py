"""Tokenization of captions, and n-gram counts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

__all__ = ["Ngram", "caption_words", "ngrams"]

Ngram = tuple[str, ...]

_MARKS = r"\s!-/:-@\[-`{-~¡§«·»¿\u0964\u0965\u2010-\u2027\u2030-\u205e\u3001-\u3003\u3008-\u3011！-／：-＠"
_LETTER = f"[^{_MARKS}]"
_WORD = re.compile(
    rf"{_LETTER}+(?=n't(?!{_LETTER}))"  # do|n't
    rf"|n't(?!{_LETTER})"
    rf"|(?<={_LETTER})'(?:s|m|d|re|ve|ll)(?!{_LETTER})"  # man|'s
    r"|(?<!\S)'(?:s|m|d|re|ve|ll)(?!\S)"  # the same in text that is tokenized already
    rf"|{_LETTER}+(?:(?:-|(?<=\d)[.,](?=\d)){_LETTER}+)*"  # t-shirt, 3.5
)


def caption_words(text: str) -> list[str]:
    """Split a caption into words: lower-cased, without punctuation.

    Close to the COCO caption evaluation, which tokenizes as the Penn Treebank does and drops punctuation: contractions
    are split ("a man's" -> a, man, 's; "isn't" -> is, n't), hyphens inside words and points inside numbers stay. It
    differs in rare characters: symbols such as $, & and / are dropped too.
    """
    return _WORD.findall(unicodedata.normalize("NFC", text.lower()).replace("’", "'"))


def ngrams(words: Sequence[str], size: int) -> Counter[Ngram]:
    """Count the n-grams of `size` words."""
    return Counter(tuple(words[start : start + size]) for start in range(len(words) - size + 1))
