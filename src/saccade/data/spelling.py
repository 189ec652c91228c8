"""Spelling: from the pieces of a vocabulary to the text they write, and where in it each of them is."""

import codecs
import functools
import re
from bisect import bisect_right
from collections.abc import Sequence

__all__ = ["shown", "spell_bytes", "text_of_bytes", "word_numbers"]

_WORD = re.compile(r"\S+")


def word_numbers(text: str, starts: Sequence[int]) -> list[int]:
    """For tokens that start at these places, the number of the word there; spaces belong to the word after them."""
    ends = [word.end() for word in _WORD.finditer(text)]
    last = max(len(ends) - 1, 0)
    return [min(bisect_right(ends, start), last) for start in starts]


def _alphabet() -> dict[str, int]:
    """The characters that byte-level tokens write bytes with: printable ones stand for themselves."""
    itself = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in itself]
    return {chr(byte): byte for byte in itself} | {chr(256 + place): byte for place, byte in enumerate(others)}


_BYTES = _alphabet()


@functools.lru_cache(1 << 16)
def _bytes(piece: str) -> bytes:
    return bytes(_BYTES[letter] for letter in piece)


def shown(piece: str, kind: str) -> str:
    """A piece as a person would write it, with a space before it as ▁."""
    if kind in ("bpe", "unigram"):
        piece = _bytes(piece).decode("utf-8", "replace")
    return piece.replace(" ", "▁") if kind != "word" else piece


@functools.lru_cache(1 << 16)
def _letters(piece: str) -> tuple[str, str] | None:
    """The spaces that a piece begins with and the rest of its text; None where it has only a part of some letter."""
    part = _bytes(piece)
    try:
        text = part.decode("utf-8")
    except UnicodeDecodeError:
        return None
    rest = text.lstrip(" ")
    return text[: len(text) - len(rest)], rest


def text_of_bytes(pieces: Sequence[str]) -> str:
    """The text alone, which is faster than `spell_bytes`."""
    return b"".join(map(_bytes, pieces)).decode("utf-8", "replace").removeprefix(" ")


def spell_bytes(pieces: Sequence[str]) -> tuple[str, list[int]]:
    """The text without the space that every sentence begins with, and where in it each token starts."""
    text, starts = "", list[int]()
    for piece in pieces:
        parts = _letters(piece)
        if parts is None:
            text, starts = _spell_bytes_of_letters(pieces)
            break
        text += parts[0]
        starts.append(len(text))
        text += parts[1]
    skipped = 1 if text.startswith(" ") else 0
    return text[skipped:], [max(start - skipped, 0) for start in starts]


def _spell_bytes_of_letters(pieces: Sequence[str]) -> tuple[str, list[int]]:
    """The same, space and all, where a letter may be spread over pieces."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text, starts = "", []
    for piece in pieces:
        part = _bytes(piece)
        rest = part.lstrip(b" ")
        text += decoder.decode(part[: len(part) - len(rest)])
        starts.append(len(text))  # a token inside a letter belongs to that letter
        text += decoder.decode(rest)
    return text + decoder.decode(b"", final=True), starts
