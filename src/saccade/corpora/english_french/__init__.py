"""english-french: a bilingual grammar that writes English and French together, with the true word alignment.

    the agreement was signed in August 1992 .
    l' accord a été signé en août 1992 .

Words are separated by spaces, punctuation and elided words stand alone, and sentences begin with a small letter. Read
`words` first, then `describe` (nouns), `groups` (verbs), and the writers that choose: noun phrases, adverbials,
predicates, clauses, sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from saccade.corpora.english_french.sentences import SentenceWriter
from saccade.corpora.english_french.words import Pair
from saccade.corpora.stream import Dice, stream
from saccade.data.example import Example

__all__ = ["english_french"]


def english_french(
    split: str, size: int | None, seed: int = 1, *, min_length: int = 3, max_length: int = 20
) -> Iterator[Example]:
    """Pairs of sentences: source English, target French, links gold. `size` None goes on forever.

    Lengths count English words, final punctuation included, and are evenly spread. The same arguments give the same
    pairs, and a larger size only adds to them. Splits share no sentence in either language, whatever the seeds and
    lengths, and an English sentence has one translation only.
    """
    return stream("english-french", _writer, split, size, seed, min_length, max_length)


def _writer(dice: Dice) -> Callable[[int], Pair]:
    return SentenceWriter(dice)
