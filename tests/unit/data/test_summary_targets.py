"""Further targets for summarizers: each example once for every target, with control tokens that no text has."""

import pytest

from saccade.batch import BOS, EOS, PAD
from saccade.data.example import Example, Links
from saccade.data.features import CopiedTarget
from saccade.data.summary_targets import (
    AskedCopies,
    AskedTokens,
    SummaryConfig,
    WordLinks,
    key_sentence,
    same_words,
)
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers

TEXT = "the cat sat . a dog ran far . the cat slept ."
SENTENCES = ["the cat sat .", "a dog ran far .", "the cat slept ."]


@pytest.fixture
def tokenizer():
    return Tokenizer.train(TokenizerConfig(kind="word"), [TEXT])


def asked(tokenizer, example, count=1, **config):
    feature = AskedTokens(tokenizer, SummaryConfig(**config), lambda text: SENTENCES)
    return feature, list(feature.keep([example] * count))


def test_every_target_is_asked_for_by_its_own_mark(tokenizer):
    one = Example(TEXT, "dog ran", title="Animals", links=Links(frozenset({(5, 0)})))
    feature, found = asked(tokenizer, one, 2, also=["title", "key-sentence", "sentence"])
    assert [part.target for part in found] == [
        *("dog ran", "Animals", "a dog ran far .", "the cat sat ."),
        *("dog ran", "Animals", "a dog ran far .", "a dog ran far ."),
    ]
    assert [part.links is None for part in found[:4]] == [False, True, True, True], "links are of the summary"
    rows = feature.encode(list(enumerate(found, 1)))
    plain = tokenizer.tokens([TEXT])[0]
    marks = [row[: len(row) - len(plain)] for row in rows]
    assert all(row[len(mark) :] == plain for row, mark in zip(rows, marks, strict=True))
    assert marks[0] == [], "what the model writes needs no mark"
    assert all(set(mark) <= {BOS, EOS} for mark in marks)
    assert len({tuple(mark) for mark in marks}) == 5, "the two sentences have marks of their own"
    copies = list(AskedCopies(tokenizer).vocabularies(list(enumerate(found, 1))))
    for row, mark, vocabulary in zip(rows, marks, copies, strict=True):
        assert vocabulary.copies[: len(mark)] == [PAD] * len(mark), "a copy of a mark writes nothing"
        assert len(vocabulary.copies) == len(row) + 1


def test_a_model_may_write_something_else(tokenizer):
    one = Example(TEXT, "dog ran")
    feature, found = asked(tokenizer, one, writes="key-sentence", also=["summary", "title"])
    assert [part.target for part in found] == ["a dog ran far .", "dog ran"], "there is no title"
    first, second = feature.encode(list(enumerate(found, 1)))
    assert len(second) > len(first) == len(tokenizer.tokens([TEXT])[0])


@pytest.mark.parametrize(
    ("summary", "best"),
    [("dog ran", 1), ("The CAT slept", 2), ("nothing of this", 0), ("cat the sat the cat sat", 0)],
)
def test_the_key_sentence_shares_most_words_and_bigrams(summary, best):
    assert key_sentence(SENTENCES, summary) == SENTENCES[best]
    assert key_sentence([], summary) is None


def test_words_are_linked_where_their_neighbors_are_the_same():
    assert same_words([5, 6, 7, 5, 8, 9], [5, 8, 4, 6]) == [(1, 3), (3, 0), (4, 1)]
    assert same_words([5, 6, 7, 5, 8, 9], [5]) == [], "alone, and twice in the source"
    assert same_words([5, 6, 9, 5, 6], [5, 6]) == [(0, 0), (1, 1), (3, 0), (4, 1)], "equal runs all count"
    assert same_words([5, 6, 5, 6, 7], [6, 7]) == [(3, 0), (4, 1)], "the longer run counts"
    assert same_words([4], []) == same_words([], [4]) == []


def test_links_by_words_count_the_marks(tokenizer):
    one = Example(TEXT, "zorb ran far")
    _, found = asked(tokenizer, one, also=["key-sentence"])
    copies = AskedCopies(tokenizer)
    feature = WordLinks(Tokenizers(tokenizer, tokenizer), CopiedTarget(tokenizer, copies), copies)
    summary, sentence = feature.encode(list(enumerate(found, 1)))
    assert summary == [6, 1, 7, 2], "ran and far; the text has no zorb"
    assert sentence == [number for place in range(5) for number in (5 + place, place)], "after one mark"
    assert feature.fingerprint() != "links"
