"""Begin and end of words in a recording: anchors from a model, moved to where the sound becomes loud or quiet.

A model attends to the telling part of a word, or predicts it at a single key, not from its begin to its end. So anchors
say which part of the sound belongs to which word, and loudness says where the word begins and ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["loudness", "ordered", "word_edges"]

Floats = NDArray[np.float64]
_QUIET = 0.4
"""Share of the range of loudness below which a frame is quiet."""
_RANGE = 0.05, 0.95
"""Quantiles of loudness that stand for silence and for speech."""


def loudness(frames: NDArray[np.floating]) -> Floats:
    """Return the loudness (S,) of log-mel frames (S, bands): 0 at silence, 1 where it is loud."""
    mean = frames.mean(1, dtype=np.float64)
    smooth = np.convolve(np.pad(mean, 1, mode="edge"), np.ones(3) / 3, "valid")
    low, high = np.quantile(smooth, _RANGE)
    return np.asarray((smooth - low) / max(float(high - low), 1e-6))


def word_edges(anchors: Sequence[tuple[int, int]], loud: Floats) -> list[tuple[int, int]]:
    """Return the first frame of each word and the one after its last, from anchors in frames, in order.

    An anchor loses quiet frames at its ends. Between two words the longest quiet stretch belongs to none; without one
    the least loud frame divides them. Before the first word and after the last, the stretch next to it counts.
    """
    quiet = loud < _QUIET
    kept = [_shrunk(anchor, quiet) for anchor in anchors]
    if not kept:
        return []
    begins, ends = [_before(quiet, kept[0][0])], []
    for (_, end), (begin, _) in pairwise(kept):
        first, last = _divided(loud, quiet, end, max(begin, end))
        ends.append(first)
        begins.append(last)
    ends.append(len(loud) - _before(quiet[::-1], len(loud) - kept[-1][1]))
    return [(begin, max(end, begin + 1)) for begin, end in zip(begins, ends, strict=True)]


def ordered(anchors: Sequence[tuple[int, int]], frames: int) -> list[tuple[int, int]]:
    """Return anchors of at least one frame that follow each other within a number of frames."""
    found: list[tuple[int, int]] = []
    now = 0
    for begin, end in anchors:
        begin = min(max(begin, now), frames - 1)
        now = min(max(end, begin + 1), frames)
        found.append((begin, now))
    return found


def _shrunk(anchor: tuple[int, int], quiet: NDArray[np.bool_]) -> tuple[int, int]:
    """Return an anchor without quiet frames at its ends, or all of it if it is quiet."""
    begin, end = anchor
    loud = np.flatnonzero(~quiet[begin:end])
    return (begin + int(loud[0]), begin + int(loud[-1]) + 1) if len(loud) else anchor


def _before(quiet: NDArray[np.bool_], begin: int) -> int:
    """Return the end of the longest quiet stretch before a frame; 0 without one."""
    runs = _runs(quiet[:begin])
    return max(runs, key=lambda run: run[1] - run[0])[1] if runs else 0


def _divided(loud: Floats, quiet: NDArray[np.bool_], begin: int, end: int) -> tuple[int, int]:
    """Return where one word ends and the next begins, between two frames."""
    if begin >= end:
        return end, end
    runs = _runs(quiet[begin:end])
    if runs:
        first, last = max(runs, key=lambda run: run[1] - run[0])
        return begin + first, begin + last
    place = begin + int(loud[begin:end].argmin())
    return place, place


def _runs(quiet: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the begin and end of each stretch of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], quiet, [False]]).astype(np.int8)))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]
