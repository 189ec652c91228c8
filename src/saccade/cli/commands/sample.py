"""saccade sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.terminal import print_status

__all__ = ["sample"]


def sample(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The .png file to write.")],
    label: Annotated[
        str | None, typer.Option("--class", help="Class of all images; default: the classes in turn.")
    ] = None,
    grid: Annotated[int, typer.Option(min=1, max=64, help="Rows and columns of images.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first image; each further image has the next one.")] = 1,
    device: Annotated[str, typer.Option(help="Device: auto, cpu, cuda or mps.")] = "auto",
    trust_code: Annotated[
        bool, typer.Option("--trust-code", help="Let the model's recipe import outside code.")
    ] = False,
) -> None:
    """Draw a grid of images with a model that generates images.

    Example: saccade sample runs/twins --grid 8 --seed 1 -o grid.png
    """
    import numpy as np

    from saccade.api import load
    from saccade.errors import ConfigError
    from saccade.files import write_atomically
    from saccade.look.picture import png

    if out.suffix.lower() != ".png":
        raise ConfigError(f"{out.name} ends in {out.suffix or 'nothing'}. Choose a name that ends in .png.")
    drawn = load(model, device=device, trust_code=trust_code).sample(grid**2, seed=seed, label=label, attention=False)
    images = [each.image for each in drawn if each.image is not None]
    rows = [np.concatenate(images[start : start + grid], 1) for start in range(0, len(images), grid)]
    write_atomically(out, png(np.concatenate(rows)))
    print_status(f"Wrote {out}: {grid**2} images with the seeds {seed} to {seed + grid**2 - 1}")
