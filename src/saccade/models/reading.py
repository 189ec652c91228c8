"""Settings shared by the model families that consist of one CausalLayer."""

from __future__ import annotations

from torch import nn

from saccade.config import Depth, Share, Width
from saccade.kernels.dropout import Dropout
from saccade.layers.causal import CausalLayer
from saccade.layers.encoder import Encoder, ReaderEncoder
from saccade.models.family import Family, WordNetwork
from saccade.models.model_config import InitConfig

__all__ = ["ReaderConfig"]


class ReaderConfig(Family):
    """Settings of a family with one causal network, `reader`, for language models and classifiers."""

    embedding: Width = 256
    width: Width = 256
    layers: Depth = 1
    dropout: Share = 0.0
    """Dropout of the embeddings, between layers and before the output layer."""
    locked_dropout: bool = False
    """Whether all words of a sentence share one dropout mask (variational dropout)."""
    tied: bool = False
    """Whether the output layer shares the embedding matrix."""
    init: InitConfig = InitConfig()

    def drops(self) -> Dropout:
        """Build the dropout layer."""
        return Dropout(self.dropout, locked=self.locked_dropout)

    def reader(self) -> CausalLayer:
        """Build the causal network."""
        raise TypeError(f"{type(self).__name__} has no causal network: write reader()")

    def reader_of_words(self, vocabulary: int) -> WordNetwork[CausalLayer]:
        return WordNetwork(nn.Embedding(vocabulary, self.embedding), self.reader(), self.drops())

    def encoder_of_words(self, vocabulary: int) -> WordNetwork[Encoder]:
        return WordNetwork(nn.Embedding(vocabulary, self.embedding), ReaderEncoder(self.reader()), self.drops())

    def initialize(self, model: nn.Module) -> None:
        self.init.apply(model)
