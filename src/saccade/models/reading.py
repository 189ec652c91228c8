"""What model families that are one Reader have in common."""

from __future__ import annotations

from torch import nn

from saccade.config import Depth, Share, Width
from saccade.kernels.dropout import Dropout
from saccade.layers.encoder import Encoder, ReaderEncoder
from saccade.layers.reader import Reader
from saccade.models.family import Family, WordNetwork
from saccade.models.settings import InitConfig

__all__ = ["ReaderConfig"]


class ReaderConfig(Family):
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

    def reader_of_words(self, vocabulary: int) -> WordNetwork[Reader]:
        return WordNetwork(nn.Embedding(vocabulary, self.embedding), self.reader(), self.drops())

    def encoder_of_words(self, vocabulary: int) -> WordNetwork[Encoder]:
        return WordNetwork(nn.Embedding(vocabulary, self.embedding), ReaderEncoder(self.reader()), self.drops())

    def initialize(self, model: nn.Module) -> None:
        self.init.apply(model)
