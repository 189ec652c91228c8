"""Findings of the papers and our goals, with verdicts computed from our numbers.

One rule gives all verdicts. The lead of a finding is the difference of our means in the direction that it claims. The
verdict is yes if the lead exceeds the noise, no if the opposite lead does, else inconclusive. The noise of a group is
the largest range over seeds (max - min) of any of its rows. If every row has one seed, the noise is unknown and the
verdict says "one seed". A goal is a number set in advance; it is reached or missed.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from plan import GROUPS

__all__ = ["UNMEASURED", "Reports", "finding_rows"]

UNMEASURED = "not measured yet"
Means = dict[str, float]
Reports = dict[str, dict[str, list[dict[str, Any]]]]


@dataclass(frozen=True)
class Finding:
    """A claim, the paper's numbers, and a function from our means to their text and the lead.

    needs: the rows of the group that the claim compares; without them it is not measured.
    """

    text: str
    paper: str
    group: str
    needs: tuple[str, ...]
    ours: Callable[[Means], tuple[str, float]]
    is_goal: bool = False
    short: str = ""
    """The finding, data and metric in the README's table; empty leaves it out there."""


def _rises(low: str, high: str) -> Callable[[Means], tuple[str, float]]:
    return lambda mean: (f"{mean[low]:.1f} → {mean[high]:.1f}", mean[high] - mean[low])


def _falls(high: str, low: str) -> Callable[[Means], tuple[str, float]]:
    return lambda mean: (f"{mean[high]:.1f} → {mean[low]:.1f}", mean[high] - mean[low])


def _at_least(row: str, goal: float) -> Callable[[Means], tuple[str, float]]:
    return lambda mean: (f"{mean[row]:.1f}", mean[row] - goal)


def _at_most(row: str, goal: float) -> Callable[[Means], tuple[str, float]]:
    return lambda mean: (f"{mean[row]:.1f}", goal - mean[row])


_RECURRENT = ("bahdanau", "luong-dot", "luong-general", "luong-concat", "luong-local-p")


def _every_attention(mean: Means) -> tuple[str, float]:
    found = [mean[row] for row in (*_RECURRENT, "gnmt", "transformer")]
    return f"without {mean['none']:.1f}, with attention {min(found):.1f}-{max(found):.1f}", min(found) - mean["none"]


def _transformer_leads(mean: Means) -> tuple[str, float]:
    best = max(_RECURRENT, key=lambda row: mean[row])
    return f"transformer {mean['transformer']:.1f}, {best} {mean[best]:.1f}", mean["transformer"] - mean[best]


def _within(mean: Means) -> tuple[str, float]:
    best = max(mean[row] for row in _RECURRENT)
    return f"{best:.1f} and {mean['transformer']:.1f}", 3 - (mean["transformer"] - best)


def _robust_to_length(mean: Means) -> tuple[str, float]:
    """Compare the BLEU lost beyond the training lengths: with attention it is less than with the fixed vector."""
    lost = {row: mean[f"{row}:near"] - mean[f"{row}:far"] for row in ("none", "bahdanau")}
    return (
        f"21-30 words: {mean['none:near']:.1f} without, {mean['bahdanau:near']:.1f} with attention; "
        f"51-60 words: {mean['none:far']:.1f} without, {mean['bahdanau:far']:.1f} with"
    ), lost["none"] - lost["bahdanau"]


def _aer(*rows: str) -> Callable[[Means], tuple[str, float]]:
    """Claim that the last of the rows has the lowest error rate."""

    def read(mean: Means) -> tuple[str, float]:
        shown = ", ".join(f"{row} {mean[row]:.2f}" for row in rows)
        return shown, min(mean[row] for row in rows[:-1]) - mean[rows[-1]]

    return read


def _time_to_35(mean: Means) -> tuple[str, float]:
    reached = {name.removesuffix(":35"): minutes for name, minutes in mean.items() if name.endswith(":35")}
    said = [f"{row} {'never' if at == float('inf') else f'after {at:.1f} minutes'}" for row, at in reached.items()]
    return f"35 BLEU on the validation data: {', '.join(said)}", 3 - min(reached.values())


