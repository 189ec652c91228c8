"""An untrusted tokenizer.json: the library gets only what saccade could have written itself."""

import copy
import json

import pytest

from saccade.batch import SPECIALS
from saccade.data import tokenizer as module
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.errors import CheckpointError, DataError

LINES = ["the cat sat , l'eau 3,14 été 😀", "The Cat"] * 4
OPTIONS = [
    {"kind": "word"},
    {"kind": "word", "punctuation": "keep", "lowercase": True},
    {"kind": "char"},
    {"kind": "bpe"},
    {"kind": "bpe", "lowercase": True},
    {"kind": "unigram"},
]


@pytest.fixture(scope="module")
def states():
    return {kind: trained(kind=kind).state() for kind in ("word", "bpe", "unigram")}


def trained(**options):
    return Tokenizer.train(TokenizerConfig(**options), LINES)


@pytest.mark.parametrize("options", OPTIONS)
def test_what_was_trained_comes_back_bit_by_bit(options):
    made = trained(**options)
    back = Tokenizers.parse(Tokenizers(made, made).dump(), "here")
    assert back.dump() == Tokenizers(made, made).dump()
    assert back.source.encode_whole(LINES) == made.encode_whole(LINES)


def refused(state, why):
    text = json.dumps({"saccade_tokenizer": 1, "source": state, "target": None, "labels": None})
    with pytest.raises(CheckpointError, match=f"is not a tokenizer of saccade.*{why}"):
        Tokenizers.parse(text, "runs/a/tokenizer.json")


OTHER_PARTS = [
    ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
    ("normalizer", {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": "AAAA"}]}),
    ("normalizer", {"type": "Replace", "pattern": {"Regex": "(x|x)*y"}, "content": ""}),
    ("normalizer", ["type"]),
    ("normalizer", None),
    ("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "(x|x)*y"}, "behavior": "Removed", "invert": True}),
    ("pre_tokenizer", "Whitespace"),
    ("decoder", {"type": "Replace", "pattern": {"Regex": "(x|x)*y"}, "content": ""}),
    ("post_processor", {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}}),
    ("truncation", {"max_length": 1, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}),
    ("padding", {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "x"}),
    ("added_tokens", []),
    ("version", "2.0"),
    ("more", 1),
]


@pytest.mark.parametrize("kind", ["word", "bpe", "unigram"])
@pytest.mark.parametrize(("part", "value"), OTHER_PARTS)
def test_parts_that_saccade_does_not_write(states, kind, part, value):
    state = copy.deepcopy(states[kind])
    state["vocabulary"][part] = value
    refused(state, "parts or options that saccade does not write")


@pytest.mark.parametrize("number", [2**31, 2**64, -1, 1.0, True, "5", None, 5])
@pytest.mark.parametrize("kind", ["word", "bpe"])
def test_numbers_of_tokens_have_no_gaps(states, kind, number):
    state = copy.deepcopy(states[kind])
    state["vocabulary"]["model"]["vocab"]["cat" if kind == "word" else "Ġ"] = number
    refused(state, r"the numbers of \d+ tokens are not 0|must be tokens with their numbers")


@pytest.mark.parametrize("score", [float("nan"), float("inf"), 10**400, "x", None])
def test_scores_are_numbers(states, score):
    state = copy.deepcopy(states["unigram"])
    state["vocabulary"]["model"]["vocab"][9][1] = score
    refused(state, "is no token with its score")


@pytest.mark.parametrize(
    "merge", [["Ġ", "nothing"], ["zz", "zz"], ["", "a"], ["a"], "a b", ["a", 5], [["a"], "b"], None]
)
def test_merges_join_two_tokens_to_a_third(states, merge):
    state = copy.deepcopy(states["bpe"])
    state["vocabulary"]["model"]["merges"].append(merge)
    refused(state, "no pair of tokens that make another one|TypeError")


def test_a_merge_that_stands_twice(states):
    state = copy.deepcopy(states["bpe"])
    state["vocabulary"]["model"]["merges"] *= 2
    refused(state, "does not write")


def renamed(state, old, new):
    vocabulary = state["vocabulary"]["model"]["vocab"]
    if isinstance(vocabulary, dict):
        vocabulary[new] = vocabulary.pop(old)
    else:
        next(entry for entry in vocabulary if entry[0] == old)[0] = new


@pytest.mark.parametrize(
    ("kind", "old", "new", "why"),
    [
        ("word", SPECIALS[1], "<begin>", "special tokens are not the first"),
        ("word", "cat", "", "empty or repeated"),
        ("word", "cat", "\ud800", "UnicodeEncodeError"),
        ("bpe", "!", "語", "a byte has no token"),
        ("unigram", "!", "語", "a byte has no token"),
        ("unigram", "!", "Ġ", "empty or repeated"),
        ("unigram", "!", "", "empty or repeated"),
        ("unigram", SPECIALS[0], "<p>", "special tokens are not the first"),
    ],
)
def test_tokens_that_a_kind_does_not_have(states, kind, old, new, why):
    state = copy.deepcopy(states[kind])
    renamed(state, old, new)
    refused(state, why)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"kind": "unigram"}, "needs a model of the type Unigram"),
        ({"kind": "syllables"}, "the kind 'syllables' does not exist"),
        ({"kind": ["word"]}, "TypeError"),
        ({"vocabulary": []}, "needs a model of the type"),
        ({"more": 1}, "a side must have a kind and a vocabulary"),
    ],
)
def test_sides_that_are_none(states, change, why):
    refused({**states["word"], **change}, why)


@pytest.mark.parametrize("labels", ["good", [1], ["good", "good"], [""], ["\ud800"], {}])
def test_labels_are_different_texts(labels):
    found = json.loads(Tokenizers(trained(kind="word"), None, ["good"]).dump())
    with pytest.raises(CheckpointError, match="is not a tokenizer of saccade"):
        Tokenizers.parse(json.dumps({**found, "labels": labels}), "here")


def test_nesting_without_end_and_files_without_end(tmp_path, monkeypatch):
    with pytest.raises(CheckpointError, match="is not a tokenizer of saccade"):
        Tokenizers.parse("[" * 10**5, "here")
    path = tmp_path / "tokenizer.json"
    made = Tokenizers(trained(kind="word"), None)
    path.write_text(made.dump())
    assert Tokenizers.open(path).dump() == made.dump()
    monkeypatch.setattr(module, "_LARGEST", path.stat().st_size - 1)
    with pytest.raises(DataError, match=r"tokenizer\.json has more than [\d,]+ bytes, the most that a tokenizer may"):
        Tokenizers.open(path)
    with pytest.raises(DataError, match=r"Set tokenizer\.size or raise tokenizer\.min_count"):
        made.dump()
