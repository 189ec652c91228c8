"""The figures of a group: quality by sentence length, and learning curves over time or steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import archive
from plan import Group
from smaller import smaller

from saccade.files import write_atomically
from saccade.look import Curve, Point, save_lengths
from saccade.look.canvas import drawing
from saccade.look.curves import clear, draw_line, name_ends
from saccade.look.output import write

NAMES = {"bleu": "BLEU", "perplexity_per_word": "perplexity", "accuracy": "accuracy", "aer": "alignment error rate"}


def every_report(group: str, out: Path) -> dict[str, list[dict[str, Any]]]:
    """Read the final reports of a group, by row and in the order of seeds; a trial in a folder replaces none."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for name, text in [*archive.packed(out / archive.ARCHIVE).items(), *archive.loose(out).items()]:
        if name.startswith(f"{group}/") and name.endswith("/metrics.json"):
            report = json.loads(text)
            if report["final"] and not report["tag"]:
                found.setdefault(report["row"], {})[report["seed"]] = report
    return {row: [seeds[seed] for seed in sorted(seeds)] for row, seeds in sorted(found.items())}


def reports_of(group: str, out: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the reports that have a learning curve; the statistical aligner has none."""
    return {row: several for row, several in every_report(group, out).items() if "learning" in several[0]}


MOST_CURVES = 10
"""Number of distinct colors; the learning figure leaves out further rows."""


def draw_group(name: str, group: Group, out: Path) -> list[Path]:
    """Draw the figures of a group that have data, and return their paths."""
    reports = reports_of(name, out)
    first = [(row.label, reports[row.name][0]) for row in group.rows if row.name in reports]
    few = [(label, report) for label, report in first if not group.drawn or report["row"] in group.drawn]
    drawn = []
    if first:
        (out / name).mkdir(exist_ok=True)
        if group.metric != "aer":  # too few sentences have gold links for length bins
            drawn.append(out / name / "lengths.svg")
            curves = [Curve(label, [_point(entry) for entry in report["by_length"]]) for label, report in few]
            save_lengths(curves, drawn[-1], group.trained_to, score=NAMES[group.metric])
        drawn.append(out / name / "learning.svg")
        draw_learning(drawn[-1], [(label, report["learning"]) for label, report in first[:MOST_CURVES]], group)
    for path in drawn:
        write_atomically(path, smaller(path.read_text(encoding="utf-8")))
    return drawn


def draw_learning(path: Path, curves: list[tuple[str, list[dict[str, float]]]], group: Group) -> None:
    """Draw validation scores over training steps, or over minutes if the group is timed."""
    metric = group.metric if all(group.metric in entry for _, entries in curves for entry in entries) else "loss"
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 4))
        axes = figure.add_axes((0, 0, 1, 1))
        for number, (_, entries) in enumerate(curves):
            along = [entry["seconds"] / 60 if group.timed else entry["step"] for entry in entries]
            draw_line(axes, along, [entry[metric] for entry in entries], number)
        axes.set_xlabel("minutes of training, validation included" if group.timed else "steps of training", labelpad=8)
        axes.set_ylabel(f"validation {NAMES.get(metric, metric)}", labelpad=8)
        if group.timed:
            axes.set_xlim(left=0)
        clear(axes)
        name_ends(axes, [(label, entries[-1][metric]) for label, entries in curves])
        write(figure, path)


def _point(entry: dict[str, Any]) -> Point:
    return Point(entry["low"], entry["high"], entry["score"], entry["lower"], entry["upper"])
