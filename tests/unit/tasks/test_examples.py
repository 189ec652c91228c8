"""Inputs to try with a model: the recipe's own, or those of its built-in corpus."""

import pytest

from helpers.captioning import captioner
from helpers.chat import chat
from helpers.recipes import MODEL, untrained
from saccade.api import Model, describe
from saccade.data.sound_files import open_sound
from saccade.errors import DataError
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


def test_a_model_of_images_has_those_of_its_recipe_if_they_are_files():
    task = captioner("transformer-captioner").task
    found = examples(task, examples=["data:image/png;base64,AAAA", "a path.png"])
    assert found == [{"name": "example 1", "image": "data:image/png;base64,AAAA"}]
    assert Model(task).sample_inputs == [b"\0\0\0"]
    examples(task, examples=["data:image/png;base64,A"])
    with pytest.raises(DataError, match=r"recipe is no data: URL in base64: 'data:image/png;base64,A'\."):
        _ = Model(task).sample_inputs


def test_a_model_of_spoken_digits_has_sounds():
    model = describe("demo-digits")
    assert [[*each] for each in model.task.examples()] == [["name", "sound"]] * 2
    first, second = (open_sound(sound, name="it") for sound in model.sample_inputs)
    assert first.rate == second.rate == 8000
    assert 0.2 < first.seconds < 6
    spoken = model.task.recipe.data.spoken.model_copy(update={"voices": "espeak"})
    assert examples(model.task, data=DataConfig(corpus="spoken", spoken=spoken)) == []


def test_without_the_library_that_draws_them_there_are_none(monkeypatch):
    monkeypatch.setattr("saccade.tasks.captioning.find_spec", lambda name: None)
    assert examples(captioner("transformer-captioner").task, data=DataConfig(corpus="scenes")) == []
