"""Draw a picture from a sentence: a generator whose regions read the words, its discriminator, and a judge."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from saccade.attention import Tape, name_sites
from saccade.batch import Batch
from saccade.config import Width
from saccade.layers.grids import MEAN, STD, normalise
from saccade.layers.image_blocks import DownBlock, GridAttention, UpBlock, convolution
from saccade.layers.spectral_norm import spectral_norm
from saccade.layers.word_blocks import SentenceEncoder, SentenceNorm, WordAttention
from saccade.models.captioning import GridConfig, GridEncoder, RecurrentCaptionConfig
from saccade.models.family import Family
from saccade.models.model_config import AttentionConfig, DecoderConfig, InitConfig
from saccade.models.recurrent import RecurrentSeq2Seq

__all__ = ["Drawer", "DrawingConfig", "DrawingDiscriminator", "DrawingGenerator"]

_Widths = Annotated[list[Width], Field(min_length=1, max_length=8)]


class DrawingGenerator(nn.Module):
    """noise (B, Z), tokens (B, S), mask (B, S) -> pixels (B, 3, size, size) from -1 to 1.

    A linear layer makes the first grid of sentence and noise, and each block doubles it. The norms depend on sentence
    and noise too. Grids of the sizes `read` attend to the words, and those of the sizes `attend` to themselves.
    """

    def __init__(self, vocabulary: int, config: DrawingConfig) -> None:
        super().__init__()
        widths, self.noise = config.generator, config.noise
        self.words = SentenceEncoder(vocabulary, config.words)
        vector = self.words.width + config.noise
        self.smallest, self.patch = config.smallest, config.patch
        # no bias: with spectral norm the noise cannot grow, so a bias would outgrow it, and all images would be alike
        self.first = spectral_norm(nn.Linear(vector, widths[0] * config.smallest**2, bias=False))
        blocks = _reading(config, widths[0], config.smallest)
        size = config.smallest
        for before, after in pairwise(widths):
            blocks.append(UpBlock(before, after, partial(SentenceNorm, vector=vector)))
            size *= 2
            blocks += _reading(config, after, size)
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.BatchNorm2d(widths[-1])
        self.last = convolution(widths[-1], 3 * config.patch**2)

    def forward(self, noise: Tensor, tokens: Tensor, mask: Tensor, *, tape: Tape | None = None) -> Tensor:
        words, sentence = self.words(tokens, mask)
        vector = torch.cat([sentence, noise], 1)
        x = self.first(vector).unflatten(1, (-1, self.smallest, self.smallest))
        for block in self.blocks:
            x = block(x, vector) if isinstance(block, UpBlock) else _attended(block, x, words, mask, tape)
        return F.pixel_shuffle(self.last(F.relu(self.norm(x))), self.patch).tanh()


class DrawingDiscriminator(nn.Module):
    """pixels (B, 3, size, size), tokens (B, S), mask (B, S) -> scores (B,), high for real images of the sentence.

        D(x, s) = Σ_p wᵀ h[p] + (V s)ᵀ h[p] + b        h = ReLU(features), over all places p; s: the sentence

    It has its own encoder of words: the players share no weights.
    """

    def __init__(self, vocabulary: int, config: DrawingConfig) -> None:
        super().__init__()
        widths, self.patch = config.discriminator, config.patch
        self.words = SentenceEncoder(vocabulary, config.words)
        blocks: list[nn.Module] = []
        size = config.size // config.patch
        for number, (before, after) in enumerate(pairwise([3 * config.patch**2, *widths])):
            blocks.append(DownBlock(before, after, first=number == 0))
            size //= 2
            blocks += _reading(config, after, size)
        self.blocks = nn.ModuleList(blocks)
        self.last = spectral_norm(nn.Linear(widths[-1], 1))
        self.sentence = spectral_norm(nn.Linear(self.words.width, widths[-1]))

    def forward(self, pixels: Tensor, tokens: Tensor, mask: Tensor, *, tape: Tape | None = None) -> Tensor:
        words, sentence = self.words(tokens, mask)
        x = F.pixel_unshuffle(pixels, self.patch)
        for block in self.blocks:
            x = block(x) if isinstance(block, DownBlock) else _attended(block, x, words, mask, tape)
        h = F.relu(x).sum((2, 3))
        scores: Tensor = self.last(h)[:, 0] + (self.sentence(sentence) * h).sum(1)
        return scores


def _reading(config: DrawingConfig, width: int, size: int) -> list[nn.Module]:
    """Return the attention of a grid: to the words, then to itself."""
    words: list[nn.Module] = [WordAttention(width, 2 * (config.words // 2))] if size in config.read else []
    return [*words, GridAttention(width)] if size in config.attend else words


def _attended(block: nn.Module, x: Tensor, words: Tensor, mask: Tensor, tape: Tape | None) -> Tensor:
    found: Tensor = block(x, words, mask, tape) if isinstance(block, WordAttention) else block(x, tape)
    return found


class Drawer(nn.Module):
    """A generator of pictures of sentences, the discriminator that it is trained against, and a judge.

    The judge is a captioner of real images. Papers: Xu et al. 2018 (AttnGAN), arXiv:1711.10485; the judge as a reader
    of generated images: Qiao et al. 2019 (MirrorGAN), arXiv:1903.05854. See `train/adversarial.py` for the objective.
    """

    def __init__(
        self, generator: DrawingGenerator, discriminator: DrawingDiscriminator, judge: RecurrentSeq2Seq
    ) -> None:
        super().__init__()
        self.generator, self.discriminator, self.judge = generator, discriminator, judge
        name_sites(self)

    def generate(self, noise: Tensor, tokens: Tensor, mask: Tensor, *, tape: Tape | None = None) -> Tensor:
        """Return pixels (B, 3, size, size) from -1 to 1."""
        pixels: Tensor = self.generator(noise, tokens, mask, tape=tape)
        return pixels

    def score(self, pixels: Tensor, tokens: Tensor, mask: Tensor, *, tape: Tape | None = None) -> Tensor:
        """Return the discriminator's scores (B,) of images."""
        scores: Tensor = self.discriminator(pixels, tokens, mask, tape=tape)
        return scores

    def misread(self, pixels: Tensor, batch: Batch, counted: Tensor) -> Tensor:
        """Return the judge's loss (B,) for the `counted` words (B, T) of a batch's captions, given pixels, in nats."""
        seen = replace(batch, pictures=_normalized(pixels))
        logits = self.judge(seen).float()
        losses = F.cross_entropy(logits.mT, batch.expected, reduction="none")
        return losses.masked_fill(~counted, 0.0).sum(1)

    def pixels(self, images: Tensor) -> Tensor:
        """Return bytes (B, H, W, 3) as pixels (B, 3, H, W) from -1 to 1."""
        return images.movedim(-1, 1) / 127.5 - 1

    def images(self, pixels: Tensor) -> Tensor:
        """Return pixels (B, 3, H, W) from -1 to 1 as bytes (B, H, W, 3)."""
        return ((pixels.float() + 1) * 127.5).round().clamp(0, 255).to(torch.uint8).movedim(1, -1).contiguous()

    def features(self, images: Tensor) -> Tensor:
        """Return the judge's mean annotation (B, D) of bytes (B, H, W, 3)."""
        encoder = self.judge.encoder
        assert isinstance(encoder, GridEncoder)
        return encoder.see(normalise(images).to(self.judge.output.weight.dtype))[0].last

    @property
    def word_sites(self) -> list[str]:
        """The attention sites whose keys are words."""
        return [part.attention.site for part in self.modules() if isinstance(part, WordAttention)]

    @property
    def gammas(self) -> dict[str, float]:
        """The gain of each self-attention block, by its site."""
        blocks = (part for part in self.modules() if isinstance(part, GridAttention))
        return {block.attention.site: float(block.gamma.detach()) for block in blocks}


