"""What the papers found, our goals, and how our numbers are read beside them.

A verdict is made by one rule. What a finding says has a lead: how far our means lie on the side it names. It came out
where the lead is greater than the noise, and did not where the other side leads by as much; between the two the seeds
lie too far apart to tell. The noise of a group is the widest that the seeds of any of its rows lie apart; where every
row has one seed nothing is known of it, and the verdict says so. A goal is a number that was set before, and is reached
or not.
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
    """In words, the paper's numbers, and how ours are read: as text, and the lead.

    needs: the rows of the group without which there is nothing to say.
    """

    text: str
    paper: str
    group: str
    needs: tuple[str, ...]
    ours: Callable[[Means], tuple[str, float]]
    is_goal: bool = False


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
    found = [mean[row] for row in (*_RECURRENT, "transformer")]
    return f"{mean['none']:.1f} → {min(found):.1f} to {max(found):.1f}", min(found) - mean["none"]


def _transformer_leads(mean: Means) -> tuple[str, float]:
    best = max(_RECURRENT, key=lambda row: mean[row])
    return f"{mean['transformer']:.1f}, {best} {mean[best]:.1f}", mean["transformer"] - mean[best]


def _within(mean: Means) -> tuple[str, float]:
    best = max(mean[row] for row in _RECURRENT)
    return f"{best:.1f} and {mean['transformer']:.1f}", 3 - (mean["transformer"] - best)


def _holds(mean: Means) -> tuple[str, float]:
    """Beyond what was trained on, attention loses less than the fixed vector."""
    lost = {row: mean[f"{row}:near"] - mean[f"{row}:far"] for row in ("none", "bahdanau")}
    return (
        f"from 21-30 to 51-60 words: {mean['none:near']:.1f} → {mean['none:far']:.1f} without, "
        f"{mean['bahdanau:near']:.1f} → {mean['bahdanau:far']:.1f} with attention"
    ), lost["none"] - lost["bahdanau"]


def _aer(*rows: str) -> Callable[[Means], tuple[str, float]]:
    """The last of the rows has the lowest error rate."""

    def read(mean: Means) -> tuple[str, float]:
        shown = ", ".join(f"{row} {mean[row]:.2f}" for row in rows)
        return shown, min(mean[row] for row in rows[:-1]) - mean[rows[-1]]

    return read


def _soon(mean: Means) -> tuple[str, float]:
    reached = {name.removesuffix(":35"): minutes for name, minutes in mean.items() if name.endswith(":35")}
    said = [f"{row} {'never' if at == float('inf') else f'after {at:.1f} minutes'}" for row, at in reached.items()]
    return f"35 BLEU on the validation data: {', '.join(said)}", 3 - min(reached.values())


FINDINGS = (
    Finding(
        "Attention beats one fixed vector",
        "Bahdanau et al. 2015, WMT'14 En-Fr: 17.8 → 26.8 BLEU",
        "multi30k-en-de",
        ("none", *_RECURRENT, "transformer"),
        _every_attention,
    ),
    Finding(
        "and the more so the longer the sentence",
        "Bahdanau et al. 2015, figure 2: without attention quality falls from 20 words on, with it hardly",
        "lengths",
        ("none", "bahdanau"),
        _holds,
    ),
    Finding(
        "A local window (local-p) does better than looking everywhere (general)",
        "Luong et al. 2015, WMT'14 En-De: 17.3 → 19.0 BLEU",
        "multi30k-en-de",
        ("luong-general", "luong-local-p"),
        _rises("luong-general", "luong-local-p"),
    ),
    Finding(
        "The Transformer does better than every recurrent model, English-German",
        "Vaswani et al. 2017, WMT'14: 27.3 (base), above all before it",
        "multi30k-en-de",
        (*_RECURRENT, "transformer"),
        _transformer_leads,
    ),
    Finding(
        "and English-French",
        "Vaswani et al. 2017, WMT'14: 41.0 (big), above all before it",
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
        "An LSTM that looks back over its states (LSTMN) foresees words better",
        "Cheng et al. 2016, Penn Treebank: perplexity 115 → 108",
        "ptb",
        ("lstm", "lstmn"),
        _falls("lstm", "lstmn"),
    ),
    Finding(
        "and better still with three layers",
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
        "The LSTMN grades sentences better than an LSTM, five grades",
        "Cheng et al. 2016, SST with GloVe: LSTMN 47.6 %",
        "sst-fine",
        ("lstm", "lstmn"),
        _rises("lstm", "lstmn"),
    ),
    Finding(
        "and two",
        "Cheng et al. 2016, SST with GloVe: LSTMN 86.3 %",
        "sst-binary",
        ("lstm", "lstmn"),
        _rises("lstm", "lstmn"),
    ),
    Finding(
        "Attention aligns words, a statistical aligner better",
        "Luong et al. 2015, Europarl En-De, error rate: local-p 0.36, Berkeley aligner 0.32",
        "alignment",
        ("additive", "general", "local-p", "eflomal"),
        _aer("additive", "general", "local-p", "eflomal"),
    ),
    Finding(
        "A head that is taught to align does it better than the best of those that are not",
        "Garg et al. 2019 report the same for Transformers",
        "alignment",
        ("transformer", "guided"),
        _aer("transformer", "guided"),
    ),
    Finding(
        "Minutes are enough: 35 BLEU in under three",
        "our goal",
        "speed",
        ("luong-general",),
        _soon,
        is_goal=True,
    ),
)


def means_of(reports: dict[str, list[dict[str, Any]]]) -> Means:
    """The mean over seeds of each row of a group, percent where it is an accuracy; and what else findings ask for."""
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
    """How far apart the seeds of a row lie, at the widest; None where every row has one."""
    apart = [max(_scores(several)) - min(_scores(several)) for several in reports.values() if len(several) > 1]
    return max(apart, default=None)


def _scores(several: list[dict[str, Any]]) -> list[float]:
    scale = 100 if several[0]["metric"] == "accuracy" else 1
    return [report["metrics"][report["metric"]] * scale for report in several]


def finding_rows(reports: Reports) -> list[tuple[str, str, str, str]]:
    """Finding, paper, ours, and the verdict."""
    rows = []
    for finding in FINDINGS:
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
        verdict = _reached(lead) if finding.is_goal else _came_out(lead, noise_of(measured))
        rows.append((finding.text, finding.paper, ours, verdict))
    return rows


def _reached(lead: float) -> str:
    return "reached" if lead >= 0 else "missed"


def _came_out(lead: float, noise: float | None) -> str:
    if noise is not None and abs(lead) <= noise:
        return "too close to tell"
    return ("yes" if lead > 0 else "no") + (" (one seed)" if noise is None else "")
