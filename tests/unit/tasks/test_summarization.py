"""Summaries: the metrics of given answers, by hand, and gold links."""

from types import SimpleNamespace

import numpy as np
import pytest

from helpers.recipes import MODEL, recipe_of
from saccade.data.example import Example, Links
from saccade.data.features import CopiedTarget, CopyFeature, TokenFeature
from saccade.data.summary_targets import AskedCopies, AskedTokens, SummaryConfig
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.errors import ConfigError
from saccade.metrics import link_statistics, rouge
from saccade.prediction import NOTHING, AttentionMaps, Prediction
from saccade.runs.folder import build_task
from saccade.search.search_config import SearchConfig

TEXTS = ["the cat sat . the dog ran .", "a bird flew over the house ."]


def task(output="pointer"):
    shared = Tokenizer.train(TokenizerConfig(kind="word"), TEXTS)
    settings = {
        "task": "summarization",
        "data": {"train": "unused.tsv"},
        "model": MODEL,
        "tokenizer": {"kind": "word", "shared": True},
        "output": output,
    }
    return build_task(recipe_of(settings), Tokenizers(shared, shared))


def evaluated(monkeypatch, answers, examples, **options):
    made = task(**options)
    found = [Prediction(text, 0.0, text.split(), AttentionMaps(NOTHING, NOTHING, {}, ()), copies=copies) for
             text, copies in answers]  # fmt: skip
    monkeypatch.setattr("saccade.tasks.summarization.in_batches", lambda *_, **__: found)
    return made.evaluate(examples, SearchConfig())


def test_scores_by_hand(monkeypatch):
    examples = [
        Example(
            source="the Zorblax sat . the dog ran .", target="Zorblax sat", references=("Zorblax sat", "a dog ran")
        ),
        Example(source="a bird flew over Kif .", target="Kif"),
    ]
    copies = [np.array([[1.0, 0], [0.5, 0.25], [0, 0]]), np.array([[0.0, 0.25], [0, 0]])]
    found = evaluated(monkeypatch, [("zorblax sat down", copies[0]), ("bird bird", copies[1])], examples)
    scores = rouge(["zorblax sat down", "bird bird"], [("Zorblax sat", "a dog ran"), ("Kif",)])
    assert {name: found.metrics[name] for name in scores} == {n: part.total().value for n, part in scores.items()}
    assert found.metrics["copied"] == pytest.approx((1 + 0.75 + 0.25) / 5)
    assert found.metrics["unknown_words"] == pytest.approx(1 / 2), "Zorblax was written, Kif was not"
    assert found.metrics["novel_words"] == pytest.approx(1 / 5), "only 'down' is not in its source"
    assert found.metrics["repeated_trigrams"] == 0
    assert found.metrics["summary_length"] == pytest.approx(2.5)
    leads = found.details["baselines"]["lead-1"]["rouge1"]
    wanted = rouge(["the Zorblax sat .", "a bird flew over Kif ."], [("Zorblax sat", "a dog ran"), ("Kif",)])
    assert leads == pytest.approx(wanted["rouge1"].total().value)
    assert set(found.details["baselines"]) == {"lead-1", "lead-3", "centroid"}
    assert found.lengths == [8, 6]


def test_without_copies_and_unknown_words_there_is_nothing_to_measure(monkeypatch):
    examples = [Example(source=TEXTS[0], target="the cat")]
    found = evaluated(monkeypatch, [("the cat", None)], examples, output="words")
    assert not {"copied", "unknown_words", "pointing"} & set(found.metrics)


def test_pointing_is_measured_where_there_are_links():
    made = task()
    examples = [
        Example(source=TEXTS[0], target="the cat", links=Links(frozenset({(0, 0), (1, 1)}))),
        Example(source=TEXTS[1], target="a bird", links=Links(frozenset({(1, 1)}), frozenset({(2, 1)}))),
    ]
    found = made.evaluate(examples, SearchConfig(max_length=4))
    matrices = [one.matrix()[:, : len(example.source.split())] for one, example in
                zip(made.attend(examples), examples, strict=True)]  # fmt: skip
    right = sum(int(matrices[0][t].argmax()) == t for t in (0, 1)) + (int(matrices[1][1].argmax()) in (1, 2))
    assert found.metrics["pointing"] == pytest.approx(right / 3)


def test_linked_words_alone_count():
    matrix = [[0.1, 0.9, 0.0], [0.6, 0.2, 0.2], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    gold = [Links(frozenset({(1, 0), (2, 1)})), Links(frozenset(), frozenset({(0, 1), (2, 2)})), Links(frozenset())]
    assert link_statistics([matrix] * 3, gold).tolist() == [[1, 2], [2, 2], [0, 0]]


def test_a_summary_of_a_long_text_is_bounded():
    assert task().positions(50) == (50, 120)
    assert task().positions(5000) == (5000, 320)


def test_only_training_has_further_targets():
    made = task()
    changed = made.recipe.model_copy(update={"summary": SummaryConfig(also=["title", "key-sentence"])})
    made.recipe = changed
    kinds = {name: [type(part) for part in made.features(SimpleNamespace(name=name))] for name in ("train", "valid")}
    assert kinds["valid"] == [TokenFeature, CopiedTarget, CopyFeature]
    assert kinds["train"] == [AskedTokens, CopiedTarget, AskedCopies]


@pytest.mark.parametrize("also", [["summary"], ["title", "title"]])
def test_a_target_is_named_once(also):
    shared = {"task": "summarization", "data": {"train": "unused.tsv"}, "model": MODEL, "summary": {"also": also}}
    with pytest.raises(ConfigError, match=r"summary\.also: (the model writes summary already|a target is named twice)"):
        recipe_of(shared | {"tokenizer": {"kind": "word", "shared": True}})
