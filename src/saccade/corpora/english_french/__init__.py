"""english-french: a bilingual grammar that generates English and French together, with the true word alignment.

    the agreement was signed in August 1992 .
    l' accord a été signé en août 1992 .

Words are separated by spaces, punctuation and elided words are separate words, and sentences begin in lower case. Read
`words` first, then `describe` (nouns) and `groups` (verbs). Then read the writers, which make the random choices: noun
phrases, adverbials, predicates, clauses, sentences.
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
    """Generate sentence pairs: source English, target French, links gold. `size` None never ends.

    Lengths count English words, final punctuation included, and are uniformly distributed. The same arguments give the
    same pairs, and a larger size only appends to them. Splits share no sentence in either language, whatever the seeds
    and lengths. An English sentence has only one translation.
    """
    return stream("english-french", _writer, split, size, seed, min_length, max_length)


def _writer(dice: Dice) -> Callable[[int], Pair]:
    return SentenceWriter(dice)
