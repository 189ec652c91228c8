"""An extended vocabulary by hand: numbers of unknown words, their text, and what a copy writes."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.batch import EOS, PAD, UNK
from saccade.data.open_vocabulary import OpenVocabulary, padded_copies
from saccade.data.tokenizer import Tokenizer, TokenizerConfig

TEXT = ["the cat sees the dog", "the dog , the cat"]


def tokenizer(**settings):
    return Tokenizer.train(TokenizerConfig(**{"kind": "word", **settings}), TEXT)


def test_an_unknown_word_has_the_number_of_its_first_position():
    words = tokenizer()
    size, (the,) = len(words), words.encode("the").tokens
    opened = OpenVocabulary(words, "the Zorblax , Kif sees the Zorblax")
    comma, sees = (words.encode(word).tokens[0] for word in (",", "sees"))
    assert opened.copies == [the, size + 1, comma, size + 3, sees, the, size + 1, EOS]
    assert opened.encode("Kif sees Zorblax Other").tokens == [size + 3, sees, size + 1, UNK]
    assert opened.encode("the cat") == words.encode("the cat")


def test_its_tokens_are_spelled_as_in_the_source():
    words = tokenizer()
    size = len(words)
    opened = OpenVocabulary(words, "Zorblax sees the é<b>")
    numbers = opened.encode("the Zorblax sees é<b> .").tokens
    text, encoded = opened.spelled([*numbers, EOS, 5])
    assert text == "the Zorblax sees é < b > <unk>"
    assert encoded.tokens == numbers
    assert encoded.words == list(range(len(numbers)))
    assert opened.decode([*numbers, EOS]) == text
    assert opened.pieces([size, size + 50, UNK, EOS]) == ["Zorblax", "<unk>", "<unk>", "<eos>"]
    assert opened.spelled(numbers, words=False) == (text, type(encoded)(numbers, []))


def test_a_number_of_another_source_is_unknown():
    opened = OpenVocabulary(tokenizer(), "the cat")
    assert opened.decode([len(tokenizer()) + 7]) == "<unk>"


def test_lower_case_characters_and_subwords():
    lower = OpenVocabulary(tokenizer(lowercase=True), "The ZORBLAX")
    assert lower.decode(lower.copies) == "the zorblax"
    letters = OpenVocabulary(tokenizer(kind="char"), "cat x dog")
    assert letters.decode(letters.copies) == "cat x dog"
    assert max(letters.copies) == len(tokenizer(kind="char")) + 4
    bpe = tokenizer(kind="bpe", size=265)
    pieces = OpenVocabulary(bpe, "the Zorblax")
    assert pieces.copies == [*bpe.encode("the Zorblax").tokens, EOS], "bytes leave nothing unknown"
    assert pieces.spelled(pieces.copies) == bpe.spelled(pieces.copies)


def test_a_word_spelled_like_a_special_token_is_a_word():
    opened = OpenVocabulary(tokenizer(punctuation="keep"), "the <eos> <unk> cat")
    assert opened.decode(opened.copies) == "the <eos> <unk> cat"


@given(st.text(alphabet="abc teh,.Éxy", max_size=30))
def test_a_copy_of_the_whole_source_is_the_source(text):
    for kind in ("word", "char"):
        words = KINDS[kind]
        opened = OpenVocabulary(words, text)
        known = words.tokens([text])[0]
        assert len(opened.copies) == len(known) + 1
        joined = " ".join(text.split()) if kind == "word" else text
        shown = opened.decode(opened.copies)
        assert shown.replace(" ", "") == joined.replace(" ", "")
        assert opened.encode(text).tokens == opened.copies[:-1]


KINDS = {kind: tokenizer(kind=kind) for kind in ("word", "char")}


def test_padding_of_copies():
    mask = torch.tensor([[True, True, True], [True, False, False], [True, False, False]])
    assert padded_copies([[5, 9, EOS], [EOS]], mask).tolist() == [[5, 9, EOS], [EOS, PAD, PAD], [EOS, PAD, PAD]]
