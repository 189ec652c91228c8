"""saccade compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from saccade.cli.options import Beam, Device, TrustCode
from saccade.cli.terminal import number, print_json, print_status, table

__all__ = ["compare"]


def compare(
    models: Annotated[
        list[Path], typer.Argument(help="Model folders, or folders of several seeds; the first is the baseline.")
    ],
    file: Annotated[
        list[Path] | None, typer.Option("--file", help="Test file; repeat for several: --file a.en --file a.fr")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Split of the first recipe's data: train, valid or test.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Change a setting: --set data.lengths=[3,60]")] = None,
    beam: Beam = None,
    out: Annotated[Path | None, typer.Option(help="File for a plot of quality by length: .png, .svg or .pdf.")] = None,
    device: Device = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    trust_code: TrustCode = False,
) -> None:
    """Compare models on the same test data, with paired bootstrap tests of their differences.

    Example: saccade compare runs/fixed runs/demo --out lengths.png
    """
    from saccade.api import load
    from saccade.errors import ConfigError
    from saccade.outside import trusting
    from saccade.pretrained import find_model
    from saccade.runs.evaluation import check_comparable, draw_lengths, evaluation_recipe, examples_to_test
    from saccade.runs.evaluation import compare as compare_tasks
    from saccade.runs.seeds import runs_of

    groups = [runs_of(path if path.exists() else find_model(path)) for path in models]
    if any(len(runs) > 1 for runs in groups):
        made = [[load(run, device=device, trust_code=trust_code) for run in runs] for runs in groups]
        check_comparable([model.task for runs in made for model in runs])
        with trusting(trust_code):
            recipe = evaluation_recipe(made[0][0].task.recipe, set_ or [])
            examples = examples_to_test(recipe, file or (), split)
        _print_seeds([(str(path), runs) for path, runs in zip(models, made, strict=True)], examples, beam, json)
        return
    if len(models) < 2:
        raise ConfigError("a comparison needs two or more models. For one, use saccade evaluate.")
    loaded = [load(path, device=device, trust_code=trust_code) for path in models]
    check_comparable([model.task for model in loaded])
    names = [str(path) for path in models]
    with trusting(trust_code):
        recipe = evaluation_recipe(loaded[0].task.recipe, set_ or [])
        examples = examples_to_test(recipe, file or (), split)
    options: dict[str, Any] = {"beam": beam} if beam else {}
    found = [model.evaluate(examples, **options) for model in loaded]
    report = compare_tasks(list(zip(names, found, strict=True)))
    if out is not None:
        draw_lengths(out, list(zip(names, found, strict=True)))
    if json:
        print_json(report)
        return
    rows = []
    for row in report["models"]:
        for metric, value in row["metrics"].items():
            against = row["against_first"].get(metric)
            verdict = "" if against is None else f"{against['difference']:+.3f}  (p = {against['p_value']:.3f})"
            rows.append((row["model"], metric, number(value), verdict))
    table(f"{report['sentences']:,} examples", ("model", "metric", "value", "against the first"), rows)
    if out is not None:
        print_status(f"Wrote {out}")


def _print_seeds(groups: list[tuple[str, list[Any]]], examples: list[Any], beam: int | None, json: bool) -> None:
    """Evaluate and compare models with several seeds each."""
    from saccade.runs.seeds import compare_seeds

    options: dict[str, Any] = {"beam": beam} if beam else {}
    report = compare_seeds([(name, [run.evaluate(examples, **options) for run in runs]) for name, runs in groups])
    if json:
        print_json(report)
        return
    rows = []
    for row in report["models"]:
        for metric, spread in row["metrics"].items():
            against = row["against_first"].get(metric)
            verdict = "" if against is None else f"{against['difference']:+.3f}"
            verdict += "" if against is None or against["apart"] else "  (ranges overlap)"
            band = f"{number(spread['lowest'])} to {number(spread['highest'])}"
            rows.append((row["model"], metric, number(spread["mean"]), band, str(spread["runs"]), verdict))
    head = ("model", "metric", "mean", "range", "runs", "against the first")
    table(f"{report['sentences']:,} examples", head, rows)
