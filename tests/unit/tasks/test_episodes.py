"""Few-shot learning: forms of input, evaluation by kind of episode, and recipes that make no sense."""

import json
import shutil

import numpy as np
import pytest

from helpers.commands import run
from helpers.tasks import drawn_episodes, write_drawings
from saccade.api import Model
from saccade.corpora import alphabets
from saccade.data.episodes import Episode, Setting
from saccade.data.tokenizer import Tokenizers
from saccade.errors import ConfigError, DataError
from saccade.look import FigureSpec
from saccade.metrics import sums_interval
from saccade.recipes import RecipeText
from saccade.runs.recipe import parse_recipe
from saccade.runs.training import train
from saccade.search import SearchConfig
from saccade.tasks.episode_inputs import Support
from saccade.tasks.episode_scores import Asked, evaluation_of
from saccade.tasks.episodes import Episodes
from saccade.tasks.support_sheet import SupportSheet
from saccade.trace import Trace
from saccade.trace.explain import explain


def recipe(tmp_path, **changes):
    return parse_recipe(RecipeText({**drawn_episodes(tmp_path), **changes}, "test"))


@pytest.fixture
def model(tmp_path):
    return Model(Episodes(recipe(tmp_path), Tokenizers(None, None)))


def drawings(count):
    return [example.image.load() for example in alphabets("test", count * 20)][::20]


def test_paths_bytes_pixels_and_folders_are_one_support(model, tmp_path):
    folder = write_drawings(tmp_path, 3, 2)
    paths = {f"letter{n}": [folder / f"letter{n}" / f"{k}.png" for k in range(2)] for n in (1, 2, 3)}
    data = {label: [path.read_bytes() for path in some] for label, some in paths.items()}
    query = tmp_path / "query2.png"
    found = [model.classify(support, [query])[0] for support in (folder, str(folder), paths, data)]
    assert len({one.text for one in found}) == 1
    assert all(one.score == pytest.approx(found[0].score, abs=1e-6) for one in found)
    assert found[0].attention.source.words == ["(query)", "-", *(f"letter{n}" for n in (1, 1, 2, 2, 3, 3))]
    weights = found[0].attention.matrix()
    assert weights.shape == (1, 8)
    assert weights.sum() == pytest.approx(1, abs=1e-5)


def test_scores_are_log_probabilities_of_the_support_s_labels(model):
    one, two, three = drawings(3)
    (found,) = model.classify({"x": [one], "y": [two]}, [three], nbest=5)
    every = [found, *found.alternatives]
    assert {each.text for each in every} == {"x", "y"}
    assert sum(np.exp(each.score) for each in every) == pytest.approx(1, abs=1e-5)
    assert found.score >= found.alternatives[0].score


def test_queries_together_are_answered_as_each_alone(model):
    one, two, *queries = drawings(5)
    support = {"x": [one], "y": [two, one]}
    together = model.classify(support, queries)
    for query, found in zip(queries, together, strict=True):
        (alone,) = model.classify(support, [query])
        assert alone.text == found.text
        assert alone.score == pytest.approx(found.score, abs=1e-5)


def test_pictures_of_other_sizes_are_resized(model):
    large = np.zeros((50, 30, 3), np.uint8)
    assert model.classify({"x": drawings(1), "y": [large]}, [large])[0].text in "xy"
    with pytest.raises(DataError, match=r"has a query that is uint8 of \(5, 5\), but pixels are uint8 of \(height"):
        model.classify({"x": drawings(1), "y": [large]}, [np.zeros((5, 5), np.uint8)])


@pytest.mark.parametrize(
    ("support", "why"),
    [
        ({"x": drawings(1)}, "the support has 1 class: give at least two"),
        ({label: drawings(1) for label in "abcd"}, "has 4 classes, but this model distinguishes at most 3"),
        ({"x": []}, "as the images of 'x', but that is a list of one or more"),
        ({"x": [7]}, "has an image of 'x' that is 7, but this model reads images"),
        ({}, "has {} as its support, but this model reads"),
        (None, "has None as its support"),
        ("no/such/folder", "no/such/folder is no folder"),
        ({"x": ["none.png"], "y": ["none.png"]}, "none.png"),
    ],
)
def test_what_is_no_support_is_refused(model, support, why):
    with pytest.raises(DataError) as told:
        model.classify(support, drawings(1))
    assert why in str(told.value)
    assert "\n" not in str(told.value)


def test_other_inputs_are_refused(model):
    for given, why in (
        ("text", "is 'text', but this model reads {\"support\""),
        ({"support": "x", "query": "y", "more": 1}, "has the field 'more'"),
        ({"support": "x"}, "has a query that is None"),
    ):
        assert why in model.task.reads.fault(given)
    with pytest.raises(ConfigError, match="leave the prefix out"):
        model.task.predict([], SearchConfig(), prefix="a")
    with pytest.raises(ConfigError, match="nothing to force"):
        model.trace({"support": {"x": drawings(1), "y": drawings(1)}, "query": drawings(1)[0]}, block=[1])


