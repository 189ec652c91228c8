"""Load pretrained word vectors into a model before training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from saccade.batch import SPECIALS
from saccade.data.vectors import read_vectors

if TYPE_CHECKING:
    from saccade.recipes.schema import EmbeddingsConfig

__all__ = ["VectorReport", "load_vectors"]


@dataclass(frozen=True)
class VectorReport:
    """Report on loaded word vectors: how many words of the vocabulary have one, and whether training updates them."""

    file: str
    found: int
    words: int
    coverage: float
    tuned: bool


def load_vectors(embedding: nn.Embedding, vocabulary: Sequence[str], settings: EmbeddingsConfig) -> VectorReport:
    """Load pretrained vectors into an embedding.

    Words without a vector, and the special tokens, get random vectors with the standard deviation of the loaded ones.
    """
    vectors = read_vectors(Path(settings.file or ""), vocabulary, embedding.embedding_dim)
    found = torch.from_numpy(vectors.found)
    known = torch.from_numpy(vectors.matrix)
    spread = float(known[found].std()) if int(found.sum()) * known.shape[1] > 1 else 1.0
    with torch.no_grad():
        drawn = torch.randn(embedding.weight.shape) * spread
        embedding.weight.copy_(torch.where(found[:, None], known, drawn))
    embedding.weight.requires_grad_(settings.trainable)
    words = len(vocabulary) - len(SPECIALS)
    return VectorReport(str(settings.file), int(found.sum()), words, vectors.coverage, settings.trainable)
