"""Generate docs/results.md and the README's table from the measurements; do not edit them by hand.

    python results/table.py

Reads the runs (archive.py; --final runs without a tag), writes the groups' pages, results/GROUP/README.md, and draws
their figures again. The remarks on a group come from results/GROUP/notes.md, if there is one. Rows without measurements
say "not measured yet".
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

from cards import page
from figures import draw_group, every_report, reports_of
from findings import UNMEASURED, Reports, finding_rows
from plan import GROUPS, LOWER_IS_BETTER, Group

HERE = Path(__file__).parent
ROOT = HERE.parent
BEGIN, END = "<!-- results: made by results/table.py -->", "<!-- end of results -->"


def group_table(name: str, group: Group, reports: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return a table of a group: for each row the mean and range over seeds, further metrics, size and time."""
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
        lines.append(f"| [{label}](../results/{name}/README.md#{row}) | {' | '.join(cells)} |")
    return [*lines, "", *footnotes(reports)]


def footnotes(reports: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return lines with the splits, metric signatures and devices of all rows."""
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
    """Format the mean and the range over seeds."""
    digits = 3 if max(values) < 2 else 1
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def table(rows: list[tuple[str, str, str, str]]) -> list[str]:
    """Return the findings as a table."""
    return [
        "| finding | paper | ours | verdict |",
        "|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def tally(rows: list[tuple[str, str, str, str]]) -> str:
    """Count the verdicts."""
    of = Counter(row[3].removesuffix(" (one seed)") for row in rows)
    goals = of["reached"] + of["missed"]
    sentences = [
        f"Of {of['yes'] + of['no'] + of['inconclusive']} measured findings {of['yes']} were reproduced, "
        f"{of['no']} were not, and {of['inconclusive']} are inconclusive.",
        f"{of['reached']} of {goals} scores set as targets in advance were reached.",
        f"{of['–']} rows were not measured yet." if of["–"] else "",
    ]
    return " ".join(sentences).strip()


def figures(name: str, group: Group, out: Path) -> list[str]:
    """Return the group's figures, and those of the attention of each model on the group's sentence."""
    shown = [("", "quality against length", "lengths.svg"), ("", "learning", "learning.svg")]
    shown += [(f"{row.label}, attention of each word:", "attention", f"attention-{row.name}.svg") for row in group.rows]
    return [
        line
        for above, what, file in shown
        if (out / name / file).exists()
        for line in (above, "", f"![{what}](../results/{name}/{file})", "")
    ]


def document(reports: Reports, out: Path) -> str:
    """Return the text of docs/results.md."""
    rows = finding_rows(reports)
    lines = [
        "# Results",
        "",
        "The papers' findings, tested with training runs of minutes. Each number comes from a `metrics.json` in "
        "`results/runs.tar.xz`, beside its log and its complete recipe; each row links to the command that reproduces "
        "it. `python results/table.py` generates this page, the groups' pages and the table in the README. Settings "
        "were chosen on validation data. Training times are of runs that shared a GPU with up to seventeen others, or, "
        "on CPU, two cores with another run and other work. In the last section each run had the GPU to itself.",
        "",
        "A finding is reproduced (yes) or not (no) if our means differ by more than the range over seeds of any row of "
        "its table; smaller differences are inconclusive. Goals were set in advance, and are reached or missed.",
        "",
        tally(rows),
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


def in_short(reports: Reports) -> str:
    """Return the README's table, and the count of all verdicts below it."""
    rows = finding_rows(reports, short=True)
    measured = [row for row in rows if row[2] != UNMEASURED]
    if not measured:
        return "No recipe has been measured yet."
    return "\n".join([*table(measured), "", tally(finding_rows(reports))])


def put_between(text: str, part: str) -> str:
    """Replace the text between the marks."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SystemExit(f"the README must hold {BEGIN} and then {END}, once each")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n{part}\n{END}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the measurements")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a document would change")
    arguments = parser.parse_args()
    reports = {name: every_report(name, arguments.out) for name in GROUPS}
    if not arguments.check:
        for name, group in GROUPS.items():
            if reports_of(name, arguments.out):
                draw_group(name, group, arguments.out)
    readme = ROOT / "README.md"
    made = {
        HERE / name / "README.md": page(name, group, reports[name]) for name, group in GROUPS.items() if reports[name]
    }
    made |= {
        ROOT / "docs" / "results.md": document(reports, arguments.out),
        readme: put_between(readme.read_text(encoding="utf-8"), in_short(reports)),
    }
    for path, text in made.items():
        if arguments.check and (not path.exists() or path.read_text(encoding="utf-8") != text):
            raise SystemExit(f"{path} differs from what results/table.py would write")
        if not arguments.check:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
