"""Image captioning: image regions replace source tokens, under a recurrent or a Transformer decoder."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from saccade.attention import Tape
from saccade.attention.aligns.hard import MovingBaseline
from saccade.batch import Batch
from saccade.config import Config, Width
from saccade.errors import ConfigError, DataError, ShapeError
from saccade.layers.encoder import Encoder, EncoderOutput
from saccade.layers.grids import VGG, SmallGrid, flatten, normalise, sinusoidal_places
from saccade.layers.retina import GlimpseGrid
from saccade.layers.transformer import PlacedEmbedding
from saccade.models.base import Seq2Seq
from saccade.models.family import Family
from saccade.models.glimpses import RetinaConfig
from saccade.models.model_config import AttentionConfig, DecoderConfig, InitConfig
from saccade.models.recurrent import RecurrentSeq2Seq, attach_decoder
from saccade.models.transformer import Memory, Transformer, TransformerConfig
from saccade.outside import find_factory, is_outside

__all__ = ["GridConfig", "GridEncoder", "RecurrentCaptionConfig", "TransformerCaptionConfig", "pictures_of"]


def pictures_of(batch: Batch, like: Tensor) -> Tensor:
    """Return the images (B, 3, H, W) of a batch; raise DataError if it has none.

    Images of uint8 are normalized and converted to the dtype of `like`.
    """
    if not isinstance(batch, Batch) or batch.pictures is None:
        raise DataError("this model reads images, but the Batch has none. Pass Batch(pictures=…).")
    if batch.pictures.dtype == torch.uint8:
        return normalise(batch.pictures).to(like.dtype)
    return batch.pictures


class GridConfig(Config):
    """The image encoder."""

    kind: Annotated[str, Field(pattern=r"^(small|glimpses|vgg16|vgg19|[\w.]+:\w+)$")] = "small"
    """small, glimpses, vgg16, vgg19, or `package.module:factory`, a factory of a module that returns a feature map."""
    width: Width = 128
    """Width of an annotation; VGG's are 512 wide, those of glimpses `retina.width`."""
    retina: RetinaConfig = RetinaConfig(scales=3)
    """For `glimpses`: what is seen at each place. Places are `retina.size` pixels apart."""
    channels: Annotated[tuple[Width, ...], Field(strict=False, min_length=1, max_length=16)] = (48, 96)
    """For `small`: the channels of its stages. The first stage halves the image size twice, each further one once."""
    weights: str | None = None
    """A file of initial weights, of PyTorch or safetensors. VGG reads the published weights unchanged."""
    frozen: bool = False
    """Whether the image encoder stays fixed while the rest trains."""

    def build(self) -> GridEncoder:
        """Build the encoder, untrained."""
        grid: nn.Module
        if is_outside(self.kind):
            grid, width = find_factory("grid", self.kind)(), self.width
            if not isinstance(grid, nn.Module):
                raise ConfigError(f"the grid {self.kind!r} made a {type(grid).__name__}, but must make a torch module.")
        elif self.kind == "glimpses":
            grid, width = GlimpseGrid(self.retina.build(channels=3)), self.retina.width
        elif self.kind == "small":
            grid, width = SmallGrid(self.width, self.channels), self.width
        else:
            grid, width = VGG(int(self.kind[3:])), VGG.width
        return GridEncoder(grid, width, frozen=self.frozen)


class GridEncoder(Encoder):
    """A network over images as an encoder: each region of its feature map is an annotation; none is padding.

    A frozen one stays in eval mode, so its batch norms do not update their running statistics.
    """

    def __init__(self, grid: nn.Module, width: int, *, frozen: bool = False) -> None:
        super().__init__()
        self.grid, self.width, self.frozen = grid.requires_grad_(not frozen), width, frozen

    def train(self, mode: bool = True) -> GridEncoder:
        super().train(mode)
        if self.frozen:
            self.grid.eval()
        return self

    def see(self, pictures: Tensor) -> tuple[EncoderOutput, Tensor]:
        """Encode images (B, 3, H, W) as annotations (B, L, D), with a mask (B, L) that is all True."""
        annotations = flatten(self.map(pictures))
        return EncoderOutput(annotations, annotations.mean(1)), _all_there(annotations)

    def map(self, pictures: Tensor) -> Tensor:
        """Return the feature map (B, width, rows, columns)."""
        seen = self.grid(pictures)
        if not isinstance(seen, Tensor) or seen.dim() != 4 or seen.shape[:2] != (len(pictures), self.width):
            was = tuple(seen.shape) if isinstance(seen, Tensor) else type(seen).__name__
            raise ShapeError(
                f"the grid made {was} of {len(pictures)} images, but must make ({len(pictures)}, {self.width}, rows, "
                "columns). The second number is image_encoder.width of the recipe."
            )
        return seen

    def shape(self, height: int, width: int, like: Tensor) -> tuple[int, int]:
        """Return the rows and columns of regions for an image of this size."""
        training = self.training
        self.eval()  # the dummy image must not enter batch norm statistics
        rows, columns = self.map(like.new_zeros(1, 3, height, width)).shape[-2:]
        self.train(training)
        return int(rows), int(columns)


