"""Matching network: a query's label is the attention-weighted mean of the labels of the support."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from saccade.attention import Attention, Tape, name_sites
from saccade.layers.small_images import ImageEmbedding
from saccade.models.family import Family
from saccade.models.few_shot import FewShot, ImageEmbeddingConfig
from saccade.models.model_config import AttentionConfig

__all__ = ["MatchingConfig", "MatchingNetwork"]


class MatchingNetwork(FewShot):
    """p(label) = Σ a[s] over the labeled images with that label; a = attention from the query to the images.

    Paper: Vinyals et al. 2016, arXiv:1606.04080, without its full-context embeddings. Differs: the sharpness of the
    cosine is learned.
    """

    def __init__(self, embedding: ImageEmbedding, codes: int, attention: Attention, *, dropout: float = 0.0) -> None:
        super().__init__(embedding, codes, dropout)
        self.attention = attention
        name_sites(self)

    def logits(self, support: Tensor, codes: Tensor, queries: Tensor, mask: Tensor, tape: Tape | None) -> Tensor:
        bank = self.attention.bank(support, codes, mask)
        shares: Tensor = self.attention(queries, bank, tape=tape).context
        return shares.float().clamp_min(1e-6).log()


class MatchingConfig(Family):
    """The settings of matching networks."""

    reads: ClassVar[str] = "episode"

    image: ImageEmbeddingConfig = ImageEmbeddingConfig()
    attention: AttentionConfig = AttentionConfig(score="cosine", score_options={"sharpness": 10.0})

    def few_shot(self, codes: int, longest: int) -> MatchingNetwork:
        attention = self.attention.build(self.image.width, self.image.width, codes)
        assert isinstance(attention, Attention)
        return MatchingNetwork(self.image.build(), codes, attention, dropout=self.image.dropout)
