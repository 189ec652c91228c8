"""METEOR-lite: the example of the paper, and the search for few chunks against trying all."""

import time
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import ConfigError
from saccade.metrics import meteor_lite
from saccade.metrics.meteor import Matches, MeteorWeights, best_matches, match_words, meteor_formula

sentences = st.lists(st.sampled_from(["a", "b", "dog", "dogs", "run", "running"]), max_size=6)
STEMS = {"dogs": "dog", "running": "run"}


def matched(hypothesis, reference):
    return match_words(hypothesis.split(), reference.split())


def test_the_penalty_of_the_papers_example():
    # "the president" and "spoke to the audience": two chunks of six matches, a penalty of 0.5 · (2/6)³ = 1/54.
    hypothesis, reference = "the president spoke to the audience", "the president then spoke to the audience"
    assert matched(hypothesis, reference) == Matches(6, 6, 7, 2)
    mean = 10 * 1 * (6 / 7) / (6 / 7 + 9 * 1)  # the paper's 10PR / (R + 9P)
    found = meteor_lite([hypothesis], [[reference]]).total()
    assert found.value == pytest.approx(mean * (1 - 1 / 54)) == pytest.approx(0.853462, abs=1e-6)
    assert found.signature == "meteor-lite|stages:exact,porter|alpha:0.9|beta:3|gamma:0.5|tok:caption-words"


def test_stems_match_where_words_do_not():
    assert matched("two dogs running", "a dog runs fast") == Matches(2, 3, 4, 1)


def test_words_in_another_order_are_chunks_of_their_own():
    assert matched("c b a", "a b c").chunks == 3
    assert matched("b c a", "a b c").chunks == 2


def test_repeated_words_are_paired_for_few_chunks():
    # From left to right the first "the" would take the first of the reference, and tear "the cat" apart.
    assert matched("on the mat the cat", "the cat on the mat") == Matches(5, 5, 5, 2)
    # Of two copies the one that makes the longer chunk is matched.
    assert matched("a x a dog", "a dog") == Matches(2, 4, 2, 1)


def every_matching(left, right):
    """All largest ways to pair equal stems, by trying every one."""
    pairs = [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if STEMS.get(a, a) == STEMS.get(b, b)]
    for size in range(min(len(left), len(right)), -1, -1):
        found = []
        for chosen in combinations(range(len(left)), size):
            for places in permutations(range(len(right)), size):
                pairing = list(zip(chosen, places, strict=True))
                if all(pair in pairs for pair in pairing):
                    found.append(pairing)
        if found:
            return found
    raise AssertionError


def chunks_of(pairing):
    return sum((i - 1, j - 1) not in pairing for i, j in pairing)


short = st.lists(st.sampled_from(["a", "b", "dog", "dogs"]), max_size=5)


@given(short, short)
def test_no_other_alignment_has_fewer_chunks(left, right):
    pairings = every_matching(left, right)
    expected = len(pairings[0]), len(left), len(right), min(map(chunks_of, pairings))
    assert match_words(left, right) == expected


@given(sentences, sentences)
def test_chunks_are_the_same_seen_from_either_side(left, right):
    there, back = match_words(left, right), match_words(right, left)
    assert (there.words, there.chunks) == (back.words, back.chunks)


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=25))
def test_a_perfect_caption_is_one_chunk(words):
    count = len(words)
    assert match_words(words, words) == Matches(count, count, count, 1)
    value = meteor_lite([" ".join(words)], [[" ".join(words)]]).total().value
    assert value == pytest.approx(1 - 0.5 / count**3)


def test_a_caption_that_repeats_itself_is_no_trouble():
    begun = time.perf_counter()
    found = match_words(["a"] * 60, ["a", "b"] * 20)
    assert time.perf_counter() - begun < 5
    assert found == Matches(20, 60, 40, 20)


def test_the_best_reference_counts_and_of_equals_the_shortest():
    weights = MeteorWeights()
    assert best_matches(["a"], [["b", "c"], ["a", "b"], ["b"]], weights) == Matches(1, 1, 2, 1)
    assert best_matches(["a"], [["b", "c"], ["d"], ["b", "c", "d"]], weights) == Matches(0, 1, 1, 0)


def test_counts_are_summed_before_the_formula():
    found = meteor_lite(["a b", "c"], [["a b"], ["d e"]]).total().value
    assert found == meteor_formula(Matches(2, 3, 4, 1), MeteorWeights())
    assert found == pytest.approx((2 / 3) * (1 / 2) / (0.9 * 2 / 3 + 0.1 / 2) * (1 - 0.5 / 8))


def test_the_weights_are_the_callers():
    even = meteor_lite(["a b"], [["a c"]], alpha=0.5, gamma=0.0).total()
    assert even.value == pytest.approx(0.5)
    assert "alpha:0.5|beta:3|gamma:0" in even.signature


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.5}, "alpha is 1.5, but must lie between 0 and 1"),
        ({"gamma": -0.1}, "gamma is -0.1, but must lie between 0 and 1"),
        ({"beta": -1}, "beta is -1, but must be 0 or more"),
    ],
)
def test_impossible_weights_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        meteor_lite(["a"], [["a"]], **options)
