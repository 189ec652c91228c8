"""The recurrent attention model (RAM): classify an image from a few glimpses at places that the model chooses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, ClassVar, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from saccade.attention import Tape
from saccade.batch import Batch
from saccade.config import Config, Share, Width
from saccade.errors import DataError, ShapeError
from saccade.kernels.dropout import Dropout
from saccade.layers.retina import GlimpseEncoder, Retina
from saccade.layers.small_images import ImageEmbedding
from saccade.models.base import Classifying
from saccade.models.family import Family

__all__ = ["SITE", "GlimpseConfig", "GlimpseModel", "ImageClassifier", "ImageClassifierConfig", "Looks", "RetinaConfig"]

SITE = "glimpses"
"""The attention site: for each glimpse, the share of the finest patch that covers each region."""


class Looks(NamedTuple):
    """Inputs and outputs of T glimpses."""

    logits: Tensor
    """(B, T, classes), after each glimpse."""
    places: Tensor
    """(B, T, 2), in [-1, 1]."""
    patches: Tensor
    """(B, T, scales, C, size, size), ink from 0 to 1."""
    log_policy: Tensor
    """(B, T - 1): log-probability, up to a constant, of each place after the first."""
    baseline: Tensor
    """(B, T - 1): the reward expected before each of these glimpses."""
    finest: Tensor
    """(B, T, classes): logits from the finest patch of each glimpse alone; (B, 0) if the model has no head for them."""


class GlimpseModel(Classifying):
    """Classify images from glimpses.

        g[t] = encoder(retina(image, l[t]), l[t])       h[t] = relu(W h[t-1] + U g[t] + b)  or an LSTM
        p(label) = softmax(V h[T] + d)                  l[t+1] ~ N(tanh(locator(h[t])), deviation²), clipped to [-1, 1]

    l[1] is the center. At prediction, a place is the mean. The gradient of the classes does not reach the locator,
    which learns by REINFORCE; see `train/glimpse_loss.py`.
    Paper: Mnih et al. 2014, arXiv:1406.6247. docs/how-to/glimpses.md lists the differences.
    """

    def __init__(
        self,
        encoder: GlimpseEncoder,
        core: str,
        width: int,
        glimpses: int,
        classes: int,
        policy: str = "learned",
        *,
        finest: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        values = encoder.what.in_features // encoder.retina.scales
        layers = (nn.Linear(values, finest), nn.ReLU(), nn.Linear(finest, classes)) if finest else ()
        self.finest = nn.Sequential(*layers) if layers else None
        self.encoder, self.glimpses, self.classes, self.policy = encoder, glimpses, classes, policy
        self.core: nn.RNNCellBase = _CORES[core](encoder.width, width)
        self.last = nn.Linear(width, classes)
        if policy == "learned":
            self.locator = nn.Sequential(nn.Linear(width, width // 2 or 1), nn.ReLU(), nn.Linear(width // 2 or 1, 2))
            self.baseline = nn.Linear(width, 1)
        self.register_buffer("deviation", torch.tensor(0.1), persistent=False)
        self.deviation: Tensor
        """Standard deviation of places in training. A tensor, since a CUDA graph reads it at a fixed address."""

    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        return self.record(ink_of(batch), tape)

    def record(self, images: Tensor, tape: Tape | None, forced: Tensor | None = None) -> Tensor:
        """Look, write the glimpses to the tape, and return the logits (B, classes) after the last one; see `look`."""
        looks = self.look(images, forced=forced)
        if tape is not None:
            tape.tensors |= {f"{SITE}.{name}": value for name, value in looks._asdict().items()}
            if tape.at(SITE) is not None:
                tape.write(SITE, self.regions(looks.places, images.shape[2:])[:, None], owner=self)
        return looks.logits[:, -1]

    def look(self, images: Tensor, glimpses: int | None = None, forced: Tensor | None = None) -> Looks:
        """Look at images (B, C, H, W), ink from 0 to 1; `forced` (B, T, 2) sets places where it is not NaN."""
        shape, retina = images.shape[2:], self.encoder.retina
        pyramid = retina.pyramid(images)
        hidden, memory = images.new_zeros(2, len(images), self.core.hidden_size).unbind(0)
        place = images.new_zeros(len(images), 2)
        found: list[list[Tensor]] = [[], [], [], [], []]
        for t in range(glimpses or self.glimpses):
            if t:
                place, log_policy, baseline = self._next(images, hidden, t)
                found[3].append(log_policy)
                found[4].append(baseline)
            if forced is not None and t < forced.shape[1]:
                place = torch.where(forced[:, t].isnan(), place, forced[:, t])
            patches = retina(pyramid, place, shape)
            seen = self.encoder(patches, place)
            seen = self.dropout(seen)
            if isinstance(self.core, nn.LSTMCell):
                hidden, memory = self.core(seen, (hidden.to(seen.dtype), memory.to(seen.dtype)))
            else:
                hidden = self.core(seen, hidden.to(seen.dtype))
            for name, value in zip(found, (self.last(self.dropout(hidden)).float(), place, patches), strict=False):
                name.append(value)
        empty = images.new_zeros(len(images), 0)
        made = [torch.stack(part, 1) if part else empty for part in found]
        made.append(empty if self.finest is None else self.finest(made[2][:, :, 0].flatten(2)).float())
        return Looks(*made)

    def _next(self, images: Tensor, hidden: Tensor, t: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return the place (B, 2) of glimpse t, its log-probability and the expected reward (B,)."""
        nothing = images.new_zeros(len(images))
        if self.policy == "center":
            return images.new_zeros(len(images), 2), nothing, nothing
        if self.policy == "random":
            return self._random(images, t), nothing, nothing
        mean = self.locator(hidden).float().tanh()
        noise = torch.randn_like(mean) * self.deviation if self.training else torch.zeros_like(mean)
        sample = (mean + noise).detach()  # without detach, log π would have no gradient
        log_policy = -((sample - mean) / self.deviation).square().sum(-1) / 2
        return sample.clamp(-1, 1), log_policy, self.baseline(hidden.detach()).float()[:, 0]

    def _random(self, images: Tensor, t: int) -> Tensor:
        """Return random places (B, 2); at prediction, they depend on the image alone, not on the rest of the batch."""
        if self.training:
            return torch.rand(len(images), 2, device=images.device) * 2 - 1
        weights = torch.arange(1, images[0].numel() + 1, device=images.device).view_as(images[0]) % 977
        sums = ((images * 255).round().long() * weights).sum((1, 2, 3))
        numbers = torch.stack([sums * 7919 + 104729 * (2 * t + axis) for axis in range(2)], -1)
        return (numbers.double() * 0.6180339887498949 % 1 * 2 - 1).to(images.dtype)

    def regions(self, places: Tensor, shape: torch.Size | tuple[int, int]) -> Tensor:
        """Return the share (B, T, rows · columns) of each glimpse's finest patch that covers each region."""
        left, top, right, bottom = self.encoder.retina.boxes(places, shape)[:, :, 0].unbind(-1)
        rows, columns = self.grid(shape)
        down, across = _overlap(top, bottom, rows), _overlap(left, right, columns)
        shares = (down[..., :, None] * across[..., None, :]).flatten(-2)
        return shares / shares.sum(-1, keepdim=True).clamp_min(1e-9)

    def grid(self, shape: torch.Size | tuple[int, int]) -> tuple[int, int]:
        """Return rows and columns of regions, half as wide as the finest patch."""
        half = max(1, self.encoder.retina.size // 2)
        return max(1, shape[0] // half), max(1, shape[1] // half)


class ImageClassifier(Classifying):
    """Classify images by convolutions over the whole image: the baseline of glimpses."""

    def __init__(self, embedding: ImageEmbedding, classes: int) -> None:
        super().__init__()
        self.embedding, self.last, self.classes = embedding, nn.Linear(embedding.width, classes), classes

    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        if batch.pictures is None:
            raise DataError("this model reads images: a Batch with pictures (B, H, W, 1).")
        logits: Tensor = self.last(self.embedding(batch.pictures))
        return logits.float()


def ink_of(batch: Batch) -> Tensor:
    """Convert uint8 images (B, H, W, 1), dark on white, to ink (B, 1, H, W): 0 is background, 1 is ink."""
    if batch.pictures is None:
        raise DataError("this model reads images: a Batch with pictures (B, H, W, 1).")
    if batch.pictures.dtype != torch.uint8 or batch.pictures.dim() != 4 or batch.pictures.shape[3] != 1:
        raise ShapeError(
            f"images are {batch.pictures.dtype} of {tuple(batch.pictures.shape)}, but this model reads bytes of (B, H, "
            "W, 1)."
        )
    return (255 - batch.pictures).movedim(-1, 1).float() / 255


def _overlap(low: Tensor, high: Tensor, cells: int) -> Tensor:
    """Return the length (..., cells) that intervals share with equal cells of [0, 1]."""
    edges = torch.arange(cells + 1, device=low.device) / cells
    return (torch.minimum(high[..., None], edges[1:]) - torch.maximum(low[..., None], edges[:-1])).clamp_min(0)


_CORES: dict[str, Callable[[int, int], nn.RNNCellBase]] = {
    "relu": partial(nn.RNNCell, nonlinearity="relu"),
    "lstm": nn.LSTMCell,
}


class RetinaConfig(Config):
    """The retina, and the width of what it is turned into."""

    size: Annotated[int, Field(ge=1, le=256)] = 8
    """Values a side of each patch; the finest covers as many pixels."""
    scales: Annotated[int, Field(ge=1, le=6)] = 1
    """Number of patches, each twice as wide as the one before."""
    hidden: Width = 128
    width: Width = 256
    """Width of the vector of a glimpse."""

    def build(self, channels: int = 1) -> GlimpseEncoder:
        """Build the encoder of glimpses."""
        return GlimpseEncoder(Retina(self.size, self.scales), channels, self.hidden, self.width)


class GlimpseConfig(Family):
    """The settings of the recurrent attention model."""

    reads: ClassVar[str] = "labeled image"

    glimpses: Annotated[int, Field(ge=1, le=64)] = 6
    """Number of glimpses."""
    retina: RetinaConfig = RetinaConfig()
    core: Literal["relu", "lstm"] = "relu"
    """The recurrent layer that joins glimpses."""
    width: Width = 256
    """Width of the recurrent layer."""
    policy: Literal["learned", "random", "center"] = "learned"
    """How positions are chosen: learned by REINFORCE, at random, or always the center."""

    finest: Annotated[int, Field(ge=0, le=2**20)] = 0
    """Width of a second classifier, of the finest patch of each glimpse alone, which adds to its reward; 0: none."""
    dropout: Share = 0.0

    def image_classifier(self, classes: int) -> GlimpseModel:
        return GlimpseModel(
            self.retina.build(),
            self.core,
            self.width,
            self.glimpses,
            classes,
            self.policy,
            finest=self.finest,
            dropout=self.dropout,
        )


class ImageClassifierConfig(Family):
    """The settings of the convolutional baseline."""

    reads: ClassVar[str] = "labeled image"

    filters: Width = 32
    layers: Annotated[int, Field(ge=1, le=8)] = 4
    width: Width = 64
    """Width of the image's vector."""

    def image_classifier(self, classes: int) -> ImageClassifier:
        return ImageClassifier(ImageEmbedding(1, self.filters, self.layers, self.width), classes)
