"""Metrics: quality of the output, confidence intervals and significance tests, and diagnostics of attention."""

from saccade.metrics.alignment import (
    AlignmentScore,
    ShiftReport,
    align,
    alignment_error_rate,
    alignment_statistics,
    best_shift,
    error_rate,
    link_statistics,
)
from saccade.metrics.attention import AttentionStatistics, HeadStatistics, attention_statistics, complaints
from saccade.metrics.bootstrap import Comparison, Interval, interval, paired, sums_interval
from saccade.metrics.captions import (
    CAPTION_METRICS,
    caption_bleu,
    caption_statistics,
    cider_d,
    meteor_lite,
    rouge_l,
)
from saccade.metrics.cider import DocumentFrequency, document_frequency
from saccade.metrics.classification import (
    ClassificationScore,
    ClassScore,
    accuracy,
    classification_score,
    classification_statistics,
    macro_f1,
)
from saccade.metrics.ctc_alignment import ctc_spans
from saccade.metrics.extractive import centroid, lead, split_sentences, word_frequency
from saccade.metrics.lengths import LengthBin, equal_bounds, round_bounds, score_by_length
from saccade.metrics.ngrams import caption_words
from saccade.metrics.orders import order_counts, order_ratio
from saccade.metrics.perplexity import Perplexity, perplexities
from saccade.metrics.pointing import (
    Box,
    PointingScore,
    mass_inside,
    pointing_accuracy,
    pointing_score,
    pointing_statistics,
)
from saccade.metrics.questions import answer_scores, normalized_answer
from saccade.metrics.recognition import Edits, edit_rate, edits, error_counts
from saccade.metrics.replies import distinct, dull_share, reply_f1, reply_length, slots_written, turns_pointed_at
from saccade.metrics.summaries import ROUGE, novelty, repeated_trigrams, rouge, summary_length
from saccade.metrics.table import METRICS, Metric
from saccade.metrics.text import TEXT_METRICS, TextScore, TextStatistics, bleu, chrf, ter, text_statistics
from saccade.metrics.word_edges import loudness, ordered, word_edges
from saccade.metrics.word_times import (
    course,
    joined_spans,
    median_onset,
    monotonic_path,
    onset_counts,
    pointing_counts,
    time_error,
    time_error_counts,
    word_spans,
)

__all__ = [
    "CAPTION_METRICS",
    "METRICS",
    "ROUGE",
    "TEXT_METRICS",
    "AlignmentScore",
    "AttentionStatistics",
    "Box",
    "ClassScore",
    "ClassificationScore",
    "Comparison",
    "DocumentFrequency",
    "Edits",
    "HeadStatistics",
    "Interval",
    "LengthBin",
    "Metric",
    "Perplexity",
    "PointingScore",
    "ShiftReport",
    "TextScore",
    "TextStatistics",
    "accuracy",
    "align",
    "alignment_error_rate",
    "alignment_statistics",
    "answer_scores",
    "attention_statistics",
    "best_shift",
    "bleu",
    "caption_bleu",
    "caption_statistics",
    "caption_words",
    "centroid",
    "chrf",
    "cider_d",
    "classification_score",
    "classification_statistics",
    "complaints",
    "course",
    "ctc_spans",
    "distinct",
    "document_frequency",
    "dull_share",
    "edit_rate",
    "edits",
    "equal_bounds",
    "error_counts",
    "error_rate",
    "interval",
    "joined_spans",
    "lead",
    "link_statistics",
    "loudness",
    "macro_f1",
    "mass_inside",
    "median_onset",
    "meteor_lite",
    "monotonic_path",
    "normalized_answer",
    "novelty",
    "onset_counts",
    "order_counts",
    "order_ratio",
    "ordered",
    "paired",
    "perplexities",
    "pointing_accuracy",
    "pointing_counts",
    "pointing_score",
    "pointing_statistics",
    "repeated_trigrams",
    "reply_f1",
    "reply_length",
    "rouge",
    "rouge_l",
    "round_bounds",
    "score_by_length",
    "slots_written",
    "split_sentences",
    "summary_length",
    "sums_interval",
    "ter",
    "text_statistics",
    "time_error",
    "time_error_counts",
    "turns_pointed_at",
    "word_edges",
    "word_frequency",
    "word_spans",
]
