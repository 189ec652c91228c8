"""saccade demo."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.terminal import LiveProgress, clock, echo, print_json, print_status

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="Model folder to create.")] = Path("runs/demo"),
    compare: Annotated[bool, typer.Option("--compare", help="Also train a model without attention.")] = False,
    guided: Annotated[bool, typer.Option("--guided", help="Supervise the attention with gold alignments.")] = False,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Change a setting: --set train.steps=300")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Train a small English-French translator and show its attention; two minutes on two CPU cores.

    Example: saccade demo --compare
    """
    from saccade.cli.demo import run_demo

    changes = [*(["objective.guided_alignment.weight=1.0"] if guided else []), *(set_ or [])]
    folder = out.with_name(f"{out.name}-guided") if guided and out == Path("runs/demo") else out
    shown = run_demo(folder, compare=compare, changes=changes, watcher=lambda title: LiveProgress(title, 100))
    if shown is None:
        print_status("Stopped; a checkpoint is written. Run the same command to resume.")
        raise typer.Exit(1)
    metrics = shown.evaluation.metrics
    if json:
        print_json(
            {"metrics": metrics, "seconds": shown.outcome.progress.seconds, "files": [str(f) for f in shown.files]}
        )
        return
    width, colour = shutil.get_terminal_size().columns, sys.stdout.isatty()
    for sample in shown.samples:
        echo("")
        echo(sample.attention.draw(width, colour=colour))
    echo(
        f"\nBLEU {metrics['bleu']:.1f}   chrF {metrics['chrf']:.1f}   alignment error rate {metrics['aer']:.3f}   "
        f"on {len(shown.evaluation.lengths):,} unseen sentences, after {clock(shown.outcome.progress.seconds)} of "
        "training"
    )
    echo(f"\nFigures    {'  '.join(str(path) for path in shown.files)}")
    echo(f"The model  {shown.folder}")
    echo(
        f'\nNext\n  saccade predict {shown.folder} "the doctor does not read the red book ."\n'
        f'  saccade look {shown.folder} "the European Economic Area" -o area.png\n'
        f"  saccade evaluate {shown.folder}"
        + ("" if compare else f"\n  saccade demo --compare{'' if out == Path('runs/demo') else f' --out {out}'}")
    )
