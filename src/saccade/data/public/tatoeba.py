"""Tatoeba's short English-French sentences, and long ones joined from them: what the length figure is drawn with.

Bahdanau et al. 2015 train on sentences of up to 30 words and test on longer ones. Tatoeba's have six words on average,
so longer ones are made by putting several, drawn at random, one after another on both sides.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from saccade.data.example import Example
from saccade.data.text import find_file, numbered, shorten
from saccade.data.write import write_pairs
from saccade.errors import DataError

__all__ = ["BANDS", "LONGEST", "convert_tatoeba", "joined", "read_tatoeba"]

Pair = tuple[str, str]

LONGEST = 30
"""Words of the longest training sentence, on either side."""
BANDS = tuple((low, low + 9) for low in range(1, 71, 10))
"""Lengths of the English side that the test has sentences of."""
_PER_BAND = 200
_HELD_OUT_OF = 60
"""One English sentence of so many is held out, where the files do not say which."""


def convert_tatoeba(origin: Path, out: Path) -> list[Path]:
    """Write train, valid and test; the test is as long as BANDS, twice the length that was trained on."""
    train, held_out = read_tatoeba(origin)
    valid, test = held_out[::2], held_out[1::2]
    rng = random.Random(1)
    short = [pair for pair in train if _length(pair) <= LONGEST]
    parts = {
        "train": [*short, *joined(short, len(short), (5, LONGEST), rng)],
        "valid": [*valid, *joined(valid, len(valid), (5, LONGEST), rng)],
        "test": [pair for low, high in BANDS for pair in _of_band(test, low, high, rng)],
    }
    rng.shuffle(parts["train"])
    return [path for name, pairs in parts.items() for path in write_pairs(_examples(pairs), out, name)]


def read_tatoeba(origin: Path) -> tuple[list[Pair], list[Pair]]:
    """Training pairs and those held out, from fra.txt, or from {train,valid}.en-fr.tsv where somebody split it."""
    whole = find_file(origin / "fra.txt")
    if not whole.exists():
        return tuple(_pairs(find_file(origin / f"{split}.en-fr.tsv")) for split in ("train", "valid"))  # type: ignore[return-value]
    pairs = list(dict.fromkeys(_pairs(whole)))
    held_out = [pair for pair in pairs if _held_out(pair[0])]
    english, french = {pair[0] for pair in held_out}, {pair[1] for pair in held_out}
    # several translations of a sentence stand on several lines: neither side of a test may have been trained on
    train = [pair for pair in pairs if pair[0] not in english and pair[1] not in french]
    random.Random(1).shuffle(held_out)  # the file goes from short to long
    return train, held_out


def joined(pairs: Sequence[Pair], count: int, lengths: tuple[int, int], rng: random.Random) -> Iterator[Pair]:
    """Sentences of random pairs put one after another, no longer than `lengths` on either side.

    The length that each strives for is drawn evenly from `lengths`, so that long ones are as common as short ones.
    """
    low, high = lengths
    for _ in range(count):
        wanted = rng.randint(low, high)
        made = rng.choice(pairs)
        while _length(made) < wanted:
            added = rng.choice(pairs)
            longer = f"{made[0]} {added[0]}", f"{made[1]} {added[1]}"
            if _length(longer) > high:
                break
            made = longer
        if _length(made) <= high:
            yield made


def _of_band(pairs: Sequence[Pair], low: int, high: int, rng: random.Random) -> list[Pair]:
    """Test sentences whose English side has so many words: whole ones where there are enough, else joined ones."""
    found = [pair for pair in pairs if low <= len(pair[0].split()) <= high][:_PER_BAND]
    tries = 0
    while len(found) < _PER_BAND and tries < 100 * _PER_BAND:
        tries += 1
        made = _grown(pairs, rng.randint(low, high), rng)
        if low <= len(made[0].split()) <= high:
            found.append(made)
    if not found:
        raise DataError(f"there are too few sentences held out to make any of {low} to {high} words.")
    return found


def _grown(pairs: Sequence[Pair], wanted: int, rng: random.Random) -> Pair:
    """Sentences joined until the English side has the words that are wanted, or more."""
    made = rng.choice(pairs)
    while len(made[0].split()) < wanted:
        added = rng.choice(pairs)
        made = f"{made[0]} {added[0]}", f"{made[1]} {added[1]}"
    return made


def _pairs(path: Path) -> list[Pair]:
    """English and French; what stands in a third column, the attribution, is left out."""
    found = []
    for number, line in numbered(path):
        cells = line.split("\t")
        if len(cells) < 2:
            raise DataError(f"{path}, line {number} has no tab between two sentences: {shorten(line)}.")
        found.append((cells[0], cells[1]))
    if not found:
        raise DataError(f"{path} is empty.")
    return found


def _held_out(sentence: str) -> bool:
    return int.from_bytes(hashlib.sha256(sentence.encode()).digest()[:4], "big") % _HELD_OUT_OF == 0


def _length(pair: Pair) -> int:
    return max(len(side.split()) for side in pair)


def _examples(pairs: Sequence[Pair]) -> Iterator[Example]:
    return (Example(source=source, target=target) for source, target in pairs)
