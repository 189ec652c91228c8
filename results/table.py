"""Write docs/results.md and the README's table from what was measured; never by hand.

    python results/table.py

Reads the metrics.json files in this folder, those of --final runs without a tag, draws the groups' figures again, and
takes a group's remarks, on what did not come out and why, from results/GROUP/notes.md where there is one. What was not
measured is said to be so.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from figures import draw_group, every_report, reports_of
from plan import GROUPS, LOWER_IS_BETTER, Group

HERE = Path(__file__).parent
ROOT = HERE.parent
BEGIN, END = "<!-- results: made by results/table.py -->", "<!-- end of results -->"
UNMEASURED = "not measured yet"
Reports = dict[str, dict[str, list[dict[str, Any]]]]


@dataclass(frozen=True)
class Finding:
    """Something a paper found: in words, its numbers, and how ours are read.

    ours(means): our numbers as text, and whether they say the same; means are by "GROUP/ROW". needs: the rows without
    which there is nothing to say.
    """

    text: str
    paper: str
    group: str
    needs: tuple[str, ...]
    ours: Callable[[dict[str, float]], tuple[str, bool]]


def _beats(low: str, high: str, margin: float = 0.0) -> Callable[[dict[str, float]], tuple[str, bool]]:
    def read(mean: dict[str, float]) -> tuple[str, bool]:
        return f"{mean[low]:.1f} → {mean[high]:.1f}", mean[high] - mean[low] > margin

    return read


def _best(row: str, goal: float, metric: str) -> Callable[[dict[str, float]], tuple[str, bool]]:
    """At least the goal, and above every other row that is there."""

    def read(mean: dict[str, float]) -> tuple[str, bool]:
        others = [value for name, value in mean.items() if name != row and ":" not in name]
        return f"{metric} {mean[row]:.1f} (goal {goal:g})", mean[row] >= max([goal, *others])

    return read


def _below(row: str, other: str, goal: float, metric: str) -> Callable[[dict[str, float]], tuple[str, bool]]:
    """At most the goal, and below another row."""
    return lambda mean: (f"{metric} {mean[row]:.1f} (goal {goal:g})", mean[row] <= min(goal, mean[other]))


_RECURRENT = ("bahdanau", "luong-dot", "luong-general", "luong-concat", "luong-local-p")


def _every_attention(mean: dict[str, float]) -> tuple[str, bool]:
    found = [mean[row] for row in (*_RECURRENT, "transformer")]
    return f"{mean['none']:.1f} → {min(found):.1f} to {max(found):.1f}", min(found) > mean["none"]


def _within(mean: dict[str, float]) -> tuple[str, bool]:
    best = max(mean[row] for row in _RECURRENT)
    return f"{best:.1f} and {mean['transformer']:.1f}", mean["transformer"] - best <= 3


def _holds(mean: dict[str, float]) -> tuple[str, bool]:
    """Beyond what was trained on, attention loses less than the fixed vector."""
    with_it, without = mean["bahdanau:loss"], mean["none:loss"]
    return (
        f"from 21-30 to 51-60 words: {mean['none:near']:.1f} → {mean['none:far']:.1f} without, "
        f"{mean['bahdanau:near']:.1f} → {mean['bahdanau:far']:.1f} with attention"
    ), with_it < without and mean["bahdanau:far"] > mean["none:far"]


def _aer(*rows: str) -> Callable[[dict[str, float]], tuple[str, bool]]:
    def read(mean: dict[str, float]) -> tuple[str, bool]:
        shown = ", ".join(f"{row} {mean[row]:.2f}" for row in rows)
        return shown, mean[rows[-1]] < min(mean[row] for row in rows[:-1])

    return read


def _soon(mean: dict[str, float]) -> tuple[str, bool]:
    reached = {name.removesuffix(":35"): minutes for name, minutes in mean.items() if name.endswith(":35")}
    said = [f"{row} {'never' if at == float('inf') else f'after {at:.1f} minutes'}" for row, at in reached.items()]
    return f"35 BLEU on the validation data: {', '.join(said)}", max(reached.values()) < 3


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
        _beats("luong-general", "luong-local-p", margin=0.5),  # seeds lie that far apart
    ),
    Finding(
        "The Transformer does best, English-German",
        "Vaswani et al. 2017, WMT'14: 27.3 (base), above all before it",
        "multi30k-en-de",
        ("transformer",),
        _best("transformer", 39, "BLEU"),
    ),
    Finding(
        "and English-French",
        "Vaswani et al. 2017, WMT'14: 41.0 (big)",
        "multi30k-en-fr",
        ("transformer",),
        _best("transformer", 60, "BLEU"),
    ),
    Finding(
        "but recurrent attention is within 3 BLEU of it on little text",
        "our goal",
        "multi30k-en-de",
        (*_RECURRENT, "transformer"),
        _within,
    ),
    Finding(
        "An LSTM that looks back over its states (LSTMN) foresees words better",
        "Cheng et al. 2016, Penn Treebank: perplexity 115 → 108",
        "ptb",
        ("lstm", "lstmn"),
        lambda mean: (f"{mean['lstm']:.1f} → {mean['lstmn']:.1f}", mean["lstm"] - mean["lstmn"] >= 5),
    ),
    Finding(
        "one layer of it",
        "Cheng et al. 2016: 108",
        "ptb",
        ("lstm", "lstmn"),
        _below("lstmn", "lstm", 108, "perplexity"),
    ),
    Finding(
        "and three layers better still",
        "Cheng et al. 2016: 102",
        "ptb",
        ("lstmn", "lstmn-3"),
        _below("lstmn-3", "lstmn", 102, "perplexity"),
    ),
    Finding(
        "It grades sentences better than an LSTM, five grades",
        "Cheng et al. 2016, SST with GloVe: LSTMN 47.6 %",
        "sst-fine",
        ("lstm", "lstmn"),
        _beats("lstm", "lstmn"),
    ),
    Finding(
        "and two",
        "Cheng et al. 2016, SST with GloVe: LSTMN 86.3 %",
        "sst-binary",
        ("lstm", "lstmn"),
        _beats("lstm", "lstmn"),
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
    Finding("Minutes are enough", "our goal: 35 BLEU in under three", "speed", ("luong-general",), _soon),
)


def means_of(group: str, reports: Reports) -> dict[str, float]:
    """The mean over seeds of each row of a group; percent where it is an accuracy; and what figures need besides."""
    found: dict[str, float] = {}
    for row, several in reports[group].items():
        metric = several[0]["metric"]
        scale = 100 if metric == "accuracy" else 1
        found[row] = statistics.mean(report["metrics"][metric] for report in several) * scale
        bins = {entry["high"]: entry["score"] for entry in several[0].get("by_length", [])}
        if 30 in bins and 60 in bins:
            found |= {f"{row}:near": bins[30], f"{row}:far": bins[60], f"{row}:loss": bins[30] - bins[60]}
        reached = [e["seconds"] / 60 for e in several[0].get("learning", []) if e.get("bleu", 0) >= 35]
        found[f"{row}:35"] = min(reached, default=float("inf"))
    return found


def finding_rows(reports: Reports) -> list[tuple[str, str, str, str]]:
    """Finding, paper, ours, and whether it came out."""
    rows = []
    for finding in FINDINGS:
        if any(row not in reports[finding.group] for row in finding.needs):
            rows.append((finding.text, finding.paper, UNMEASURED, "–"))
            continue
        ours, same = finding.ours(means_of(finding.group, reports))
        rows.append((finding.text, finding.paper, ours, "yes" if same else "no"))
    return rows


def group_table(name: str, group: Group, reports: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Every row of a group: the mean over seeds with its spread, what else was measured, size and time."""
    if not reports:
        return [f"{UNMEASURED[0].upper()}{UNMEASURED[1:]}.", ""]
    labels = {row.name: row.label for row in group.rows}
    labels |= {row: several[0]["label"] for row, several in reports.items() if row not in labels}
    beside = [m for m in ("chrf", "macro_f1", "bits_per_character") if _all_have(m, reports)]
    better = "lower is better" if group.metric in LOWER_IS_BETTER else "higher is better"
    head = [f"| model | {group.metric} ({better}) |", *(f" {metric} |" for metric in beside)]
    lines = ["".join([*head, " seeds | parameters | minutes |"]), f"|---|---|{'---|' * len(beside)}---|---|---|"]
    for row, label in labels.items():
        several = reports.get(row)
        if several is None:
            lines.append(f"| {label} | {UNMEASURED} |{' |' * len(beside)} | | |")
            continue
        cells = [spread([report["metrics"][metric] for report in several]) for metric in (group.metric, *beside)]
        size = several[0].get("facts", {}).get("parameters")
        minutes = [report["seconds"] / 60 for report in several if "seconds" in report]
        cells += [str(len(several)), f"{size / 1e6:.1f} M" if size else ""]
        cells += [f"{statistics.mean(minutes):.1f}" if minutes else ""]
        lines.append(f"| [{label}](../results/{name}/{row}) | {' | '.join(cells)} |")
    return [*lines, "", *footnotes(reports)]


