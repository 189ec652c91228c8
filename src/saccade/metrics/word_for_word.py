"""The simplest translator, to compare a model with: each word by the word that it most often occurs with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

__all__ = ["word_for_word"]


def word_for_word(pairs: Iterable[tuple[str, str]], texts: Sequence[str]) -> list[str]:
    """Translate texts word by word, in their order, with a lexicon learned from sentence pairs.

    A word becomes the target word of the greatest Dice coefficient, 2 · both / (source + target), which counts the
    sentences that have them; an unknown word stays as it is.
    """
    wanted = {word for text in texts for word in text.split()}
    sources: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    both: dict[str, Counter[str]] = {}
    for source, target in pairs:
        written = {*target.split()}
        targets.update(written)
        for word in wanted.intersection(source.split()):
            sources[word] += 1
            both.setdefault(word, Counter()).update(written)
    lexicon = {
        word: max(found, key=lambda other: (found[other] / (sources[word] + targets[other]), other))
        for word, found in both.items()
        if found
    }
    return [" ".join(lexicon.get(word, word) for word in text.split()) for text in texts]
