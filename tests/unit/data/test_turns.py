"""Histories by hand: marks, word and turn numbers, and what is left out."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.models import tiny
from saccade.batch import BOS, EOS, PAD, UNK, DialogueBatch
from saccade.data.example import Example, Links
from saccade.data.loader import collate
from saccade.data.open_vocabulary import OpenVocabulary
from saccade.data.store import Store
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.data.turn_features import turn_features
from saccade.data.turns import ChatConfig, each_turn, read_history
from saccade.errors import DataError

WORDS = ["the", "cat", "sat", "here", "."]


def tokenizer(kind="word"):
    return Tokenizer.train(TokenizerConfig(kind=kind), [" ".join(WORDS)])


def history(said, kind="word", most=None, **settings):
    return read_history(tokenizer(kind), said, ChatConfig(**settings), most)


def test_a_mark_of_its_speaker_stands_before_each_turn():
    found = history(["the cat", "sat .", "here"])
    the, cat, sat, here, dot = (tokenizer().encode(word).tokens[0] for word in WORDS)
    assert found.tokens == [BOS, the, cat, EOS, sat, dot, BOS, here]
    assert found.words == [5, 0, 1, 5, 2, 3, 5, 4], "marks belong to no word"
    assert found.turn_of == [0, 0, 0, 1, 1, 1, 2, 2]
    assert (found.text, found.dropped, found.first_word, found.cut, found.notes) == (
        "the cat sat . here",
        0,
        0,
        False,
        [],
    )
    assert history(["sat", "here"]).tokens[0] == EOS, "the newest turn is the other speaker's"


@pytest.mark.parametrize("text", ["<bos>", "<eos>", "<pad> <bos>", "<bos>the <eos>."])
@pytest.mark.parametrize("kind", ["word", "char", "bpe"])
def test_no_text_is_a_mark(text, kind):
    tokens = history([text], kind).tokens
    assert tokens[0] == BOS
    assert not {PAD, BOS, EOS} & {*tokens[1:]}


def test_the_oldest_turns_that_do_not_fit_are_left_out():
    turns = ["the cat sat", "the", "cat", "sat here ."]
    found = history(turns, tokens=8)
    assert found.turns == ("the", "cat", "sat here .")
    assert (found.dropped, found.first_word, found.cut) == (1, 3, False)
    assert found.notes == ["The oldest 1 turn was left out: the history is longer than the model reads."]
    assert len(found.tokens) == 8
    assert history(turns, tokens=7).turns == ("cat", "sat here .")
    assert history(turns, tokens=12).turns == tuple(turns)
    assert history(turns, tokens=12, most=7).turns == ("cat", "sat here ."), "the limit of the model"
    assert history(turns, turns=2).turns == ("cat", "sat here .")
    assert "2 turns were" in history(turns, turns=2).notes[0]


def test_the_newest_turn_keeps_its_end():
    found = history(["the", "the cat sat here ."], tokens=4)
    assert found.turns == ("sat here .",)
    assert (found.dropped, found.first_word, found.cut) == (1, 3, True)
    assert len(found.notes) == 2
    assert "beginning of the newest turn" in found.notes[1]


@given(
    st.lists(st.text(max_size=30), min_size=1, max_size=5), st.integers(2, 20), st.sampled_from(["word", "char", "bpe"])
)
def test_whatever_is_said_it_fits_and_every_number_is_in_place(turns, limit, kind):
    found = history(turns, kind, tokens=limit)
    assert len(found.tokens) == len(found.words) == len(found.turn_of) <= limit
    total = len(found.text.split())
    assert found.first_word == sum(len(turn.split()) for turn in turns) - total
    marks = [place for place, token in enumerate(found.tokens) if token in (BOS, EOS)]
    assert [found.turn_of[place] for place in marks] == [*range(len(found.turns))]
    if kind == "word":
        inside = [word for word in found.words if word != total]
        assert set(inside) <= {*range(total)}
    assert turns[-1].endswith(found.turns[-1])


def test_a_copy_of_a_mark_writes_nothing():
    words, found = tokenizer(), history(["the zorblax", "kif"])
    opened = OpenVocabulary(words, found.turns, found.tokens)
    size, (the,) = len(words), words.encode("the").tokens
    assert opened.copies == [PAD, the, size + 2, PAD, size + 4, EOS]
    assert opened.encode("kif zorblax").tokens == [size + 4, size + 2]


DIALOGUE = [
    Example(turns=("zorblax", "cat"), target="zorblax sat", links=Links(frozenset({(0, 0), (1, 1)}))),
    Example(turns=("the cat", "sat"), target="zorblax", links=Links(frozenset({(2, 0)}))),
]


def columns(hidden=0.0, **settings):
    words, config = tokenizer(), ChatConfig(**settings)
    read = lambda turns: read_history(words, turns, config)  # noqa: E731
    found = turn_features(Tokenizers(words, words), read, config, hidden=hidden, links=True, copies=True)
    return words, {feature.name: feature.encode([*enumerate(DIALOGUE, 1)]) for feature in found}


def test_columns_of_dialogues():
    words, found = columns()
    size, (cat, sat) = len(words), (words.encode(word).tokens[0] for word in ("cat", "sat"))
    assert found["source"][0] == [EOS, UNK, BOS, cat]
    assert found["copies"][0] == [PAD, size + 1, PAD, cat, EOS]
    assert found["target"] == [[size + 1, sat], [UNK]], "copied where the history has it"
    assert found["links"] == [[1, 0, 3, 1], [4, 0]]


def test_room_for_the_turns_of_a_batch(tmp_path):
    words, config = tokenizer(), ChatConfig()
    read = lambda turns: read_history(words, turns, config)  # noqa: E731
    features = turn_features(Tokenizers(words, words), read, config, by_turn=True)
    examples = [*DIALOGUE, Example(turns=("sat here . the cat sat here .", "the"), target="cat")]
    store = Store.open(tmp_path, "key", examples, features, batch=DialogueBatch)
    batch = collate(store, np.arange(3))
    assert batch.turns.shape == (3, 3, 9)  # two turns and the end; a mark and eight words
    assert collate(store, np.arange(2)).turns.shape == (2, 3, 3)
    assert collate(store, np.arange(3), (4, 16, 4)).turns.shape == (4, 4, 12)  # rounded up: three quarters of 16
    for model in ("hred", "hred-attention"):
        made = tiny(model)
        own, rounded = made(replace(batch, turns=None)), made(replace(batch, turns=torch.zeros(3, 4, 12)))
        torch.testing.assert_close(made(batch), own)
        torch.testing.assert_close(rounded, own)


def test_links_of_words_that_were_left_out_are_lost():
    _, found = columns(turns=1)
    assert found["links"] == [[1, 1], [1, 0]]


def test_some_histories_are_hidden_in_all_columns():
    _, found = columns(hidden=0.5)
    assert found["source"][1] == [BOS]
    assert found["copies"][1] == [PAD, EOS]
    assert found["links"][1] == []
    assert found["source"][0] != [BOS]


def test_by_default_no_history_is_hidden():
    words, config = tokenizer(), ChatConfig()
    assert (config.without_history, config.mutual, config.turns) == (0, 0, None)
    source, target = turn_features(Tokenizers(words, words), lambda turns: read_history(words, turns, config), config)
    assert (source.name, target.name) == ("source", "target")
    assert all(len(tokens) > 1 for tokens in source.encode([*enumerate(DIALOGUE * 3, 1)]))


def test_columns_change_with_what_is_read():
    def stamps(hidden=0.0, **settings):
        words, config = tokenizer(), ChatConfig(**settings)
        made = turn_features(Tokenizers(words, words), lambda turns: None, config, hidden=hidden)
        return str([feature.fingerprint() for feature in made])

    assert len({stamps(), stamps(0.5), stamps(turns=2), stamps(tokens=9)}) == 4
    assert stamps(mutual=0.5) == stamps(), "which only ranks replies"


def test_an_example_without_turns_is_refused():
    words = tokenizer()
    (feature, *_) = turn_features(Tokenizers(words, words), lambda turns: None, ChatConfig())
    with pytest.raises(DataError, match="example 3 has no turns"):
        feature.encode([(3, Example(target="cat"))])


def test_tokenizers_read_every_turn_once():
    examples = [
        Example(turns=("a",), target="b"),
        Example(turns=("a", "b", "c"), target="d"),
        Example(turns=("a",), target="b"),
        Example(turns=("e",), target="f"),
    ]
    assert [*each_turn(examples)] == ["a", "b", "c", "d", "a", "b", "e", "f"]
