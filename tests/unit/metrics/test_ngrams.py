"""Captions split into words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.metrics import caption_words
from saccade.metrics.ngrams import ngrams


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A man, riding a Horse.", "a man riding a horse"),
        ("Two dogs -- one (black) -- play!!", "two dogs one black play"),
        ("A man's T-shirt isn't red; they're 3.5 m, or 1,000?", "a man 's t-shirt is n't red they 're 3.5 m or 1,000"),
        ("the girls' “ball” … ’s!", "the girls ball s"),
        ("It’s here", "it 's here"),
        ("'s' and 'small'", "s and small"),
        ("don't can't n't", "do n't ca n't n't"),
        ("Äpfel, e\u0301te\u0301 — ¿qué?", "äpfel été qué"),
        ("हिन्दी में।", "हिन्दी में"),
        ("“一只狗，在跑。”", "一只狗 在跑"),
        ("... !", ""),
        ("", ""),
        ("-a- b- -c d--e", "a b c d e"),
    ],
)
def test_words_are_lower_case_without_punctuation(text, words):
    assert caption_words(text) == words.split()


@given(st.text() | st.text("abnst'-.,19 é’"))
def test_cutting_words_again_changes_nothing(text):
    words = caption_words(text)
    assert caption_words(" ".join(words)) == words


@given(st.lists(st.sampled_from("abc"), max_size=9), st.integers(1, 5))
def test_there_are_as_many_runs_as_fit(words, size):
    assert ngrams(words, size).total() == max(0, len(words) - size + 1)


def test_runs_are_counted():
    assert ngrams(list("abab"), 2) == {("a", "b"): 2, ("b", "a"): 1}