def footnotes(reports: dict[str, list[dict[str, Any]]]) -> list[str]:
    """On which data, how it was computed, and on what machine; the same for all rows, or told for each."""
    several = [report for row in reports.values() for report in row]
    parts = {
        "Measured on": {report["split"] for report in several},
        "Computed as": {
            s for report in several for n, s in report.get("signatures", {}).items() if n in ("bleu", "chrf")
        },
        "Trained on": {report["device"] for report in several if "device" in report},
    }
    return [
        f"{name}: {', '.join(f'`{value}`' for value in sorted(values))}.  " for name, values in parts.items() if values
    ]


def _all_have(metric: str, reports: dict[str, list[dict[str, Any]]]) -> bool:
    return all(metric in report["metrics"] for several in reports.values() for report in several)


def spread(values: list[float]) -> str:
    """The mean, and how far the seeds lie apart."""
    digits = 3 if max(values) < 2 else 1
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def table(rows: list[tuple[str, str, str, str]]) -> list[str]:
    """The findings as a table."""
    return [
        "| finding | paper | ours | the same? |",
        "|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def document(reports: Reports, out: Path) -> str:
    """docs/results.md."""
    rows = finding_rows(reports)
    measured = [row for row in rows if row[2] != UNMEASURED]
    lines = [
        "# Results",
        "",
        "The papers' findings, on data that fits into minutes of training. Each number comes from a `metrics.json` "
        "under `results/`, beside its log, its complete recipe and the command that makes it again; this page and the "
        "table in the README are written from those by `python results/table.py`. Settings were chosen on validation "
        "data. Minutes are those of a training among up to eighteen on the same GPU, but for the last section, where "
        "each had it to itself.",
        "",
        f"Of {len(rows)} findings {sum(row[3] == 'yes' for row in rows)} came out, "
        f"{sum(row[3] == 'no' for row in rows)} did not, and {len(rows) - len(measured)} were not measured yet.",
        "",
        *table(rows),
        "",
    ]
    for name, group in GROUPS.items():
        lines += [f"## {group.title}", "", *group_table(name, group, reports[name]), ""]
        for file, what in (("lengths.png", "quality against length"), ("learning.png", "learning")):
            if (out / name / file).exists():
                lines += [f"![{what}](../results/{name}/{file})", ""]
        for picture in sorted((out / name).glob("*/seed-1/attention.svg")):
            label = picture.parent.parent.name
            lines += [f"[Where {label} looked](../results/{picture.relative_to(out).as_posix()})  "]
        if (notes := out / name / "notes.md").exists():
            lines += ["", notes.read_text(encoding="utf-8").strip(), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def in_short(rows: list[tuple[str, str, str, str]]) -> str:
    """What was measured, for the README; the rest is for those who look closer."""
    measured = [row for row in rows if row[2] != UNMEASURED]
    return "\n".join(table(measured)) if measured else "The recipes are there; none of them has been measured yet."


def put_between(text: str, part: str) -> str:
    """A text with what stands between the marks replaced."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SystemExit(f"the README must hold {BEGIN} and then {END}, once each")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n{part}\n{END}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE, help="where the outcomes are")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if something would change")
    arguments = parser.parse_args()
    reports = {name: every_report(name, arguments.out) for name in GROUPS}
    if not arguments.check:
        for name, group in GROUPS.items():
            if reports_of(name, arguments.out):
                draw_group(name, group, arguments.out)
    readme = ROOT / "README.md"
    made = {
        ROOT / "docs" / "results.md": document(reports, arguments.out),
        readme: put_between(readme.read_text(encoding="utf-8"), in_short(finding_rows(reports))),
    }
    for path, text in made.items():
        if arguments.check and (not path.exists() or path.read_text(encoding="utf-8") != text):
            raise SystemExit(f"{path} is not what results/table.py would write")
        if not arguments.check:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
