"""Recordings with transcripts: 16-bit files, joined files, times, and errors."""

import json
import wave

import numpy as np
import pytest

from saccade.data.example import Example, Links
from saccade.data.forms import SPEECH
from saccade.data.recordings import JoinedSound, Part, SoundFile, joined_times
from saccade.data.sound_files import open_sound
from saccade.data.sounds import Sound, wave_bytes
from saccade.errors import ConfigError, DataError, SaccadeError, ShapeError


def tone(seconds=0.1, rate=8000, level=0.5):
    return Sound((level * np.sin(np.arange(round(seconds * rate)) * 0.3)).astype(np.float32), rate)


def saved(path, sound):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(wave_bytes(sound))
    return path


def test_a_sound_survives_its_file_within_half_a_step(tmp_path):
    sound = tone()
    found = SoundFile(saved(tmp_path / "a.wav", sound)).load()
    assert found.rate == 8000
    assert np.abs(found.samples - sound.samples).max() <= 0.5 / 32768 + 1e-9
    assert found.samples.dtype == np.float32


def test_too_loud_samples_are_clipped_and_not_wrapped():
    loud = Sound(np.array([1.5, -1.5, 1.0, -1.0], np.float32), 8000)
    assert open_sound(wave_bytes(loud)).samples.tolist() == [32767 / 32768, -1, 32767 / 32768, -1]


def test_channels_become_their_mean(tmp_path):
    path = tmp_path / "stereo.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((2, 2, 16000, 0, "NONE", ""))
        file.writeframes(np.array([[100, 300], [-200, 0]], "<i2").tobytes())
    assert (SoundFile(path).load().samples * 32768).tolist() == [200, -100]


def test_a_sound_has_one_channel_and_a_rate():
    with pytest.raises(ShapeError, match=r"float64 of \(3, 2\).*mean of its channels"):
        Sound(np.zeros((3, 2)), 8000)
    with pytest.raises(ShapeError, match="0 samples a second"):
        Sound(np.zeros(3, np.float32), 0)


def test_a_sound_in_memory_serves_as_a_recording():
    sound = tone()
    assert sound.load() is sound
    assert sound.name == "a sound of 0.10 s"
    assert sound.stamp() == tone().stamp() != tone(level=0.4).stamp()
    assert Sound(sound.samples, 16000).stamp() != sound.stamp()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"no\.wav"):
        SoundFile(tmp_path / "no.wav").load()


def test_joined_files_play_when_their_times_say(tmp_path):
    one, two = saved(tmp_path / "1.wav", tone(0.1)), saved(tmp_path / "2.wav", tone(0.2, level=0.25))
    sound = JoinedSound((Part(one, 0.05), Part(two, 0.1, 2.0)), 0.03).load()
    times = joined_times([0.1, 0.2], [0.05, 0.1])
    assert times == ((0.05, 0.15), (0.25, 0.45))
    assert sound.seconds == pytest.approx(0.48)
    heard = np.flatnonzero(sound.samples) / 8000
    assert heard.min() == pytest.approx(0.05, abs=2e-4)
    assert heard.max() == pytest.approx(0.45, abs=2e-4)
    assert not [time for time in heard if 0.1502 < time < 0.25]
    loudest = [np.abs(sound.samples[round(a * 8000) : round(b * 8000)]).max() for a, b in times]
    assert loudest == pytest.approx([0.5, 0.5], abs=0.01)


def test_joined_files_need_one_rate(tmp_path):
    one, two = saved(tmp_path / "1.wav", tone()), saved(tmp_path / "2.wav", tone(rate=16000))
    with pytest.raises(DataError, match=r"2\.wav has 16000 samples a second, but .*1\.wav 8000"):
        JoinedSound((Part(one), Part(two))).load()


def test_a_changed_file_has_another_stamp(tmp_path):
    path = saved(tmp_path / "1.wav", tone())
    before, joined = SoundFile(path).stamp(), JoinedSound((Part(path, 0.1),)).stamp()
    saved(path, tone(0.2))
    assert SoundFile(path).stamp() != before
    assert JoinedSound((Part(path, 0.1),)).stamp() != joined != JoinedSound((Part(path, 0.2),)).stamp()


def test_what_is_written_is_read_back(tmp_path):
    examples = [
        Example(target="one two", sound=tone(), times=((0.01, 0.04), (0.05, 0.09))),
        Example(target="three", sound=tone(0.05)),
        Example(
            source="a cat",
            target="un chat",
            links=Links(frozenset({(0, 0), (1, 1)})),
            sound=tone(),
            times=((0, 1), (1, 2)),
        ),
    ]
    paths = SPEECH.write(iter(examples), tmp_path, "train", ("en",))
    assert [path.name for path in paths] == ["train.jsonl", "train.sounds"]
    found = list(SPEECH.read(paths[:1]))
    for one, other in zip(examples, found, strict=True):
        assert (one.source, one.target, one.text, one.links, one.times) == (
            other.source,
            other.target,
            other.text,
            other.links,
            other.times,
        )
        assert np.abs(one.sound.load().samples - other.sound.load().samples).max() < 1e-4
    assert [example.text for example in found] == ["one two", "three", "a cat"]


