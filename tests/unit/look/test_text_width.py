"""Text for display: visible control characters, and widths."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.look import text_width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("zone", "zone"),
        ("two words", "two words"),
        ("\x1b[31m", "␛[31m"),
        ("a\nb\tc\x00", "a␊b␉c␀"),
        ("\x7f\x9b31m", "␡�31m"),
        ("\u202eevil\u2066", "�evil�"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # the joiner is part of the spelling
        ("\ud800", "�"),
        ("\uffff\U0001fffe", "��"),
        ("  ", "␣␣"),
        ("", ""),
    ],
)
def test_visible(text, shown):
    assert text_width.visible(text) == shown


@given(st.text(st.characters()))
def test_nothing_visible_is_a_control(text):
    kinds = {
        unicodedata.category(character) for character in text_width.visible(text).translate({0x200C: "", 0x200D: ""})
    }
    assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(("text", "cells"), [("abc", 3), ("読む", 4), ("e\u0301", 1), ("ｆ", 2), ("", 0), ("नमस्ते", 4)])
def test_width(text, cells):
    assert text_width.width(text) == cells


@pytest.mark.parametrize(
    "emoji", ["😀", "👩\u200d👩\u200d👧", "❤\ufe0f", "👍🏽", "🇫🇷", "1\ufe0f\u20e3", "👨🏾\u200d🚀"]
)
def test_an_emoji_fills_two_cells_and_is_one_letter(emoji):
    assert text_width.width(emoji) == 2
    assert text_width.clusters(f"a{emoji}b") == ["a", emoji, "b"]
    assert text_width.width(emoji + emoji) == 4


def test_joiners_between_letters_make_no_emoji():
    assert text_width.width("\u0d9a\u0dca\u200d\u0dbb") == 2
    assert text_width.width("می\u200cخواهم") == 7
    assert text_width.width("a\ufe0f") == 1


@pytest.mark.parametrize(
    "word", ["<eos>", "<bos>", "<s>", "</s>", "<source>", ".", "…", "«", "。", "،", "▁,", "?!", "Ġ("]
)
def test_marks(word):
    assert text_width.is_mark(word)


@pytest.mark.parametrize(
    "word", ["", " ", "a", "U.S.", "1992", "€", "+", "▁", "<b>x", "<EOS", "<a b>", "</style>", "<unk>", "😀"]
)
def test_words_are_no_marks(word):
    assert not text_width.is_mark(word)


def test_numbers_stay_behind_words_that_run_to_the_left():
    assert text_width.kept_in_order("שלום") == "שלום\u200e"
    assert text_width.kept_in_order("zone") == "zone"
    assert text_width.width(text_width.kept_in_order("שלום")) == 4


def test_clusters_keep_accents_with_their_letters():
    assert text_width.clusters("ne\u0301e") == ["n", "e\u0301", "e"]
    assert text_width.clusters("\u0301a") == ["\u0301", "a"]


@pytest.mark.parametrize(
    ("text", "cells", "clipped"),
    [("saccade", 7, "saccade"), ("saccade", 4, "sac…"), ("読む本", 4, "読…"), ("ne\u0301e", 2, "n…"), ("ab", 0, "")],
)
def test_clip(text, cells, clipped):
    assert text_width.clip(text, cells) == clipped


@given(st.text(), st.integers(0, 12))
def test_what_is_clipped_fits(text, cells):
    assert text_width.width(text_width.clip(text, cells)) <= cells


def test_words_that_occur_twice_get_numbers():
    assert text_width.numbered(["the", "cat", "the"]) == ["the₁", "cat", "the₂"]


def test_percent():
    assert [text_width.percent(weight) for weight in (0.974, 0.004, -0.001, 1)] == ["97 %", "0 %", "0 %", "100 %"]