def test_a_folder_and_queries_are_arguments_of_a_command(tmp_path, capsys):
    settings = drawn_episodes(tmp_path)
    train(recipe(tmp_path), tmp_path / "model")
    folder = write_drawings(tmp_path, 3, 1)
    ran = run(capsys, "predict", tmp_path / "model", folder, tmp_path / "query1.png", tmp_path / "query3.png")
    assert ran.code == 0, ran.err
    assert len(ran.out.split()) == 2
    assert set(ran.out.split()) <= {"letter1", "letter2", "letter3"}
    ran = run(capsys, "predict", tmp_path / "model", folder / "letter1", tmp_path / "query1.png")
    assert ran.code == 1
    assert "has no folders with images" in ran.err
    one = run(capsys, "evaluate", tmp_path / "model", "--json", "--out", tmp_path)
    groups = json.loads(one.out)["by_group"]["episodes"]
    assert set(groups) == {f"{ways}-way {shots}-shot" for ways, shots in settings["episodes"]["tests"]}
    assert all(group["examples"] == settings["episodes"]["tested"] for group in groups.values())


def test_broken_images_are_left_out_of_an_evaluation_with_one_note(tmp_path, capsys):
    train(recipe(tmp_path), tmp_path / "model")
    folder = write_drawings(tmp_path, 3, 4)
    whole = run(capsys, "evaluate", tmp_path / "model", folder, "--json", "--out", tmp_path / "whole")
    assert whole.code == 0, whole.err
    for label in (1, 2):
        shutil.copy(folder / f"letter{label}" / "0.png", folder / f"letter{label}" / "9.png")
        (folder / f"letter{label}" / "9.png").write_bytes(b"no image")
    ran = run(capsys, "evaluate", tmp_path / "model", folder, "--json", "--out", tmp_path / "broken")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    (note,) = found.pop("notes")
    assert note.startswith("2 of 14 images were left out: ")
    assert str(folder / "letter1" / "9.png") in note
    assert ran.err.count("were left out") == 1
    assert found["metrics"] == json.loads(whole.out)["metrics"], "the same episodes of the other images"
    for image in folder.glob("*/*"):
        image.write_bytes(b"no image")
    ran = run(capsys, "evaluate", tmp_path / "model", folder, "--out", tmp_path / "none")
    assert (ran.code, ran.err.strip().count("\n")) == (1, 0)
    assert "no image can be evaluated: 14 of 14 images were left out: " in ran.err


def asked(right, weights):
    """An episode of two classes, with the codes 4 and 2, and two queries of the first."""
    episode = Episode(np.arange(3), np.array([4, 2, 4]), np.arange(2), np.array([4, 4]))
    predicted = np.array([4 if each else 2 for each in right])
    return Asked(episode, predicted, {"attention": np.array(weights, np.float32)})


def test_accuracy_and_attention_are_means_over_queries():
    first = asked([True, True], [[0.5, 0.2, 0.1, 0.2], [0.25, 0.5, 0.25, 0.0]])
    second = asked([True, False], [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    found = evaluation_of({Setting(2, 1): [first], Setting(2, 2): [second]})
    assert found.metrics["accuracy"] == pytest.approx(3 / 4)
    assert found.metrics["own_class"] == pytest.approx((0.6 + 0.5 + 0 + 0) / 4)
    assert found.details["attention"]["attention"]["itself"] == pytest.approx((0.2 + 0 + 0 + 1) / 4)
    groups = found.by_group("episodes")
    assert groups["2-way 1-shot"]["metrics"]["accuracy"] == 1
    assert groups["2-way 2-shot"]["metrics"]["accuracy"] == 0.5


def test_intervals_are_over_episodes_not_queries():
    """Ten episodes of all or nothing: as uncertain as ten coins, however many queries each has."""
    every = [asked([number % 2 == 0] * 2, [[1, 0, 0, 0]] * 2) for number in range(10)]
    part = evaluation_of({Setting(2, 1): every}).statistics["accuracy"]
    band = sums_interval(part.counts, part.score)
    assert band.lower < 0.3
    assert band.upper > 0.7


def test_evaluation_draws_from_the_given_images_alone(model):
    examples = list(alphabets("test", 100))
    first, again = (model.evaluate(examples) for _ in range(2))
    assert first.metrics == again.metrics
    assert first.details["episodes"] == 20
    assert first.details["queries"] == 60
    with pytest.raises(DataError, match="has 2 classes, but a 3-way 2-shot episode needs 3"):
        model.evaluate(examples[:40])
    with pytest.raises(DataError, match="has a class of 1 images, but a 2-way 1-shot episode needs 1 and a query"):
        model.evaluate([examples[0], examples[20], examples[40]])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"train": {"label_smoothing": 0.1}}, "label_smoothing: episodes does not use it: set it to 0"),
        ({"data": {"train": "a.npz"}}, "data.valid: episodes of validation need classes that training does not have"),
        ({"data": {"hub": "omniglot"}}, "data.hub: episodes reads images from files: name them in data.train"),
        ({"model": {"preset": "bahdanau"}}, "bahdanau reads texts, but episodes reads episodes"),
        ({"model": {"preset": "snail", "blocks": [{"kind": "convolutions"}]}}, "blocks need an attention"),
        ({"data": {"corpus": "sorting"}}, "sorting has points with an order, but episodes needs labeled images"),
    ],
)
def test_recipes_that_make_no_sense_are_refused(tmp_path, changes, why):
    with pytest.raises(ConfigError) as told:
        recipe(tmp_path, **changes)
    assert why in str(told.value)


