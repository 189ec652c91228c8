"""Classifiers: any Encoder, pooled into one vector."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention import Tape, name_sites
from saccade.batch import Batch, check_tokens
from saccade.kernels.dropout import Dropout
from saccade.layers.encoder import Encoder
from saccade.layers.pooling import build_pooling
from saccade.models.base import Classifying, source_of

__all__ = ["Classifier"]


class Classifier(Classifying):
    """embedding → encoder → pooling → classes.

    `pooling`: mean, last or attention. `hidden`: the width of a ReLU layer before the classes, if any.
    `source_dropout` applies to the embeddings, `dropout` to the pooled vector and the ReLU layer.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        encoder: Encoder,
        classes: int,
        *,
        pooling: str = "mean",
        hidden: int | None = None,
        dropout: float = 0.0,
        source_dropout: Dropout | None = None,
        scale: float = 1.0,
    ) -> None:
        super().__init__()
        self.embedding, self.encoder, self.classes = embedding, encoder, classes
        self.pooling = build_pooling(pooling, encoder.width)
        self.hidden = None if hidden is None else nn.Linear(encoder.width, hidden)
        self.output = nn.Linear(hidden or encoder.width, classes)
        self.dropout, self.source_dropout, self.scale = Dropout(dropout), source_dropout or Dropout(0.0), scale
        name_sites(self)

    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        tokens, mask = source_of(batch)
        check_tokens("source", tokens, self.embedding.num_embeddings)
        words = self.source_dropout(self.embedding(tokens) * self.scale)
        encoded = self.encoder(words, mask, tape=tape)
        pooled = self.dropout(self.pooling(encoded, mask, tape=tape))
        if self.hidden is not None:
            pooled = self.dropout(F.relu(self.hidden(pooled)))
        out: Tensor = self.output(pooled)
        return out
