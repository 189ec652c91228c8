"""Few-shot learners: models that read labeled images and queries, and predict the labels of the queries."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from saccade.attention import Tape
from saccade.batch import Batch, EpisodeBatch
from saccade.config import Config, Depth, Share, Width
from saccade.errors import DataError, ShapeError
from saccade.kernels.dropout import Dropout
from saccade.layers.small_images import ImageEmbedding
from saccade.models.base import Classifying

__all__ = ["FewShot", "ImageEmbeddingConfig"]


class ImageEmbeddingConfig(Config):
    """The convolutions that turn an image into a vector."""

    color: bool = False
    """Whether images have three colors; otherwise they are gray."""
    filters: Width = 64
    layers: Depth = 4
    width: Width = 64
    """Width of the vector."""
    dropout: Share = 0.0

    @property
    def channels(self) -> int:
        """Values per pixel."""
        return 3 if self.color else 1

    def build(self) -> ImageEmbedding:
        """Build the embedding."""
        return ImageEmbedding(self.channels, self.filters, self.layers, self.width)


class FewShot(Classifying):
    """A model that classifies the queries of an episode: it returns log-probabilities (B, Q, codes).

    Labels are codes, which mean other classes in every episode. Codes without a labeled image are excluded.
    """

    def __init__(self, embedding: ImageEmbedding, codes: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding, self.classes = embedding, codes
        self.dropout = Dropout(dropout)

    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        if not isinstance(batch, EpisodeBatch) or batch.support is None or batch.queries is None:
            raise DataError("this model reads episodes: an EpisodeBatch with a support and queries.")
        assert batch.source is not None
        assert batch.source_mask is not None
        if batch.support.shape[:2] != batch.source.shape or batch.support.shape[2:] != batch.queries.shape[2:]:
            raise ShapeError(
                f"the support is {tuple(batch.support.shape)}, its codes {tuple(batch.source.shape)} and the queries "
                f"{tuple(batch.queries.shape)}, but they are (B, S, H, W, C), (B, S) and (B, Q, H, W, C)."
            )
        codes = torch.nn.functional.one_hot(batch.source.long(), self.classes) * batch.source_mask[..., None]
        size = batch.source.shape[1]
        vectors = self.dropout(self.embedding(torch.cat([batch.support, batch.queries], 1)))
        codes = codes.to(vectors.dtype)
        logits = self.logits(vectors[:, :size], codes, vectors[:, size:], batch.source_mask, tape)
        absent = codes.sum(1)[:, None] == 0
        return torch.log_softmax(logits.float().masked_fill(absent, _IMPOSSIBLE), -1)

    @abstractmethod
    def logits(self, support: Tensor, codes: Tensor, queries: Tensor, mask: Tensor, tape: Tape | None) -> Tensor:
        """Return logits (B, Q, codes) from vectors (B, S, D), one-hot codes (B, S, codes), queries (B, Q, D)."""


_IMPOSSIBLE = -1e4
"""The logit of a code that is not in the support: finite, so that losses are finite."""
