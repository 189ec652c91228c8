"""chance: random numbers for sounds, the same with every version of numpy."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["seed_of", "uniform"]


def seed_of(text: str) -> int:
    """Return a number that depends on a text, on every machine the same."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def uniform(chance: np.random.PCG64, count: int) -> NDArray[np.float64]:
    """Return uniform numbers in [-1, 1), from raw bits: numpy keeps these stable, but not its distributions."""
    bits = np.asarray(chance.random_raw(-(-count // 4)), np.uint64).astype("<u8").view("<i2")[:count]
    return np.asarray(bits / 32768)
