"""Inputs to try with a model: the recipe's own, or those of its built-in corpus."""

import pytest

from helpers.captioning import captioner
from helpers.chat import chat
from helpers.recipes import MODEL, untrained
from saccade.recipes.schema import DataConfig


def examples(task, **changes):
    task.recipe = task.recipe.model_copy(update=changes)
    return task.examples()


def test_a_model_of_files_has_the_examples_of_its_recipe():
    task = untrained("translation", MODEL)
    assert examples(task) == []
    assert examples(task, examples=["one", "two"]) == [{"input": "one"}, {"input": "two"}]


@pytest.mark.parametrize(("name", "corpus"), [("translation", "english-french"), ("language-modeling", "reading")])
def test_a_model_of_a_built_in_corpus_has_those_of_the_corpus(name, corpus):
    task = untrained(name, MODEL)
    data = DataConfig(corpus=corpus)
    assert len(examples(task, data=data)) >= 3
    assert examples(task, data=data, examples=["mine"]) == [{"input": "mine"}]


def test_examples_of_talk_are_dialogues():
    found = examples(chat(), data=DataConfig(corpus="talk"))
    assert all(one["input"].keys() == {"turns"} for one in found)
    assert len(found) >= 3
    assert examples(chat(), examples=["mine"]) == [{"input": "mine"}]


def test_a_captioner_of_scenes_draws_images_that_it_has_not_seen():
    pytest.importorskip("sklearn")
    task = captioner("transformer-captioner").task
    found = examples(task, data=DataConfig(corpus="scenes"))
    assert [each["name"] for each in found] == [f"example {number}" for number in range(1, 5)]
    assert len({each["image"] for each in found}) == 4
    assert all(each["image"].startswith("data:image/png;base64,") for each in found)


def test_without_the_library_that_draws_them_there_are_none(monkeypatch):
    monkeypatch.setattr("saccade.tasks.captioning.find_spec", lambda name: None)
    assert examples(captioner("transformer-captioner").task, data=DataConfig(corpus="scenes")) == []
