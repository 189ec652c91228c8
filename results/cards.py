"""The page of a group, results/GROUP/README.md: data, and the settings and scores of every run."""

from __future__ import annotations

from typing import Any

from plan import LOWER_IS_BETTER, Group

from saccade.data.public import PUBLIC

LIMITS = (
    "Small models, trained for minutes on one kind of text, for experiments with attention; not for production. "
    "Their output reflects their training text."
)


def page(name: str, group: Group, reports: dict[str, list[dict[str, Any]]]) -> str:
    """Return the page of a group; its rows come in the order of the table in docs/results.md."""
    order = [row.name for row in group.rows]
    rows = sorted(reports, key=lambda row: order.index(row) if row in order else len(order))
    better = "lower" if group.metric in LOWER_IS_BETTER else "higher"
    lines = [
        f"# {group.title}",
        "",
        f"Every run behind [the results](../../docs/results.md): scores with 95 % confidence intervals, {better} "
        f"{group.metric} is better. `python results/table.py` writes this page. Metrics, complete recipe and log of a "
        f"run are in `results/runs.tar.xz`: `python results/archive.py show {name}/ROW/seed-1/recipe.yaml`. The "
        "commands train the first seed; `--first-seed` chooses another.",
        "",
        f"Data: {origin(group)}",
        "",
        LIMITS,
    ]
    for row in rows:
        lines += ["", *section(row, group, reports[row])]
    return "\n".join(lines) + "\n"


def section(row: str, group: Group, reports: list[dict[str, Any]]) -> list[str]:
    """Return the card of one row: its model, the command, and a line for each seed."""
    first = reports[0]
    facts = first.get("facts", {})
    notes = [note.test_note for note in group.rows if note.name == row]
    seen = {
        "the validation part, which also chose the best step" if report["split"] == "valid" else "the test part"
        for report in reports
    }
    said = [
        f"{first['label']}.",
        f"Recipe `{first['recipe']}`, {facts['parameters']:,} parameters." if "recipe" in first else "",
        f"Word vectors: {facts['vectors']['file']}, {facts['vectors']['coverage']:.1%} of the words."
        if facts.get("vectors")
        else "",
        f"Measured on {' and '.join(sorted(seen))}{'' if first['split'] == 'valid' else '; '.join(['', *notes])}.",
        f"Trained on {_every('device', reports)} with torch {_every('torch', [r['versions'] for r in reports])}."
        if "device" in first
        else "",
    ]
    metrics = list(first["metrics"])
    lines = [
        f"| seed | {' | '.join(metrics)} | steps | minutes |",
        f"|---|{'---|' * len(metrics)}---|---|",
        *(_line(report, metrics) for report in reports),
    ]
    return [f"## {row}", "", " ".join(filter(None, said)), "", f"    {first['command']}", "", *lines]


def _line(report: dict[str, Any], metrics: list[str]) -> str:
    scores = [_score(report["metrics"][metric], report["bands"].get(metric)) for metric in metrics]
    time = [f"{report['steps']:,}", f"{report['seconds'] / 60:.1f}"] if "steps" in report else ["", ""]
    return f"| {' | '.join([str(report['seed']), *scores, *time])} |"


def _score(value: float, band: list[float] | None) -> str:
    return f"{value:.4g}" if band is None else f"{value:.4g} ({band[0]:.4g} to {band[1]:.4g})"


def _every(name: str, reports: list[dict[str, Any]]) -> str:
    return " and ".join(sorted({report[name] for report in reports}))


def origin(group: Group) -> str:
    """Return the source of a group's data."""
    if group.data is None:
        return "a corpus that saccade makes by its own grammar."
    source = PUBLIC[group.data]
    return f"{source.about} {source.address}. Licence: {source.licence}."
