"""The Free Spoken Digit Dataset: recordings of a clone or an archive, and strings of digits made of them."""

import io
import tarfile
import wave
from itertools import pairwise

import numpy as np
import pytest

from saccade.data.forms import SPEECH
from saccade.data.public.fsdd import DIGITS, convert_fsdd, read_fsdd, split_of_take
from saccade.errors import DataError


def recording(digit, seconds, rate=8000, channels=1):
    """A tone, whose pitch says the digit."""
    tone = 8000 * np.sin(2 * np.pi * (300 + 200 * digit) * np.arange(round(seconds * rate)) / rate)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((channels, 2, rate, 0, "NONE", ""))
        file.writeframes(np.repeat(tone.astype("<i2"), channels).tobytes())
    return buffer.getvalue()


FILES = {
    f"{digit}_{speaker}_{number}.wav": recording(digit, 0.1 + 0.01 * digit)
    for digit in range(10)
    for speaker in ("ann", "bob")
    for number in (0, 5, 10, 11)
}


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clone")
    (folder / "recordings").mkdir()
    for name, data in FILES.items():
        (folder / "recordings" / name).write_bytes(data)
    (folder / "recordings" / "notes.txt").write_text("not a recording")
    return folder


@pytest.fixture(scope="module")
def converted(clone, tmp_path_factory):
    out = tmp_path_factory.mktemp("fsdd")
    return out, convert_fsdd(clone, out, strings=8000)


def packed(path, members):
    with tarfile.open(path, "w:xz") as file:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            file.addfile(entry, io.BytesIO(data))


def lines(path):
    return list(SPEECH.read([path]))


def names_in(example):
    return [part.path.name for part in example.sound.parts]


def test_a_clone_and_an_archive_hold_the_same(clone, tmp_path):
    packed(tmp_path / "train.tar.xz", {f"recordings/{name}": data for name, data in FILES.items()})
    one, other = list(read_fsdd(clone)), list(read_fsdd(tmp_path))
    assert one == other
    assert len(one) == len(FILES)
    assert {take.file for take, _ in one} == set(FILES)
    take = next(take for take, _ in one if take.file == "7_bob_10.wav")
    assert (take.digit, take.speaker, take.number, take.rate) == (7, "bob", 10, 8000)
    assert take.seconds == pytest.approx(0.17, abs=1e-3)
    assert take.peak == pytest.approx(8000 / 32768, rel=0.01)


def test_nothing_is_unpacked_outside(tmp_path):
    origin, out = tmp_path / "origin", tmp_path / "out"
    origin.mkdir()
    packed(
        origin / "x.tar.xz", {"../../3_eve_12.wav": FILES["3_ann_10.wav"], "/etc/4_eve_12.wav": FILES["4_ann_10.wav"]}
    )
    convert_fsdd(origin, out)
    assert {path.name for path in (out / "recordings").iterdir()} == {"3_eve_12.wav", "4_eve_12.wav"}
    assert {path.name for path in tmp_path.iterdir()} == {"origin", "out"}


def test_recordings_decide_the_split_by_their_number(converted, clone):
    splits = {take.number: split_of_take(take) for take, _ in read_fsdd(clone)}
    assert splits == {0: "test", 5: "valid", 10: "train", 11: "train"}
    for split, numbers in (("train", {"10", "11"}), ("valid", {"5"}), ("test", {"0"})):
        used = {
            name[:-4].split("_")[2]
            for example in SPEECH.read([converted[0] / f"{split}.jsonl"])
            for name in names_in(example)
        }
        assert used == numbers


def test_strings_have_one_to_seven_digits_of_one_speaker(converted):
    examples = lines(converted[0] / "train.jsonl")
    assert len(examples) == 8000
    lengths = [len(example.text.split()) for example in examples]
    assert {*lengths} == {*range(1, 8)}
    assert all(1000 < lengths.count(length) < 1300 for length in range(1, 8))
    for example in examples[:300]:
        names = names_in(example)
        assert len({name.split("_")[1] for name in names}) == 1
        assert example.text == " ".join(DIGITS[int(name[0])] for name in names)
    words = " ".join(example.text for example in examples).split()
    assert all(0.09 < words.count(digit) / len(words) < 0.11 for digit in DIGITS)


