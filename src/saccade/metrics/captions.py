"""Captions against several references for each image: BLEU, ROUGE-L, METEOR-lite and CIDEr-D.

All are functions of sums over images, so a bootstrap or a comparison adds up rows and does not read the text again.
`caption_words` tokenizes: lower-case, without punctuation, close to the COCO caption evaluation. Scores are from 0 to
1, CIDEr-D's from 0 to 10, as in that evaluation; papers often give BLEU, ROUGE-L and METEOR times 100. A caption
without words scores 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ConfigError, DataError, lookup
from saccade.metrics.cider import DocumentFrequency, agreement, count_documents
from saccade.metrics.meteor import Matches, MeteorWeights, best_matches, meteor_formula
from saccade.metrics.ngrams import Ngram, caption_words, ngrams
from saccade.metrics.text import TextStatistics

__all__ = [
    "CAPTION_METRICS",
    "caption_bleu",
    "caption_statistics",
    "cider_d",
    "meteor_lite",
    "rouge_l",
]

Words = list[str]


def caption_statistics(
    metric: str, hypotheses: Sequence[str], references: Sequence[Sequence[str]], **options: Any
) -> TextStatistics:
    """Return the statistics of each image for a metric of CAPTION_METRICS; `options` are those of its function."""
    return lookup("caption metric", metric, CAPTION_METRICS)(hypotheses, references, **options)


def caption_bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    order: int = 4,
    brevity_penalty: bool = True,
) -> TextStatistics:
    """Compute corpus BLEU: the geometric mean of the precisions of 1- to `order`-grams, with a brevity penalty.

        BLEU = min(1, exp(1 − r / c)) · (p₁ · … · p_order)^(1 / order)

    Counts of an n-gram are clipped to its greatest count in any one reference. c: words of all captions, r: words of
    the references nearest to them in length, the shorter one in a tie. There is no smoothing: the score is 0 if no
    n-gram of some order matches. Without `brevity_penalty` the first factor is left out, as in some captioning papers.
    Paper: Papineni et al. 2002, "BLEU: a method for automatic evaluation of machine translation".
    """
    if order < 1:
        raise ConfigError(f"order is {order}, but must be 1 or more; 4 is usual.")

    def score(sums: NDArray[np.float64]) -> float:
        right, all_runs, (length, wanted) = sums[:order], sums[order:-2], sums[-2:].tolist()
        if not right.all():
            return 0.0
        mean = math.exp(np.log(right / all_runs).mean())
        return mean * math.exp(1 - wanted / length) if brevity_penalty and length < wanted else mean

    rows = [_bleu_row(words, others, order) for words, others in _cut(hypotheses, references)]
    penalty = "yes" if brevity_penalty else "no"
    return TextStatistics(_array(rows), score, f"caption-bleu|order:{order}|bp:{penalty}|smooth:none|{_CUT}")


def rouge_l(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, beta: float = 1.2) -> TextStatistics:
    """Compute ROUGE-L, an F-score of the longest common subsequence of words; the mean over images.

        P = common / words of the caption     R = common / words of the reference
        F = (1 + β²)·P·R / (R + β²·P)

    P and R are the greatest over all references and may come from different ones, as in the COCO caption evaluation.
    Paper: Lin 2004, "ROUGE: a package for automatic evaluation of summaries".
    """
    if not beta > 0:
        raise ConfigError(f"beta is {beta}, but must be above 0; 1.2 is usual for captions.")
    values = [_rouge(words, others, beta) for words, others in _cut(hypotheses, references)]
    return _mean(values, f"rouge-l|beta:{beta:g}|{_CUT}")


def meteor_lite(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    alpha: float = 0.9,
    beta: float = 3.0,
    gamma: float = 0.5,
) -> TextStatistics:
    """Compute METEOR without synonyms and paraphrases: exact and stem matches, with a penalty for fragmentation.

        F = P·R / (α·P + (1 − α)·R)     score = F · (1 − γ·(chunks / matches)^β)

    Each image uses its best-scoring reference; matches, lengths and chunks are summed over images before the formula.
    Even a perfect caption of m words has one chunk, so it scores 1 − γ / m^β, not 1. All matches have the same weight.
    Scores of the METEOR 1.5 program cannot be compared with these: it uses synonyms, paraphrases, function words and
    other weights.
    Paper: Banerjee and Lavie 2005, "METEOR: an automatic metric for MT evaluation with improved correlation with human
    judgments", which gives α, β and γ. Alignment as in Denkowski and Lavie 2011, "Meteor 1.3".
    """
    weights = MeteorWeights(alpha, beta, gamma).check()

    def score(sums: NDArray[np.float64]) -> float:
        return meteor_formula(Matches(*sums.tolist()), weights)

    rows = [best_matches(words, others, weights) for words, others in _cut(hypotheses, references)]
    signature = f"meteor-lite|stages:exact,porter|alpha:{alpha:g}|beta:{beta:g}|gamma:{gamma:g}|{_CUT}"
    return TextStatistics(_array(rows), score, signature)


def cider_d(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    frequency: DocumentFrequency | None = None,
    sigma: float = 6.0,
) -> TextStatistics:
    """Compute CIDEr-D: 10 times the mean clipped cosine of TF-IDF vectors, over images, references and n-gram orders.

        g[ngram] = count · log(images / images with it)
        10 · exp(−(words − words of the reference)² / 2σ²) · Σ min(g, g_reference) · g_reference / (|g| · |g_reference|)

    Document frequencies come from the evaluated references, or from `frequency`. A single image has every n-gram in all
    images, so without `frequency` its score is 0. Captions of fewer than four words cannot reach 10. A bootstrap keeps
    the document frequencies of the whole set.
    Paper: Vedantam et al. 2015, arXiv:1411.5726, section 7. Differs, as its authors' program does: g uses plain counts,
    not relative frequencies.
    """
    if not sigma > 0:
        raise ConfigError(f"sigma is {sigma}, but must be above 0; 6 is usual.")
    pairs = _cut(hypotheses, references)
    source = "given" if frequency else "references"
    known = frequency or count_documents([others for _, others in pairs])
    values = [agreement(words, others, known, sigma) for words, others in pairs]
    return _mean(values, f"cider-d|n:4|sigma:{sigma:g}|df:{source}|images:{known.images}|{_CUT}")


CAPTION_METRICS: dict[str, Callable[..., TextStatistics]] = {
    **{f"bleu{order}": partial(caption_bleu, order=order) for order in (1, 2, 3, 4)},
    "rouge_l": rouge_l,
    "meteor_lite": meteor_lite,
    "cider_d": cider_d,
}
"""Name -> function that returns its statistics."""

_CUT = "tok:caption-words"


def _bleu_row(words: Words, references: Sequence[Words], order: int) -> list[int]:
    """Return matching n-grams and all n-grams by order, words, and words of the reference nearest in length."""
    right, runs = [], []
    for size in range(1, order + 1):
        most: Counter[Ngram] = Counter()
        for reference in references:
            most |= ngrams(reference, size)
        mine = ngrams(words, size)
        right.append((mine & most).total())
        runs.append(mine.total())
    nearest = min((abs(len(reference) - len(words)), len(reference)) for reference in references)[1]
    return [*right, *runs, len(words), nearest]


def _rouge(words: Words, references: Sequence[Words], beta: float) -> float:
    precision = recall = 0.0
    for reference in references:
        common = _longest_common(words, reference)
        if common:
            precision = max(precision, common / len(words))
            recall = max(recall, common / len(reference))
    if not precision:
        return 0.0
    return (1 + beta**2) * precision * recall / (recall + beta**2 * precision)


def _longest_common(left: Words, right: Words) -> int:
    """Return the length of the longest common subsequence; keeps one row of the table at a time."""
    row = [0] * (len(right) + 1)
    for word in left:
        above_left = 0
        for column, other in enumerate(right, 1):
            above = row[column]
            row[column] = above_left + 1 if word == other else max(above, row[column - 1])
            above_left = above
    return row[-1]


def _mean(values: Sequence[float], signature: str) -> TextStatistics:
    """Return statistics of a mean over images: each row is the value of an image and 1."""

    def score(sums: NDArray[np.float64]) -> float:
        total, images = sums.tolist()
        return float(total / images) if images else 0.0

    return TextStatistics(_array([(value, 1.0) for value in values]), score, signature)


def _array(rows: Iterable[Sequence[float]]) -> NDArray[np.float64]:
    return np.array([tuple(row) for row in rows], dtype=np.float64)


def _cut(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[tuple[Words, list[Words]]]:
    _check(hypotheses, references)
    return [
        (caption_words(text), [caption_words(other) for other in others])
        for text, others in zip(hypotheses, references, strict=True)
    ]


def _check(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    for name, given in (("captions", hypotheses), ("references", references)):
        if isinstance(given, str):
            raise DataError(f"the {name} are one text, but must be a list with an entry for each image.")
    if len(hypotheses) != len(references):
        raise DataError(
            f"there are {len(hypotheses)} captions for the references of {len(references)} images. Pass one for each."
        )
    if not hypotheses:
        raise DataError("there are 0 captions to compare. Pass at least one, with its references.")
    for image, (text, others) in enumerate(zip(hypotheses, references, strict=True)):
        if isinstance(others, str):
            raise DataError(f"the references of image {image} are one text. Write [text] for a single one.")
        if not others:
            raise DataError(f"image {image} has 0 references. Leave it out, or give it at least one.")
        for name, line in [("caption", text), *(("a reference", other) for other in others)]:
            if not isinstance(line, str):
                raise DataError(f"{name} of image {image} is {line!r}, but must be text; '' if it is empty.")
