"""saccade evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from saccade.cli.options import Beam, Device, TrustCode
from saccade.cli.terminal import number, print_json, print_status, table

__all__ = ["evaluate"]


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="Test files as in a recipe; default: the recipe's test data.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Split of the recipe's data: train, valid or test.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting of data or search: --set data.lengths=[3,60]")
    ] = None,
    beam: Beam = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for report.json and figures; default: the model folder.")
    ] = None,
    device: Device = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    trust_code: TrustCode = False,
) -> None:
    """Evaluate a model: metrics of its task, quality by length, and attention against gold annotations.

    Example: saccade evaluate runs/demo --beam 5
    """
    from saccade.api import load
    from saccade.outside import trusting
    from saccade.pretrained import pretrained
    from saccade.runs import evaluation as evaluating
    from saccade.runs.training import write_report

    loaded = load(model, device=device, trust_code=trust_code)
    with trusting(trust_code):
        recipe = evaluating.evaluation_recipe(loaded.task.recipe, set_ or [])
        examples = evaluating.examples_to_test(recipe, files or (), split)
    options = evaluating.search_changes(loaded.task.recipe, recipe) | ({"beam": beam} if beam else {})
    found = loaded.evaluate(examples, **options)
    report: dict[str, Any] = {
        "model": str(model),
        "data": [str(file) for file in files or ()] or evaluating.split_to_test(recipe, split),
    }
    report |= {"search": loaded.search(**options).model_dump(), **evaluating.summarise(found)}
    if simple := evaluating.baselines(recipe, examples):
        report["baselines"] = simple
    if json:
        print_json(report)
    else:
        rows = []
        for name, value in report["metrics"].items():
            low, high = report["bands"].get(name, (None, None))
            rows.append((name, number(value), "" if low is None else f"{number(low)} to {number(high)}"))
        for title, values in simple.items():
            rows += [(f"{name} {title}", number(value), "") for name, value in values.items() if name == "bleu"]
        used = evaluating.data_used(recipe, files or (), split)
        table(f"{model}: {len(found.lengths):,} examples, {used}", ("metric", "value", "95 % interval"), rows)
        for title, groups in report.get("by_group", {}).items():
            head = (title, "examples", *found.metrics)
            table(f"by {title}", head, [_row(name, group, head[2:]) for name, group in groups.items()])
    for note in (*found.notes, *filter(None, [evaluating.looks_swapped(loaded.task, examples)])):
        print_status(f"note: {note}", style="yellow")
    # written last, so that a write error loses no result; the package of a shipped model may be read-only
    folder = out or (model if model.exists() or str(model) not in pretrained() else Path("runs") / model)
    name = evaluating.report_name(files or (), split)
    write_report(folder, report, f"report{name}")
    written = [folder / f"report{name}.json", *_write_outputs(folder / f"outputs{name}.jsonl", examples, found)]
    written += _draw(folder / f"lengths{name}.png", model.name, found, _trained_to(loaded.task.recipe))
    print_status(f"Wrote {' and '.join(str(path) for path in written)}")


def _write_outputs(path: Path, examples: Sequence[Any], found: Any) -> list[Path]:
    """Write a line of JSON for each example."""
    from json import dumps

    from saccade.files import write_atomically
    from saccade.runs.evaluation import outputs

    rows = outputs(examples, found)
    if not rows:
        return []
    write_atomically(path, "".join(dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return [path]


def _row(name: str, group: Any, metrics: Sequence[str]) -> tuple[str, ...]:
    return name, f"{group['examples']:,}", *(number(group["metrics"][metric]) for metric in metrics)


def _draw(path: Path, name: str, found: Any, trained_to: int | None) -> list[Path]:
    """Plot quality by length; print a note instead if figures cannot be drawn."""
    from saccade.errors import ConfigError
    from saccade.runs.evaluation import draw_lengths

    try:
        draw_lengths(path, [(name, found)], trained_to=trained_to)
    except ConfigError as error:
        print_status(f"note: {error}", style="yellow")
        return []
    return [path]


def _trained_to(recipe: Any) -> int | None:
    """Return the longest sentence length in training, if known."""
    return recipe.data.lengths[1] if recipe.data.corpus is not None else None
