"""A model folder of an older version loads, gives the same answers, and resumes training."""

import tarfile
from pathlib import Path

import pytest

import saccade
from saccade.checksums import write_listed
from saccade.recipes import RecipeText, override
from saccade.runs.folder import read_folder_recipe
from saccade.runs.recipe import parse_recipe
from saccade.runs.training import train

FOLDERS = Path(__file__).parents[2] / "folders"


@pytest.fixture(params=[1, 2])
def version(request):
    return request.param


@pytest.fixture
def folder(tmp_path, version):
    """The model folder of version 1, unpacked, with a recipe of the version."""
    with tarfile.open(FOLDERS / "version-1.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    if version == 2:
        write_listed(tmp_path / "version-1" / "recipe.yaml", (FOLDERS / "version-2.yaml").read_text())
    return tmp_path / "version-1"


def test_its_terms_are_those_it_was_trained_with(folder, version):
    recipe = read_folder_recipe(folder)
    assert recipe.objective == {"guided_alignment": {"weight": 0.5, "after": 0.0, "site": None, "head": None}}
    assert f"version: {version}\n" in (folder / "recipe.yaml").read_text()


def test_it_answers_as_it_did_then(folder):
    found = saccade.load(folder, device="cpu")("the cat sleeps .", beam=1, max_length=12)
    assert found.text == " " * 12
    assert found.score == pytest.approx(-24.99462890625, abs=1e-3)
    assert found.attention.matrix()[0, :4] == pytest.approx([0.212217, 0.262836, 0.411646, 0.084679], abs=1e-4)


def test_it_goes_on_training(folder, tmp_path):
    changes = ["train.steps=62", f"data.cache={tmp_path / 'cache'}"]
    recipe = parse_recipe(override(RecipeText(read_folder_recipe(folder).dump(), "the old recipe"), changes))
    assert train(recipe, folder, resume=True).progress.step == 62
