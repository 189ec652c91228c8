"""Reading sound: every form of input, and a one-paragraph error for what cannot be read."""

import io
import struct
from contextlib import suppress

import numpy as np
import pytest

from helpers.sounds import tone, wav
from saccade.data import sound_files
from saccade.data.sound_files import array_sound, open_sound
from saccade.errors import DataError

TONE = tone(seconds=0.1)


@pytest.mark.parametrize("extensible", [False, True])
@pytest.mark.parametrize(
    ("kind", "bits", "error"), [(1, 8, 8e-3), (1, 16, 3e-5), (1, 24, 2e-7), (1, 32, 1e-7), (3, 32, 1e-7), (3, 64, 1e-7)]
)
def test_every_depth_is_read(kind, bits, error, extensible):
    found = open_sound(wav(TONE, kind=kind, bits=bits, extensible=extensible))
    assert found.rate == 16000
    np.testing.assert_allclose(found.samples, TONE, atol=error)


@pytest.mark.parametrize("channels", [1, 2, 32])
@pytest.mark.parametrize("rate", [8000, 44100, 96000])
def test_channels_are_averaged_at_any_rate(channels, rate):
    samples = np.stack([TONE * (n + 1) / channels for n in range(channels)], 1)
    found = open_sound(wav(samples, rate))
    assert found.rate == rate
    np.testing.assert_allclose(found.samples, samples.mean(1), atol=1e-4)


def test_a_path_and_bytes_are_the_same(tmp_path):
    path = tmp_path / "a.wav"
    path.write_bytes(wav(TONE))
    for source in (path, str(path), bytearray(path.read_bytes())):
        np.testing.assert_allclose(open_sound(source).samples, TONE, atol=1e-4)


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF])
def test_a_stream_of_unknown_length_goes_to_its_end(size):
    assert len(open_sound(wav(TONE, data_size=size)).samples) == len(TONE) * (size != -1)


def test_silence_is_a_sound():
    assert not open_sound(wav(np.zeros(100))).samples.any()


def refused(source, **options):
    with pytest.raises(DataError) as caught:
        open_sound(source, **options)
    said = str(caught.value)
    assert "\n" not in said
    return said


def test_what_cannot_be_read_is_named(tmp_path):
    cases = {
        "empty.wav": (b"", "is empty"),
        "text.wav": (b"this is text, not sound", "is not a sound"),
        "cut.wav": (wav(TONE)[:-100], "is cut: its header announces 3,200 bytes of sound, but 3,100 are there"),
        "header.wav": (wav(TONE)[:40], "is a damaged .wav file"),
        "none.wav": (wav(np.zeros(0)), "holds no samples"),
        "nan.wav": (wav([0.1, np.nan], kind=3, bits=32), "NaN or infinite"),
        "rate.wav": (wav(TONE, 7), "has 7 samples a second"),
        "wide.wav": (wav(np.zeros((3, 65))), "has 65 channels"),
        "long.wav": (wav(np.zeros(1000 * 700), 1000, bits=8), "lasts 700 s, but at most 600 s"),
    }
    for name, (content, said) in cases.items():
        (tmp_path / name).write_bytes(content)
        found = refused(tmp_path / name)
        assert said in found
        assert str(tmp_path / name) in found
    assert "does not exist" in refused(tmp_path / "nowhere.wav") or "nowhere.wav" in refused(tmp_path / "nowhere.wav")
    assert "more than 0.001 MB" in refused(wav(TONE), max_bytes=1000)


def test_random_bytes_are_a_sound_or_refused():
    chance = np.random.default_rng(0)
    whole = wav(TONE)
    for _ in range(200):
        data = bytearray(whole)
        for place in chance.integers(0, 60, 4):
            data[place] = chance.integers(256)
        with suppress(DataError):  # and no other error
            open_sound(bytes(data[: chance.integers(1, len(data))]))


def test_arrays_of_integers_and_floats():
    whole = (TONE * 32767).astype(np.int16)
    np.testing.assert_allclose(array_sound(whole, 8000).samples, TONE, atol=1e-4)
    both = np.stack([TONE, TONE], 1)
    np.testing.assert_allclose(array_sound(both, 8000).samples, TONE, atol=1e-6)
    with pytest.raises(DataError, match="lasts 601 s"):
        array_sound(np.zeros(601_000, np.float32), 1000)


@pytest.mark.parametrize("form", ["FLAC", "OGG", "MP3", "AIFF"])
def test_other_formats_by_soundfile(form):
    library = pytest.importorskip("soundfile")
    file = io.BytesIO()
    library.write(file, tone(seconds=1, rate=16000), 16000, format=form)
    found = open_sound(file.getvalue())
    assert found.rate == 16000
    assert abs(len(found.samples) - 16000) < 3000
    if form != "AIFF":  # its reader takes what is there
        assert "is cut or damaged" in refused(file.getvalue()[:60])


def test_a_long_file_is_refused_by_its_header(monkeypatch):
    library = pytest.importorskip("soundfile")
    file = io.BytesIO()
    library.write(file, np.zeros(1000 * 50, np.float32), 1000, format="FLAC")
    monkeypatch.setattr(library.SoundFile, "read", lambda *a, **k: pytest.fail("the samples were decoded"))
    assert "lasts 50 s, but at most 10 s" in refused(file.getvalue(), max_seconds=10)


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "soundfile", None)
    assert "needs the extra 'sound'" in refused(b"fLaC" + bytes(40))


def test_rare_wav_encodings_are_left_to_soundfile(monkeypatch):
    monkeypatch.setattr(sound_files, "_by_library", lambda data, name, most: (np.full((2, 1), 0.5, np.float32), 8000))
    data = bytearray(wav(TONE))
    data[20:22] = struct.pack("<H", 0x11)  # ADPCM
    assert open_sound(bytes(data)).samples.tolist() == [0.5, 0.5]
