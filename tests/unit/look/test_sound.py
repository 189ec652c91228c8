"""A spectrogram above the attention over time."""

import re

import numpy as np
import pytest

from saccade.errors import ConfigError
from saccade.look import Map, Spectrogram, draw_sound, save_sound
from saccade.look.sound import gray

SOURCE = [f"{0.04 * n:.2f}" for n in range(25)]


def ridge(words=("one", "two", "<eos>")):
    weights = np.zeros((len(words), 25))
    weights[0, 5:8], weights[1, 14:16], weights[2, 24] = 1 / 3, 0.5, 1
    return Map(SOURCE, words, weights)


def test_the_terminal_shows_words_over_time():
    one, two, end, axis = draw_sound(ridge(), width=80).splitlines()
    assert one.split()[0] == "one"
    assert [place for place, cell in enumerate(one) if cell not in " one"] == [12, 13, 14]
    assert [place for place, cell in enumerate(two) if cell in "░▒▓█"] == [21, 22]
    assert end[-1] == "█"
    assert axis.split() == ["0", "0.2", "0.4", "0.6", "0.8", "s"]
    assert axis.index("0.4") == 7 + 10


def test_a_narrow_terminal_keeps_every_peak():
    lines = draw_sound(ridge(), width=20).splitlines()
    assert max(map(len, lines[:3])) <= 20
    assert all(set(line) & set("░▒▓█") for line in lines[:3])


def test_loud_is_dark_and_low_is_below():
    frames = np.zeros((4, 3))
    frames[2, 0] = 9.0  # loud in the lowest band
    pixels = gray(frames)
    assert pixels.shape == (3, 4, 3)
    assert pixels[2, 2].tolist() == [0, 0, 0]
    assert (pixels[:2] == 255).all()
    assert gray(np.zeros((5, 2))).max() == 255


def test_the_file_has_words_seconds_and_cells(tmp_path):
    sound = Spectrogram(gray(np.random.default_rng(0).random((100, 20))), 1.0)
    save_sound(ridge(), sound, tmp_path / "sound.svg", title="what was heard")
    svg = (tmp_path / "sound.svg").read_text()
    found = set(re.findall(r">([^<>\n]+)</(?:text|tspan)>", svg))
    assert {"one", "two", "0", "0.2", "1", "seconds", "what was heard"} <= found
    assert svg.count("<image") == 1
    save_sound(ridge(), sound, tmp_path / "sound.png")
    assert (tmp_path / "sound.png").stat().st_size > 1000


def test_a_source_without_times_is_refused():
    with pytest.raises(ConfigError, match="the source has no times"):
        draw_sound(Map(["a"], ["b"], [[1.0]]))
