"""Extractive baselines: the first sentences of a text, and those nearest to its centroid.

A summarizer is worth its training if it does better than these, which need none.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from saccade.errors import ConfigError
from saccade.metrics.cider import DocumentFrequency
from saccade.metrics.ngrams import caption_words

__all__ = ["centroid", "lead", "split_sentences", "word_frequency"]

# possessive, and only at the first of several marks: 200,000 periods must not take quadratic time
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"')\]”’»]*+(?=\s)|[。！？]++[”’」』）]*+|\n\s*\n")
_SHORT = "al approx cf co corp dept dr e.g eq etc fig gen gov i.e inc jr ltd mr mrs ms nos prof rep sen sr st vs"
_ABBREVIATIONS = frozenset(_SHORT.split())
"""Words, without their final period, that seldom end a sentence."""
_NEAR = 40  # characters around a mark that are read


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences by three rules, which are simple and sometimes wrong.

    A mark of . ! ? … and its closing quotes end a sentence if a capital letter or a digit follows, perhaps after an
    opening quote or bracket. So does a single mark that stands alone, as in text that is split into tokens, unless a
    quote follows. A period after an abbreviation such as "Dr." or after a single letter does not. A full stop of
    Chinese or Japanese and an empty line always do.
    """
    found, start = [], 0
    for mark in _END.finditer(text):
        if _ends(text, mark.start(), mark.end()):
            found.append(text[start : mark.end()].strip())
            start = mark.end()
    return [sentence for sentence in (*found, text[start:].strip()) if sentence]


def lead(text: str, sentences: int = 3) -> str:
    """Return the first sentences of a text; news usually begins with what matters."""
    _check(sentences)
    return " ".join(split_sentences(text)[:sentences])


def centroid(text: str, frequency: DocumentFrequency | None = None, sentences: int = 1) -> str:
    """Return the sentences that are most like the whole text, in the order of the text.

        weight of a word = count · log(documents / documents with the word)
        score of a sentence = cosine(its weights, the weights of all sentences added up)

    `frequency` counts the words of many documents (`word_frequency`); without it a weight is the count. Equal scores:
    the earlier sentence.
    Paper: Radev et al. 2004, "Centroid-based summarization of multiple documents". Differs: it adds up the weights of
    the sentence's words instead of the cosine, and also rewards sentences for their place.
    """
    _check(sentences)
    found = split_sentences(text)
    vectors = [_weights(caption_words(sentence), frequency) for sentence in found]
    total: Counter[str] = Counter()
    for vector in vectors:
        total.update(vector)
    scores = [_cosine(vector, total) for vector in vectors]
    best = sorted(range(len(found)), key=lambda place: (-scores[place], place))[:sentences]
    return " ".join(found[place] for place in sorted(best))


def word_frequency(documents: Iterable[str]) -> DocumentFrequency:
    """Count in how many documents each word occurs."""
    words = [set(caption_words(text)) for text in documents]
    return DocumentFrequency(len(words), Counter((word,) for found in words for word in found))


def _ends(text: str, start: int, end: int) -> bool:
    """Return whether the mark from `start` to `end` ends a sentence."""
    if text[start] in "。！？\n":
        return True
    following = text[end : end + _NEAR].lstrip()
    opened = following.lstrip("\"'([“‘«¿¡").lstrip()
    alone = start == 0 or text[start - 1].isspace()
    if alone and end - start == 1 and following[:1] not in "\"'”’»)]":
        return True
    if not opened or not (opened[0].isupper() or opened[0].isdigit()):
        return False
    before = "" if alone else text[max(0, start - _NEAR) : start].split()[-1].lstrip("\"'([“‘«").lower()
    return text[start] != "." or not (before in _ABBREVIATIONS or (len(before) == 1 and before.isalpha()))


def _weights(words: list[str], frequency: DocumentFrequency | None) -> dict[str, float]:
    counts = Counter(words)
    return {word: count * (frequency.weight((word,)) if frequency else 1.0) for word, count in counts.items()}


def _cosine(left: Mapping[str, float], right: Mapping[str, float]) -> float:
    product = sum(weight * right[word] for word, weight in left.items())
    size = math.hypot(*left.values()) * math.hypot(*right.values())
    return product / size if size else 0.0


def _check(sentences: int) -> None:
    if sentences < 1:
        raise ConfigError(f"sentences is {sentences}, but must be 1 or more.")
