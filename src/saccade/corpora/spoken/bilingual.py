"""bilingual: the English side of english-french as it is spoken, with its French translation and gold links.

Punctuation marks are not said, numbers are said in words, and 's belongs to the word before. Links are adjusted.
"""

from __future__ import annotations

from collections.abc import Iterator

from saccade.corpora.english_french import english_french
from saccade.corpora.spoken.numbers import MONTHS, ordinal, year
from saccade.corpora.stream import LONGEST, SHORTEST, split_of
from saccade.data.example import Example, Link, Links
from saccade.errors import DataError

__all__ = ["spoken_pairs", "spoken_words"]

_MARKS = frozenset(".,;!?:")
_PATIENCE = 20_000
"""Unusable sentences in a row, after which generation fails."""


def spoken_pairs(split: str, seed: int, low: int, high: int) -> Iterator[Example]:
    """Yield pairs without end: source is what is said, in lower case, of `low` to `high` words; target French.

    Sentences that differ in punctuation alone sound alike, so the spoken text decides the split once more.
    """
    written = min(LONGEST, max(high + 1, SHORTEST))  # with the mark at the end
    pairs = english_french(split, None, seed, min_length=min(max(low, SHORTEST), written), max_length=written)
    seen: set[str] | None = None if split == "train" else set()
    vain = 0
    for pair in pairs:
        if (vain := vain + 1) > _PATIENCE:
            raise DataError(f"spoken has too few {split} sentences of {low} to {high} words. Ask for longer ones.")
        assert pair.source is not None
        assert pair.links is not None
        said = spoken_words(pair.source.split())
        text = " ".join(word for word, _ in said)
        if not low <= len(said) <= high or split_of(text) != split or (seen is not None and text in seen):
            continue
        if seen is not None:
            seen.add(text)
        vain = 0
        sure, maybe = (_followed(links, said) for links in (pair.links.sure, pair.links.maybe))
        yield Example(source=text, target=pair.target, links=Links(sure, maybe - sure))


def spoken_words(written: list[str]) -> list[tuple[str, list[int]]]:
    """Return the spoken words of a sentence, each with the numbers of the written words that it stands for."""
    said: list[tuple[str, list[int]]] = []
    for number, word in enumerate(written):
        if word == "'s" and said:
            before, places = said.pop()
            said.append((f"{before}'s", [*places, number]))
        elif word.isdigit():
            following = written[number + 1].lower() if number + 1 < len(written) else ""
            words = ordinal(int(word)) if following in MONTHS else year(int(word))
            said += [(part, [number]) for part in words.split()]
        elif word not in _MARKS:
            said.append((word.lower(), [number]))
    return said


def _followed(links: frozenset[Link], said: list[tuple[str, list[int]]]) -> frozenset[Link]:
    return frozenset(
        (place, target) for place, (_, numbers) in enumerate(said) for source, target in links if source in numbers
    )
