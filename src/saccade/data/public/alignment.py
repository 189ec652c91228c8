"""English-French text for learning alignments, tokenized like the gold alignments of the Hansards.

There, punctuation marks and the parts of hyphenated words are separate words, and French contractions are split: l'eau
is le eau, du is de le. Text that is tokenized otherwise would have other words to align.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

from saccade.data.example import Example
from saccade.data.formats import pairs
from saccade.data.public.hansards import read_hansards
from saccade.data.public.tatoeba import Pair, joined, read_tatoeba
from saccade.data.text import find_file
from saccade.data.write import write_pairs
from saccade.errors import DataError

__all__ = ["convert_alignment", "english_words", "french_words"]

_ABBREVIATIONS = r"(?:Mr|Mrs|Ms|Dr|St|M|MM|Mme|Mlle)\."
_TOKENS = re.compile(rf"{_ABBREVIATIONS}|\d+(?:[.,]\d+)*|\w+['’]?|'s|'re|'ve|'ll|'m|'d|[^\w\s]")
_NOT = {"can't": "can not", "won't": "will not", "shan't": "shall not"}
_SHORTENED = re.compile(r"\b(ca|wo|sha)n['’]t\b", re.IGNORECASE)
_ELIDED = re.compile(r"\b(lorsqu|puisqu|jusqu|quoiqu|qu|[cdjlmnst])['’]", re.IGNORECASE)
_GROWN = {"du": "de le", "des": "de les", "au": "à le", "aux": "à les"}
_JOINED_TO = 30


def convert_alignment(origin: Path, out: Path) -> list[Path]:
    """Write train, valid (both without links) and test, the gold standard, which is not used for training."""
    tatoeba, held_out = read_tatoeba(_folder(origin, "tatoeba", "tatoeba_en_fr"))
    captions = _folder(origin, "multi30k")
    rng = random.Random(1)
    train = [*tatoeba, *_captions(captions, "train")]
    # the gold sentences are twice as long as the training sentences
    train += list(joined(train, len(train) // 2, (12, _JOINED_TO), rng))
    rng.shuffle(train)
    valid = [*held_out, *_captions(captions, "val")]
    written = []
    for name, part in (("train", train), ("valid", valid)):
        written += write_pairs(_cut(part), out, name)
    return [*written, *write_pairs(_gold(_folder(origin, "hansards", "hansards_align")), out, "test")]


def english_words(text: str) -> str:
    """Tokenize English: punctuation apart, n't as not, the 's of it's apart."""
    text = _SHORTENED.sub(lambda match: _NOT[match[0].replace("’", "'").lower()], text.replace("’", "'"))
    text = re.sub(r"\bcannot\b", "can not", re.sub(r"n't\b", " not", text))
    text = re.sub(r"(?<=\w)'(?=(?:s|re|ve|ll|m|d)\b)", " '", text)
    return " ".join(_TOKENS.findall(text))


def french_words(text: str) -> str:
    """Tokenize French: l' as le, du as de le, and so on; l' always becomes le, also where it stands for la."""
    text = re.sub(r"\baujourd['’]hui\b", "aujourd' hui", text.replace("\u202f", " ").replace("\xa0", " "))
    text = _ELIDED.sub(lambda match: f"{match[1]}e ", text)
    return " ".join(_GROWN.get(word.lower(), word) for word in _TOKENS.findall(text))


def _cut(part: list[Pair]) -> Iterator[Example]:
    for english, french in part:
        made = english_words(english), french_words(french)
        if all(made):
            yield Example(source=made[0], target=made[1])


def _captions(folder: Path, split: str) -> list[Pair]:
    files = [find_file(folder / f"{split}.{side}") for side in ("en", "fr")]
    return [(example.source or "", example.target or "") for example in pairs(*files)]


def _gold(folder: Path) -> Iterator[Example]:
    """Return the gold standard, as published or as three parallel files."""
    if any(folder.glob("*.wa*")):
        return iter(read_hansards(folder))
    links, first = find_file(folder / "dev.align"), 0
    if not links.exists():
        links, first = find_file(folder / "dev.gold"), 1
    return pairs(find_file(folder / "dev.en"), find_file(folder / "dev.fr"), links, first_word=first)


def _folder(origin: Path, *names: str) -> Path:
    found = [origin / name for name in names if (origin / name).is_dir()]
    if not found:
        raise DataError(f"{origin} has no folder {names[0]}. It must hold multi30k, tatoeba and hansards.")
    return found[0]
