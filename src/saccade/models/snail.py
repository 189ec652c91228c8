"""SNAIL: temporal convolutions and causal attention over labeled images and a query."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import AfterValidator, Field
from torch import Tensor, nn

from saccade.attention import Tape, name_sites
from saccade.config import Config, Width
from saccade.layers.small_images import ImageEmbedding
from saccade.layers.temporal import CausalAttention, Places, TemporalConvolutions
from saccade.models.family import Family
from saccade.models.few_shot import FewShot, ImageEmbeddingConfig
from saccade.models.model_config import AttentionConfig

__all__ = ["BlockConfig", "Snail", "SnailConfig"]


class Snail(FewShot):
    """A simple neural attentive learner.

        x[t] = [embedding of image t; one-hot label t]         the query's label is zeros
        attention, convolutions, attention, …                  each appends its output to x
        p(label) = softmax(W x[last] + b)

    Paper: Mishra et al. 2018, arXiv:1707.03141. Differs: several queries share a support; each is still the last
    position of its own sequence, so the numbers are the same.
    """

    def __init__(
        self,
        embedding: ImageEmbedding,
        codes: int,
        blocks: list[nn.Module],
        width: int,
        *,
        itself: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(embedding, codes, dropout)
        self.blocks, self.itself = nn.ModuleList(blocks), itself
        self.last = nn.Linear(width, codes)
        name_sites(self)

    def logits(self, support: Tensor, codes: Tensor, queries: Tensor, mask: Tensor, tape: Tape | None) -> Tensor:
        places = Places.of(mask, queries.shape[1], itself=self.itself)
        x = torch.cat([torch.cat([support, codes], -1), F.pad(queries, (0, self.classes))], 1)
        for block in self.blocks:
            x = block(x, places, tape=tape) if isinstance(block, CausalAttention) else block(x, places)
        found: Tensor = self.last(x[:, -queries.shape[1] :])
        return found


class BlockConfig(Config):
    """A block: `attention`, of keys and values of some width, or `convolutions` with some filters."""

    kind: Literal["attention", "convolutions"]
    keys: Width = 64
    values: Width = 32
    filters: Width = 128


def _checked(blocks: list[BlockConfig]) -> list[BlockConfig]:
    if not any(block.kind == "attention" for block in blocks):
        raise ValueError("blocks need an attention")
    return blocks


def _as_published() -> list[BlockConfig]:
    convolutions = BlockConfig(kind="convolutions")
    first, second, third = (BlockConfig(kind="attention", keys=keys, values=keys // 2) for keys in (64, 256, 512))
    return [first, convolutions, second, convolutions, third]


class SnailConfig(Family):
    """The settings of SNAIL."""

    reads: ClassVar[str] = "episode"

    image: ImageEmbeddingConfig = ImageEmbeddingConfig()
    blocks: Annotated[list[BlockConfig], Field(min_length=1, max_length=40), AfterValidator(_checked)] = Field(
        default_factory=_as_published
    )
    first_dilation: Literal[1, 2] = 2
    """Dilation of the first convolution of a block; each further one doubles it."""
    itself: bool = True
    """Whether a query may attend to itself."""
    attention: AttentionConfig = AttentionConfig(score="scaled-dot")
    """The attention of all blocks, whose queries and keys are projected before."""
    alike: bool = False
    """Whether the projections of queries and keys start out equal: attention then begins at images that look alike.

    With a cosine score, training leaves chance level much earlier."""

    def few_shot(self, codes: int, longest: int) -> Snail:
        width, blocks = self.image.width + codes, []
        for block in self.blocks:
            blocks.append(self._block(block, width, longest))
            width = blocks[-1].width
        return Snail(self.image.build(), codes, blocks, width, itself=self.itself, dropout=self.image.dropout)

    def _block(self, block: BlockConfig, width: int, longest: int) -> Any:
        if block.kind == "convolutions":
            return TemporalConvolutions(width, block.filters, longest, first_dilation=self.first_dilation)
        attention = self.attention.build(block.keys, block.keys, block.values)
        return CausalAttention(attention, width, block.keys, block.values, alike=self.alike)