class RecurrentCaptioner(RecurrentSeq2Seq):
    """Show, Attend and Tell: a recurrent decoder that attends to the regions of an image.

        z[t] = β[t] Σ_i a[t, i] annotation[i],   β[t] = σ(w · h[t-1])
        h[t] = LSTM([y[t-1] ; z[t]], h[t-1])        logits = L_o (E y[t-1] + L_h h[t] + L_z z[t])

    By default the initial state is computed from the mean annotation. Only `read_source` differs from the base class.
    Paper: Xu et al. 2015, arXiv:1502.03044.
    """

    def read_source(self, batch: Batch, tape: Tape | None) -> tuple[EncoderOutput, Tensor]:
        assert isinstance(self.encoder, GridEncoder)
        return self.encoder.see(pictures_of(batch, self.output.weight))


class TransformerCaptioner(Transformer):
    """A Transformer that reads image regions instead of words, with sinusoidal codes of row and column."""

    retired_weights: ClassVar[frozenset[str]] = frozenset({"source_place.positions.table.weight"})
    """An unused table of source positions in the checkpoints of older versions."""

    def __init__(self, *parts: Any, grid: GridEncoder, **options: Any) -> None:
        super().__init__(*parts, **options)
        self.grid = grid
        self.enter = nn.Linear(grid.width, self.encoder.width)

    def encode(self, batch: Batch, *, tape: Tape | None = None) -> Memory:
        seen = self.grid.map(pictures_of(batch, self.output.weight))
        regions = self.enter(flatten(seen))
        rows, columns = seen.shape[-2:]
        regions = regions + sinusoidal_places(rows, columns, regions.shape[-1], regions)
        mask = _all_there(regions)
        return Memory(self.decoder.banks(self.encoder(regions, mask, tape=tape).annotations, mask))


def _all_there(annotations: Tensor) -> Tensor:
    return annotations.new_ones(annotations.shape[:2]).bool()


class RecurrentCaptionConfig(Family):
    """Show, Attend and Tell and its variants."""

    reads = "image"

    image_encoder: GridConfig = GridConfig()
    embedding: Width = 256
    decoder: DecoderConfig = DecoderConfig(
        cell="lstm", initial_state="mean-deep", output="sum", read_word=True, gated=True
    )
    attention: AttentionConfig | None = AttentionConfig()
    init: InitConfig = InitConfig()

    def captioner(self, vocabulary: int) -> Seq2Seq:
        """Build a captioning model."""
        model = attach_decoder(
            None,
            self.image_encoder.build(),
            vocabulary,
            self.embedding,
            self.decoder,
            self.attention,
            self.decoder.drops(),
            RecurrentCaptioner,
        )
        if self.attention is not None and self.attention.align == "hard":
            model.baseline = MovingBaseline()  # of REINFORCE, for training its sampled attention
        self.init.apply(model)
        return model


class TransformerCaptionConfig(TransformerConfig):
    """A Transformer over image regions."""

    reads = "image"

    image_encoder: GridConfig = GridConfig()

    def captioner(self, vocabulary: int) -> Seq2Seq:
        """Build a captioning model."""
        target = self._embedding(vocabulary)
        unplaced = PlacedEmbedding(None, self.dropout)  # `encode` adds the positions of regions
        parts = (target, target, self._encoder(), self._decoder(cross=True), unplaced, self._place())
        return TransformerCaptioner(*parts, tied=self.tied, grid=self.image_encoder.build())
