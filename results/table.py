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
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from figures import draw_group, every_report, reports_of
from findings import UNMEASURED, Reports, finding_rows
from plan import GROUPS, LOWER_IS_BETTER, Group

HERE = Path(__file__).parent
ROOT = HERE.parent
BEGIN, END = "<!-- results: made by results/table.py -->", "<!-- end of results -->"


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
        "| finding | paper | ours | verdict |",
        "|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def told(rows: list[tuple[str, str, str, str]]) -> str:
    """How many came out."""
    of = Counter(row[3].removesuffix(" (one seed)") for row in rows)
    goals = of["reached"] + of["missed"]
    sentences = [
        f"Of {of['yes'] + of['no'] + of['too close to tell']} findings that were measured {of['yes']} came out, "
        f"{of['no']} did not, and {of['too close to tell']} were too close to tell.",
        f"Of {goals} goals {of['reached']} were reached.",
        f"{of['–']} of all these were not measured yet." if of["–"] else "",
    ]
    return " ".join(sentences).strip()


def figures(name: str, group: Group, out: Path) -> list[str]:
    """The group's figures, and where each model that looks at words looked in the group's sentence."""
    shown = [("", "quality against length", "lengths.png"), ("", "learning", "learning.png")]
    shown += [
        (f"{row.label}, where each word looked:", "attention", f"{row.name}/seed-1/attention.svg") for row in group.rows
    ]
    return [
        line
        for above, what, file in shown
        if (out / name / file).exists()
        for line in (above, "", f"![{what}](../results/{name}/{file})", "")
    ]


def document(reports: Reports, out: Path) -> str:
    """docs/results.md."""
    rows = finding_rows(reports)
    lines = [
        "# Results",
        "",
        "The papers' findings, on data that fits into minutes of training. Each number comes from a `metrics.json` "
        "under `results/`, beside its log, its complete recipe and the command that makes it again; this page and the "
        "table in the README are written from those by `python results/table.py`. Settings were chosen on validation "
        "data. Minutes are those of a training among up to eighteen on the same GPU, or, where it says CPU, of one of "
        "two on two cores that did other work too; in the last section each had the GPU to itself.",
        "",
        "A finding came out (yes) or did not (no) where our means differ by more than the seeds of any row of that "
        "table lie apart; less than that is too close to tell. Goals were set before, and are reached or missed.",
        "",
        told(rows),
        "",
        *table(rows),
        "",
    ]
    for name, group in GROUPS.items():
        lines += [f"## {group.title}", "", *group_table(name, group, reports[name]), ""]
        lines += figures(name, group, out)
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
