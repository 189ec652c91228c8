"""Drawing: what a picture depends on, what is refused, who reads the pictures, and what is said of a collapse."""

import json

import numpy as np
import pytest
import torch

import saccade
from helpers.commands import refused, run
from helpers.tasks import CASES, drawing
from saccade.corpora import scenes
from saccade.data.example import Example
from saccade.data.pictures import open_picture
from saccade.errors import ConfigError, DataError
from saccade.recipes import RecipeText, merge
from saccade.runs.recipe import parse_recipe
from saccade.runs.training import train

ASKED = "a red seven left of a blue star"


def settings(folder, **changes):
    return parse_recipe(RecipeText(merge(drawing(folder), changes), "test"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a model that draws and a captioner."""
    made = tmp_path_factory.mktemp("drawings")
    train(settings(made, train={"steps": 2, "validate_every": 2}), made / "model")
    train(parse_recipe(RecipeText(CASES["captioning"].settings(made), "test")), made / "captioner")
    return made


@pytest.fixture
def model(folder):
    return saccade.load(folder / "model", device="cpu")


def test_a_picture_depends_on_its_sentence_and_its_seed_alone(model):
    first, second = model([ASKED, "a pink ring"], seed=3)
    assert first.image.shape == (16, 16, 3)
    np.testing.assert_array_equal(model(ASKED, seed=3).image, first.image)
    assert (model(ASKED, seed=4).image != first.image).any()
    assert (second.image != first.image).any()


def test_the_maps_go_from_words_to_the_regions_that_read_them(model):
    found = model(ASKED).attention
    assert found.target.words == ASKED.split()
    assert found.default_site == "generator.blocks.2.attention"
    assert {site: part.shape for site, part in found.weights.items()} == {
        "generator.blocks.0.attention": (1, 9, 4),
        "generator.blocks.2.attention": (1, 9, 16),
        "generator.blocks.3.attention": (1, 16, 16),
        "discriminator.blocks.1.attention": (1, 9, 16),
        "discriminator.blocks.2.attention": (1, 16, 16),
        "discriminator.blocks.4.attention": (1, 9, 4),
    }
    assert found.between["generator.blocks.0.attention"] == ("target", "grid 2 × 2")
    assert found.between["generator.blocks.3.attention"] == ("source", "source")
    for site in ("generator.blocks.0.attention", "discriminator.blocks.1.attention"):
        np.testing.assert_allclose(found.weights[site].sum(1), 1, atol=1e-5)  # of each region, over the words
    assert found.matrix().shape == (9, 16)


def test_the_score_is_how_likely_the_judge_reads_the_sentence(model):
    found, trace = model(ASKED), model.trace(ASKED)
    assert [step.text for step in trace.steps] == [*ASKED.split(), "<eos>"]
    assert all(
        step.log_probability in [log for *_, log in step.candidates[:10]] or step.candidates for step in trace.steps
    )
    assert found.score == pytest.approx(sum(step.log_probability for step in trace.steps), abs=1e-4)
    assert trace.sides["source"].image.startswith("data:image/png")


def test_unknown_words_are_named_and_letter_case_is_not_one(model):
    assert model("a mauve seven").notes == ["not in this model's vocabulary: mauve"]
    found = model("A RED seven")
    assert found.notes == []
    np.testing.assert_array_equal(found.image, model("a red seven").image)
    assert model.trace("a mauve seven").left_out == ["not in this model's vocabulary: mauve"]


def test_an_empty_sentence_draws_nothing(model):
    assert model("  ").image is None
    with pytest.raises(DataError, match="a trace needs one text that is not empty"):
        model.trace("")


def test_the_command_writes_pictures(folder, capsys, tmp_path):
    model = folder / "model"
    ran = run(capsys, "predict", model, "a red mauve seven", "--seed", "5", "-o", tmp_path / "one.png")
    assert ran.code == 0
    assert "not in this model's vocabulary: mauve" in ran.err
    expected = saccade.load(model, device="cpu")("a red mauve seven", seed=5).image
    np.testing.assert_array_equal(open_picture(tmp_path / "one.png"), expected)
    assert run(capsys, "predict", model, "a red seven", "a blue star", "-o", tmp_path / "x.png").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.png", "x-1.png", "x-2.png"]
    assert "draws no images, so it cannot write x.png" in refused(capsys, "predict", "demo", "law", "-o", "x.png")
    assert "A picture is written to a .png file" in refused(capsys, "predict", model, "-o", "x.jpg")


def test_a_grid_has_one_sentence_and_consecutive_seeds(folder, model, capsys, tmp_path):
    words = ("sample", folder / "model", "--grid", "2", "--seed", "4", "-o", tmp_path / "grid.png")
    assert run(capsys, *words, "--text", "a red seven").code == 0
    expected = [model("a red seven", seed=seed).image for seed in range(4, 8)]
    rows = [np.concatenate(expected[start : start + 2], 1) for start in (0, 2)]
    np.testing.assert_array_equal(open_picture(tmp_path / "grid.png"), np.concatenate(rows))
    assert "draws sentences, and none is given" in refused(capsys, *words)
    assert "no classes and no truncation" in refused(capsys, *words, "--text", "a red seven", "--class", "red")
    assert "in a grid alone" in refused(capsys, *words, "--text", "a red seven", "--nearest", "2")
    assert "a walk leads from seed to seed" in refused(capsys, *words[:2], "--walk", "1", "2", "-o", tmp_path / "x.png")
    with pytest.raises(ConfigError, match="this model reads a text, and draws no images"):
        saccade.load("demo").sample(1)
    with pytest.raises(ConfigError, match="draws no sentences"):
        saccade.load("demo").sample(1, text="x")


def test_figures_and_explanations_say_that_regions_read_words(folder, capsys, tmp_path):
    assert run(capsys, "look", folder / "model", ASKED, "-o", tmp_path / "x.svg").code == 0
    text = (tmp_path / "x.svg").read_text()
    assert "brightness is the share of a region&#x27;s attention that the word gets" in text
    assert "input image" not in text
    said = run(capsys, "explain", folder / "model", ASKED, "--step", "3").out
    assert "The weight of this word in each region (row,column)" in said
    assert "words that the judge of the picture expects here" in said
    assert "It is asked for 'seven', with probability" in said


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": {"image_size": 48}}, "the generator draws 16 × 16 pixels, but data.image_size is 48"),
        ({"tokenizer": {"kind": "char"}}, "drawing attends to whole words: set it to word"),
        ({"train": {"metric": "loss"}}, "the loss of two players does not tell which step is the best"),
        ({"train": {"r_drop": 1.0}}, "drawing does not use it"),
        ({"objective": {"adversarial": {"penalty": 0.1}}}, "penalty: drawing does not use it"),
        ({"objective": {"adversarial": {"relativistic": True}}}, "relativistic: drawing does not use it"),
        ({"model": {"read": [3]}}, r"read names a grid of 3, but the networks have \[2, 4, 8\]"),
        ({"model": {"attend": [64]}}, "attend names a grid of 64"),
        ({"model": {"discriminator": [4, 4, 4, 4]}}, "4 blocks of discriminator cannot halve a grid of 8"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        settings(tmp_path, **changes)


def test_a_model_may_have_no_attention_and_no_reader_loss(tmp_path):
    changes = {
        "model": {"read": [], "attend": []},
        "objective": {"redescription": {"weight": 0}},
        "train": {"steps": 1},
    }
    train(settings(tmp_path, **changes), tmp_path / "model")
    model = saccade.load(tmp_path / "model", device="cpu")
    assert model(ASKED).attention.weights == {}
    assert model.trace(ASKED).sites == []


def test_a_captioner_that_was_trained_apart_reads_the_pictures(folder, capsys, tmp_path):
    words = ("evaluate", folder / "model", "--split", "valid", "--json", "--out", tmp_path)
    own = json.loads(run(capsys, *words).out)
    assert {"nouns", "exact", "cider_d", "kid", "fid", "precision", "recall"} == set(own["metrics"])
    assert own["captioner"] is None
    assert "read by the model's own judge" in json.dumps(own)
    chosen = json.loads(run(capsys, *words, "--set", f"search.captioner={folder / 'captioner'}").out)
    assert chosen["captioner"] == str(folder / "captioner")
    assert "own judge" not in json.dumps(chosen)
    assert set(chosen["read_in_real_pictures"]) == {"nouns", "exact", "cider_d"}
    assert "is a model for drawing, but must be one that captions images" in refused(
        capsys, *words, "--set", f"search.captioner={folder / 'model'}"
    )


def test_the_readings_of_a_captioner_decide_the_metrics(model):
    examples = list(scenes("valid", 8, captions=1))
    asked = [example.target for example in examples]
    model.task.read_back = lambda images: asked if images.std() < 60 else ["a red seven"] * len(asked)
    found = model.task.evaluate(examples, model.search())
    assert (found.metrics["nouns"], found.metrics["exact"]) == (1.0, 1.0)
    assert len(model.task._watched) == 0


def test_examples_without_a_caption_are_refused_and_images_that_cannot_be_read_skipped(model):
    example = next(iter(scenes("valid", 1, captions=1)))
    with pytest.raises(DataError, match="example 1 has no image or no caption"):
        model.evaluate([Example(image=example.image)])

    class Broken:
        def load(self):
            raise DataError("broken")

    broken = Example(target="a red seven", image=Broken())
    assert model.task._opened([broken, example])[0] == [example.target]
    with pytest.raises(DataError, match="no image can be read"):
        model.task._opened([broken])


def test_a_collapse_and_a_discriminator_that_wins_are_noted(model):
    task, examples = model.task, list(scenes("valid", 12, captions=1))
    with torch.no_grad():
        task.model.generator.last.bias.fill_(9.0)  # all pictures are white
    _, notes = task.health(examples)
    assert "the generator has collapsed: its images vary 0%" in notes[0]
    assert "start again with a lower train.lr" in notes[0]
    scores = iter((torch.full((12,), 2.0), torch.full((12,), -2.0)))
    task.model.score = lambda *_: next(scores)
    numbers, notes = task.health(examples)
    assert numbers["discriminator_loss"] == 0
    assert "the discriminator wins outright: its loss is 0.000" in notes[-1]
    assert "lower objective.adversarial.discriminator_rate" in notes[-1]
    assert task.progress_image().shape == (16, 16 * 12, 3)
