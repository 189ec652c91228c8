"""Spelling: from tokens of a vocabulary to their text, and the offset of each token in it."""

import codecs
import functools
import re
from bisect import bisect_right
from collections.abc import Sequence

__all__ = ["shown", "spell_bytes", "text_of_bytes", "word_numbers"]

_WORD = re.compile(r"\S+")


def word_numbers(text: str, starts: Sequence[int]) -> list[int]:
    """Return the word number of each token from its start offset; spaces belong to the word after them."""
    ends = [word.end() for word in _WORD.finditer(text)]
    last = max(len(ends) - 1, 0)
    return [min(bisect_right(ends, start), last) for start in starts]


def _alphabet() -> dict[str, int]:
    """Map the characters of byte-level tokens to bytes; printable ones stand for themselves."""
    itself = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in itself]
    return {chr(byte): byte for byte in itself} | {chr(256 + place): byte for place, byte in enumerate(others)}


_BYTES = _alphabet()


@functools.lru_cache(1 << 16)
def _bytes(piece: str) -> bytes:
    return bytes(_BYTES[letter] for letter in piece)


def shown(piece: str, kind: str) -> str:
    """Make a token readable, with a space before it as ▁."""
    if kind in ("bpe", "unigram"):
        piece = _bytes(piece).decode("utf-8", "replace")
    return piece.replace(" ", "▁") if kind != "word" else piece


@functools.lru_cache(1 << 16)
def _split_spaces(piece: str) -> tuple[str, str] | None:
    """Split a subword into leading spaces and the rest; return None if it holds a part of a character."""
    part = _bytes(piece)
    try:
        text = part.decode("utf-8")
    except UnicodeDecodeError:
        return None
    rest = text.lstrip(" ")
    return text[: len(text) - len(rest)], rest


def text_of_bytes(pieces: Sequence[str]) -> str:
    """Return the text alone, which is faster than `spell_bytes`."""
    return b"".join(map(_bytes, pieces)).decode("utf-8", "replace").removeprefix(" ")


def spell_bytes(pieces: Sequence[str]) -> tuple[str, list[int]]:
    """Return the text without its leading space, and the offset at which each token starts."""
    text, starts = "", list[int]()
    for piece in pieces:
        parts = _split_spaces(piece)
        if parts is None:
            text, starts = _spell_incrementally(pieces)
            break
        text += parts[0]
        starts.append(len(text))
        text += parts[1]
    skipped = 1 if text.startswith(" ") else 0
    return text[skipped:], [max(start - skipped, 0) for start in starts]


def _spell_incrementally(pieces: Sequence[str]) -> tuple[str, list[int]]:
    """Spell as `spell_bytes` where a character may span several tokens, but keep the leading space."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text, starts = "", []
    for piece in pieces:
        part = _bytes(piece)
        rest = part.lstrip(b" ")
        text += decoder.decode(part[: len(part) - len(rest)])
        starts.append(len(text))  # a token that starts inside a character belongs to it
        text += decoder.decode(rest)
    return text + decoder.decode(b"", final=True), starts
