"""Text against a reference: BLEU, chrF and TER, computed by sacrebleu.

All three are functions of sums over sentences. `text_statistics` gives the summands, (N, K), so a bootstrap or a score
by sentence length adds up rows and does not read the text again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from saccade.errors import ConfigError, DataError, lookup

__all__ = ["TEXT_METRICS", "TextScore", "TextStatistics", "bleu", "chrf", "ter", "text_statistics"]

TOKENIZERS = {name: name for name in ("13a", "char", "intl", "none", "zh")}
"""BLEU tokenizers of sacrebleu that need no download and no other package."""

Score = Callable[[NDArray[np.float64]], float]


@dataclass(frozen=True)
class TextScore:
    """A score and the signature of its settings. sacrebleu's scores are from 0 to 100 (TER may exceed it)."""

    value: float
    signature: str


@dataclass(frozen=True)
class TextStatistics:
    """Statistics of each sentence, text or captioned image, whose sum determines the corpus score.

    counts (N, K): one row for each. `score` turns summed rows (K,) into the score of the corpus they come from; a row
    may be counted any whole number of times.
    """

    counts: NDArray[np.float64]
    score: Score
    signature: str

    def total(self) -> TextScore:
        """Compute the score of the whole corpus."""
        return TextScore(self.score(self.counts.sum(0)), self.signature)


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
    effective_order: bool = False,
) -> TextScore:
    """Compute corpus BLEU with one reference for each sentence. Higher is better.

    `effective_order` counts only n-grams up to the length of the sentences. Without it, which is usual, a corpus in
    which no hypothesis has four words scores 0 even if it is perfect.
    Paper: Papineni et al. 2002; Post 2018, arXiv:1804.08771.
    """
    options = {"tokenize": tokenize, "lowercase": lowercase, "effective_order": effective_order}
    return text_statistics("bleu", hypotheses, references, **options).total()


def chrf(
    hypotheses: Sequence[str], references: Sequence[str], *, word_order: int = 0, lowercase: bool = False
) -> TextScore:
    """Compute corpus chrF: F₂ of character n-grams; `word_order=2` is chrF++. Higher is better. Paper: Popović 2015."""
    return text_statistics("chrf", hypotheses, references, word_order=word_order, lowercase=lowercase).total()


def ter(hypotheses: Sequence[str], references: Sequence[str], *, case_sensitive: bool = False) -> TextScore:
    """Compute translation edit rate: edits and block moves per 100 reference words, lower is better (Snover 2006)."""
    return text_statistics("ter", hypotheses, references, case_sensitive=case_sensitive).total()


def text_statistics(
    metric: str, hypotheses: Sequence[str], references: Sequence[str], **options: Any
) -> TextStatistics:
    """Return the statistics of each sentence for a metric of TEXT_METRICS; `options` are those of its function."""
    judge = lookup("text metric", metric, TEXT_METRICS)(**options)
    _check(hypotheses, references)
    rows = judge._extract_corpus_statistics(hypotheses, [references])
    return TextStatistics(np.array(rows, dtype=np.float64), _score(judge), str(judge.get_signature()))


def _score(judge: BLEU | CHRF | TER) -> Score:
    def score(sums: NDArray[np.float64]) -> float:
        # With one reference all statistics are counts; round them to integers so that sacrebleu's arithmetic is exact.
        counts = [round(value) for value in sums.tolist()]
        return float(judge._compute_score_from_stats(counts).score)

    return score


def _bleu(*, tokenize: str = "13a", lowercase: bool = False, effective_order: bool = False) -> BLEU:
    tokenize = lookup("BLEU tokenizer", tokenize, TOKENIZERS)
    # force=True: suppress sacrebleu's warning about tokenized input.
    return BLEU(tokenize=tokenize, lowercase=lowercase, effective_order=effective_order, force=True)


def _chrf(*, word_order: int = 0, lowercase: bool = False) -> CHRF:
    if word_order < 0:
        raise ConfigError(f"word_order is {word_order}, but must be 0 (chrF), 1 (chrF+) or 2 (chrF++).")
    return CHRF(word_order=word_order, lowercase=lowercase)


def _ter(*, case_sensitive: bool = False) -> TER:
    return TER(case_sensitive=case_sensitive)


TEXT_METRICS: dict[str, Callable[..., BLEU | CHRF | TER]] = {"bleu": _bleu, "chrf": _chrf, "ter": _ter}
"""Name -> function that returns sacrebleu's metric object."""


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    for name, lines in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(lines, str):
            raise DataError(f"{name} are one text, but must be a list of sentences. Write [text] for a single one.")
    if len(hypotheses) != len(references):
        raise DataError(
            f"there are {len(hypotheses)} hypotheses for {len(references)} references. Pass one reference for each."
        )
    if not hypotheses:
        raise DataError("there are 0 hypotheses and 0 references to compare. Pass at least one of each.")
    for name, lines in (("hypothesis", hypotheses), ("reference", references)):
        for row, line in enumerate(lines):
            if not isinstance(line, str):
                raise DataError(f"{name} {row} is {line!r}, but must be text. Use '' for an empty sentence.")
