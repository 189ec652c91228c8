"""saccade train."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.terminal import LiveProgress, clock, print_json, print_status

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
    device: Annotated[str | None, typer.Option(help="Device: auto, cpu, cuda or mps.")] = None,
    devices: Annotated[int | None, typer.Option(min=1, help="Processes or GPUs that share each batch.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    trust_code: Annotated[bool, typer.Option("--trust-code", help="Let the recipe import outside code.")] = False,
) -> None:
    """Train a model from a recipe.

    Example: saccade train english-french --set train.steps=500 --out runs/first
    """
    from saccade.outside import trusting
    from saccade.runs.recipe import recipe_to_train
    from saccade.runs.training import train as train_recipe

    chosen = {"train.device": device, "train.devices": devices}
    changes = [*(set_ or []), *(f"{name}={value}" for name, value in chosen.items() if value is not None)]
    file, folder = _places(Path(recipe), out, resume)
    with trusting(trust_code, file.parent):
        made = recipe_to_train(str(file), changes)
        outcome = train_recipe(made, folder, resume=resume, watcher=LiveProgress(every=made.train.log_every))
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
    print_status(f"Next: saccade evaluate {folder}")


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
