"""SAGAN: a generator and a discriminator of images, both with self-attention over the places of a grid."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from saccade.attention import Tape, name_sites
from saccade.config import Width
from saccade.layers.image_blocks import (
    BatchSpread,
    ConditionalNorm,
    DownBlock,
    GridAttention,
    PlaceBlock,
    UpBlock,
    convolution,
)
from saccade.layers.small_images import ImageEmbedding
from saccade.layers.spectral_norm import spectral_norm, without_spectral_norm
from saccade.models.family import Family

__all__ = ["SMALLEST", "Discriminator", "Generator", "Judge", "Sagan", "SaganConfig"]

SMALLEST = 4
"""Height and width of the generator's first grid."""
_Widths = Annotated[list[Width], Field(min_length=1, max_length=8)]


class Generator(nn.Module):
    """noise (B, Z), labels (B,) -> pixels (B, C, size, size) from -1 to 1.

    A linear layer makes a grid of 4 × 4, and each block doubles it. With `patch` 2, the last layer computes 2 × 2
    pixels for each place.
    """

    def __init__(self, noise: int, widths: list[int], channels: int, classes: int, attend: list[int], patch: int):
        super().__init__()
        # no bias: with spectral norm the noise cannot grow, so a bias would outgrow it, and all images would be alike
        self.first = spectral_norm(nn.Linear(noise, widths[0] * SMALLEST**2, bias=False))
        blocks: list[nn.Module] = []
        size = SMALLEST
        for before, after in pairwise(widths):
            blocks.append(UpBlock(before, after, partial(ConditionalNorm, classes=classes)))
            size *= 2
            if size in attend:
                blocks.append(GridAttention(after))
        self.blocks = nn.ModuleList(blocks)
        self.norm = ConditionalNorm(widths[-1], 1)
        self.last = convolution(widths[-1], channels * patch**2)
        self.noise, self.patch, self.size = noise, patch, size * patch

    def forward(self, noise: Tensor, labels: Tensor, *, tape: Tape | None = None) -> Tensor:
        x = self.first(noise).unflatten(1, (-1, SMALLEST, SMALLEST))
        for block in self.blocks:
            x = block(x, tape) if isinstance(block, GridAttention) else block(x, labels)
        x = self.last(F.relu(self.norm(x, torch.zeros_like(labels))))
        return F.pixel_shuffle(x, self.patch).tanh()


class Discriminator(nn.Module):
    """pixels (B, C, size, size), labels (B,) -> scores (B,), high for real images.

        D(x, y) = wᵀ h + e[y]ᵀ h + b        h = Σ ReLU(features) over all places

    The label term is the projection of Miyato and Koyama 2018, arXiv:1802.05637; with one class it is left out. The
    last block may look at each place alone; with `compare`, h also tells how much the images of a batch differ.
    """

    def __init__(
        self,
        widths: list[int],
        channels: int,
        classes: int,
        attend: list[int],
        patch: int,
        size: int,
        *,
        place_block: bool = False,
        compare: bool = False,
    ) -> None:
        super().__init__()
        blocks: list[nn.Module] = []
        size //= patch
        for number, (before, after) in enumerate(pairwise([channels * patch**2, *widths])):
            blocks.append(DownBlock(before, after, first=number == 0))
            size //= 2
            if size in attend:
                blocks.append(GridAttention(after))
        self.blocks, self.patch = nn.ModuleList(blocks), patch
        self.place_blocks = nn.ModuleList(PlaceBlock(widths[-1]) for _ in range(place_block))
        self.spread = BatchSpread(widths[-1]) if compare else None
        self.last = spectral_norm(nn.Linear(widths[-1], 1))
        self.labels = spectral_norm(nn.Embedding(classes, widths[-1])) if classes > 1 else None

    def forward(self, pixels: Tensor, labels: Tensor, *, tape: Tape | None = None) -> Tensor:
        x = F.pixel_unshuffle(pixels, self.patch)
        for block in self.blocks:
            x = block(x, tape) if isinstance(block, GridAttention) else block(x)
        for block in self.place_blocks:
            x = block(x)
        h = F.relu(x).sum((2, 3))
        if self.spread is not None:
            h = self.spread(h)
        scores: Tensor = self.last(h)[:, 0]
        return scores if self.labels is None else scores + (self.labels(labels) * h).sum(1)


class Judge(nn.Module):
    """A small classifier of real images, whose features measure generated ones.

    bytes (B, H, W, C) -> features (B, D), logits (B, classes).
    """

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.embedding = ImageEmbedding(channels, 32, 4, 64)
        self.last = nn.Linear(self.embedding.width, classes)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        features = self.embedding(images)
        return features, self.last(features)


