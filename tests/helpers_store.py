"""Stores of texts, for tests that have tokenizers and no recipe."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from saccade.data.features import text_features
from saccade.data.image_feature import ImageFeature
from saccade.data.store import Store


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
