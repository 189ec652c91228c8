"""Word vectors laid into a model before it is trained."""

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
    from saccade.recipes.schema import VectorsConfig

__all__ = ["Laid", "lay_in"]


@dataclass(frozen=True)
class Laid:
    """What became of a file of word vectors: how many of the vocabulary's words it knew, and whether they are tuned."""

    file: str
    found: int
    words: int
    coverage: float
    tuned: bool


def lay_in(embedding: nn.Embedding, vocabulary: Sequence[str], settings: VectorsConfig) -> Laid:
    """Give an embedding the vectors of its words.

    Words without one, and the special tokens, are drawn anew with the spread of those that have one, so that they
    neither drown nor vanish among them.
    """
    vectors = read_vectors(Path(settings.file or ""), vocabulary, embedding.embedding_dim)
    found = torch.from_numpy(vectors.found)
    known = torch.from_numpy(vectors.matrix)
    spread = float(known[found].std()) if int(found.sum()) * known.shape[1] > 1 else 1.0
    with torch.no_grad():
        drawn = torch.randn(embedding.weight.shape) * spread
        embedding.weight.copy_(torch.where(found[:, None], known, drawn))
    embedding.weight.requires_grad_(settings.tune)
    words = len(vocabulary) - len(SPECIALS)
    return Laid(str(settings.file), int(found.sum()), words, vectors.coverage, settings.tune)
