"""Tatoeba's short English-French sentences, and longer ones joined from them, for the sentence-length figure.

Bahdanau et al. 2015 train on sentences of up to 30 words and test on longer ones. Tatoeba's have six words on average,
so longer ones are made by joining several random pairs on both sides.
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
"""Maximum words of a training sentence, on either side."""
BANDS = tuple((low, low + 9) for low in range(1, 71, 10))
"""Ranges of English sentence length in the test set."""
_PER_RANGE = 200
_HELD_OUT_OF = 60
"""One English sentence in this many is held out, if the files do not define a split."""


def convert_tatoeba(origin: Path, out: Path) -> list[Path]:
    """Write train, valid and test; the test covers BANDS, up to more than twice the training length."""
    train, held_out = read_tatoeba(origin)
    valid, test = held_out[::2], held_out[1::2]
    rng = random.Random(1)
    short = [pair for pair in train if _length(pair) <= LONGEST]
    parts = {
        "train": [*short, *joined(short, len(short), (5, LONGEST), rng)],
        "valid": [*valid, *joined(valid, len(valid), (5, LONGEST), rng)],
        "test": [pair for low, high in BANDS for pair in _in_range(test, low, high, rng)],
    }
    rng.shuffle(parts["train"])
    return [path for name, pairs in parts.items() for path in write_pairs(_examples(pairs), out, name)]


def read_tatoeba(origin: Path) -> tuple[list[Pair], list[Pair]]:
    """Read training and held-out pairs from fra.txt, or from {train,valid}.en-fr.tsv if it is already split."""
    whole = find_file(origin / "fra.txt")
    if not whole.exists():
        return tuple(_pairs(find_file(origin / f"{split}.en-fr.tsv")) for split in ("train", "valid"))  # type: ignore[return-value]
    pairs = list(dict.fromkeys(_pairs(whole)))
    held_out = [pair for pair in pairs if _held_out(pair[0])]
    english, french = {pair[0] for pair in held_out}, {pair[1] for pair in held_out}
    # translations of one sentence are on several lines: keep both sides of held-out pairs out of training
    train = [pair for pair in pairs if pair[0] not in english and pair[1] not in french]
    random.Random(1).shuffle(held_out)  # the file is sorted by length
    return train, held_out


def joined(pairs: Sequence[Pair], count: int, lengths: tuple[int, int], rng: random.Random) -> Iterator[Pair]:
    """Yield pairs joined from random pairs, with at most `lengths[1]` words on either side.

    The length to reach is drawn uniformly from `lengths`, so that long pairs are as common as short ones.
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


def _in_range(pairs: Sequence[Pair], low: int, high: int, rng: random.Random) -> list[Pair]:
    """Return test pairs with `low` to `high` English words: original ones first, then joined ones if too few."""
    found = [pair for pair in pairs if low <= len(pair[0].split()) <= high][:_PER_RANGE]
    tries = 0
    while len(found) < _PER_RANGE and tries < 100 * _PER_RANGE:
        tries += 1
        made = _grown(pairs, rng.randint(low, high), rng)
        if low <= len(made[0].split()) <= high:
            found.append(made)
    if not found:
        raise DataError(f"there are too few sentences held out to make any of {low} to {high} words.")
    return found


def _grown(pairs: Sequence[Pair], wanted: int, rng: random.Random) -> Pair:
    """Join random pairs until the English side has at least `wanted` words."""
    made = rng.choice(pairs)
    while len(made[0].split()) < wanted:
        added = rng.choice(pairs)
        made = f"{made[0]} {added[0]}", f"{made[1]} {added[1]}"
    return made


def _pairs(path: Path) -> list[Pair]:
    """Read English and French; ignore a third column, the attribution."""
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
