"""saccade train."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.terminal import LiveProgress, clock, print_json, say

__all__ = ["train"]


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe file, or the name of one that ships (saccade recipes).")],
    set_: Annotated[list[str] | None, typer.Option("--set", help="Change a setting: --set train.lr=3e-4")] = None,
    out: Annotated[Path | None, typer.Option(help="The model folder to make; runs/NAME if left out.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a training that was stopped.")] = False,
    devices: Annotated[int | None, typer.Option(min=1, help="How many processes or GPUs share each batch.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome for machines.")] = False,
    trust_code: Annotated[bool, typer.Option("--trust-code", help="Let the recipe import outside code.")] = False,
) -> None:
    """Train a model as a recipe says.

    Example: saccade train english-french --set train.steps=500 --out runs/first
    """
    from saccade.outside import trusting
    from saccade.runs.recipe import load_recipe
    from saccade.runs.training import train as train_recipe

    changes = [*(set_ or []), *([f"train.devices={devices}"] if devices else [])]
    folder = out or Path("runs") / Path(recipe).stem
    with trusting(trust_code):
        made = load_recipe(recipe, changes)
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
        say(f"Stopped after step {progress.step:,}; a checkpoint is written. Go on with the same command and --resume.")
        raise typer.Exit(1)
    why = {"early": "no progress any more", "time": "the time is up"}.get(outcome.why, "done")
    say(f"Trained for {progress.step:,} steps in {clock(progress.seconds)} ({why}). The model is {folder}")
    say(f"Next: saccade evaluate {folder}")
