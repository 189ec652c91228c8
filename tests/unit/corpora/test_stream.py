"""Streams of sentences: splits by hash, immediate errors, exhausted splits."""

import pytest

from saccade.corpora import CORPORA
from saccade.corpora.stream import Dice, split_of, stream
from saccade.data.example import Example
from saccade.errors import ConfigError, DataError

every_corpus = pytest.mark.parametrize("name", CORPORA)


class Line:
    """A draft that repeats its number as often as requested."""

    def __init__(self, text):
        self.target = text
        self.length = len(text.split())

    def example(self):
        return Example(target=self.target)


def counting(words):
    """A writer with so many words to choose from."""
    return lambda dice: lambda n: Line(" ".join([str(dice.between(1, words))] * n))


@every_corpus
def test_an_unknown_split_is_refused_with_the_nearest(name):
    with pytest.raises(ConfigError, match=f"{name}: split 'trian' does not exist. Did you mean 'train'"):
        CORPORA[name].generate("trian", 1)


@every_corpus
def test_lengths_the_wrong_way_round_are_refused(name):
    with pytest.raises(ConfigError, match=f"{name}: min_length is 9, but max_length only 8"):
        CORPORA[name].generate("train", 1, min_length=9, max_length=8)


@every_corpus
@pytest.mark.parametrize(("below", "above"), [(1, 0), (0, 1)])
def test_lengths_beyond_the_grammar_are_refused(name, below, above):
    shortest, longest = CORPORA[name].bounds
    low, high = shortest - below, longest + above
    message = (
        f"{name}: lengths {low} to {high} are asked for, but .* {shortest} to {longest} (words|turns|strokes|shapes)"
    )
    with pytest.raises(ConfigError, match=message):
        CORPORA[name].generate("train", 1, min_length=low, max_length=high)


@every_corpus
def test_the_usual_lengths_are_possible(name):
    (shortest, longest), (low, high) = CORPORA[name].bounds, CORPORA[name].lengths
    assert shortest <= low <= high <= longest
    assert next(CORPORA[name].generate("train", 1)) == next(
        CORPORA[name].generate("train", 1, min_length=low, max_length=high)
    )


@every_corpus
def test_a_negative_size_is_refused(name):
    with pytest.raises(ConfigError, match="size is -1"):
        CORPORA[name].generate("train", -1)


def test_no_sentences_are_none():
    assert list(CORPORA["reading"].generate("train", 0)) == []


def test_a_split_that_holds_no_more_says_so():
    with pytest.raises(DataError, match=r"no more than \d different valid sentences of 3 to 3 words.*fewer"):
        list(stream("numbers", counting(30), "valid", 30, 1, 3, 3))


def test_train_may_repeat_itself_forever():
    assert len(list(stream("numbers", counting(3), "train", 500, 1, 3, 3))) == 500


def test_the_text_alone_decides_the_split():
    splits = [split_of(f"sentence {number} .") for number in range(4000)]
    assert 0.7 < splits.count("train") / 4000 < 0.8
    assert 0.1 < splits.count("valid") / 4000 < 0.15
    assert split_of("the keys are old .") == split_of("the keys are old") == split_of("the keys are old !")


def test_dice_fall_alike_for_the_same_seed():
    one, other = Dice("seed"), Dice("seed")
    assert [one.between(1, 6) for _ in range(20)] == [other.between(1, 6) for _ in range(20)]
    assert {one.between(1, 3) for _ in range(100)} == {1, 2, 3}
    assert one.between(5, 4) == 5
    assert Dice(one).random is one.random
