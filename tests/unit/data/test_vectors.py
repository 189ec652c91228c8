"""Word vectors in GloVe's form."""

import gzip

import numpy as np
import pytest

from saccade.data.vectors import Vectors, read_vectors
from saccade.errors import DataError, ShapeError

VOCABULARY = ["<pad>", "<bos>", "<eos>", "<unk>", "the", "Cat", "sat", "un"]


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_words_take_their_rows_and_others_stay_zero(tmp_path):
    file = write(tmp_path / "v.txt", "the 0.5 -1", "dog 9 9", "sat 2 3e-1")
    vectors = read_vectors(file, VOCABULARY, 2)
    assert vectors.matrix.tolist() == [[0, 0]] * 4 + [[0.5, -1], [0, 0], [2, np.float32(0.3)], [0, 0]]
    assert vectors.found.tolist() == [False] * 4 + [True, False, True, False]
    assert vectors.coverage == 0.5


def test_a_word_takes_its_lower_case_form_where_its_own_is_not_there(tmp_path):
    vectors = read_vectors(write(tmp_path / "v.txt", "cat 1 1"), VOCABULARY, 2)
    assert vectors.matrix[5].tolist() == [1, 1]
    vectors = read_vectors(write(tmp_path / "v.txt", "cat 1 1", "Cat 2 2"), VOCABULARY, 2)
    assert vectors.matrix[5].tolist() == [2, 2]


def test_words_with_spaces_and_repeated_words_do_no_harm(tmp_path):
    vectors = read_vectors(write(tmp_path / "v.txt", "the 1 1", ". . 5 5", "the 2 2"), VOCABULARY, 2)
    assert vectors.matrix[4].tolist() == [1, 1]


def test_a_header_is_skipped_and_compressed_files_are_read(tmp_path):
    path = tmp_path / "v.vec.gz"
    path.write_bytes(gzip.compress(b"2 3\nthe 1 2 3\nsat 4 5 6 \n"))
    assert read_vectors(path, VOCABULARY, 3).found.sum() == 2


@pytest.mark.parametrize("lines", [["the 1 2 3"], ["1 3", "the 1 2 3"]], ids=["plain", "header"])
def test_another_width_is_told_with_both_numbers(tmp_path, lines):
    with pytest.raises(ShapeError, match=r"have 3 numbers, but the model's embedding has 5. Set model.embedding .* 3"):
        read_vectors(write(tmp_path / "v.txt", *lines), VOCABULARY, 5)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["the 1 2", "sat 1"], r"line 2 has 1 numbers, but 2 are wanted: 'sat 1'"),
        (["dog 1 2", "the 1 x"], r"line 2 holds something else than numbers.*'x'"),
        (["the nan 1"], r"line 1 holds NaN or infinity"),
        (["hund 1 2"], r"has a vector for none of the 4 words"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_line(tmp_path, lines, message):
    with pytest.raises(DataError, match=message):
        read_vectors(write(tmp_path / "v.txt", *lines), VOCABULARY, 2)


def test_vectors_of_one_number_are_no_header(tmp_path):
    vectors = read_vectors(write(tmp_path / "v.txt", "the 5", "sat 6"), VOCABULARY, 1)
    assert vectors.matrix[:, 0].tolist() == [0, 0, 0, 0, 5, 0, 6, 0]
    vectors = read_vectors(write(tmp_path / "v.txt", "2 1", "the 5", "2 7"), VOCABULARY, 1)
    assert vectors.matrix[:, 0].tolist() == [0, 0, 0, 0, 5, 0, 0, 0]


def test_of_no_words_none_is_covered():
    assert Vectors(np.zeros((4, 2), np.float32), np.zeros(4, np.bool_)).coverage == 0.0
