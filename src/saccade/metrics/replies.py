"""Replies: how varied they are, which of their slots are right, and at which turns attention points for them.

A slot is a word of the reference that a gold link joins to the history, such as a name that was said before.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np
from numpy.typing import ArrayLike

from saccade.errors import ConfigError, DataError, ShapeError
from saccade.metrics.ngrams import caption_words, ngrams
from saccade.metrics.questions import word_f1
from saccade.metrics.text import TextStatistics

__all__ = ["distinct", "dull_share", "reply_f1", "reply_length", "slots_written", "turns_pointed_at"]

_COMMONEST = 10
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def distinct(replies: Sequence[str], size: int) -> float:
    """Compute distinct-n: the different n-grams of `size` words, divided by all of them.

    It falls with the number of replies, so compare it only at equal numbers.
    Paper: Li et al. 2016, arXiv:1510.03055.
    """
    if size < 1:
        raise ConfigError(f"size is {size}, but must be 1 or more: 1 for words, 2 for bigrams.")
    counts: Counter[tuple[str, ...]] = Counter()
    for reply in _checked(replies):
        counts += ngrams(caption_words(reply), size)
    return len(counts) / counts.total() if counts else 0.0


def dull_share(replies: Sequence[str], commonest: int = _COMMONEST) -> float:
    """Compute the share of replies that are one of the commonest, compared in lower case and without punctuation.

    A reply that occurs once is never counted.
    """
    counts = Counter(tuple(caption_words(reply)) for reply in _checked(replies))
    return sum(count for _, count in counts.most_common(commonest) if count > 1) / len(replies)


def reply_f1(replies: Sequence[str], references: Sequence[str]) -> TextStatistics:
    """Compute the mean F1 of words with the reference, from 0 to 100, by the rules of ParlAI.

    Words are in lower case, without articles; punctuation becomes a space. The rules of SQuAD drop punctuation: by
    them "don't" is the word dont, but "don ' t", as models of words write it, is don and t.
    """
    if len(replies) != len(references):
        raise DataError(f"there are {len(replies)} replies, but {len(references)} references. Give one each.")
    pairs = zip(map(_plain_words, _checked(replies)), map(_plain_words, references), strict=True)
    rows = [(100 * word_f1(*pair), 1) for pair in pairs]
    return TextStatistics(np.array(rows, np.float64), lambda sums: float(sums[0] / sums[1]), "f1|parlai")


def _plain_words(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def reply_length(replies: Sequence[str]) -> TextStatistics:
    """Compute the mean number of words."""
    rows = [(len(caption_words(reply)), 1) for reply in _checked(replies)]
    counts = np.array(rows, np.float64)
    return TextStatistics(counts, lambda sums: float(sums[0] / sums[1]), "length|tok:caption-words")


def slots_written(reply: str, reference: str, slots: Iterable[int]) -> dict[int, bool]:
    """Return for each slot, a word number of the reference, whether the reply has that word.

    A word counts as often as the reply has it.
    """
    wanted, written = reference.split(), Counter(reply.split())
    found = {}
    for slot in sorted(slots):
        if not 0 <= slot < len(wanted):
            raise DataError(f"slot {slot} is outside the {len(wanted)} words of the reference.")
        found[slot] = written[wanted[slot]] > 0
        written[wanted[slot]] -= 1
    return found


def turns_pointed_at(matrix: ArrayLike, gold: Mapping[int, Set[int]]) -> dict[int, bool]:
    """Return for each word with gold turns whether most of its attention among all turns is on one of them.

    matrix: the attention (words, turns) of `AttentionMaps.by_turn`. gold: the turns of some words, by word number.
    """
    weights = np.asarray(matrix, np.float64)
    if weights.ndim != 2 or any(not 0 <= word < len(weights) for word in gold):
        raise ShapeError(f"the attention is {weights.shape}, but must be (words, turns), with a row for each word.")
    return {word: int(weights[word].argmax()) in turns for word, turns in gold.items()}


def _checked(replies: Sequence[str]) -> Sequence[str]:
    if isinstance(replies, str):
        raise DataError("the replies are one text, but must be a list. Write [text] for a single one.")
    if not replies:
        raise DataError("there are 0 replies to measure. Pass at least one.")
    return replies
