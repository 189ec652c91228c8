"""Models that draw: seeds and classes in requests, images in answers."""

from base64 import b64decode

import numpy as np
import pytest

pytest.importorskip("PIL", reason="needs Pillow")

from helpers.asgi import application, ask, post, run
from helpers.tasks import generating
from saccade.api import Model
from saccade.data.pictures import open_picture
from saccade.data.tokenizer import Tokenizers
from saccade.recipes import RecipeText
from saccade.runs.recipe import parse_recipe
from saccade.serve.models import Served
from saccade.tasks.image_generation import ImageGeneration


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A model that draws, and its server."""
    recipe = parse_recipe(RecipeText(generating(tmp_path_factory.mktemp("drawn")), "test"))
    model = Model(ImageGeneration(recipe, Tokenizers(None, None, ["blue", "red"])))
    return model, application(Served("drawn", model), max_inputs=20)


def pixels(address):
    return open_picture(b64decode(address.removeprefix("data:image/png;base64,")))


def test_an_image_is_drawn_as_in_python(served):
    model, app = served
    wishes = ["4", {"seed": 4, "class": "red"}, {"seed": 4, "class": "red", "toward": 9, "share": 0.5}]
    got = run(post(app, {"inputs": wishes, "attention": True})).json["predictions"]
    for wish, one in zip(wishes, got, strict=True):
        expected = model(wish)
        np.testing.assert_array_equal(pixels(one["image"]), expected.image)
        assert set(one["attention"]["sites"]) == set(expected.attention.weights)
    traced = run(post(app, {"input": wishes[1]}, "/v1/trace")).json
    np.testing.assert_array_equal(pixels(traced["sides"]["source"]["image"]), model(wishes[1]).image)
    (known,) = run(ask(app, path="/v1/models")).json["models"]
    assert (known["input"], known["classes"]) == ("seed", ["blue", "red"])


def test_a_grid_is_one_file(served):
    model, app = served
    got = run(post(app, {"input": {"seed": 7, "class": "blue"}, "grid": 2}, "/v1/sample"))
    assert got.headers["content-type"] == "image/png"
    rows = np.split(open_picture(got.body), 2)
    images = [image for row in rows for image in np.split(row, 2, 1)]
    for number, image in enumerate(images):
        np.testing.assert_array_equal(image, model({"seed": 7 + number, "class": "blue"}).image)
    counted = run(ask(app, path="/metrics")).body.decode()
    assert 'saccade_requests_total{path="/v1/sample",status="200"} 1' in counted


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"input": "a red disc"}, 422, "The text is 'a red disc', but this model reads a seed"),
        ({"input": {"seed": 1, "class": "pink"}}, 422, "there is no class 'pink'. The classes are blue, red."),
        (
            {"input": {"seed": 2**31 - 3}, "grid": 2},
            422,
            "Input 4 has the seed 2147483648, which must be a whole number",
        ),
        ({"input": {"seed": 1, "truncation": 2}}, 422, "has the truncation 2, which must be a number from 0 to 1"),
        ({"grid": 5}, 422, "There are 25 inputs, but this server takes at most 20 at a time."),
        ({"grid": 0}, 400, "grid"),
        ({"image": "AAAA"}, 400, "image"),
    ],
)
def test_what_cannot_be_drawn_is_refused(served, body, status, said):
    got = run(post(served[1], body, "/v1/sample"))
    assert got.status == status
    assert said in got.error
