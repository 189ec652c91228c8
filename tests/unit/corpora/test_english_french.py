"""english-french: properties of every generated sentence pair."""

import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.corpora import CORPORA
from saccade.corpora.english_french import english_french
from saccade.corpora.english_french.elision import vowel
from saccade.corpora.english_french.sentences import SentenceWriter
from saccade.corpora.english_french.verbs import VERBS
from saccade.corpora.stream import Dice

# Words that may stand without a sure link: auxiliaries and others that the other language does not need.
HELPERS = {
    "en": "do does did is are am was were will would to in",
    "fr": "a ai avons avez ont avais avait avions aviez avaient est suis sommes êtes sont étais était étions étiez "
    "étaient est-ce que qu' de d' du des à au aux le la l' les se s' me m' nous vous",
}
NAMES = "I Mr Mrs Marie Anne Claire Sophie Julie Alice Jeanne Hélène Paul Pierre Jean Antoine Marc Thomas Olivier Éric"
COUNTRIES = "France Germany Italy Spain Belgium Switzerland Greece India England Hungary Egypt Portugal Japan Canada"
OPENINGS = {*NAMES.split(), *COUNTRIES.split(), "Brazil", "European", "French", "German"}


@cache
def corpus(size=20_000, low=3, high=20, seed=5):
    return list(english_french("train", size, seed, min_length=low, max_length=high))


def pairs_of(examples):
    return [(example.source, example.target) for example in examples]


def test_the_same_arguments_give_the_same_pairs():
    assert list(english_french("train", 50, 3)) == list(english_french("train", 50, 3))
    assert list(english_french("train", 50, 3)) != list(english_french("train", 50, 4))


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_a_larger_size_only_adds(split):
    assert list(english_french(split, 40)) == list(english_french(split, 60))[:40]


def test_no_size_goes_on():
    endless = english_french("train", None)
    assert [next(endless) for _ in range(30)] == list(english_french("train", 30))


def test_every_process_writes_the_same():
    """The output does not depend on the order of a set, which differs between processes."""
    code = (
        "from saccade.corpora import CORPORA; "
        "print([(e.source, e.target, str(e.links), e.image and e.image.load().tobytes())"
        " for name in CORPORA for e in CORPORA[name].generate('train', 100)])"
    )
    written = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(written) == 1


def test_an_english_sentence_has_one_translation():
    known = {}
    for example in [*corpus(), *corpus(15_000, 3, 6)]:
        assert known.setdefault(example.source, example.target) == example.target


@pytest.mark.parametrize(("low", "high", "size"), [(3, 20, 500), (3, 5, 800), (20, 60, 60)])
def test_splits_share_no_sentence(low, high, size):
    lines = {}
    for split, seed in (("train", 1), ("train", 2), ("valid", 1), ("test", 2)):
        count = 5 * size if split == "train" else size
        for example in english_french(split, count, seed, min_length=low, max_length=high):
            assert lines.setdefault(("en", example.source), split) == split
            assert lines.setdefault(("fr", example.target), split) == split


@pytest.mark.parametrize("split", ["valid", "test"])
def test_small_splits_repeat_nothing(split):
    sources, targets = zip(*pairs_of(english_french(split, 1500, min_length=3, max_length=5)), strict=True)
    assert len(set(sources)) == len(set(targets)) == 1500


@pytest.mark.parametrize(("low", "high"), [(3, 20), (3, 4), (7, 7), (40, 50), (80, 80), (3, 80)])
def test_lengths_stay_in_bounds(low, high):
    lengths = [len(example.source.split()) for example in corpus(150, low, high)]
    assert low <= min(lengths)
    assert max(lengths) <= high


