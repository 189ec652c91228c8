"""saccade sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.options import Device, TrustCode
from saccade.cli.terminal import print_status

__all__ = ["sample"]

_ROW = 16
"""Images of a walk in a row of its strip."""
_SHOWN = 80
"""Milliseconds that an animation shows an image."""


def sample(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The .png file to write; for a walk also .gif, .webp or .apng.")
    ],
    label: Annotated[
        str | None, typer.Option("--class", help="Class of all images; default: the classes in turn.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Sentence of all images, for a model that draws sentences.")] = None,
    grid: Annotated[int, typer.Option(min=1, max=64, help="Rows and columns of images.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first image; each further image has the next one.")] = 1,
    walk: Annotated[
        tuple[int, int] | None,
        typer.Option(metavar="SEED SEED", help="Draw images on the way from one seed to another instead of a grid."),
    ] = None,
    frames: Annotated[int, typer.Option(min=2, max=512, help="Images of a walk.")] = 16,
    nearest: Annotated[
        int,
        typer.Option(min=0, max=16, help="Draw a row for each image: itself and this many nearest images of training."),
    ] = 0,
    truncation: Annotated[
        float, typer.Option(min=0, max=1, help="Factor on the noise: below 1, images are more typical and vary less.")
    ] = 1.0,
    scale: Annotated[int, typer.Option(min=1, max=16, help="Pixels on a side for each pixel of an image.")] = 1,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Draw a grid of images, or a walk between two, with a model that generates images.

    The animation of a walk goes there and back. With --nearest, the number of rows is that of --grid.

    Examples: saccade sample runs/twins --grid 8 --seed 1 -o grid.png

    saccade sample runs/twins --walk 3 9 --frames 24 --scale 6 -o walk.gif
    """
    import numpy as np

    from saccade.api import load
    from saccade.data.animation import ANIMATIONS, animation
    from saccade.errors import ConfigError
    from saccade.files import write_atomically
    from saccade.look.picture import png, sheet
    from saccade.tasks.image_generation import ImageGeneration

    suffix = out.suffix.lower()
    if suffix not in (".png", *(ANIMATIONS if walk else ())):
        known = ".png, or for a walk in " + ", ".join(ANIMATIONS)
        raise ConfigError(f"{out.name} ends in {suffix or 'nothing'}. Choose a name that ends in {known}.")
    if walk is not None and nearest:
        raise ConfigError("a walk is drawn without the nearest images of training. Leave out --walk or --nearest.")
    if text is not None and (walk is not None or nearest):
        raise ConfigError("a sentence is drawn in a grid alone. Leave out --walk and --nearest, or --text.")
    loaded = load(model, device=device, trust_code=trust_code)
    if walk is None:
        count = grid if nearest else grid**2
        drawn = loaded.sample(count, seed=seed, label=label, text=text, truncation=truncation, attention=False)
        about = f"{count} images with the seeds {seed} to {seed + count - 1}"
    else:
        drawn = loaded.walk(*walk, frames, label=label, truncation=truncation, attention=False)
        about = f"{frames} images from seed {walk[0]} to seed {walk[1]}"
    images, columns = [each.image for each in drawn if each.image is not None], grid if walk is None else _ROW
    if nearest:
        assert isinstance(loaded.task, ImageGeneration)  # others were refused above
        near = loaded.task.nearest(np.stack(images), nearest)
        images = [image for own, row in zip(images, near, strict=True) for image in (own, *row)]
        columns = 1 + near.shape[1]  # there may be few images of training
    images = [image.repeat(scale, 0).repeat(scale, 1) for image in images]
    if suffix == ".png":
        content = png(sheet(images, min(columns, len(images))))
    else:
        content = animation([*images, *images[-2:0:-1]], suffix, _SHOWN)
    write_atomically(out, content)
    print_status(f"Wrote {out}: {about}")
