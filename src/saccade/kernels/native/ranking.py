"""The best words of a decoding step by writer.c."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from saccade.kernels.native.library import library

__all__ = ["best_words"]


def best_words(logits: Tensor, before: Tensor | None, first: int, count: int) -> tuple[Tensor, Tensor]:
    """Return the best words of each row, or with `before` (B, K) of each sentence's K rows together.

    logits (B·K, V) in float32 on the CPU -> (·, count): log-probabilities, and places: word, or k · V + word.
    """
    loaded = library()
    assert loaded is not None
    rows, words = logits.shape
    sentences, beams = (rows, 1) if before is None else before.shape
    before = None if before is None else before.contiguous()
    values, places = logits.new_empty(sentences, count), logits.new_empty(sentences, count, dtype=torch.long)
    loaded.best(
        ctypes.c_void_p(logits.data_ptr()),
        *(sentences, beams, words, first, count),
        None if before is None else ctypes.c_void_p(before.data_ptr()),
        ctypes.c_void_p(values.data_ptr()),
        ctypes.c_void_p(places.data_ptr()),
    )
    return values, places