def test_times_are_those_of_the_digits(converted):
    for example in lines(converted[0] / "train.jsonl")[:60]:
        sound = example.sound.load()
        assert example.times[-1][1] < sound.seconds
        assert all(before[1] < after[0] for before, after in pairwise(example.times))
        silent = sound.samples.copy()
        for word, (begin, end) in zip(example.text.split(), example.times, strict=True):
            first, last = round(begin * 8000), round(end * 8000)
            part = sound.samples[first + 100 : last - 100]
            pitch = np.argmax(np.abs(np.fft.rfft(part, 8000)))
            assert pitch == pytest.approx(300 + 200 * DIGITS.index(word), abs=15)
            silent[first - 1 : last + 1] = 0
        assert not silent.any()


def test_levels_vary_and_nothing_is_clipped(converted):
    peaks = [np.abs(example.sound.load().samples).max() for example in lines(converted[0] / "train.jsonl")[:80]]
    assert max(peaks) <= 0.9
    assert 0.12 < min(peaks) < 0.35


def test_single_digits_come_once_each(converted):
    for split in ("valid", "test"):
        examples = lines(converted[0] / f"{split}.digits.jsonl")
        assert len(examples) == 20
        assert len({tuple(names_in(example)) for example in examples}) == 20
        assert all(len(example.times) == 1 for example in examples)


def test_a_speaker_can_be_held_out(converted):
    folder = converted[0] / "without-bob"
    for split, speakers in (("train", {"ann"}), ("valid", {"ann"}), ("test", {"bob"})):
        examples = lines(folder / f"{split}.jsonl")
        assert {name.split("_")[1] for example in examples for name in names_in(example)} == speakers
        assert examples[0].sound.load().seconds > 0.2
    assert len(lines(folder / "test.digits.jsonl")) == 40, "all recordings of the speaker"


def test_the_conversion_is_the_same_each_time(clone, converted, tmp_path):
    convert_fsdd(clone, tmp_path, strings=8000)
    for path in converted[1]:
        if path.suffix == ".jsonl":
            assert (tmp_path / path.relative_to(converted[0])).read_bytes() == path.read_bytes()


def test_one_speaker_alone_is_not_held_out(tmp_path):
    (tmp_path / "recordings").mkdir()
    for name, data in FILES.items():
        if "ann" in name:
            (tmp_path / "recordings" / name).write_bytes(data)
    written = convert_fsdd(tmp_path, tmp_path / "out", strings=100)
    assert all("without" not in str(path) for path in written)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"RIFF", "7_ann_10.wav is damaged"),
        (recording(7, 0.1, channels=2), "16 bits in one channel"),
        (recording(7, 0.0), "16 bits in one channel"),
    ],
)
def test_a_broken_recording_is_named_and_nothing_is_left(tmp_path, data, message):
    (tmp_path / "recordings").mkdir()
    (tmp_path / "recordings/7_ann_10.wav").write_bytes(data)
    with pytest.raises(DataError, match=message):
        convert_fsdd(tmp_path, tmp_path / "out", strings=100)
    assert not list((tmp_path / "out").glob("*"))


@pytest.mark.parametrize("data", [b"no archive", None])
def test_a_damaged_archive_is_named(tmp_path, data):
    packed(tmp_path / "train.tar.xz", {"recordings/3_ann_10.wav": bytes(range(256)) * 40})
    path = tmp_path / "train.tar.xz"
    path.write_bytes(path.read_bytes()[:-60] if data is None else data)
    with pytest.raises(DataError, match=r"train\.tar\.xz is damaged"):
        convert_fsdd(tmp_path, tmp_path / "out", strings=100)


def test_an_archive_of_huge_files_is_refused(tmp_path):
    packed(tmp_path / "train.tar.xz", {"recordings/3_ann_10.wav": bytes(2 << 20)})
    with pytest.raises(DataError, match="far larger than the data set"):
        convert_fsdd(tmp_path, tmp_path / "out", strings=100)


def test_a_folder_without_recordings_is_named(tmp_path):
    with pytest.raises(DataError, match=r"has no recordings such as 7_jackson_32\.wav"):
        convert_fsdd(tmp_path, tmp_path / "out", strings=100)
    with pytest.raises(DataError, match="nowhere"):
        convert_fsdd(tmp_path / "nowhere", tmp_path / "out")