def test_the_sheet_has_each_image_under_its_weight(model):
    """One tile for the query and one for each labeled image; rows have the images of a label."""
    images = drawings(4)
    support = {"x": images[:2], "y": images[2:3], "z": images[3:]}
    (found,) = model.classify(support, [images[1]])
    picture, names = found.attention.picture, found.attention.source.names
    assert (picture.rows, picture.columns) == (4, 2)
    assert names == ["(query)", "-", "x", "x", "y", "-", "z", "-"]
    weights = found.attention.matrix()[0]
    assert weights[[1, 5, 7]].tolist() == [0, 0, 0]
    assert weights.sum() == pytest.approx(1, abs=1e-5)
    tall, wide = picture.pixels.shape[0] // 4, picture.pixels.shape[1] // 2
    tiles = picture.pixels.reshape(4, tall, 2, wide, 3).swapaxes(1, 2).reshape(8, tall, wide, 3)
    assert np.array_equal(tiles[0], tiles[3]), "the query is the second image of x"
    assert len({tiles[place].tobytes() for place in (2, 3, 4, 6)}) == 4
    assert (tiles[1] == tiles[1, 0, 0]).all(), "an empty tile"


@pytest.mark.parametrize(("ways", "shots"), [(2, 1), (20, 1), (20, 5), (300, 1), (2, 90), (90, 2)])
def test_a_sheet_is_never_too_narrow_to_be_drawn(ways, shots):
    labels = [f"{way:03}" for way in range(ways) for _ in range(shots)]
    sheet = SupportSheet.of(labels)
    assert len({*sheet.tiles.tolist()}) == ways * shots
    assert sheet.tiles.min() >= sheet.columns, "below the query"
    assert sheet.tiles.max() < sheet.rows * sheet.columns
    image = np.zeros((4, 4, 1), np.uint8)
    assert sheet.picture(np.stack([image] * len(labels)), image).regions == sheet.rows * sheet.columns


def test_a_support_is_read_once(tmp_path):
    support, opened = Support(write_drawings(tmp_path, 2, 1)), []
    for _ in range(3):
        support.pixels("how", lambda path: (opened.append(path), np.zeros((1, 1, 1), np.uint8))[1])
    assert len(opened) == 2


def test_the_first_block_is_shown_everywhere(model, tmp_path):
    """It compares the images themselves, so its weights are on the own class more than those of later blocks."""
    one, two, query = drawings(3)
    trace = model.trace({"support": {"x": [one], "y": [two]}, "query": query})
    first, last = (site.name for site in trace.sites)
    assert trace.default_site == first
    trace.save(tmp_path / "trace.json")
    again = Trace.open(tmp_path / "trace.json")
    (found,) = model.classify({"x": [one], "y": [two]}, [query])
    for attention in (found.attention, trace.attention, again.attention):
        assert attention._shown(FigureSpec()).site == first
        assert attention._with_style(FigureSpec("heads")).site == first
        assert attention._shown(FigureSpec(site=last)).site == last
    told = next(iter(explain(again)))
    assert f"Shown is {first}; 1 other" in told
    again.attention.save(tmp_path / "query.svg")
    text = (tmp_path / "query.svg").read_text()
    assert "layer 1 of 2; brightness is the share of attention that the predicted label pays to a region" in text
    plain = json.loads(trace.dump())
    with pytest.raises(DataError, match="default_site is 'none', which is no site of the trace"):
        Trace.parse(json.dumps(plain | {"default_site": "none"}))
    del plain["default_site"]
    assert Trace.parse(json.dumps(plain)).attention._shown(FigureSpec()).site == last, "as in older files"
