"""Image generation: inputs, what is refused, and what is said of a collapse."""

import numpy as np
import pytest
import torch

import saccade
from helpers.commands import refused, run
from helpers.tasks import generating
from saccade.corpora import twins
from saccade.data.pictures import open_picture
from saccade.errors import ConfigError, DataError
from saccade.recipes import RecipeText, merge
from saccade.runs.recipe import parse_recipe
from saccade.runs.training import train


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    train(parse_recipe(RecipeText(generating(folder), "test")), folder / "model")
    return folder / "model"


def test_an_image_depends_on_its_seed_and_its_class_alone(trained):
    model = saccade.load(trained, device="cpu")
    first, second = model.sample(2, seed=4, label="blue solid")
    assert first.image.shape == (32, 32, 3)
    np.testing.assert_array_equal(model({"seed": 5, "class": "blue solid"}).image, second.image)
    assert (model({"seed": 5, "class": "red solid"}).image != second.image).any()
    by_seed = model.sample(3, seed=12, attention=False)
    assert [one.source for one in by_seed] == ["12", "13", "14"]
    np.testing.assert_array_equal(model("12").image, model({"seed": 12, "class": "blue columns"}).image)


def test_training_leaves_a_strip_of_images(trained):
    assert [path.name for path in (trained / "samples").iterdir()] == ["step-00000004.png"]
    assert (trained / "samples.png").exists()


def test_the_command_draws_a_grid(trained, capsys, tmp_path):
    assert run(capsys, "sample", trained, "--grid", "3", "--class", "red rows", "-o", tmp_path / "x.png").code == 0
    assert open_picture(tmp_path / "x.png").shape == (96, 96, 3)
    assert "ends in .jpg" in refused(capsys, "sample", trained, "-o", tmp_path / "x.jpg")


def test_what_is_no_class_is_refused(trained):
    model = saccade.load(trained, device="cpu")
    with pytest.raises(DataError, match=r"there is no class 'pink'\. The classes are blue columns, .*yellow solid\."):
        model.sample(1, label="pink")
    with pytest.raises(DataError, match=r"has the seed -1, which must be a whole number from 0 to"):
        model({"seed": -1})
    with pytest.raises(DataError, match=r"has the field 'grid', but this model reads a seed"):
        model({"seed": 1, "grid": 2})


def settings(folder, **changes):
    return parse_recipe(RecipeText(merge(generating(folder), changes), "test"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": {"image_size": 48}}, "the generator draws 32 × 32 pixels, but data.image_size is 48"),
        ({"train": {"metric": "loss"}}, "the loss of two players does not tell which step is the best"),
        ({"train": {"devices": 2}}, "two players train on one device"),
        ({"train": {"accumulate": 2}}, "use 1"),
        ({"train": {"r_drop": 1.0}}, "image-generation does not use it"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        settings(tmp_path, **changes)


def test_a_model_without_classes_takes_none(tmp_path):
    train(settings(tmp_path, model={"conditional": False}), tmp_path / "model")
    model = saccade.load(tmp_path / "model", device="cpu")
    with pytest.raises(ConfigError, match="this model draws without classes"):
        model({"seed": 1, "class": "red rows"})
    assert model("1").image.shape == (32, 32, 3)


def test_images_of_one_class_are_refused(tmp_path):
    np.savez(tmp_path / "one.npz", images=np.zeros((60, 32, 32), np.uint8), labels=np.zeros(60, np.int64))
    recipe = settings(tmp_path, data={"corpus": None, "train": str(tmp_path / "one.npz")})
    with pytest.raises(DataError, match=r"have the labels \['0'\], but the classifier .* needs two or more"):
        train(recipe, tmp_path / "model")


def test_a_collapse_and_a_discriminator_that_wins_are_noted(trained):
    task = saccade.load(trained, device="cpu").task
    with torch.no_grad():
        task.model.generator.last.bias.fill_(9.0)  # all images are white
        task.model.discriminator.last.bias.fill_(0.0)
    task.model.train()
    _, notes = task.health(list(twins("valid", 30)))
    assert task.model.training
    assert "the generator has collapsed: its images vary 0 % as much as real ones" in notes[0].replace("0%", "0 %")
    scores = iter((np.full(30, 2.0), np.full(30, -2.0)))
    task._scores = lambda judged: next(scores)
    assert "the discriminator wins outright: its loss is 0.000" in task.health(list(twins("valid", 30)))[1][-1]
