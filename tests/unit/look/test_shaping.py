"""Arabic letters are joined, and right-to-left words reordered, for renderers that draw from left to right."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.look.shaping import shaped


def spelled(text):
    return [unicodedata.name(letter).removeprefix("ARABIC ").removeprefix("LETTER ") for letter in shaped(text)]


def test_letters_take_the_form_their_place_asks_for():
    assert spelled("بيت") == ["TEH FINAL FORM", "YEH MEDIAL FORM", "BEH INITIAL FORM"]
    assert spelled("ب") == ["BEH ISOLATED FORM"]
    assert spelled("ٱ") == ["ALEF WASLA ISOLATED FORM"]


def test_some_letters_join_on_one_side_alone():
    assert spelled("دار") == ["REH ISOLATED FORM", "ALEF ISOLATED FORM", "DAL ISOLATED FORM"]
    assert spelled("باب") == ["BEH ISOLATED FORM", "ALEF FINAL FORM", "BEH INITIAL FORM"]


def test_lam_and_alef_are_one():
    assert spelled("سلام") == ["MEEM ISOLATED FORM", "LIGATURE LAM WITH ALEF FINAL FORM", "SEEN INITIAL FORM"]
    assert spelled("لا") == ["LIGATURE LAM WITH ALEF ISOLATED FORM"]
    assert spelled("لآلألإ")[::-1] == [
        f"LIGATURE LAM WITH ALEF WITH {sign} ISOLATED FORM" for sign in ("MADDA ABOVE", "HAMZA ABOVE", "HAMZA BELOW")
    ]


def test_lam_and_alef_maksura_are_two():
    assert spelled("على") == ["ALEF MAKSURA FINAL FORM", "LAM MEDIAL FORM", "AIN INITIAL FORM"]


def test_vowel_signs_stay_with_their_letters_and_part_none():
    assert spelled("بَب") == ["BEH FINAL FORM", "BEH INITIAL FORM", "FATHA"]


def test_joiners_are_obeyed_and_not_drawn():
    assert spelled("ب\u200cب") == ["BEH ISOLATED FORM", "BEH ISOLATED FORM"]
    assert spelled("ب\u200d") == ["BEH INITIAL FORM"]
    assert spelled("بـ")[-1] == "BEH INITIAL FORM"


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("zone", "zone"),
        ("", ""),
        ("שלום", "םולש"),
        ("שלום עולם", "םלוע םולש"),
        ("שלום 1992", "1992 םולש"),
        ("5 שלום", "םולש 5"),
        ("the שלום word", "the םולש word"),
        ("(שלום)", "(םולש)"),
        ("שלום abc עולם", "םלוע abc םולש"),
        ("שָלום", "םולשָ"),
        ("שלום ١٩٩٢", "١٩٩٢ םולש"),
        ("שלום abc def עולם", "םלוע abc def םולש"),
        ("the שלום עולם word", "the םלוע םולש word"),
        ("אב a b", "a b בא"),
        ("שלום a, b", "a, b םולש"),
        ("(שלום", "םולש)"),
    ],
)
def test_order(text, drawn):
    assert shaped(text) == drawn


@given(st.text(st.characters(), max_size=12))
def test_no_text_is_refused(text):
    assert len(shaped(text)) <= len(text)
    if not any(unicodedata.bidirectional(character) in {"R", "AL"} for character in text):
        assert shaped(text) == text
