"""Perplexity and its units."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import DataError, NumericsError
from saccade.metrics import perplexities


@given(st.integers(1, 1000), st.integers(1, 500))
def test_guessing_among_n_has_perplexity_n(choices, tokens):
    assert perplexities(tokens * math.log(choices), tokens).per_token == pytest.approx(choices)


def test_a_worked_example():
    # two words of two tokens and four characters each, one of eight choices at every token: 3 bits a token
    found = perplexities(4 * math.log(8), 4, words=2, characters=8)
    assert found.nats_per_token == pytest.approx(math.log(8))
    assert found.per_token == pytest.approx(8)
    assert found.per_word == pytest.approx(64)
    assert found.bits_per_character == pytest.approx(4 * 3 / 8)


def test_what_was_not_counted_is_not_given():
    found = perplexities(1.0, 1)
    assert (found.per_word, found.bits_per_character) == (None, None)


def test_a_certain_model_has_perplexity_1():
    assert perplexities(0.0, 5, words=2, characters=9).per_word == 1.0


def test_what_no_float_can_hold_is_infinite():
    found = perplexities(1e6, 10, words=2)
    assert (found.per_token, found.per_word) == (math.inf, math.inf)
    assert found.nats_per_token == 1e5
    assert perplexities(math.inf, 3).per_token == math.inf


@pytest.mark.parametrize("count", [0, -3])
def test_counts_below_1_are_refused(count):
    with pytest.raises(DataError, match=f"over {count} tokens"):
        perplexities(1.0, count)
    with pytest.raises(DataError, match=f"over {count} words"):
        perplexities(1.0, 2, words=count)
    with pytest.raises(DataError, match=f"over {count} characters"):
        perplexities(1.0, 2, characters=count)


def test_no_likelihood_is_refused():
    with pytest.raises(NumericsError, match="is NaN"):
        perplexities(math.nan, 2)
    with pytest.raises(DataError, match=r"is -1.5, but must be 0 or more"):
        perplexities(-1.5, 2)
