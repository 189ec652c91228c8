"""What model families that are one Reader have in common."""

from __future__ import annotations

from typing import Any

from pydantic import Field
from torch import nn

from saccade.config import Config
from saccade.kernels.dropout import Dropout
from saccade.layers.encoder import ReaderEncoder
from saccade.layers.reader import Reader
from saccade.models.classifier import Classifier
from saccade.models.language import LanguageModel
from saccade.models.settings import InitConfig

__all__ = ["ReaderConfig"]


class ReaderConfig(Config):
    """Settings of a family whose `reader` reads from left to right; it writes and classifies with it."""

    embedding: int = Field(256, ge=1)
    width: int = Field(256, ge=1)
    layers: int = Field(1, ge=1)
    dropout: float = Field(0.0, ge=0, lt=1)
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
