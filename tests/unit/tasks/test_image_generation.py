"""Image generation: inputs, what is refused, and what is said of a collapse."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image

import saccade
from helpers.commands import refused, run
from helpers.tasks import generating
from saccade.corpora import twins
from saccade.data.pictures import open_picture
from saccade.errors import ConfigError, DataError
from saccade.recipes import RecipeText, merge
from saccade.runs.recipe import parse_recipe
from saccade.runs.training import train
from saccade.tasks.image_generation import ImageGeneration, Wish, noise_of
from saccade.tasks.image_scores import health_of_players


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
    strip = open_picture(trained / "samples.png")
    assert strip.shape[1] == 12 * 32
    np.testing.assert_array_equal(strip[-32:, :32], saccade.load(trained, device="cpu")("1").image)


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
    with pytest.raises(DataError, match=r"is '9{20,}.*, but this model reads a seed"):
        model("9" * 5000)
    with pytest.raises(DataError, match=r"has the field 'grid', but this model reads a seed"):
        model({"seed": 1, "grid": 2})
    with pytest.raises(DataError, match=r"has the share 1\.5, which must be a number from 0 to 1"):
        model({"seed": 1, "toward": 2, "share": 1.5})


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


def test_a_walk_goes_from_one_seed_to_another(trained):
    model = saccade.load(trained, device="cpu")
    walk = model.walk(4, 9, 5, label="red rows")
    ends = [model({"seed": seed, "class": "red rows"}).image for seed in (4, 9)]
    np.testing.assert_array_equal(walk[0].image, ends[0])
    np.testing.assert_array_equal(walk[-1].image, ends[1])
    steps = [np.abs(one.image.astype(int) - two.image).mean() for one, two in pairwise(walk)]
    whole = np.abs(ends[0].astype(int) - ends[1]).mean()
    assert 0 < max(steps) < whole
    assert [one.text for one in model.walk(4, 4, 3)] == [model("4").text] * 3


def test_noise_between_two_seeds_lies_on_an_arc_and_is_scaled_by_truncation():
    first, last = (noise_of(Wish(seed, 0), 200) for seed in (1, 2))
    lengths = torch.stack([noise_of(Wish(1, 0, 2, share / 10), 200).norm() for share in range(11)])
    assert min(first.norm(), last.norm()) - 0.01 < lengths.min()
    assert lengths.max() < max(first.norm(), last.norm()) + 0.01
    middle = noise_of(Wish(1, 0, 2, 0.5), 200)
    half = torch.acos(torch.nn.functional.cosine_similarity(first, last, 0)) / 2
    torch.testing.assert_close(middle, (first + last) / (2 * torch.cos(half)))
    torch.testing.assert_close(noise_of(Wish(1, 0, 2, 0.5, 0.25), 200), middle / 4)
    torch.testing.assert_close(noise_of(Wish(1, 0, 1, 0.5), 200), first)


def test_the_command_draws_a_walk_as_a_strip_or_an_animation(trained, capsys, tmp_path):
    walk = ["sample", trained, "--walk", "3", "9", "--frames", "18", "-o"]
    assert run(capsys, *walk, tmp_path / "x.png", "--scale", "2").code == 0
    strip = open_picture(tmp_path / "x.png")
    assert strip.shape == (128, 1024, 3)  # a row of 16 images, and one of 2
    assert (strip[64:, 128:] == 255).all()
    for suffix in ("gif", "webp", "apng"):
        assert run(capsys, *walk, tmp_path / f"x.{suffix}").code == 0
        with Image.open(tmp_path / f"x.{suffix}") as moving:
            assert (moving.n_frames, moving.size, moving.info["loop"]) == (34, (32, 32), 0)
    assert "ends in .gif" in refused(capsys, "sample", trained, "-o", tmp_path / "x.gif")


def test_the_command_draws_the_nearest_images_of_training(trained, capsys, tmp_path, monkeypatch):
    options = ["--grid", "3", "--nearest", "2", "--seed", "5"]
    assert run(capsys, "sample", trained, *options, "-o", tmp_path / "x.png").code == 0
    cells = open_picture(tmp_path / "x.png").reshape(3, 32, 3, 32, 3).swapaxes(1, 2)
    known = np.stack([example.image.load() for example in twins("train", 60)])
    for row, (own, *near) in enumerate(cells):
        np.testing.assert_array_equal(own, saccade.load(trained, device="cpu")(str(5 + row)).image)
        apart = ((known.astype(float) - own) ** 2).sum((1, 2, 3))
        found = [((image.astype(float) - own) ** 2).sum() for image in near]
        assert found == sorted(apart)[:2]
    assert "Leave out --walk or --nearest" in refused(
        capsys, "sample", trained, *options, "--walk", "1", "2", "-o", "x.png"
    )
    monkeypatch.setattr(ImageGeneration, "_trained", known[:1])
    assert run(capsys, "sample", trained, *options, "-o", tmp_path / "x.png").code == 0
    assert open_picture(tmp_path / "x.png").shape == (96, 64, 3)


def test_an_answer_has_the_classes_the_judge_sees_and_the_maps_of_both_players(trained):
    model = saccade.load(trained, device="cpu")
    found = model("3", nbest=3)
    scores = [found.score, *(each.score for each in found.alternatives)]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert np.exp(scores).sum() < 1
    assert {site.partition(".")[0] for site in found.attention.weights} == {"generator", "discriminator"}
    places = max(weights.shape[-1] for weights in found.attention.weights.values())
    assert model.task.positions(1) == (places, places)


@pytest.mark.parametrize("relativistic", [False, True])
def test_the_loss_that_tells_who_wins_is_the_one_trained_with(trained, relativistic):
    real, drawn = np.array([5.0, 4.0]), np.array([3.0, -1.0])
    numbers, notes = health_of_players(np.eye(2), np.eye(2), real, drawn, relativistic=relativistic)
    expected = np.log1p(np.exp([-2.0, -5.0])).mean() if relativistic else (4.0 + 0.0) / 2
    assert numbers["discriminator_loss"] == pytest.approx(expected)
    assert numbers["variety"] == 1
    assert notes == []
