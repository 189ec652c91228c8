"""What model families that are one Reader have in common."""

from __future__ import annotations

from typing import Any

from torch import nn

from saccade.config import Config, Depth, Share, Width
from saccade.kernels.dropout import Dropout
from saccade.layers.encoder import ReaderEncoder
from saccade.layers.reader import Reader
from saccade.models.classifier import Classifier
from saccade.models.language import LanguageModel
from saccade.models.settings import InitConfig

__all__ = ["ReaderConfig"]


class ReaderConfig(Config):
    """Settings of a family whose `reader` reads from left to right; it writes and classifies with it."""

    embedding: Width = 256
    width: Width = 256
    layers: Depth = 1
    dropout: Share = 0.0
    """On the embeddings, between layers and before the output layer."""
    locked_dropout: bool = False
    """Whether what is dropped stays dropped through all words of a sentence."""
    tied: bool = False
    """Whether the output layer is the target embedding."""
    init: InitConfig = InitConfig()

    def drops(self) -> Dropout:
        """A dropout of this kind."""
        return Dropout(self.dropout, locked=self.locked_dropout)

    def reader(self) -> Reader:
        """The network itself."""
        raise TypeError(f"{type(self).__name__} does not say what it reads with: write reader()")

    def language_model(self, vocabulary: int) -> LanguageModel:
        """The reader, predicting the next word."""
        embedding = nn.Embedding(vocabulary, self.embedding)
        model = LanguageModel(embedding, self.reader(), tied=self.tied, dropout=self.drops())
        self.init.apply(model)
        return model

    def classifier(self, vocabulary: int, classes: int, **head: Any) -> Classifier:
        """What it has read, pooled."""
        embedding, encoder = nn.Embedding(vocabulary, self.embedding), ReaderEncoder(self.reader())
        model = Classifier(embedding, encoder, classes, source_dropout=self.drops(), **head)
        self.init.apply(model)
        return model
