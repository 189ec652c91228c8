"""Minimum Bayes risk decoding: of many sampled answers, prefer the one that the others agree with most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from saccade.batch import EOS
from saccade.search.history import Hypothesis

__all__ = ["by_consensus"]


def by_consensus(found: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Rank samples by their mean unigram F1 with all samples, which becomes their score; each answer once.

        score(y) = 1/n Σ_i F1(y, y_i)        an estimate of the expected F1 of y

    F1 compares bags of tokens without the end. A mode of the model may be unlike all other likely answers; this finds
    what they have in common.
    Paper: Kumar and Byrne 2004; with samples: Eikema and Aziz 2020, arXiv:2005.10283.
    """
    counts = Counter(tuple(one.tokens) for one in found)
    first = {tuple(one.tokens): one for one in reversed(found)}
    answers = list(counts)  # in the order of the samples, so equal scores keep it
    tokens = {token: place for place, token in enumerate({t for answer in answers for t in answer if t != EOS})}
    bags = np.zeros((len(answers), len(tokens)), np.int64)
    for row, answer in enumerate(answers):
        for token in answer:
            if token != EOS:
                bags[row, tokens[token]] += 1
    sizes = bags.sum(1)
    weights = np.array([counts[answer] for answer in answers])
    scores = []
    for bag, size in zip(bags, sizes, strict=True):
        common, both = np.minimum(bag, bags).sum(1), size + sizes
        f1 = np.where(both == 0, 1.0, 2 * common / np.maximum(both, 1))
        scores.append(float(f1 @ weights) / len(found))
    order = sorted(range(len(answers)), key=lambda place: -scores[place])
    return [replace(first[answers[place]], score=scores[place]) for place in order]