class Sagan(nn.Module):
    """A self-attention generative adversarial network, and a judge of its images.

    labels (B,) are classes; a model without classes ignores them.
    Paper: Zhang et al. 2018, arXiv:1805.08318. See `train/adversarial.py` for its objective.
    """

    def __init__(self, generator: Generator, discriminator: Discriminator, judge: Judge, classes: int) -> None:
        super().__init__()
        self.generator, self.discriminator, self.judge = generator, discriminator, judge
        self.classes = classes
        name_sites(self)

    def generate(self, noise: Tensor, labels: Tensor, *, tape: Tape | None = None) -> Tensor:
        """Return pixels (B, C, size, size) from -1 to 1."""
        pixels: Tensor = self.generator(noise, self.known(labels), tape=tape)
        return pixels

    def score(self, pixels: Tensor, labels: Tensor, *, tape: Tape | None = None) -> Tensor:
        """Return the discriminator's scores (B,) of images."""
        scores: Tensor = self.discriminator(pixels, self.known(labels), tape=tape)
        return scores

    def pixels(self, images: Tensor) -> Tensor:
        """Return bytes (B, H, W, 3) as pixels (B, C, H, W) from -1 to 1."""
        return self.gray(images).movedim(-1, 1) / 127.5 - 1

    def gray(self, images: Tensor) -> Tensor:
        """Return bytes (B, H, W, 3) as the judge reads them: (B, H, W, C)."""
        return images if self.judge.embedding.channels == 3 else images[..., 1:2]

    def images(self, pixels: Tensor) -> Tensor:
        """Return pixels (B, C, H, W) from -1 to 1 as bytes (B, H, W, 3)."""
        found = ((pixels.float() + 1) * 127.5).round().clamp(0, 255).to(torch.uint8)
        return found.movedim(1, -1).expand(-1, -1, -1, 3).contiguous()

    def known(self, labels: Tensor) -> Tensor:
        """Return the labels that the two players see: zeros without classes."""
        return labels if self.classes > 1 else torch.zeros_like(labels)

    @property
    def gammas(self) -> dict[str, float]:
        """The gain of each self-attention block, by its site."""
        blocks = (part for part in self.modules() if isinstance(part, GridAttention))
        return {block.attention.site: float(block.gamma.detach()) for block in blocks}


class SaganConfig(Family):
    """The settings of SAGAN."""

    reads: ClassVar[str] = "seed"

    noise: Width = 128
    """Numbers of the noise vector."""
    generator: _Widths = Field(default_factory=lambda: [256, 256, 128, 64])
    """Channels of the generator's grids, from 4 × 4 on; each is twice as high and wide as the one before."""
    discriminator: _Widths = Field(default_factory=lambda: [64, 128, 256])
    """Channels after each block of the discriminator, which halves height and width."""
    patch: Literal[1, 2] = 1
    """Pixels on a side for each place of the largest grid; 2 is about four times as fast."""
    attend: list[Width] = Field(default_factory=lambda: [16], max_length=4)
    """Heights of the grids with self-attention, in both networks; empty for none."""
    place_block: bool = False
    """Whether the discriminator ends with a residual block of 1 × 1 convolutions."""
    compare: bool = False
    """Whether the discriminator sees how much the images of a batch differ, so that the generator varies them."""
    normalized: Literal["both", "generator"] = "both"
    """Networks with spectral norm; without it, the discriminator needs objective.adversarial.penalty."""
    conditional: bool = True
    """Whether the networks see the class of an image."""
    color: bool = True
    """Whether images have three colors; otherwise they are gray."""

    @model_validator(mode="after")
    def _fits(self) -> SaganConfig:
        grid = self.size // self.patch
        if grid < 2 ** len(self.discriminator):
            least = f"at least {2 ** len(self.discriminator)}"
            raise ValueError(
                f"{len(self.discriminator)} blocks of discriminator halve a grid of {grid}, but need {least}"
            )
        drawn = {SMALLEST * 2**number for number in range(1, len(self.generator))}
        known = drawn | {grid // 2**number for number in range(1, len(self.discriminator) + 1)}
        if strange := set(self.attend) - known:
            raise ValueError(f"attend names a grid of {min(strange)}, but the networks have {sorted(known)}")
        return self

    @property
    def size(self) -> int:
        """Height and width of the images."""
        return int(SMALLEST * 2 ** (len(self.generator) - 1)) * self.patch

    def image_generator(self, classes: int) -> Sagan:
        channels, known = 3 if self.color else 1, classes if self.conditional else 1
        generator = Generator(self.noise, self.generator, channels, known, self.attend, self.patch)
        discriminator = Discriminator(
            self.discriminator, channels, known, self.attend, self.patch, self.size,
            place_block=self.place_block, compare=self.compare,
        )  # fmt: skip
        if self.normalized == "generator":
            without_spectral_norm(discriminator)
        return Sagan(generator, discriminator, Judge(channels, classes), known)
