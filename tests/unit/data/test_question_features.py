"""Token spans, matches and the columns of questions."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.batch import AskedBatch
from saccade.data.example import Example
from saccade.data.loader import collate
from saccade.data.question_features import MATCHES, SENTENCE_MATCHES, matches, question_features, token_spans
from saccade.data.store import Store
from saccade.data.tokenizer import Tokenizer, TokenizerConfig

PASSAGE = "Ada went to Rome. Ben stayed in Oslo, and Ada wrote."
QUESTION = "Where did Ada go?"


def tokenizer(kind="word", **options):
    return Tokenizer.train(TokenizerConfig(kind=kind, **options), [PASSAGE, QUESTION])


def test_token_spans_contain_the_characters_of_the_answer():
    offsets = [(0, 3), (4, 8), (9, 11), (12, 16), (16, 17)]
    assert token_spans(offsets, [(12, 16)]) == [(3, 3)]
    assert token_spans(offsets, [(9, 16), (9, 16)]) == [(2, 3)]
    assert token_spans(offsets, [(13, 15)]) == [(3, 3)]  # a part of a token
    assert token_spans(offsets, [(3, 4)]) == []  # only the space between two tokens


@pytest.mark.parametrize("kind", ["word", "char", "bpe"])
@given(st.data())
def test_any_words_of_a_passage_are_found_again(kind, data):
    words = PASSAGE.split()
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    begin = len(" ".join(words[:first])) + bool(first)
    end = begin + len(" ".join(words[first : last + 1]))
    (offsets,) = KINDS[kind].offsets([PASSAGE])
    ((i, j),) = token_spans(offsets, [(begin, end)])
    assert PASSAGE[offsets[i][0] : offsets[j][1]].strip() == PASSAGE[begin:end]


KINDS = {kind: tokenizer(kind) for kind in ("word", "char", "bpe")}


def test_matches_by_hand():
    found = matches(["Ada", "went", "to", "ADA", "."], ["where", "did", "Ada", "go", "."])
    assert found[:, 0].tolist() == [1, 0, 0, 0, 1]  # exact match
    assert found[:, 1].tolist() == [1, 0, 0, 1, 0]  # in lower case, words only
    np.testing.assert_allclose(found[:, 3], [0.5, 0, 0, 0.5, 0])  # "ada" is there twice
    np.testing.assert_allclose(found[:, 4], [0.25] * 5)  # every token has one of the question's four words near it
    assert found[:, 5].tolist() == [1, 0, 0, 1, 0]
    assert found[:, 7].tolist() == [0, 0, 0, 0, 1]
    near = matches([*"x" * 10, "Ada", *"x" * 10], ["Ada", "slept"])[:, 4]
    np.testing.assert_array_equal(near, [0.5 * (2 <= place <= 18) for place in range(21)])  # eight to each side
    assert matches(["walking"], ["walked"])[0, 2] == 0  # a stem is five letters: "walki" and "walke"
    assert matches(["printed"], ["printing"])[0, 2] == 1
    assert matches([], ["a"]).shape == (0, MATCHES)


def test_matches_of_sentences_by_hand():
    passage = ["Ada", "walked", ".", "Ada", "wrote", "novels", "!", "Ben", "slept"]
    found = matches(passage, ["Which", "novel", "did", "ADA", "write", "?"], sentences=True)
    rare, common = math.log(4 / 1), math.log(4 / 2)  # of three sentences, one has "novel…", two have "Ada"
    weights = [common, rare + common, 0.0]  # "wrote" and "write" have different stems
    wanted = [weights[0]] * 3 + [weights[1]] * 4 + [weights[2]] * 2
    np.testing.assert_allclose(found[:, MATCHES], np.array(wanted) / weights[1], rtol=1e-6)
    np.testing.assert_allclose(found[:, MATCHES + 1], np.array(wanted) / (5 * math.log(4)), rtol=1e-6)
    np.testing.assert_array_equal(found[:, :MATCHES], matches(passage, ["Which", "novel", "did", "ADA", "write", "?"]))
    assert not matches(passage, ["?"], sentences=True)[:, MATCHES:].any()


@given(
    st.lists(st.sampled_from(["Ada", "ada", "7th", ",", "rome", ".", "?"]), max_size=30),
    st.lists(st.text(), max_size=6),
)
def test_matches_are_shares(passage, question):
    found = matches(passage, question, sentences=True)
    assert found.shape == (len(passage), MATCHES + SENTENCE_MATCHES)
    assert ((found >= 0) & (found <= 1)).all()


def test_batches_of_questions(tmp_path):
    rome, oslo = (PASSAGE.index(name) for name in ("Rome", "Oslo"))
    examples = [
        Example(source=PASSAGE, question=QUESTION, target="Rome", spans=((rome, rome + 4), (rome - 3, rome + 4))),
        Example(source="Ada wrote.", question="Who slept in Oslo?", target=""),
        Example(source=PASSAGE, question="Where is Ben?", target="Oslo", spans=((oslo, oslo + 4),)),
    ]
    own = tokenizer()
    features = question_features(own, with_matches=True, sentences=True)
    store = Store.open(tmp_path, "key", examples, features, batch=AskedBatch)
    batch = collate(store, np.arange(3), (4, 20, 8))
    (offsets,) = own.offsets([PASSAGE])
    words = [PASSAGE[begin:end] for begin, end in offsets]
    assert batch.spans.shape == (4, 4, 2)
    assert batch.spans[0, :3].tolist() == [
        [words.index("Rome")] * 2,
        [words.index("to"), words.index("Rome")],
        [-1, -1],
    ]
    assert batch.spans[1, 0].tolist() == [3, 3]  # its EOS stands for "no answer"
    assert (batch.spans[3] == -1).all()
    assert batch.source.shape == (4, 20)
    assert batch.question.shape == (4, 8)
    expected = matches(words, ["Where", "did", "Ada", "go", "?"], sentences=True)
    torch.testing.assert_close(batch.matches[0, : len(words)], torch.tensor(expected), atol=0.003, rtol=0)
    assert not batch.matches[0, len(words) :].any()


def test_evidence_is_batched_in_the_order_of_reasoning(tmp_path):
    dot = PASSAGE.index(".") + 1
    found = [(dot + 1, len(PASSAGE)), (0, dot)]
    examples = [
        Example(source=PASSAGE, question=QUESTION, target="Rome", spans=((12, 16),), evidence=tuple(found)),
        Example(source=PASSAGE, question="Why?", target=""),
    ]
    features = question_features(tokenizer(), with_matches=False, with_evidence=True)
    store = Store.open(tmp_path, "key", examples, features, batch=AskedBatch)
    batch = collate(store, np.arange(2), (3, 20, 8))
    words = PASSAGE.replace(".", " .").replace(",", " ,").split()
    end = words.index(".")
    assert batch.evidence.shape == (3, 4, 2)
    assert batch.evidence[0, :2].tolist() == [[end + 1, len(words) - 1], [0, end]]
    assert (batch.evidence[0, 2:] == -1).all()
    assert (batch.evidence[1:] == -1).all()
    assert batch.matches is None
