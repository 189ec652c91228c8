"""Tatoeba's sentences, split and joined."""

import lzma
import random

import pytest

from saccade.data.public.tatoeba import BANDS, LONGEST, convert_tatoeba, joined, read_tatoeba
from saccade.errors import DataError


def sentence(number, words=None):
    return " ".join(f"w{number}" for _ in range(words or 3 + number % 5))


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def published(tmp_path):
    """The layout of fra.txt: English, French, attribution."""
    rows = [f"{sentence(n)}\t{sentence(n).upper()}\tCC-BY 2.0 #{n}" for n in range(600)]
    rows += [f"{sentence(n)}\tAUTRE {sentence(n).upper()}\tCC-BY" for n in range(600)]  # a second translation
    (tmp_path / "fra.txt").write_text("\n".join([*rows, rows[0]]) + "\n", encoding="utf-8")
    return tmp_path


def test_what_is_held_out_shares_no_sentence_with_training(published):
    train, held_out = read_tatoeba(published)
    assert 4 <= len(held_out) <= 60
    assert len(train) + len(held_out) == 1200, "the line that stood there twice counts once"
    for side in (0, 1):
        assert not {pair[side] for pair in train} & {pair[side] for pair in held_out}
    assert all("CC-BY" not in pair[1] for pair in train)


def test_files_that_are_split_already_are_taken_as_they_are(tmp_path):
    for split, text in (("train", "a b\tA B\n"), ("valid", "c\tC\n")):
        (tmp_path / f"{split}.en-fr.tsv.xz").write_bytes(lzma.compress(text.encode()))
    assert read_tatoeba(tmp_path) == ([("a b", "A B")], [("c", "C")])


def test_joined_sentences_belong_together_and_stay_in_bounds():
    pairs = [(sentence(n), sentence(n).upper()) for n in range(50)]
    made = list(joined(pairs, 300, (5, 20), random.Random(0)))
    assert len(made) == 300
    for source, target in made:
        assert source.upper() == target
        assert len(source.split()) <= 20
    assert {len(source.split()) > 14 for source, _ in made} == {True, False}


def test_the_test_is_longer_than_what_was_trained_on(published, tmp_path):
    out = tmp_path / "out"
    written = convert_tatoeba(published, out)
    assert [path.name for path in written] == [f"{s}.{e}" for s in ("train", "valid", "test") for e in ("en", "fr")]
    assert max(len(line.split()) for line in lines(out / "train.en") + lines(out / "train.fr")) <= LONGEST
    lengths = [len(line.split()) for line in lines(out / "test.en")]
    for low, high in BANDS[1:]:
        assert sum(low <= length <= high for length in lengths) == 200, (low, high)
    held_out = {line for line in lines(out / "valid.en") if len(line.split()) < 8}
    assert not held_out & set(lines(out / "train.en"))
    assert len(lines(out / "train.en")) == len(lines(out / "train.fr"))


def test_converting_twice_gives_the_same_files(published, tmp_path):
    first = [path.read_bytes() for path in convert_tatoeba(published, tmp_path / "a")]
    assert first == [path.read_bytes() for path in convert_tatoeba(published, tmp_path / "b")]


@pytest.mark.parametrize(
    ("text", "message"), [("no tab here\n", r"line 1 has no tab between two sentences"), ("", r"fra\.txt is empty")]
)
def test_a_file_that_is_none_is_told(tmp_path, text, message):
    (tmp_path / "fra.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        convert_tatoeba(tmp_path, tmp_path / "out")
