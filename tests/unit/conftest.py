"""One tiny trained model for all tests that need one."""

import pytest


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """A folder with a tiny parallel text and its recipe."""
    from helpers_tasks import write_recipe

    folder = tmp_path_factory.mktemp("text")
    write_recipe(folder)
    return folder


@pytest.fixture(scope="session")
def translator(text):
    """The folder of a model that writes words in capitals; not to be changed."""
    from saccade.tasks.recipe import load_recipe
    from saccade.tasks.training import train

    folder = text / "translator"
    train(load_recipe(str(text / "recipe.yaml")), folder)
    return folder


@pytest.fixture
def copied(translator, tmp_path):
    """A copy of it, to be spoiled."""
    import shutil

    return shutil.copytree(translator, tmp_path / "copied")


@pytest.fixture(scope="session")
def model(translator):
    """The same, loaded."""
    import saccade

    return saccade.load(translator, device="cpu")
