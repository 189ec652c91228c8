"""Windows of long recordings: cuts at pauses, every sample once, and bad files."""

import numpy as np
import pytest

from helpers.sounds import tone, wav
from saccade.data.sound_files import open_sound
from saccade.data.sound_windows import sound_windows
from saccade.errors import DataError

RATE = 8000
PAUSE = np.zeros(RATE // 2, np.float32)


@pytest.fixture
def path(tmp_path):
    """Thirty tones of one second with half a second between."""
    samples = np.concatenate([part for number in range(30) for part in (tone(300 + 10 * number, 1.0, RATE), PAUSE)])
    (tmp_path / "long.wav").write_bytes(wav(samples, RATE, bits=24))
    return tmp_path / "long.wav"


def test_windows_end_in_pauses_and_hold_every_sample_once(path):
    windows = list(sound_windows(path, 7.0))
    whole = open_sound(path).samples
    np.testing.assert_array_equal(np.concatenate([window.sound.samples for window in windows]), whole)
    begin = 0.0
    for window in windows:
        assert window.begin == pytest.approx(begin)
        begin += window.sound.seconds
        assert window.sound.seconds <= 7.0
    for window in windows[1:]:
        assert 1.0 <= window.begin % 1.5 <= 1.5, "a cut lies in a pause"
    assert 7 <= len(windows) <= 13


def test_a_short_file_is_one_window(path):
    assert len(list(sound_windows(path, 100.0))) == 1


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"no sound", "cannot be decoded"),
        (wav(np.zeros(0), RATE), "holds no samples"),
        (wav([0.0, np.nan], RATE, kind=3, bits=32), "NaN or infinite"),
        (wav(np.zeros(900), RATE)[:900], "is cut"),
    ],
)
def test_bad_files_are_named(tmp_path, content, why):
    (tmp_path / "bad.wav").write_bytes(content)
    with pytest.raises(DataError, match=rf"bad\.wav .*{why}"):
        list(sound_windows(tmp_path / "bad.wav", 5.0))
