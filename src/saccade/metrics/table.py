"""The table of metrics: title, better direction and unit of each. A new metric needs a row here."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["METRICS", "Metric"]


class Metric(NamedTuple):
    """Static description of a metric."""

    title: str
    """Name in tables and on axes of figures."""
    better: Literal["higher", "lower", "neither"] = "higher"
    unit: str = ""


METRICS: dict[str, Metric] = {
    "loss": Metric("loss", "lower", "nats per token"),
    "bleu": Metric("BLEU"),
    "chrf": Metric("chrF"),
    "ter": Metric("TER", "lower"),
    "aer": Metric("alignment error rate", "lower"),
    "perplexity": Metric("perplexity", "lower", "per token"),
    "perplexity_per_word": Metric("perplexity per word", "lower"),
    "bits_per_character": Metric("bits per character", "lower"),
    "accuracy": Metric("accuracy"),
    "macro_f1": Metric("macro F1"),
    "cider_d": Metric("CIDEr-D"),
    "bleu4": Metric("BLEU-4"),
    "rouge_l": Metric("ROUGE-L"),
    "meteor_lite": Metric("METEOR, without synonyms"),
    "rouge1": Metric("ROUGE-1 F1"),
    "rouge2": Metric("ROUGE-2 F1"),
    "rougeL": Metric("ROUGE-L F1"),
    "novel_words": Metric("new words", "neither", "share"),
    "novel_bigrams": Metric("new bigrams", "neither", "share"),
    "repeated_trigrams": Metric("repeated trigrams", "lower", "share"),
    "summary_length": Metric("summary length", "neither", "words"),
    "copied": Metric("copied tokens", "neither", "share"),
    "unknown_words": Metric("unknown words written"),
    "f1": Metric("F1"),
    "exact": Metric("exact match"),
    "valid": Metric("valid answers"),
    "area": Metric("area of the hull that is covered"),
    "tour_length": Metric("tour length / shortest", "lower"),
    "slots": Metric("slots written"),
    "wer": Metric("word error rate", "lower"),
    "cer": Metric("character error rate", "lower"),
    "time_error": Metric("error of word times", "lower", "ms"),
    "onset_error": Metric("median error of word onsets", "lower", "ms"),
    "distinct_1": Metric("distinct-1"),
    "distinct_2": Metric("distinct-2"),
    "dull": Metric("dull replies", "lower", "share"),
    "reply_length": Metric("reply length", "neither", "words"),
    "pointing": Metric("pointing accuracy"),
    "on_target": Metric("glimpses on the object from the third on", "higher", "share"),
    "own_class": Metric("weight of queries on their own class", "higher", "share"),
    "support": Metric("supporting sentences attended to", "higher", "share"),
    "support_precision": Metric("hops to supporting sentences", "higher", "share"),
    "nouns": Metric("nouns read back with color and place", "higher", "share"),
    "kid": Metric("kernel distance of features (KID)", "lower"),
    "fid": Metric("Fréchet distance of features (FID)", "lower"),
    "precision": Metric("precision of generated images", "higher", "share"),
    "recall": Metric("recall of real images", "higher", "share"),
    "coverage": Metric("classes drawn", "higher", "share"),
    "agreement": Metric("images of the class asked for", "higher", "share"),
    "rule": Metric("images that keep the rule", "higher", "share"),
    "judge_accuracy": Metric("accuracy of the judge on real images"),
    "mass_inside": Metric("attention inside the box"),
}