def test_a_table_names_files_and_texts(tmp_path):
    saved(tmp_path / "clips/1.wav", tone())
    (tmp_path / "all.tsv").write_text("clips/1.wav\tone\n")
    (example,) = SPEECH.read([tmp_path / "all.tsv"])
    assert (example.target, example.sound.load().rate) == ("one", 8000)


def test_a_list_of_files_is_joined(tmp_path):
    saved(tmp_path / "1.wav", tone(0.1)), saved(tmp_path / "2.wav", tone(0.1))
    line = {
        "sound": [0.1, "1.wav", 0.2, 0.1, "2.wav", 0.05],
        "text": "one two",
        "gains": [1, 0.5],
        "times": [[0, 1], [1, 2]],
    }
    (tmp_path / "all.jsonl").write_text(json.dumps(line))
    (example,) = SPEECH.read([tmp_path / "all.jsonl"])
    assert example.sound == JoinedSound(
        (Part(tmp_path / "1.wav", 0.1, 1), Part(tmp_path / "2.wav", pytest.approx(0.3), 0.5)), 0.05
    )
    assert example.sound.load().seconds == pytest.approx(0.65)


def test_keys_may_have_other_names(tmp_path):
    (tmp_path / "all.jsonl").write_text(json.dumps({"audio": "1.wav", "sentence": "one"}))
    (example,) = SPEECH.read([tmp_path / "all.jsonl"], keys={"sound": "audio", "text": "sentence"})
    assert (example.text, example.sound) == ("one", SoundFile(tmp_path / "1.wav"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sound": ""}, "'sound' is .*path of a file, or a list"),
        ({"sound": [0.1]}, "'sound' is"),
        ({"sound": ["a.wav", -1]}, "'sound' is"),
        ({"sound": ["a.wav", True]}, "'sound' is"),
        ({"gains": [1, 2], "sound": ["a.wav"]}, "'gains' is .*1 factors"),
        ({"text": None}, "'text' is null"),
        ({"text": 7}, "'text' is 7"),
        ({"times": [[0, 1]]}, "'times' is .*2 words"),
        ({"times": [[0, 1], [2, 1]]}, "'times' is"),
        ({"times": [[0, 1], [1, 2, 3]]}, "'times' is"),
        ({"times": [[0, 1], [1, float("nan")]]}, "'times' is"),
        ({"times": {"a": 1}}, "'times' is"),
        ({"translation": "un", "links": "0-1"}, "link 0-1 points beyond"),
        ({"translation": "un", "links": 3}, "'links' is 3"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path, change, message):
    good = {"sound": "a.wav", "text": "one two"}
    (tmp_path / "all.jsonl").write_text(json.dumps(good) + "\n" + json.dumps(good | change))
    with pytest.raises(DataError, match=f"all.jsonl, line 2.*{message}"):
        list(SPEECH.read([tmp_path / "all.jsonl"]))


def test_a_table_without_a_tab_is_refused(tmp_path):
    (tmp_path / "all.tsv").write_text("1.wav one\n")
    with pytest.raises(DataError, match=r"line 1 is not the name of a sound file, a tab"):
        list(SPEECH.read([tmp_path / "all.tsv"]))


def test_several_files_are_read_one_after_the_other(tmp_path):
    paths = [tmp_path / "real" / "all.tsv", tmp_path / "made" / "all.jsonl"]
    for path in paths:
        saved(path.parent / "clip.wav", tone())
    paths[0].write_text("clip.wav\tone two\n")
    paths[1].write_text(json.dumps({"sound": "clip.wav", "text": "three"}) + "\n")
    assert [(one.target, one.sound.path) for one in SPEECH.read(paths)] == [
        ("one two", paths[0].parent / "clip.wav"),
        ("three", paths[1].parent / "clip.wav"),
    ]
    with pytest.raises(ConfigError, match=r"keys are for a \.jsonl file, but .*all\.tsv is none"):
        SPEECH.read(paths, keys={"sound": "audio"})
    with pytest.raises(ConfigError, match=r"read from one file, but given is nothing"):
        SPEECH.read([])


def test_an_unknown_key_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"field 'sond'.*'sound'"):
        SPEECH.read([tmp_path / "all.jsonl"], keys={"sond": "x"})


@pytest.mark.parametrize("examples", [[], [Example(target="one")], [Example(sound=tone())]])
def test_nothing_half_is_written(tmp_path, examples):
    with pytest.raises(SaccadeError):
        SPEECH.write(
            iter([Example(target="one", sound=tone()), *examples][bool(not examples) :]), tmp_path, "train", ("en",)
        )
    assert list(tmp_path.iterdir()) == []
