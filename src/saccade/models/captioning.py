"""Pictures to words: a grid of annotations in the place of a source, under a recurrent decoder or a Transformer's."""

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
from saccade.layers.encoder import Encoder, Reading
from saccade.layers.grids import VGG, SmallGrid, flatten, normalise, sinusoidal_places
from saccade.layers.transformer import PlacedEmbedding
from saccade.models.base import Seq2Seq
from saccade.models.family import Family
from saccade.models.recurrent import RecurrentSeq2Seq, attach_decoder
from saccade.models.settings import AttentionConfig, DecoderConfig, InitConfig
from saccade.models.transformer import Memory, Transformer, TransformerConfig
from saccade.outside import find_factory, is_outside

__all__ = ["GridConfig", "GridEncoder", "RecurrentCaptionConfig", "TransformerCaptionConfig", "pictures_of"]


def pictures_of(batch: Batch, like: Tensor) -> Tensor:
    """The pictures (B, 3, H, W) of a batch that must have them; bytes become numbers in the precision of `like`."""
    if not isinstance(batch, Batch) or batch.pictures is None:
        raise DataError("this model looks at pictures, but the Batch has none. Pass Batch(pictures=…).")
    if batch.pictures.dtype == torch.uint8:
        return normalise(batch.pictures).to(like.dtype)
    return batch.pictures


class GridConfig(Config):
    """What sees a picture."""

    kind: Annotated[str, Field(pattern=r"^(small|vgg16|vgg19|[\w.]+:\w+)$")] = "small"
    """small, vgg16, vgg19, or `package.module:factory` of your own, which makes a module that gives a map back."""
    width: Width = 128
    """Of an annotation; VGG's are 512 wide."""
    channels: Annotated[tuple[Width, ...], Field(strict=False, min_length=1, max_length=16)] = (48, 96)
    """For the small one: the channels of its stages. The first halves the picture twice, each further one once."""
    weights: str | None = None
    """A file of weights to begin with: PyTorch's, or safetensors. VGG takes the published ones as they are."""
    frozen: bool = False
    """Whether it stays as it is while the rest learns."""

    def build(self) -> GridEncoder:
        """The grid as an encoder, untrained."""
        grid: nn.Module
        if is_outside(self.kind):
            grid, width = find_factory("grid", self.kind)(), self.width
            if not isinstance(grid, nn.Module):
                raise ConfigError(f"the grid {self.kind!r} made a {type(grid).__name__}, but must make a torch module.")
        elif self.kind == "small":
            grid, width = SmallGrid(self.width, self.channels), self.width
        else:
            grid, width = VGG(int(self.kind[3:])), VGG.width
        return GridEncoder(grid, width, frozen=self.frozen)


class GridEncoder(Encoder):
    """A grid as an encoder: each region is an annotation, and all of them are there.

    One that is frozen stays as it is in every respect: norms over a batch do not even count what they see.
    """

    def __init__(self, grid: nn.Module, width: int, *, frozen: bool = False) -> None:
        super().__init__()
        self.grid, self.width, self.frozen = grid.requires_grad_(not frozen), width, frozen

    def train(self, mode: bool = True) -> GridEncoder:
        super().train(mode)
        if self.frozen:
            self.grid.eval()
        return self

    def see(self, pictures: Tensor) -> tuple[Reading, Tensor]:
        """Pictures (B, 3, H, W) -> annotations (B, L, D), and a mask (B, L) that keeps them all."""
        annotations = flatten(self.map(pictures))
        return Reading(annotations, annotations.mean(1)), _all_there(annotations)

    def map(self, pictures: Tensor) -> Tensor:
        """(B, width, rows, columns)."""
        seen = self.grid(pictures)
        if not isinstance(seen, Tensor) or seen.dim() != 4 or seen.shape[:2] != (len(pictures), self.width):
            was = tuple(seen.shape) if isinstance(seen, Tensor) else type(seen).__name__
            raise ShapeError(
                f"the grid made {was} of {len(pictures)} pictures, but must make ({len(pictures)}, {self.width}, rows, "
                "columns): grid.width is what a recipe says it is."
            )
        return seen

    def shape(self, height: int, width: int, like: Tensor) -> tuple[int, int]:
        """Rows and columns of the regions of a picture of this size."""
        training = self.training
        self.eval()  # it is no picture, so no norm shall count it
        rows, columns = self.map(like.new_zeros(1, 3, height, width)).shape[-2:]
        self.train(training)
        return int(rows), int(columns)


class RecurrentCaptioner(RecurrentSeq2Seq):
    """Show, Attend and Tell: a recurrent decoder that looks at the regions of a picture.

        z[t] = β[t] Σ_i a[t, i] annotation[i],   β[t] = σ(w · h[t-1])
        h[t] = LSTM([y[t-1] ; z[t]], h[t-1])        logits = L_o (E y[t-1] + L_h h[t] + L_z z[t])

    It starts from the mean annotation. Everything but what it looks at is the recurrent decoder's.
    Paper: Xu et al. 2015, arXiv:1502.03044.
    """

    def read_source(self, batch: Batch, tape: Tape | None) -> tuple[Reading, Tensor]:
        assert isinstance(self.encoder, GridEncoder)
        return self.encoder.see(pictures_of(batch, self.output.weight))


class TransformerCaptioner(Transformer):
    """A Transformer that reads the regions of a picture instead of words; their places are sines of row and column."""

    retired_weights: ClassVar[frozenset[str]] = frozenset({"source_place.positions.table.weight"})
    """Saved by older versions, which built a table of source positions that nothing used."""

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
    """Show, Attend and Tell and its relatives."""

    reads = "image"

    grid: GridConfig = GridConfig()
    embedding: Width = 256
    decoder: DecoderConfig = DecoderConfig(cell="lstm", start="mean-deep", output="sum", read_word=True, gated=True)
    attention: AttentionConfig | None = AttentionConfig()
    init: InitConfig = InitConfig()

    def captioner(self, vocabulary: int) -> Seq2Seq:
        """A model that writes captions."""
        model = attach_decoder(
            None,
            self.grid.build(),
            vocabulary,
            self.embedding,
            self.decoder,
            self.attention,
            self.decoder.drops(),
            RecurrentCaptioner,
        )
        if self.attention is not None and self.attention.align == "hard":
            model.baseline = MovingBaseline()  # what its draws are compared with while it learns
        self.init.apply(model)
        return model


class TransformerCaptionConfig(TransformerConfig):
    """A Transformer over a grid."""

    reads = "image"

    grid: GridConfig = GridConfig()

    def captioner(self, vocabulary: int) -> Seq2Seq:
        """A model that writes captions."""
        target = self._embedding(vocabulary)
        unplaced = PlacedEmbedding(None, self.dropout)  # regions get their places in `encode`
        parts = (target, target, self._encoder(), self._decoder(cross=True), unplaced, self._place())
        return TransformerCaptioner(*parts, tied=self.tied, grid=self.grid.build())
