"""Family: the parts of a kind of model that heads are put on."""

from __future__ import annotations

from typing import ClassVar, Generic, NamedTuple, TypeVar

from torch import nn

from saccade.config import Config
from saccade.kernels.dropout import Dropout
from saccade.layers.encoder import Encoder
from saccade.layers.reader import Reader
from saccade.models.base import Seq2Seq

__all__ = ["Family", "WordNetwork"]

Network = TypeVar("Network", Encoder, Reader)


class WordNetwork(NamedTuple, Generic[Network]):
    """What reads words: their embedding, times `scale`, under dropout, and the network above it."""

    embedding: nn.Embedding
    network: Network
    dropout: Dropout | None = None
    scale: float = 1.0


class Family(Config):
    """Settings of a family of models. Heads (`models/heads.py`) are written once over these methods.

    A family that lacks one of them cannot have the heads that need it.
    """

    reads: ClassVar[str] = "text"
    """What its encoder reads: text or image. Heads for the other cannot be put on it."""

    def encoder_of_words(self, vocabulary: int) -> WordNetwork[Encoder]:
        """Build what reads a whole sequence, for heads that pool it or point into it."""
        raise TypeError(f"{type(self).__name__} has no encoder of words: write encoder_of_words()")

    def reader_of_words(self, vocabulary: int) -> WordNetwork[Reader]:
        """Build what reads from left to right, for heads that predict the next word."""
        raise TypeError(f"{type(self).__name__} has no reader of words: write reader_of_words()")

    def sequence_to_sequence(self, source_vocabulary: int, target_vocabulary: int) -> Seq2Seq:
        """Build a model that reads one sequence and writes another."""
        raise TypeError(f"{type(self).__name__} does not translate: write sequence_to_sequence()")

    def captioner(self, vocabulary: int) -> Seq2Seq:
        """Build a model that reads an image and writes a sequence."""
        raise TypeError(f"{type(self).__name__} reads no images: write captioner()")

    def initialize(self, model: nn.Module) -> None:
        """Set the weights a model starts from, where the settings ask for others than those of its layers."""
