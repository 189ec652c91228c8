"""saccade train."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saccade.cli.options import TrustCode
from saccade.cli.terminal import LiveProgress, clock, print_json, print_status

if TYPE_CHECKING:
    from saccade.recipes.schema import Recipe

__all__ = ["train"]


def train(
    recipe: Annotated[
        str,
        typer.Argument(
            help="A recipe file, the name of a built-in recipe (saccade recipes), or a model folder to resume."
        ),
    ],
    set_: Annotated[list[str] | None, typer.Option("--set", help="Change a setting: --set train.lr=3e-4")] = None,
    out: Annotated[Path | None, typer.Option(help="Model folder to create; default: runs/NAME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume a stopped training run.")] = False,
    init_from: Annotated[
        str | None, typer.Option(help="Fine-tune: model folder, or shipped model, whose weights to start from.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="Device: auto, cpu, cuda or mps.")] = None,
    devices: Annotated[int | None, typer.Option(min=1, help="Processes or GPUs that share each batch.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=2, max=100, help="Train with seeds 1, 2, … into OUT/seed-1, OUT/seed-2, …")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    trust_code: TrustCode = False,
) -> None:
    """Train a model from a recipe.

    Example: saccade train english-french --set train.steps=500 --out runs/first
    """
    from saccade.outside import trusting
    from saccade.runs.recipe import recipe_to_train
    from saccade.runs.training import train as train_recipe
    from saccade.train.accelerators import first_process

    chosen = {"init_from": init_from, "train.device": device, "train.devices": devices}
    changes = [*(set_ or []), *(f"{name}={value}" for name, value in chosen.items() if value is not None)]
    file, folder = _places(Path(recipe), out, resume)
    with trusting(trust_code, file.parent):
        made = recipe_to_train(str(file), changes)
        if seeds is not None:
            _train_seeds(made, folder, seeds, resume)
            return
        outcome = train_recipe(made, folder, resume=resume, watcher=LiveProgress(every=made.train.log_every))
    if not first_process():
        raise typer.Exit(int(outcome.why == "interrupted"))
    progress = outcome.progress
    if json:
        print_json(
            {
                "folder": str(folder),
                "ended": outcome.why,
                "steps": progress.step,
                "seconds": progress.seconds,
                "best": progress.best,
                "best_step": progress.best_step,
            }
        )
        raise typer.Exit(int(outcome.why == "interrupted"))
    if outcome.why == "interrupted":
        print_status(
            f"Stopped after step {progress.step:,}; a checkpoint is written. "
            "Run the same command with --resume to continue."
        )
        raise typer.Exit(1)
    why = {"early": "no more progress", "time": "time limit reached"}.get(outcome.why, "done")
    print_status(f"Trained for {progress.step:,} steps in {clock(progress.seconds)} ({why}). The model is {folder}")
    if outcome.why == "time" and progress.step < made.train.steps / 2:
        share = f"{progress.step:,} of {made.train.steps:,} steps"
        print_status(f"Only {share} fit into train.minutes={made.train.minutes:g}. Raise it for a better model.")
    if (first := made.init_from.model) is None:
        print_status(f"Next: saccade evaluate {folder}")
    else:
        print_status(f"Next: saccade compare {first} {folder}, once on the new data and once with --file on the old")


def _train_seeds(recipe: Recipe, out: Path, seeds: int, resume: bool) -> None:
    """Train a recipe with several seeds, one after the other."""
    from saccade.runs.seeds import seed_folder, with_seed
    from saccade.runs.training import train as train_recipe

    for seed in range(1, seeds + 1):
        made, folder = with_seed(recipe, seed), seed_folder(out, seed)
        outcome = train_recipe(
            made, folder, resume=resume, watcher=LiveProgress(f"seed {seed}", every=made.train.log_every)
        )
        if outcome.why == "interrupted":
            print_status("Stopped; a checkpoint is written. Run the same command with --resume to continue.")
            raise typer.Exit(1)
    print_status(f"Trained {seeds} seeds. The models are in {out}")
    print_status(f"Next: saccade compare {out}")


def _places(recipe: Path, out: Path | None, resume: bool) -> tuple[Path, Path]:
    """Return the recipe's file or name, and the model folder; `recipe` may be a model folder to resume."""
    from saccade.errors import ConfigError

    if not (recipe / "recipe.yaml").is_file():
        return recipe, out or Path("runs") / recipe.stem
    if not resume and out is None:
        raise ConfigError(
            f"{recipe} is a model folder. Add --resume to continue its training run, or --out to train its recipe anew."
        )
    return recipe / "recipe.yaml", out or recipe
