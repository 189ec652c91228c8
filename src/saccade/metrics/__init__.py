"""Metrics: how good answers are, how sure that is, and whether attention looks where it should."""

from saccade.metrics.alignment import (
    AlignmentScore,
    ShiftReport,
    align,
    alignment_error_rate,
    alignment_statistics,
    best_shift,
    error_rate,
)
from saccade.metrics.attention import AttentionStatistics, HeadStatistics, attention_statistics, complaints
from saccade.metrics.bootstrap import Comparison, Interval, interval, paired, sums_interval
from saccade.metrics.classification import (
    ClassificationScore,
    ClassScore,
    accuracy,
    classification_score,
    classification_statistics,
    macro_f1,
)
from saccade.metrics.lengths import LengthBin, equal_bounds, round_bounds, score_by_length
from saccade.metrics.perplexity import Perplexity, perplexities
from saccade.metrics.text import TEXT_METRICS, TextScore, TextStatistics, bleu, chrf, ter, text_statistics

__all__ = [
    "TEXT_METRICS",
    "AlignmentScore",
    "AttentionStatistics",
    "ClassScore",
    "ClassificationScore",
    "Comparison",
    "HeadStatistics",
    "Interval",
    "LengthBin",
    "Perplexity",
    "ShiftReport",
    "TextScore",
    "TextStatistics",
    "accuracy",
    "align",
    "alignment_error_rate",
    "alignment_statistics",
    "attention_statistics",
    "best_shift",
    "bleu",
    "chrf",
    "classification_score",
    "classification_statistics",
    "complaints",
    "equal_bounds",
    "error_rate",
    "interval",
    "macro_f1",
    "paired",
    "perplexities",
    "round_bounds",
    "score_by_length",
    "sums_interval",
    "ter",
    "text_statistics",
]