def _normalized(pixels: Tensor) -> Tensor:
    """Convert pixels (B, 3, H, W) from -1 to 1 to the judge's input; gradients pass, unlike through bytes."""
    colours = zip(pixels.unbind(1), MEAN, STD, strict=True)
    return torch.stack([(colour + 1) * (0.5 / std) - mean / std for colour, mean, std in colours], 1)


class DrawingConfig(Family):
    """The settings of a model that draws sentences."""

    reads: ClassVar[str] = "caption"

    noise: Width = 64
    """Numbers of the noise vector."""
    words: Width = 128
    """Width of the encoder of words, both directions together."""
    smallest: Width = 4
    """Height and width of the generator's first grid."""
    generator: _Widths = Field(default_factory=lambda: [256, 256, 128, 64])
    """Channels of the generator's grids; each is twice as high and wide as the one before."""
    discriminator: _Widths = Field(default_factory=lambda: [64, 128, 256])
    """Channels after each block of the discriminator, which halves height and width."""
    patch: Literal[1, 2] = 1
    """Pixels on a side for each place of the largest grid; 2 is about four times as fast."""
    read: list[Width] = Field(default_factory=lambda: [8, 16], max_length=4)
    """Heights of the grids that attend to the words, in both networks."""
    attend: list[Width] = Field(default_factory=list, max_length=4)
    """Heights of the grids with self-attention, in both networks; empty for none."""
    judge: tuple[Width, Width, Width] = Field((48, 96, 128), strict=False)
    """Sizes of the judge, a captioner: the channels of its two stages, and its width."""

    @model_validator(mode="after")
    def _fits(self) -> DrawingConfig:
        grid = self.size // self.patch
        if grid % 2 ** len(self.discriminator):
            raise ValueError(f"{len(self.discriminator)} blocks of discriminator cannot halve a grid of {grid}")
        drawn = {self.smallest * 2**number for number in range(len(self.generator))}
        known = drawn | {grid // 2**number for number in range(1, len(self.discriminator) + 1)}
        for name in ("read", "attend"):
            if strange := set(getattr(self, name)) - known:
                raise ValueError(f"{name} names a grid of {min(strange)}, but the networks have {sorted(known)}")
        return self

    @property
    def size(self) -> int:
        """Height and width of the images."""
        return int(self.smallest * 2 ** (len(self.generator) - 1)) * self.patch

    def drawer(self, vocabulary: int) -> Drawer:
        first, second, width = self.judge
        judge = RecurrentCaptionConfig(
            image_encoder=GridConfig(width=width, channels=(first, second)),
            embedding=second,
            decoder=DecoderConfig(cell="lstm", width=2 * second, initial_state="mean-deep", output="sum",
                                  read_word=True, gated=True),
            attention=AttentionConfig(score="additive", score_options={"width": width // 2}),
            init=InitConfig(embedding=1.0),
        ).captioner(vocabulary)  # fmt: skip
        assert isinstance(judge, RecurrentSeq2Seq)
        return Drawer(DrawingGenerator(vocabulary, self), DrawingDiscriminator(vocabulary, self), judge)
