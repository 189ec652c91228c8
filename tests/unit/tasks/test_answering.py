"""A model that writes answers reads the question and the passage as one text."""

import numpy as np
import pytest

from helpers.recipes import MODEL, recipe_of
from saccade.batch import EOS, UNK
from saccade.data.example import Example
from saccade.data.loader import collate
from saccade.data.store import Store
from saccade.data.tokenizer import Tokenizer, TokenizerConfig
from saccade.errors import DataError
from saccade.runs.folder import build_task
from saccade.search import SearchConfig
from saccade.tasks.answering import Answering

ASKED = {"question": "Where is Ada?", "passage": "Ada is in Rome."}
EXAMPLE = Example("Ada is in Rome.", "Rome", question="Where is Ada?", references=("Rome",), spans=((10, 14),))
JOINED = "Where is Ada? | Ada is in Rome."
WORDS = ["Where", "is", "Ada", "?", "|", "Ada", "is", "in", "Rome", "."]


@pytest.fixture(scope="module")
def task():
    settings = {"task": "answering", "data": {"train": "unused.jsonl"}, "output": "pointer", "model": MODEL}
    settings["tokenizer"] = {"kind": "word", "shared": True, "min_count": 2}
    learned = Answering.learn_tokenizers(TokenizerConfig(**settings["tokenizer"]), lambda: iter([EXAMPLE]))
    return build_task(recipe_of(settings), learned)


def test_both_texts_and_the_answer_are_learned_from(task):
    assert {word for word in WORDS if task.source.tokens([word])[0] != [UNK]} == {"is", "Ada", "Rome"}


def test_training_reads_what_predict_reads(task, tmp_path):
    unanswerable = Example("Ada is in Rome.", "", question="Why?")
    features = task.features(type("Split", (), {"name": "train"}))
    examples = [EXAMPLE, unanswerable]
    for feature in features:
        examples = feature.keep(examples)
    store = Store.open(tmp_path, "key", examples, features)
    assert len(store) == 1, "a question without an answer is left out"
    batch, asked = collate(store, np.arange(1), (1, 20, 8)), task.read([task.opened(ASKED)]).batch
    size = len(WORDS) + 1
    assert batch.source[0, :size].tolist() == asked.source[0].tolist() == [*task.source.tokens([JOINED])[0], EOS]
    assert batch.copies[0, :size].tolist() == asked.copies[0].tolist()
    known = Tokenizer.train(TokenizerConfig(kind="word"), [JOINED])
    assert known.pieces(known.tokens([JOINED])[0]) == WORDS
    assert task.length(ASKED) == size
    assert task.lengths([ASKED, JOINED]) == [size, size]


@pytest.mark.parametrize(
    ("passage", "span", "copied"),
    [
        ("Ada is in Rome.", (10, 14), [["Rome"]]),
        ("Ada is in (New Rome)!", (11, 19), [["New"], ["Rome"]]),
        ("Rome is Ada 's.", (8, 14), [["Ada"], ["'"], ["s"]]),
        ("Ada is away.", None, [[]]),
    ],
)
def test_gold_attention_is_on_the_tokens_of_the_span_and_not_on_a_full_stop(passage, span, copied, tmp_path):
    settings = {"task": "answering", "data": {"train": "unused.jsonl"}, "output": "pointer", "model": MODEL}
    settings |= {"tokenizer": {"kind": "word", "shared": True}, "objective": {"guided_alignment": {"weight": 1.0}}}
    answer = "nowhere" if span is None else passage[slice(*span)]
    given = Example(passage, answer, question="Where is Ada?", spans=() if span is None else (span,))
    learned = Answering.learn_tokenizers(TokenizerConfig(kind="word", shared=True), lambda: iter([given]))
    task = build_task(recipe_of(settings), learned)
    features, examples = task.features(type("Split", (), {"name": "train"})), [given]
    for feature in features:
        examples = feature.keep(examples)
    batch = collate(Store.open(tmp_path, "key", examples, features), np.arange(1), (1, 30, 8))
    pieces = task.source.pieces(batch.source[0].tolist())
    found = [[pieces[s] for s in np.flatnonzero(row)] for row in batch.links[0].numpy()]
    assert found[: len(copied)] == copied
    assert not any(found[len(copied) :]), "the end is copied from nowhere"
    starts = [int(np.flatnonzero(row)[0]) for row in batch.links[0].numpy() if row.any()]
    assert all(place > pieces.index("|") for place in starts), "not from the question"


def test_an_evaluation_has_no_places(task):
    found = task.evaluate([EXAMPLE], SearchConfig(max_length=3))
    assert list(found.metrics) == ["f1", "exact"]
    assert found.groups == {"question word": ["where"]}
    assert found.predictions[0].source == JOINED


@pytest.mark.parametrize("name", ["question", "passage"])
def test_an_empty_part_is_named(task, name):
    with pytest.raises(DataError, match=f"the {name} is empty"):
        task.opened({**ASKED, name: " \n"})
