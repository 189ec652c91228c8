"""What spoken says: numbers, dates, times, commands, English sentences; and how words are pronounced."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.corpora.english_french import english_french
from saccade.corpora.spoken.bilingual import spoken_pairs, spoken_words
from saccade.corpora.spoken.lexicon import pronounce
from saccade.corpora.spoken.numbers import MONTHS, cardinal, date, ordinal, time_of_day, year
from saccade.corpora.spoken.phones import VOWELS, parse_phones
from saccade.corpora.spoken.sentences import digit_writer, phrase_writer
from saccade.corpora.spoken.words import LETTERS, WORDS
from saccade.corpora.stream import Dice
from saccade.errors import DataError


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (20, "twenty"),
        (42, "forty-two"),
        (100, "one hundred"),
        (305, "three hundred and five"),
        (1000, "one thousand"),
        (1001, "one thousand and one"),
        (2340, "two thousand three hundred and forty"),
        (999_999, "nine hundred and ninety-nine thousand nine hundred and ninety-nine"),
    ],
)
def test_cardinals(number, words):
    assert cardinal(number) == words


VALUES = {word: value for value in range(100) for word in [cardinal(value)]}


def value_of(words):
    """Read a number back."""
    thousands, _, rest = words.rpartition(" thousand") if "thousand" in words else ("", "", words)
    if thousands:
        return 1000 * value_of(thousands) + (value_of(rest.strip()) if rest.strip() else 0)
    hundreds, _, rest = rest.rpartition(" hundred") if "hundred" in rest else ("", "", rest)
    rest = rest.removeprefix(" and ").removeprefix("and ").strip()
    return (100 * VALUES[hundreds] if hundreds else 0) + (VALUES[rest] if rest else 0)


@given(st.integers(0, 999_999))
def test_cardinals_can_be_read_back_and_pronounced(number):
    assert value_of(cardinal(number)) == number
    for word in cardinal(number).split():
        parse_phones(pronounce(word))


@pytest.mark.parametrize(
    ("number", "words"),
    [(1, "first"), (2, "second"), (3, "third"), (8, "eighth"), (12, "twelfth"), (20, "twentieth"), (21, "twenty-first"),
     (33, "thirty-third"), (40, "fortieth"), (99, "ninety-ninth"), (4, "fourth"), (19, "nineteenth")],
)  # fmt: skip
def test_ordinals(number, words):
    assert ordinal(number) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [(1992, "nineteen ninety-two"), (1900, "nineteen hundred"), (1905, "nineteen o five"), (2000, "two thousand"),
     (2005, "two thousand and five"), (2010, "twenty ten"), (2024, "twenty twenty-four"), (500, "five hundred"),
     (750, "seven hundred and fifty"), (1000, "one thousand"), (1250, "twelve fifty")],
)  # fmt: skip
def test_years(number, words):
    assert year(number) == words


def test_dates_and_times_can_be_pronounced_and_are_of_many_sorts():
    dice = Dice("x")
    found = {write(dice) for write in (date, time_of_day) for _ in range(400)}
    assert len(found) > 400
    assert any("o'clock" in text for text in found)
    assert all(any(month in text for text in found) for month in MONTHS)
    assert "february the thirtieth" not in {text[:22] for text in found}
    for text in found:
        for word in text.split():
            parse_phones(pronounce(word))


def test_commands_can_be_pronounced():
    write = phrase_writer(Dice("phrases"))
    found = [write(6 + number % 16) for number in range(3000)]
    for said in found:
        assert said.length == len(said.target.split()) > 0
        for word in said.target.split():
            parse_phones(pronounce(word))
    assert sum(said.length == 6 + number % 16 for number, said in enumerate(found)) > 2700
    first = [said.target.split()[0] for said in found]
    assert {"turn", "switch", "set", "call", "remember", "play", "open"} <= set(first)


def test_digit_strings_have_the_length_asked_for():
    assert [digit_writer(Dice("d"))(n).length for n in range(1, 8)] == [*range(1, 8)]


def test_every_word_of_english_french_can_be_pronounced():
    for pair in english_french("train", 8000, 5):
        for word, _ in spoken_words(pair.source.split()):
            pronounce(word)


def test_entries_of_the_lexicon_are_phones_with_one_stress():
    for word, phones in WORDS.items():
        syllables = sum(name in VOWELS for name, _ in parse_phones(phones))
        assert syllables >= 1, word
        assert phones.count("'") == (syllables > 1), word
    assert len(LETTERS) == 26


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("cats", "kats"),
        ("dogs", "dOgz"),
        ("boxes", "b'AksIz"),
        ("judges", "dZ'VdZIz"),
        ("stopped", "stApt"),
        ("closed", "kloUzd"),
        ("wanted", "w'AntId"),
        ("carried", "k'arid"),
        ("dancing", "d'ansIN"),
        ("running", "r'VnIN"),
        ("simpler", "s'Imp@l3"),
        ("marie's", "m@r'iz"),
        ("alice's", "'al@sIz"),
        ("twenty-three", "tw'EntiTr'i"),
        ("b", "bi"),
        ("a", "@"),
    ],
)
def test_regular_forms(word, phones):
    assert pronounce(word) == phones


def test_an_unknown_word_is_named():
    with pytest.raises(DataError, match=r"cannot pronounce 'xylophone'.*voices of espeak"):
        pronounce("xylophone")
    with pytest.raises(DataError, match="'twenty-xylo'"):
        pronounce("twenty-xylo")


def test_words_are_spoken_as_read():
    written = ["on", "30", "August", "1989", ",", "Marie", "'s", "cat", "saw", "27", "dogs", "!"]
    assert spoken_words(written) == [
        ("on", [0]),
        ("thirtieth", [1]),
        ("august", [2]),
        ("nineteen", [3]),
        ("eighty-nine", [3]),
        ("marie's", [5, 6]),
        ("cat", [7]),
        ("saw", [8]),
        ("twenty-seven", [9]),
        ("dogs", [10]),
    ]


def test_links_follow_their_words():
    pairs = {pair.target: pair for pair in english_french("train", 300, 1, min_length=3, max_length=13)}
    compared = 0
    for said in spoken_pairs("train", 1, 1, 12):
        pair = pairs.get(said.target)
        if pair is None:
            break
        owners = [numbers for _, numbers in spoken_words(pair.source.split())]
        for source, target in said.links.sure:
            assert any((number, target) in pair.links.sure for number in owners[source])
        silent = set(range(len(pair.source.split()))) - {n for numbers in owners for n in numbers}
        reached = {target for source, target in pair.links.sure if source not in silent}
        assert reached == {target for _, target in said.links.sure}
        compared += 1
    assert compared > 50
