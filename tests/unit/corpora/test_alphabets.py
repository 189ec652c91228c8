"""alphabets: characters and drawers differ, and splits share no character."""

import numpy as np
import pytest

from saccade.corpora import CORPORA, alphabets
from saccade.corpora.alphabets.characters import SIZE
from saccade.corpora.alphabets.drawing import DRAWERS
from saccade.errors import ConfigError

ALPHABET = SIZE * DRAWERS


def pixels(examples):
    return np.stack([example.image.load()[..., 0] for example in examples]).astype(float)


@pytest.fixture(scope="module")
def drawn():
    return list(alphabets("train", ALPHABET))


def test_an_alphabet_has_twenty_characters_of_twenty_drawers(drawn):
    labels = [example.label for example in drawn]
    assert len(set(labels)) == SIZE
    assert all(labels[start : start + DRAWERS] == [labels[start]] * DRAWERS for start in range(0, ALPHABET, DRAWERS))


def test_drawings_are_dark_on_white_and_all_differ(drawn):
    found = pixels(drawn)
    assert found.shape[1:] == (28, 28)
    assert (found.min((1, 2)) == 0).all()
    assert (np.median(found, (1, 2)) > 200).all(), "most of it is paper"
    assert len(np.unique(found.reshape(ALPHABET, -1), axis=0)) == ALPHABET


def test_drawings_of_a_character_resemble_each_other(drawn):
    """A drawing's nearest neighbor by pixels is mostly, but not always, of its character."""
    flat = 255 - pixels(drawn).reshape(ALPHABET, -1)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    alike = flat @ flat.T - 2 * np.eye(ALPHABET)
    right = (alike.argmax(1) // DRAWERS == np.arange(ALPHABET) // DRAWERS).mean()
    assert 0.6 < right < 1


def test_the_same_arguments_draw_the_same_and_more_only_appends(drawn):
    again = list(alphabets("train", 45))
    assert [one.label for one in again] == [one.label for one in drawn[:45]]
    assert np.array_equal(pixels(again), pixels(drawn[:45]))
    assert not np.array_equal(pixels(again), pixels(alphabets("train", 45, 2)))


def test_splits_share_no_character(drawn):
    others = [example for split in ("valid", "test") for example in alphabets(split, ALPHABET)]
    assert not {one.label for one in others} & {one.label for one in drawn}
    assert not {one.image.strokes for one in others} & {one.image.strokes for one in drawn}


def test_lengths_count_strokes():
    for low, high in ((1, 1), (2, 3), (6, 6)):
        found = {len(one.image.strokes) for one in alphabets("test", ALPHABET, min_length=low, max_length=high)}
        assert found <= set(range(low, high + 1))
    with pytest.raises(ConfigError, match="1 to 6 strokes"):
        CORPORA["alphabets"].generate("train", 1, min_length=1, max_length=7)
