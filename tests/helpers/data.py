"""Text files in every compression, and stores of examples without a recipe."""

import gzip
import lzma
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import zstandard

from saccade.data.features import text_features
from saccade.data.image_feature import ImageFeature
from saccade.data.store import Store

SUFFIXES = ["", ".gz", ".xz", ".zst"]


def open_store(cache, key, examples, tokenizers, classes=None, *, max_length=1000, links=False, pictures=None):
    """A store of the sides that have a tokenizer; `pictures`: the number of each example's image, drawn as that."""
    if classes is not None:
        tokenizers = replace(tokenizers, labels=classes)
    features = text_features(tokenizers, links=links)
    if pictures is not None:
        seen = ImageFeature(SimpleNamespace(rows=lambda numbers: np.array(numbers, np.uint8)[:, None, None, None]))
        seen._numbers = list(pictures)
        features.append(seen)
    return Store.open(cache, key, examples, features, max_length)


def packed(data, suffix):
    """Compress bytes as a file with that suffix has them."""
    if suffix == ".gz":
        return gzip.compress(data)
    if suffix == ".xz":
        return lzma.compress(data, preset=0)  # higher ones ask the reader for a larger dictionary, 8 MiB at 6
    return zstandard.ZstdCompressor().compress(data) if suffix == ".zst" else data


def put(path, content):
    """Write text or bytes to a file, compressed as its suffix says; return the path."""
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(packed(data, path.suffix))
    return path