def test_lengths_are_spread():
    counts = Counter(len(example.source.split()) for example in corpus())
    assert set(counts) == set(range(3, 21))
    assert min(counts.values()) > 20_000 / 18 / 2
    tens = Counter(len(example.source.split()) // 10 for example in corpus(800, 3, 80))
    assert min(tens[ten] for ten in range(1, 8)) > 50


def test_the_vocabulary_is_rich_on_both_sides():
    english = {word for example in corpus() for word in example.source.split()}
    french = {word for example in corpus() for word in example.target.split()}
    assert len(english) > 600
    assert len(french) > 600


def test_the_phrase_of_the_demo_can_be_written():
    writer = SentenceWriter(Dice("any"))
    written = {pair.target: pair.source for pair in (writer(4) for _ in range(8000))}
    assert written["la zone économique européenne"] == "the European Economic Area"


def test_links_are_in_range_and_link_every_word_that_means_something():
    for example in [*corpus()[:4000], *corpus(150, 30, 80)]:
        source, target = example.source.split(), example.target.split()
        assert all(i < len(source) and j < len(target) for i, j in example.links.possible)
        assert not example.links.sure & example.links.maybe
        linked = {i for i, _ in example.links.sure}
        assert {word for i, word in enumerate(source) if i not in linked} <= set(HELPERS["en"].split())
        linked = {j for _, j in example.links.sure}
        assert {word for j, word in enumerate(target) if j not in linked} <= set(HELPERS["fr"].split())


def test_punctuation_and_names_link_to_themselves():
    for example in corpus()[:3000]:
        source, target = example.source.split(), example.target.split()
        for i, j in example.links.sure:
            if source[i] in ".?!;," or source[i] == "Marie":
                assert target[j] == source[i]


INFINITIVES = {verb.french.infinitive for verb in VERBS}
LOWERED = re.compile(r"(?<![\w'-])(?:LE|LA|LES|CE|MA|SA|BEAU|NOUVEAU|VIEUX)(?![\w'-])")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([(3, 8), (5, 20), (20, 80)]))
def test_french_is_joined_as_it_must(seed, lengths):
    for example in english_french("train", 25, seed, min_length=lengths[0], max_length=lengths[1]):
        words = example.target.split()
        assert not LOWERED.search(example.target)
        for word, following, third in zip(words[:-1], words[1:], [*words[2:], ""], strict=True):
            pair = f"{word} {following} in {example.target}"
            if word in ("le", "la", "je", "me", "te", "se", "ne", "de", "que", "ce"):
                assert not vowel(following), pair
            if word in ("l'", "j'", "m'", "t'", "s'", "n'", "d'", "qu'", "cet", "bel", "nouvel", "vieil"):
                assert vowel(following), pair
            assert (word, following) not in {("si", "il"), ("si", "ils"), ("s'", "elle")}, pair
            if word in ("de", "à") and following in ("le", "les"):
                assert third in INFINITIVES, pair  # pronouns never contract
            if word in ("ma", "sa"):
                assert not vowel(following), pair


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([(3, 8), (5, 20), (20, 80)]))
def test_english_is_written_as_it_must(seed, lengths):
    for example in english_french("train", 25, seed, min_length=lengths[0], max_length=lengths[1]):
        assert not re.search(r"\ba [aioAIO]", example.source), example.source
        assert not re.search(r"\ban (?![aeiouhAEIO])", example.source), example.source
        assert not re.search(r"\b(?:he|she|nobody) (?:do|are|were)\b", example.source), example.source
        assert not re.search(r"\b(?:we|they) (?:does|is|was|has)\b", example.source), example.source
        assert "  " not in example.source + example.target
        assert not re.search(r"(?<!s)s 's\b", example.source.replace("Thomas 's", "")), example.source  # an actress 's
        opening = example.source.split()[0]
        assert opening[0].islower() or opening[0].isdigit() or opening in OPENINGS, opening


def test_the_table_lists_the_corpus():
    corpus = CORPORA["english-french"]
    assert corpus.generate is english_french
    assert (corpus.task, corpus.sides) == ("translation", ("en", "fr"))
    assert corpus.about.endswith(".")
