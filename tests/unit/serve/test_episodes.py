"""Labeled images and a query in requests: the files in base64, never a path."""

import base64
from pathlib import Path

import pytest

pytest.importorskip("PIL", reason="needs Pillow")

from helpers.asgi import application, ask, post, run
from helpers.tasks import drawn_episodes, write_drawings
from saccade.api import Model
from saccade.data.tokenizer import Tokenizers
from saccade.recipes import RecipeText
from saccade.runs.recipe import parse_recipe
from saccade.serve.models import Served
from saccade.tasks.episodes import Episodes


def in_base64(path):
    return base64.b64encode(Path(path).read_bytes()).decode()


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A served model, an episode for it, and the same as files."""
    folder = tmp_path_factory.mktemp("drawings")
    recipe = parse_recipe(RecipeText(drawn_episodes(folder), "test"))
    model = Model(Episodes(recipe, Tokenizers(None, None)))
    support = write_drawings(folder, 3, 2)
    known = {place.name: [in_base64(file) for file in sorted(place.iterdir())] for place in sorted(support.iterdir())}
    query = folder / "query2.png"
    return model, {"support": known, "query": in_base64(query)}, (support, query)


def test_an_episode_is_answered_as_in_python(drawn):
    model, episode, (support, query) = drawn
    (expected,) = model.classify(support, [query])
    app = application(Served("drawings", model))
    got = run(post(app, {"inputs": [episode, episode], "attention": True})).json["predictions"]
    assert [one["text"] for one in got] == [expected.text] * 2
    assert got[0]["score"] == pytest.approx(expected.score, abs=1e-4)
    traced = run(post(app, {"input": episode}, "/v1/trace")).json
    assert traced.get("text", traced) == expected.text
    assert traced["sides"]["source"]["image"].startswith("data:image/png")
    assert run(ask(app, path="/v1/models")).json["models"][0]["input"] == "episode"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda episode: "text", "The input is no episode"),
        (lambda episode: {**episode, "support": "/etc"}, "The input is no episode"),
        (lambda episode: {**episode, "query": "/etc/passwd"}, "The input: the query is not base64"),
        (lambda episode: {**episode, "query": None}, "The input is no episode"),
        (lambda episode: {**episode, "support": {"a": ["YQ=="], "b": [episode["query"]]}}, "The input is not an image"),
        (lambda episode: {**episode, "support": {"a": episode["support"]["letter1"]}}, "give at least two"),
        (lambda episode: {**episode, "support": {f"{n}": [episode["query"]] for n in range(9)}}, "at most 3"),
        (lambda episode: {**episode, "support": {"a": [episode["query"]] * 1001}}, "at most 1,000"),
    ],
)
def test_what_is_no_episode_is_refused(drawn, change, said):
    model, episode, _ = drawn
    got = run(post(application(Served("drawings", model)), {"input": change(episode)}))
    assert got.status == 422
    assert said in got.error
