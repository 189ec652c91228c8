"""twins: what is drawn, and how a drawn image is read again."""

from itertools import islice

import numpy as np

from saccade.corpora import twins
from saccade.corpora.twins import COLORS, PATTERNS, keeps_rule, read_twins


def images(count, split="valid"):
    return [example.image for example in twins(split, count)]


def test_both_shapes_share_color_and_pattern_and_lie_far_apart():
    for example in twins("train", 200):
        first, second = example.image.shapes
        assert first.label == second.label == example.label
        assert second.left - first.left >= 16
    assert len({example.label for example in twins("train", 400)}) == len(COLORS) * len(PATTERNS)


def test_what_was_drawn_is_read_again():
    chance = np.random.default_rng(1)
    for image in images(100):
        pixels = image.load()
        assert read_twins(pixels) == image.shapes
        noisy = np.clip(pixels + chance.normal(0, 12, pixels.shape), 0, 255).astype(np.uint8)
        assert read_twins(noisy) == image.shapes
        assert keeps_rule(noisy)


def test_halves_of_different_images_break_the_rule_unless_they_agree():
    kept = 0
    for one, other in zip(images(60), islice(images(61), 1, None), strict=True):
        mixed = np.concatenate([one.load()[:, :16], other.load()[:, 16:]], 1)
        same = one.shapes[0].label == other.shapes[1].label
        assert keeps_rule(mixed) == same
        kept += same
    assert 0 < kept < 30


def test_an_empty_half_and_noise_cannot_be_read():
    pixels = images(1)[0].load()
    pixels[:, 16:] = 24
    assert read_twins(pixels)[0] is not None
    assert read_twins(pixels)[1] is None
    assert not keeps_rule(np.random.default_rng(1).integers(0, 255, pixels.shape, np.uint8))
