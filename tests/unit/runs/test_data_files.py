"""Data files of a recipe: folder, names and compression."""

import gzip

import pytest

from helpers.recipes import recipe_of, write_lines
from saccade.errors import ConfigError, DataError
from saccade.runs.corpus import Corpus
from saccade.runs.recipe import load_recipe

SETTINGS = {"task": "translation", "data": {"train": ["train.{source}", "train.{target}"], "valid": "valid.tsv"}}


def corpus(**data):
    return Corpus(recipe_of({**SETTINGS, "data": {**SETTINGS["data"], **data}}))


def texts(examples):
    return [(example.source, example.target) for example in examples]


def test_files_lie_in_their_folder_under_the_names_that_are_given(tmp_path):
    for side in ("en", "de", "fr"):
        write_lines(tmp_path / f"train.{side}", [f"one {side}", f"two {side}"])
    found = corpus(folder=str(tmp_path), placeholders={"source": "en", "target": "fr"}).examples("train")
    assert texts(found) == [("one en", "one fr"), ("two en", "two fr")]


def test_a_compressed_file_stands_in_for_a_plain_one(tmp_path):
    write_lines(tmp_path / "train.en", ["plain"])
    for side in ("en", "de"):
        (tmp_path / f"train.{side}.gz").write_bytes(gzip.compress(f"packed {side}\n".encode()))
    found = corpus(folder=str(tmp_path), placeholders={"source": "en", "target": "de"}).examples("train")
    assert texts(found) == [("plain", "packed de")], "but a plain one is taken where there is one"


def test_the_folder_may_be_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_lines(tmp_path / "valid.tsv", ["a\tb"])
    assert texts(corpus(folder="~").examples("valid")) == [("a", "b")]


def test_a_file_that_is_not_there_is_named_with_its_folder(tmp_path):
    with pytest.raises(DataError, match=r"/train\.en does not exist"):
        list(corpus(folder=str(tmp_path), placeholders={"source": "en", "target": "de"}).examples("train"))


def test_a_name_that_nobody_gave_is_a_fault():
    with pytest.raises(
        ConfigError, match=r"train\.\{target\} needs a value for \{target\}, but placeholders has source"
    ):
        corpus(placeholders={"source": "en"})


def test_braces_without_names_are_letters(tmp_path):
    write_lines(tmp_path / "{x}.tsv", ["a\tb"])
    assert texts(corpus(folder=str(tmp_path), valid="{x}.tsv").examples("valid")) == [("a", "b")]


def test_a_folder_of_stories_is_read_again_when_one_of_them_changes(tmp_path):
    story = tmp_path / "stories" / "a.story"
    story.parent.mkdir()
    story.write_text("One report .\n@highlight\nOne\n")
    settings = {"task": "summarization", "data": {"train": str(story.parent), "valid": str(story.parent)}}
    found = Corpus(recipe_of(settings))
    before = found._origin("train")
    assert [example.target for example in found.examples("train")] == ["One ."]
    assert found._origin("train") == before
    story.write_text("One report .\n@highlight\nTwo .\n")
    assert found._origin("train") != before


def test_files_are_found_beside_the_recipe_and_keep_their_place(tmp_path, monkeypatch):
    """Else in the working directory; the recipe stores the absolute folder for a model that is moved."""
    recipes, data = tmp_path / "recipes", tmp_path / "data"
    for folder in (recipes, data):
        folder.mkdir()
        write_lines(folder / "pairs.tsv", [f"in\t{folder.name}"])
    write_lines(
        recipes / "my.yaml", ["base: english-french", "data: {corpus: null, train: pairs.tsv, test: pairs.tsv}"]
    )
    monkeypatch.chdir(data)
    beside = load_recipe("../recipes/my.yaml")
    monkeypatch.chdir(tmp_path)
    assert texts(Corpus(beside).examples("test")) == [("in", "recipes")]
    assert texts(Corpus(load_recipe("recipes/my.yaml", ["data.folder=data"])).examples("test")) == [("in", "data")]
    (recipes / "pairs.tsv").unlink()
    monkeypatch.chdir(data)
    here = load_recipe(str(recipes / "my.yaml"))
    monkeypatch.chdir(tmp_path)
    assert texts(Corpus(here).examples("test")) == [("in", "data")]
