"""Captioning from recipe to captions: training, prediction, evaluation, and invalid images."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("PIL", reason="needs Pillow")
pytest.importorskip("sklearn", reason="needs scikit-learn")

from PIL import Image

import saccade
from helpers.captioning import captioner
from helpers.training import same_weights
from saccade.api import Model
from saccade.data.pictures import open_picture
from saccade.data.tokenizer import Encoded, Tokenizer
from saccade.errors import CheckpointError, ConfigError, DataError
from saccade.layers.grids import SmallGrid
from saccade.recipes import RecipeText
from saccade.runs.corpus import Corpus
from saccade.runs.folder import build_task, load_task, write_description, write_model
from saccade.runs.recipe import load_recipe, parse_recipe
from saccade.runs.training import train
from saccade.search.search_config import SearchConfig
from saccade.tasks.batching import stream
from saccade.train.checkpoint import weights_of

GRID = {"kind": "small", "width": 8, "channels": [6], "frozen": False}
SMALL = {
    "show-attend-tell-soft": {"embedding": 8, "decoder": {"width": 12, "dropout": 0.0}},
    "show-attend-tell-hard": {"embedding": 8, "decoder": {"width": 12, "dropout": 0.0}},
    "transformer-captioner": {"width": 8, "feed_forward": 12, "layers": 1, "attention": {"heads": 2}},
}


def recipe_of(cache, preset="show-attend-tell-soft", **changes):
    settings = {
        "task": "captioning",
        "data": {"corpus": "scenes", "size": 30, "held_out": 8, "image_size": 32, "cache": str(cache)},
        "tokenizer": {"kind": "word"},
        "model": {"preset": preset, "image_encoder": GRID, **SMALL[preset]},
        "train": {
            "steps": 3,
            "tokens_per_batch": 100,
            "validate_every": 3,
            "checkpoint_every": 3,
            "device": "cpu",
        },
    }
    for section, change in changes.items():
        settings[section] = {**settings.get(section, {}), **change}
    return parse_recipe(RecipeText(settings, "test"))


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", params=SMALL)
def trained(request, cache, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / request.param
    train(
        recipe_of(cache, request.param, train={"metric": "cider_d"}, objective={"doubly_stochastic": {"weight": 0.1}}),
        folder,
    )
    return folder


@pytest.fixture(scope="module")
def untaught(cache):
    """Return an untrained model."""
    recipe = recipe_of(cache)
    return Model(build_task(recipe, Corpus(recipe).tokenizers()))


def picture(path: Path, size=(40, 30)) -> str:
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (*size, 3), dtype=np.uint8)).save(path)
    return str(path)


def test_a_trained_model_describes_files_and_says_where_it_looked(trained, tmp_path):
    task = load_task(trained)
    (found,) = task.predict([picture(tmp_path / "a.png")], SearchConfig(beam=2, max_length=6))
    assert found.source == str(tmp_path / "a.png")
    assert set(found.text.split()) <= set(task.target.pieces(range(len(task.target))))
    matrix = found.attention.matrix(words=False)
    assert matrix.shape == (len(found.tokens), 64)  # 32 × 32 pixels, halved twice
    np.testing.assert_allclose(matrix.sum(1), 1.0, rtol=1e-4)


def test_evaluation_tells_captions_and_pointing(trained, cache):
    task = load_task(trained)
    recipe = recipe_of(cache, task.recipe.preset)
    examples = list(Corpus(recipe).examples("valid"))
    found = task.evaluate(examples, SearchConfig(batch_size=5, max_length=8))
    assert next(iter(found.metrics)) == "cider_d"
    assert {"bleu4", "rouge_l", "meteor_lite", "exact", "pointing", "mass_inside"} <= set(found.metrics)
    assert found.details == {"pictures": 8, "captions": 32}
    assert len(found.predictions) == len(found.lengths) == 8
    for prediction in found.predictions:
        assert prediction.attention.matrix(words=False).shape == (len(prediction.tokens), 64)
    assert 0 < found.metrics["mass_inside"] < 1
    assert found.by_length()
    for name, part in found.statistics.items():
        assert found.metrics[name] == part.score(part.counts.sum(0)), name


def test_pointing_is_measured_on_pictures_whose_first_caption_has_boxes(untaught, cache):
    task, search = untaught.task, SearchConfig(max_length=4)
    examples = list(Corpus(recipe_of(cache)).examples("valid"))[::4]  # a caption for each image
    blind = [replace(example, boxes=None) for example in examples]
    assert all(example.boxes is not None for example in examples)
    assert not {"pointing", "mass_inside"} & set(task.evaluate(blind, search).metrics)
    some = task.evaluate([*examples[:3], *blind[3:]], search)
    few = task.evaluate(examples[:3], search)
    assert some.details == {"pictures": 8, "captions": 8}
    for metric in ("pointing", "mass_inside"):
        assert some.metrics[metric] == pytest.approx(few.metrics[metric], abs=1e-6)
    assert ("pointing" in few.statistics, "pointing" in some.statistics) == (True, False)  # needs boxes everywhere


def test_a_model_that_says_a_reference_is_exact(cache, monkeypatch):
    recipe = recipe_of(cache)
    task = build_task(recipe, Corpus(recipe).tokenizers())
    examples = list(Corpus(recipe).examples("valid"))
    firsts = iter([example.references[2] for example in examples[::4]])
    monkeypatch.setattr(Tokenizer, "spelled", lambda self, tokens, words=True: (next(firsts), Encoded([], [])))
    found = task.evaluate(examples, SearchConfig(max_length=4))
    assert found.metrics["exact"] == 1.0
    assert found.metrics["cider_d"] > 3


def test_pictures_that_are_none_are_told_and_the_others_go_on(trained, tmp_path):
    task, told = load_task(trained), []
    (tmp_path / "text.jpg").write_text("hello")
    whole = Path(picture(tmp_path / "whole.png")).read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.png").write_bytes(b"")
    names = ["whole.png", "text.jpg", "cut.png", "empty.png", "missing.png", "whole.png"]
    paths = [str(tmp_path / name) for name in names]
    found = list(stream(task, paths, SearchConfig(max_length=5), on_error=told.append))
    assert [bool(prediction.tokens) for prediction in found] == [True, False, False, False, False, True]
    assert len(told) == 4
    assert all(any(name in message for message in told) for name in names[1:5])
    with pytest.raises(DataError, match=r"text\.jpg"):
        list(stream(task, paths, SearchConfig(max_length=5)))


def test_a_picture_is_a_path_or_its_bytes_or_its_pixels(trained, tmp_path):
    model = saccade.load(trained, device="cpu")
    path = Path(picture(tmp_path / "a.png"))
    forms = [str(path), path, path.read_bytes(), np.asarray(Image.open(path))]
    alone = [model(form, max_length=6) for form in forms]
    together = list(model.stream(forms, attention=True, max_length=6))
    for found in (*alone, *together):
        assert found.text == alone[0].text
        assert found.score == pytest.approx(alone[0].score, abs=1e-4)
        assert found.attention.matrix(words=False).shape[1] == 64
    for several in (alone, together):
        assert [found.source for found in several] == [str(path), str(path), None, None]


def test_a_picture_is_opened_once(untaught, tmp_path, monkeypatch):
    path, opened = Path(picture(tmp_path / "a.png")), []

    def watched(source, **limits):
        opened.append(source)
        return open_picture(source, **limits)

    monkeypatch.setattr("saccade.tasks.captioning.open_picture", watched)
    data = path.read_bytes()
    found = list(untaught.stream([str(path), data], nbest=2, max_length=3))
    assert opened == [path, data]
    assert [(each.source, each.alternatives[0].source) for each in found] == [(str(path), str(path)), (None, None)]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            7,
            "input 1 is 7, but this model reads images. Give the path of an image, the bytes of its file, or its",
        ),
        ([None], "input 1 is None, but this model reads images"),
        (bytearray(b"x" * 999), r"input 1 is bytearray\(b'x+…, but this model reads images"),
        (np.zeros((4, 4), np.uint8), r"input 1 is uint8 of \(4, 4\), but pixels are uint8 of \(height, width, 3\)"),
        (np.zeros((4, 4, 3)), r"input 1 is float64 of \(4, 4, 3\), but pixels are uint8"),
        (b"", "input 1: the image is empty: it has no bytes"),
        (b"hello", "input 1: the image is not an image that can be opened"),
    ],
)
def test_what_is_no_picture_is_refused(untaught, wrong, told):
    with pytest.raises(DataError, match=told):
        untaught(wrong)


def test_bytes_that_are_no_picture_are_told_by_their_number(untaught, tmp_path):
    whole, told = Path(picture(tmp_path / "a.png")).read_bytes(), []
    found = list(untaught.stream([whole, whole[:60], b"", whole], on_error=told.append, max_length=5))
    assert [bool(prediction.tokens) for prediction in found] == [True, False, False, True]
    assert [why.partition(":")[0] for why in told] == ["input 2", "input 3"]
    with pytest.raises(DataError, match="input 2 is 7, but"):
        list(untaught.stream([whole, 7]))


def test_pictures_that_wait_take_little_memory(untaught, tmp_path, monkeypatch):
    monkeypatch.setattr("saccade.tasks.batching._HELD", 5000)
    whole, taken = Path(picture(tmp_path / "a.png")).read_bytes(), []

    def many():
        for number in range(9):
            taken.append(number)
            yield whole

    assert 2500 < len(whole) < 5000
    next(untaught.stream(many(), max_length=2))
    assert taken == [0, 1]


def test_training_resumes(cache, tmp_path):
    steady = {"schedule": "constant"}
    train(recipe_of(cache, "show-attend-tell-hard", train=steady), tmp_path / "whole")
    longer = recipe_of(cache, "show-attend-tell-hard", train={**steady, "steps": 6})
    train(longer, tmp_path / "whole", resume=True)
    train(longer, tmp_path / "once")
    one, other = (load_task(tmp_path / name).model.state_dict() for name in ("whole", "once"))
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], msg=name)


def test_a_folder_with_the_unused_positions_of_older_versions_is_loaded(tmp_path):
    """Older versions built and saved a table of source positions that images never used."""
    task = captioner("transformer-captioner", positions="learned", max_length=16).task
    own = weights_of(task.model)
    assert "source_place.positions.table.weight" not in own
    write_description(tmp_path, task.recipe, task.tokenizers)
    write_model(tmp_path, own | {"source_place.positions.table.weight": torch.ones(16, 8)}, task.tokenizers)
    assert same_weights(weights_of(load_task(tmp_path).model), own)
    write_model(tmp_path, own | {"source_place.table.weight": torch.ones(16, 8)}, task.tokenizers)
    with pytest.raises(CheckpointError, match=r"it holds source_place\.table\.weight, which the model does not have"):
        load_task(tmp_path)


def test_a_grid_begins_with_the_weights_of_a_file(cache, tmp_path):
    torch.manual_seed(5)
    published = SmallGrid(8, (6,))
    torch.save(published.state_dict(), tmp_path / "grid.pth")
    settings = {"preset": "show-attend-tell-soft", **SMALL["show-attend-tell-soft"]}
    grid = {**GRID, "weights": str(tmp_path / "grid.pth"), "frozen": True}
    recipe = recipe_of(cache, model={**settings, "image_encoder": grid})
    train(recipe, tmp_path / "model")
    (tmp_path / "grid.pth").unlink()  # the folder has the weights
    kept = load_task(tmp_path / "model").model.encoder.grid.state_dict()
    assert all(torch.equal(kept[name], tensor) for name, tensor in published.state_dict().items())


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"model": {"preset": "bahdanau"}}, "bahdanau reads texts, but captioning reads images"),
        ({"data": {"corpus": "english-french"}}, "has sentence pairs, but captioning needs captions"),
        ({"train": {"metric": "bleu"}}, "cider_d"),
    ],
)
def test_recipes_that_cannot_be(cache, changes, match):
    if "model" in changes:
        changes = {"model": {**changes["model"], "image_encoder": None}}
        settings = {"task": "captioning", "data": {"corpus": "scenes"}, "model": {"preset": "bahdanau"}}
        with pytest.raises(ConfigError, match=match):
            parse_recipe(RecipeText(settings, "test"))
        return
    with pytest.raises(ConfigError, match=match):
        recipe_of(cache, **changes)


def test_a_model_for_pictures_reads_no_text():
    settings = {
        "task": "translation",
        "data": {"corpus": "english-french"},
        "model": {"preset": "show-attend-tell-soft"},
    }
    with pytest.raises(ConfigError, match="show-attend-tell-soft reads images, but translation reads texts"):
        parse_recipe(RecipeText(settings, "test"))


def test_the_recipe_that_comes_along_is_whole():
    assert load_recipe("scenes").task == "captioning"


@pytest.fixture
def album(tmp_path):
    """Write sixty images with two captions each; one image is truncated."""
    for number in range(60):
        picture(tmp_path / f"{number}.png", (8 + number, 20))
    whole = (tmp_path / "7.png").read_bytes()
    (tmp_path / "7.png").write_bytes(whole[: len(whole) // 2])
    lines = [f"{number}.png\t{text}\n" for number in range(60) for text in ("A red dog.", f"dog {number % 9} runs")]
    (tmp_path / "album.tsv").write_text("".join(lines), encoding="utf-8")
    return tmp_path, whole


def of_files(folder, **data):
    settings = {"corpus": None, "train": [str(folder / "album.tsv")], "cache": str(folder / "cache"), **data}
    return recipe_of(folder / "cache", data=settings, train={"metric": "cider_d"})


def test_training_names_pictures_it_leaves_out_and_takes_them_once_they_are_mended(album, caplog):
    folder, whole = album
    valid = folder / "valid.tsv"
    valid.write_text("7.png\tA red dog.\n8.png\ta red dog .\n", encoding="utf-8")
    recipe = of_files(folder, valid=[str(valid)])
    train(recipe, folder / "model")
    assert "train data: 1 of 60 images were left out" in caplog.text
    assert "evaluation data: 1 of 2 images were left out" in caplog.text
    assert caplog.text.count("7.png is cut or damaged") == 3, "train and valid as they are prepared, and measured"
    corpus = Corpus(recipe)
    assert len(corpus.store("train", build_task(recipe, corpus.tokenizers()))) == 118
    (folder / "7.png").write_bytes(whole)
    assert len(corpus.store("train", build_task(recipe, corpus.tokenizers()))) == 120


def test_nothing_can_be_measured_where_no_picture_is_whole(untaught, album):
    folder, _ = album
    broken = list(Corpus(of_files(folder)).read([folder / "album.tsv"]))[14:16]
    with pytest.raises(DataError, match="no image can be evaluated: 1 of 1 images were left out"):
        untaught.task.evaluate(broken, SearchConfig())


def test_pictures_set_aside_go_with_all_their_captions(album):
    corpus = Corpus(of_files(album[0]))
    kept, aside = ({example.image for example in corpus.examples(split)} for split in ("train", "valid"))
    assert (len(kept), len(aside)) == (59, 1)
    assert not kept & aside


def test_a_caption_is_exact_whatever_its_case_and_signs(untaught, album, monkeypatch):
    folder, _ = album
    examples = list(Corpus(of_files(folder)).read([folder / "album.tsv"]))[:2]
    monkeypatch.setattr(Tokenizer, "spelled", lambda self, tokens, words=True: ("a red dog .", Encoded([], [])))
    assert untaught.task.evaluate(examples, SearchConfig(max_length=4)).metrics["exact"] == 1.0


def test_a_frozen_vgg_needs_weights(cache, tmp_path):
    with pytest.raises(ConfigError, match="features would be random"):
        train(
            recipe_of(
                cache, model={"preset": "show-attend-tell-soft", "image_encoder": {"kind": "vgg16", "frozen": True}}
            ),
            tmp_path,
        )
