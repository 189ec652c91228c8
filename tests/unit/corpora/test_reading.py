"""reading: sentences in which a late word must agree with a much earlier one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.corpora import CORPORA
from saccade.corpora.reading import reading

PAIRS = {("if", "then"), ("either", "or"), ("both", "and")}


def lines(*arguments, **settings):
    return [(example.target.split(), sorted(example.links.sure)) for example in reading(*arguments, **settings)]


def linked(words, links):
    return {(words[earlier], words[later]) for earlier, later in links}


def test_the_same_arguments_give_the_same_sentences():
    assert list(reading("train", 50, 3)) == list(reading("train", 50, 3))
    assert list(reading("valid", 40)) == list(reading("valid", 60))[:40]


def test_examples_are_texts_alone():
    example = next(reading("train", 1))
    assert example.source is None
    assert example.label is None
    assert example.target.endswith(" .")


@pytest.mark.parametrize(("low", "high", "size"), [(3, 20, 800), (3, 4, 120), (30, 60, 50)])
def test_splits_share_no_sentence_and_small_ones_repeat_none(low, high, size):
    texts = {
        split: [example.target for example in reading(split, size, seed, min_length=low, max_length=high)]
        for split, seed in (("train", 1), ("valid", 1), ("test", 2))
    }
    sets = {split: set(sentences) for split, sentences in texts.items()}
    assert sets["train"].isdisjoint(sets["valid"] | sets["test"])
    assert sets["valid"].isdisjoint(sets["test"])
    assert len(sets["valid"]) == len(sets["test"]) == size


@pytest.mark.parametrize(("low", "high"), [(3, 20), (3, 3), (80, 80), (3, 80)])
def test_lengths_stay_in_bounds_and_reach_them(low, high):
    lengths = {len(words) for words, _ in lines("train", 400, min_length=low, max_length=high)}
    assert low <= min(lengths) <= low + 2
    assert high - 2 <= max(lengths) <= high


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([(3, 8), (5, 20), (20, 60)]))
def test_links_point_forward_and_their_words_agree(seed, lengths):
    for words, links in lines("train", 20, seed, min_length=lengths[0], max_length=lengths[1]):
        for earlier, later in links:
            assert 0 <= earlier < later < len(words)
            head, answer = words[earlier], words[later]
            if answer == "is":
                assert not head.endswith("s") or head in NAMES_IN_S, words
            if answer == "are":
                assert head == "and" or head.endswith("s") or head in ("men", "women", "knives"), words
            if answer == "themselves":
                assert head.endswith("s") or head in ("men", "women"), words


NAMES_IN_S = {"Thomas"}


def test_every_verb_reflexive_and_pair_is_linked():
    forms = {"is", "are", "himself", "herself", "themselves", "then"}
    for words, links in lines("train", 500):
        later = {place for _, place in links}
        assert all(place in later for place, word in enumerate(words) if word in forms), words


def test_all_that_must_be_remembered_occurs():
    found = set()
    for words, links in lines("train", 3000):
        found |= linked(words, links)
    assert found >= PAIRS
    assert any(head == answer for head, answer in found if head[0].isupper())  # a repeated name
    assert {answer for _, answer in found} >= {"himself", "herself", "themselves", "is", "are"}


def test_nouns_of_the_other_number_stand_between():
    """A model that agrees with the nearest noun is misled often."""
    misled = total = 0
    for words, links in lines("train", 2000, min_length=8):
        for head, verb in links:
            if words[verb] in ("is", "are"):
                between = [word for word in words[head + 1 : verb] if word in PLACES]
                if between:
                    total += 1
                    misled += (between[-1].endswith("s")) != (words[verb] == "are")
    assert total > 200
    assert misled / total > 0.5


ONE = "house garden bridge tower cabinet window river castle station table tree wall door market school"
PLACES = {*ONE.split(), *(f"{word}s" for word in ONE.split())}


def test_the_table_lists_the_corpus():
    corpus = CORPORA["reading"]
    assert corpus.generate is reading
    assert (corpus.task, corpus.sides) == ("language-modeling", ("en",))
