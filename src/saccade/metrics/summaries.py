"""Summaries: ROUGE against one or several references, and what needs none (new words, repetitions, length).

All are functions of sums over summaries, so a bootstrap or a comparison adds up rows and does not read the text again.
ROUGE is computed by the package rouge-score, which the extra `metrics` installs. The others use `caption_words`:
lower-case, without punctuation.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.text import import_extra
from saccade.errors import ConfigError, DataError
from saccade.metrics.ngrams import caption_words, ngrams
from saccade.metrics.text import TextStatistics

__all__ = ["ROUGE", "novelty", "repeated_trigrams", "rouge", "summary_length"]

ROUGE = ("rouge1", "rouge2", "rougeL")
"""The metrics of `rouge`, by the names that rouge-score gives them."""
_CUT = "tok:caption-words"


def rouge(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, stemmer: bool = True
) -> dict[str, TextStatistics]:
    """Compute ROUGE-1, ROUGE-2 and ROUGE-L, F1 from 0 to 100; the mean over summaries.

        P = common / n-grams of the summary     R = common / n-grams of the reference     F1 = 2·P·R / (P + R)

    Common are n-grams of one and two words, and for ROUGE-L the words of the longest common subsequence. With several
    references each metric takes the one with the greatest F1. `stemmer`: words are compared by their Porter stems.
    ROUGE-L reads a summary as one sentence; it is not the ROUGE-Lsum of the CNN/DailyMail results. It is also not the
    `rouge_l` of captions, which weighs recall more and does not stem.
    Paper: Lin 2004, "ROUGE: a package for automatic evaluation of summaries".
    """
    _check(hypotheses, references, "references")
    for summary, texts in enumerate(references):
        if isinstance(texts, str) or not texts:
            fault = "are one text" if isinstance(texts, str) else "are none"
            raise DataError(f"the references of summary {summary} {fault}. Write [text] for a single one.")
    scorer = _scorer(stemmer)
    found = [scorer.score_multi(texts, text) for text, texts in zip(hypotheses, references, strict=True)]
    signature = f"stemmer:{'yes' if stemmer else 'no'}|references:best|rouge-score:{version('rouge-score')}"
    return {name: _mean([100 * scores[name].fmeasure for scores in found], f"{name}|f1|{signature}") for name in ROUGE}


def novelty(hypotheses: Sequence[str], sources: Sequence[str], *, size: int = 1) -> TextStatistics:
    """Compute the share of the summaries' n-grams of `size` words that their sources do not have, from 0 to 1."""
    _check(hypotheses, sources, "sources")
    if size < 1:
        raise ConfigError(f"size is {size}, but must be 1 or more: 1 for words, 2 for bigrams.")
    rows = []
    for text, source in zip(hypotheses, sources, strict=True):
        mine, known = ngrams(caption_words(text), size), ngrams(caption_words(source), size)
        rows.append((sum(count for ngram, count in mine.items() if ngram not in known), mine.total()))
    return _share(rows, f"novelty|n:{size}|{_CUT}")


def repeated_trigrams(hypotheses: Sequence[str]) -> TextStatistics:
    """Compute the share of trigrams that occurred earlier in the same summary, from 0 to 1."""
    _check(hypotheses)
    found = [ngrams(caption_words(text), 3) for text in hypotheses]
    return _share([(counts.total() - len(counts), counts.total()) for counts in found], f"repeated-trigrams|{_CUT}")


def summary_length(hypotheses: Sequence[str]) -> TextStatistics:
    """Compute the mean number of words."""
    _check(hypotheses)
    return _mean([len(caption_words(text)) for text in hypotheses], f"length|{_CUT}")


@cache
def _scorer(stemmer: bool) -> Any:
    """Import rouge-score when it is needed: its own imports take a second."""
    import_extra("rouge_score", "metrics", "ROUGE")
    module: Any = importlib.import_module("rouge_score.rouge_scorer")
    return module.RougeScorer(list(ROUGE), use_stemmer=stemmer)


def _mean(values: Sequence[float], signature: str) -> TextStatistics:
    """Return statistics of a mean: each row is the value of a summary and 1."""
    return _share([(value, 1) for value in values], signature)


def _share(rows: Iterable[tuple[float, float]], signature: str) -> TextStatistics:
    """Return statistics of a quotient of sums."""
    return TextStatistics(np.array([*rows], dtype=np.float64), _quotient, signature)


def _quotient(sums: NDArray[np.float64]) -> float:
    return float(sums[0] / sums[1]) if sums[1] else 0.0


def _check(hypotheses: Sequence[str], others: Sequence[Any] | None = None, name: str = "") -> None:
    for title, given in (("summaries", hypotheses), (name, others)):
        if isinstance(given, str):
            raise DataError(f"the {title} are one text, but must be a list. Write [text] for a single one.")
    if not hypotheses:
        raise DataError("there are 0 summaries to measure. Pass at least one.")
    if others is not None and len(hypotheses) != len(others):
        raise DataError(f"there are {len(hypotheses)} summaries for {len(others)} {name}. Pass one for each.")
