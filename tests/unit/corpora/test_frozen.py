"""The built-in corpora are frozen: results and recipes name them, so another sentence is another corpus.

An intended change changes the digests below, and every figure measured on the corpus has to be measured again.
"""

import hashlib

import numpy as np
import pytest

from saccade.corpora import CORPORA

DIGESTS = {
    ("english-french", 3, 20): "7971d552785766f4b22690fe80461483",
    ("english-french", 3, 80): "130dc066691348bc7107800b5f90349a",
    ("reading", 3, 20): "04a484c38fde71ca6fc024a22606ea40",
    ("reading", 3, 80): "76af59d353757b38174ed49a84cbff13",
    ("scenes", 3, 20): "46bd3f312b027236b4d1cf04a186b98a",
    ("articles", 60, 160): "4d4c870ca9c26302bb92ffe5bb9239e6",
    ("articles", 200, 300): "e1c2b9ea5c0e525e9228e20915521a22",
    ("stories", 40, 120): "8498d06d1bd44e8fd46210a525e7fed4",
    ("stories", 200, 320): "10b21dc374e4f662aa1a6341539feaa9",
    ("sorting", 5, 10): "ca92c0752e29203a94455d9b261f1974",
    ("convex-hull", 5, 50): "fc00718802bc3cb598e6be37edb01ada",
    ("salesman", 5, 10): "98a7db67e11c8f6416279ae5bc29ea43",
    ("talk", 2, 14): "00777e59046446c682980414abd8d830",
    ("spoken", 1, 7): "d12cfa5d40b3728f17ea67fe1098c6aa",
    ("spoken", 10, 20): "c19990b8ac35f3c3341e4b17deec1118",
    ("talk", 9, 14): "cf8076ec14ecfc52bb5fe47d02c0c409",
    ("alphabets", 2, 4): "971e5ea51c8cdbd1465e109d92d96dc7",
    ("digits", 3, 20): "807321734e12d1df9ea3abf4730d809b",
    ("twins", 2, 2): "976b8e2a60ef4addb3e667a316d79044",
}
SIZES = {
    "english-french": 3000,
    "reading": 2000,
    "scenes": 800,
    "articles": 1000,
    "sorting": 1000,
    "convex-hull": 1000,
    "salesman": 400,
    "spoken": 600,
    "stories": 1000,
    "talk": 2000,
    "alphabets": 1000,
    "digits": 600,
    "twins": 400,
}


def written(example):
    """Everything an example says, as text; links are sets, so they are sorted."""
    links = None if example.links is None else str(example.links)
    asked = () if example.question is None else (example.question, example.spans, example.evidence)
    heard = () if example.sound is None else (example.times, example.sound.stamp())
    labeled = () if example.label is None else (example.label,)
    parts = (example.source, *example.turns, example.target, example.references, links, example.boxes)
    return repr((*parts, *asked, *heard, *labeled))


@pytest.mark.parametrize(("name", "low", "high"), DIGESTS)
def test_the_corpus_is_the_one_that_results_were_measured_on(name, low, high):
    digest = hashlib.blake2b(digest_size=16)
    for split in ("train", "valid"):
        for number, example in enumerate(
            CORPORA[name].generate(split, SIZES[name] // 2, 1, min_length=low, max_length=high)
        ):
            digest.update(written(example).encode())
            if example.image is not None and number < 60:
                digest.update(example.image.load().tobytes())
    assert digest.hexdigest() == DIGESTS[name, low, high]


LEVELS = [
    [14.99, -1.7, -3.73, -9.46],
    [16.31, -1.67, -2.65, -4.82],
    [8.62, -10.17, -6.52, -12.71],
    [16.74, 5.5, -4.29, -8.45],
]
"""Of the first utterances: decibels in four bands of equal width."""


def test_the_sounds_are_those_that_results_were_measured_on():
    found = []
    for example in CORPORA["spoken"].generate("train", 4, kind="sentences", max_length=10, noise=(10, 20), room=0.4):
        power = np.abs(np.fft.rfft(example.sound.load().samples)) ** 2
        found.append([10 * np.log10(band.mean()) for band in np.array_split(power, 4)])
    assert np.array(found) == pytest.approx(np.array(LEVELS), abs=0.05)