FINDINGS = (
    Finding(
        "Attention beats one fixed vector",
        "Bahdanau et al. 2015, WMT'14 En-Fr: 17.8 → 26.8 BLEU",
        "multi30k-en-de",
        ("none", *_RECURRENT, "gnmt", "transformer"),
        _every_attention,
        short="attention beats a fixed vector (Multi30k En-De, BLEU)",
    ),
    Finding(
        "and the gap grows with sentence length",
        "Bahdanau et al. 2015, figure 2: beyond 20 words, BLEU falls much without attention, little with it",
        "lengths",
        ("none", "bahdanau"),
        _robust_to_length,
        short="attention helps long sentences more (Tatoeba En-Fr, BLEU)",
    ),
    Finding(
        "A local window (local-p) beats global attention (general)",
        "Luong et al. 2015, WMT'14 En-De: 17.3 → 19.0 BLEU",
        "multi30k-en-de",
        ("luong-general", "luong-local-p"),
        _rises("luong-general", "luong-local-p"),
    ),
    Finding(
        "The Transformer beats every recurrent model, English-German",
        "Vaswani et al. 2017, WMT'14: 27.3 (base), above all earlier models",
        "multi30k-en-de",
        (*_RECURRENT, "transformer"),
        _transformer_leads,
        short="the Transformer beats every recurrent model (Multi30k En-De, BLEU)",
    ),
    Finding(
        "and English-French",
        "Vaswani et al. 2017, WMT'14: 41.0 (big), above all earlier models",
        "multi30k-en-fr",
        (*_RECURRENT, "transformer"),
        _transformer_leads,
    ),
    Finding(
        "The Transformer has at least 39 BLEU, English-German",
        "our goal",
        "multi30k-en-de",
        ("transformer",),
        _at_least("transformer", 39),
        is_goal=True,
    ),
    Finding(
        "and at least 60, English-French",
        "our goal",
        "multi30k-en-fr",
        ("transformer",),
        _at_least("transformer", 60),
        is_goal=True,
    ),
    Finding(
        "and the best recurrent model is within 3 BLEU of it, English-German",
        "our goal",
        "multi30k-en-de",
        (*_RECURRENT, "transformer"),
        _within,
        is_goal=True,
    ),
    Finding(
        "An LSTM with attention over its past states (LSTMN) has a lower perplexity",
        "Cheng et al. 2016, Penn Treebank: perplexity 115 → 108",
        "ptb",
        ("lstm", "lstmn"),
        _falls("lstm", "lstmn"),
        short="the LSTMN beats the LSTM (Penn Treebank, perplexity)",
    ),
    Finding(
        "and a still lower one with three layers",
        "Cheng et al. 2016: 108 → 102",
        "ptb",
        ("lstmn", "lstmn-3"),
        _falls("lstmn", "lstmn-3"),
    ),
    Finding(
        "The LSTMN has a perplexity of at most 108",
        "our goal, the paper's",
        "ptb",
        ("lstmn",),
        _at_most("lstmn", 108),
        is_goal=True,
    ),
    Finding(
        "and is at least 5 below the LSTM",
        "our goal",
        "ptb",
        ("lstm", "lstmn"),
        lambda mean: (f"{mean['lstm'] - mean['lstmn']:.1f} below", mean["lstm"] - mean["lstmn"] - 5),
        is_goal=True,
    ),
    Finding(
        "and with three layers at most 102",
        "our goal, the paper's",
        "ptb",
        ("lstmn-3",),
        _at_most("lstmn-3", 102),
        is_goal=True,
    ),
    Finding(
        "The LSTMN classifies sentiment better than an LSTM, five classes",
        "Cheng et al. 2016, SST with GloVe: LSTMN 47.6 %",
        "sst-fine",
        ("lstm", "lstmn"),
        _rises("lstm", "lstmn"),
    ),
    Finding(
        "and two classes",
        "Cheng et al. 2016, SST with GloVe: LSTMN 86.3 %",
        "sst-binary",
        ("lstm", "lstmn"),
        _rises("lstm", "lstmn"),
    ),
    Finding(
        "Attention aligns words; a statistical aligner does it better",
        "Luong et al. 2015, Europarl En-De, error rate: local-p 0.36, Berkeley aligner 0.32",
        "alignment",
        ("additive", "general", "local-p", "eflomal"),
        _aer("additive", "general", "local-p", "eflomal"),
        short="attention aligns words, but a statistical aligner is better (Hansards, AER)",
    ),
    Finding(
        "A head trained to align (guided) does it better than attention without such training",
        "Garg et al. 2019 report the same for Transformers",
        "alignment",
        ("transformer", "guided"),
        _aer("transformer", "guided"),
    ),
    Finding(
        "35 BLEU in under three minutes of training",
        "our goal",
        "speed",
        ("luong-general",),
        _time_to_35,
        is_goal=True,
    ),
)


def means_of(reports: dict[str, list[dict[str, Any]]]) -> Means:
    """Return the mean over seeds of each row of a group, accuracies in percent, and further numbers for findings."""
    found: Means = {}
    for row, several in reports.items():
        found[row] = statistics.mean(_scores(several))
        bins = [{entry["high"]: entry["score"] for entry in report.get("by_length", [])} for report in several]
        if all(30 in lengths and 60 in lengths for lengths in bins):
            for name, high in (("near", 30), ("far", 60)):
                found[f"{row}:{name}"] = statistics.mean(lengths[high] for lengths in bins)
        reached = [e["seconds"] / 60 for e in several[0].get("learning", []) if e.get("bleu", 0) >= 35]
        found[f"{row}:35"] = min(reached, default=float("inf"))
    return found


def noise_of(reports: dict[str, list[dict[str, Any]]]) -> float | None:
    """Return the largest range over seeds of any row; None if every row has one seed."""
    apart = [max(_scores(several)) - min(_scores(several)) for several in reports.values() if len(several) > 1]
    return max(apart, default=None)


def _scores(several: list[dict[str, Any]]) -> list[float]:
    scale = 100 if several[0]["metric"] == "accuracy" else 1
    return [report["metrics"][report["metric"]] * scale for report in several]


def finding_rows(reports: Reports, *, short: bool = False) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table: finding, paper, ours, and the verdict; `short`: those of the README."""
    rows = []
    for finding in FINDINGS:
        if short and not finding.short:
            continue
        measured = reports[finding.group]
        if any(row not in measured for row in finding.needs):
            rows.append((finding.text, finding.paper, UNMEASURED, "–"))
            continue
        ours, lead = finding.ours(means_of(measured))
        if any(report["split"] == "valid" for row in finding.needs for report in measured[row]):
            ours += " (validation data)"
        if GROUPS[finding.group].timed:
            devices = {report["device"] for row in finding.needs for report in measured[row]}
            ours += f", on one {' and one '.join(sorted(devices))}"
        verdict = _reached(lead) if finding.is_goal else _verdict(lead, noise_of(measured))
        rows.append((finding.short if short else finding.text, finding.paper, ours, verdict))
    return rows


def _reached(lead: float) -> str:
    return "reached" if lead >= 0 else "missed"


def _verdict(lead: float, noise: float | None) -> str:
    if noise is not None and abs(lead) <= noise:
        return "inconclusive"
    return ("yes" if lead > 0 else "no") + (" (one seed)" if noise is None else "")
