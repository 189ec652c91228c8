"""Family: the settings of a kind of model, and methods that build its parts.

A head, such as the classifier or the language model, joins these parts into a model for one task.
"""

from __future__ import annotations

from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from torch import nn

from saccade.config import Config
from saccade.kernels.dropout import Dropout
from saccade.layers.causal import CausalLayer
from saccade.layers.encoder import Encoder
from saccade.models.base import Classifying, Seq2Seq

__all__ = ["Family", "WordNetwork"]

Network = TypeVar("Network", Encoder, CausalLayer)


class WordNetwork(NamedTuple, Generic[Network]):
    """A word embedding and the network above it.

    The network reads the embedding multiplied by `scale`, with `dropout`.
    """

    embedding: nn.Embedding
    network: Network
    dropout: Dropout | None = None
    scale: float = 1.0


class Family(Config):
    """Settings of a family of models.

    Each head in `models/heads.py` builds models of any family by calling the methods below. Except `initialize`, each
    method raises TypeError unless the family overrides it. So a family needs only the methods that its heads call.
    """

    reads: ClassVar[str] = "text"
    """What the family reads: text, image, labeled image, point, sound, episode, seed or caption.

    Heads of other inputs cannot be built."""

    def encoder_of_words(self, vocabulary: int) -> WordNetwork[Encoder]:
        """Build the encoder of a whole sequence, for heads such as the classifier, which pools its states."""
        raise TypeError(f"{type(self).__name__} has no encoder for words: write encoder_of_words()")

    def reader_of_words(self, vocabulary: int) -> WordNetwork[CausalLayer]:
        """Build the causal network, for heads that predict the next word."""
        raise TypeError(f"{type(self).__name__} has no causal network for words: write reader_of_words()")

    def sequence_to_sequence(self, source_vocabulary: int, target_vocabulary: int) -> Seq2Seq:
        """Build a model that reads one sequence and writes another."""
        raise TypeError(f"{type(self).__name__} does not translate: write sequence_to_sequence()")

    def captioner(self, vocabulary: int) -> Seq2Seq:
        """Build a model that reads an image and writes a sequence."""
        raise TypeError(f"{type(self).__name__} reads no images: write captioner()")

    def recognizer(self, frames: int, vocabulary: int) -> Seq2Seq:
        """Build a model that reads frames of this width, of a recording, and writes a sequence."""
        raise TypeError(f"{type(self).__name__} reads no sound: write recognizer()")

    def pointer_network(self, points: Any) -> Seq2Seq:
        """Build a model that reads points and writes their positions; `points`: a PointsConfig."""
        raise TypeError(f"{type(self).__name__} reads no points: write pointer_network()")

    def few_shot(self, codes: int, longest: int) -> Classifying:
        """Build a model that reads labeled images and queries; `longest`: the most labeled images, and one query."""
        raise TypeError(f"{type(self).__name__} reads no episodes: write few_shot()")

    def image_generator(self, classes: int) -> nn.Module:
        """Build a generator of images and what trains and measures it; `classes`: the number of labels."""
        raise TypeError(f"{type(self).__name__} draws no images: write image_generator()")

    def drawer(self, vocabulary: int) -> nn.Module:
        """Build a generator of pictures of sentences, and what trains and measures it."""
        raise TypeError(f"{type(self).__name__} draws no sentences: write drawer()")

    def image_classifier(self, classes: int) -> Classifying:
        """Build a model that reads an image and predicts its class."""
        raise TypeError(f"{type(self).__name__} does not classify images: write image_classifier()")

    def initialize(self, model: nn.Module) -> None:
        """Initialize the weights as the settings say; by default, keep each layer's own initialization."""
