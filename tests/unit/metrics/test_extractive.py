"""Extractive baselines: sentences, the lead, and the centroid by hand."""

import time
from math import log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.corpora import articles
from saccade.errors import ConfigError
from saccade.metrics import centroid, lead, split_sentences, word_frequency


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rained. It stopped! Why? Ask.", ["It rained.", "It stopped!", "Why?", "Ask."]),
        ("One.\nTwo goes\non. 3 comes.", ["One.", "Two goes\non.", "3 comes."]),
        ("A headline\n\nThe text begins.", ["A headline", "The text begins."]),
        ("Dr. Kelvard met Mr. J. Doe. They left.", ["Dr. Kelvard met Mr. J. Doe.", "They left."]),
        (
            "It grew by 3.5 percent, e.g. here. As Li et al. Show.",
            ["It grew by 3.5 percent, e.g. here.", "As Li et al. Show."],
        ),
        ('He said: "Go." She went. (So did we.) Then', ['He said: "Go."', "She went.", "(So did we.)", "Then"]),
        ('"Why?" asked Ann. "Because ..." she began.', ['"Why?" asked Ann.', '"Because ..." she began.']),
        ("it rained . it stopped . why ?", ["it rained .", "it stopped .", "why ?"]),
        ('" What now ? " asked Ann . It rained .', ['" What now ? " asked Ann .', "It rained ."]),
        ("Wait... what? Ends without", ["Wait... what?", "Ends without"]),
        ("今日は。雨です！はい", ["今日は。", "雨です！", "はい"]),
        ("École. Élan. été", ["École.", "Élan. été"]),
        ("", []),
        (" \n\n . ", ["."]),
    ],
)
def test_sentences(text, sentences):
    assert split_sentences(text) == sentences


@given(st.text(alphabet="aB1 .!?\"'()\n。") | st.text())
def test_no_word_is_lost_or_moved(text):
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


def test_sentences_of_generated_articles():
    for example in articles("train", 200):
        found = split_sentences(example.source)
        assert all(sentence.endswith((".", '. "', '? "')) for sentence in found[:-1])
        assert sum(sentence.count(" . ") for sentence in found) <= len(found) // 4  # a quote in the middle


def test_a_long_text_takes_no_time():
    start = time.perf_counter()
    assert len(split_sentences("It rained. " * 20_000)) == 20_000
    for mark in (".", '"', "\n", ' ."', "。", "\n "):
        split_sentences(mark * 200_000)
    assert time.perf_counter() - start < 5


def test_the_lead_is_the_first_sentences():
    text = "One. Two. Three. Four."
    assert lead(text) == "One. Two. Three."
    assert lead(text, 1) == "One."
    assert lead(text, 9) == text
    assert lead("") == ""


def test_the_sentence_nearest_to_the_centroid_by_hand():
    # Counts: storm 3, town 2, hits 1, sleeps 1, old 1; length of the centroid √16 = 4.
    # "Storm hits town": (3 + 1 + 2) / √3 / 4; "Storm storm": 6 / 2 / 4; "Old town sleeps": (1 + 2 + 1) / √3 / 4.
    assert 6 / sqrt(3) / 4 > 6 / 2 / 4 > 4 / sqrt(3) / 4
    text = "Old town sleeps. Storm storm. Storm hits town."
    assert centroid(text) == "Storm hits town."
    assert centroid(text, sentences=2) == "Storm storm. Storm hits town."


def test_words_of_all_documents_have_no_weight():
    frequency = word_frequency(["The storm.", "The town.", "The town, the town sleeps."])
    assert frequency.weight(("the",)) == 0
    assert frequency.weight(("town",)) == pytest.approx(log(3 / 2))
    assert frequency.weight(("storm",)) == frequency.weight(("unseen",)) == pytest.approx(log(3))
    text = "The the the the. Storm."
    assert centroid(text) == "The the the the."
    assert centroid(text, frequency) == "Storm."


def test_equal_scores_give_the_earlier_sentence():
    assert centroid("A storm. A storm.") == "A storm."
    assert centroid("...") == "..."
    assert centroid("") == ""


@pytest.mark.parametrize("baseline", [lambda text: lead(text, 0), lambda text: centroid(text, sentences=0)])
def test_an_impossible_number_is_refused(baseline):
    with pytest.raises(ConfigError, match="sentences is 0, but must be 1 or more"):
        baseline("One. Two.")
