"""Traces of captions: the image, the same attention as the prediction, and interventions on regions."""

import numpy as np
import pytest

pytest.importorskip("PIL", reason="needs Pillow")

from helpers.captioning import CAPTIONERS, captioner
from helpers.images import encoded, put_picture, quarters
from saccade.data.example import Example
from saccade.errors import ConfigError, DataError
from saccade.search.search_config import SearchConfig
from saccade.tasks.tracing import TraceOptions
from saccade.trace import Trace
from saccade.trace.explain import explain

SIZE = 32


@pytest.fixture
def path(tmp_path):
    return str(put_picture(tmp_path / "folder" / "quarters.png", quarters(SIZE, SIZE)))


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("preset", CAPTIONERS)
def test_a_trace_shows_what_the_prediction_showed(preset, beam, path):
    model = captioner(preset)
    found, trace = model(path, beam=beam, max_length=6), model.trace(path, beam=beam, max_length=6)
    assert (trace.text, trace.score) == (found.text, pytest.approx(found.score, abs=1e-5))
    assert Trace.parse(trace.dump()) == trace
    for site in found.attention.sites:
        if not site.endswith(".distribution"):
            np.testing.assert_allclose(trace.attention.matrix(site), found.attention.matrix(site), atol=1e-3)
    assert {site.name for site in trace.sites} == {
        site for site in found.attention.sites if not site.endswith(".distribution")
    }
    assert len(trace.steps) == len(trace.sides["target"].tokens)


def test_the_source_is_the_square_that_was_seen_and_its_regions(path):
    trace = captioner().trace(path, max_length=3)
    source = trace.sides["source"]
    assert (source.kind, source.grid, source.text) == ("grid", [8, 8], "quarters.png")
    assert source.tokens == source.words == [f"{row},{column}" for row in range(8) for column in range(8)]
    assert source.marks == []
    assert "folder" not in trace.dump()
    seen = trace.attention.picture
    np.testing.assert_array_equal(seen.pixels, quarters(SIZE, SIZE))
    assert (seen.rows, seen.columns, seen.boxes) == (8, 8, ())


def test_a_prediction_has_its_picture_too(path):
    found = captioner()(path, max_length=3)
    np.testing.assert_array_equal(found.attention.picture.pixels, quarters(SIZE, SIZE))
    (quick,) = captioner().stream([path], max_length=3)
    assert quick.attention.picture is None, "without attention, pixels are not kept"


def test_a_picture_may_be_the_content_of_a_file(path):
    model = captioner()
    named, content = (
        model.task.trace(source, SearchConfig(max_length=4), TraceOptions())
        for source in (path, encoded(quarters(SIZE, SIZE), "BMP"))
    )
    assert content.sides["source"].text == "an image"
    assert content.sides["source"].image == named.sides["source"].image
    assert content.text == named.text


def test_layers_heads_and_their_sides_are_told(path):
    trace = captioner("transformer-captioner").trace(path, max_length=4, detail=True)
    sides = {(site.rows, site.columns) for site in trace.sites}
    assert sides == {("source", "source"), ("target", "written"), ("target", "source")}
    assert {site.heads for site in trace.sites} == {2}
    assert any(name.endswith(".query") for name in trace.vectors)


def test_hard_attention_looks_at_one_region(path):
    trace = captioner("show-attend-tell-hard").trace(path, max_length=4)
    (site,) = trace.sites
    assert site.align == "hard"
    np.testing.assert_allclose(np.sort(site.weights.unpack()[0])[:, -2:], [[0, 1]] * len(trace.steps), atol=1e-4)


@pytest.mark.parametrize("preset", CAPTIONERS)
def test_regions_are_blocked_and_weights_pulled(preset, path):
    model = captioner(preset)
    seen = model.trace(path, max_length=5, block=[0, 9], pull=[(1, 63, 0.75)], force=[5])
    weights = seen.attention.matrix(words=False)
    assert (weights[:, [0, 9]] == 0).all()
    assert weights[1, 63] == pytest.approx(0.75, abs=1e-4)
    assert seen.steps[0].token == 5
    assert seen.options["block"] == [0, 9]
    with pytest.raises(ConfigError, match="name the source token 64, but there are 0 to 63"):
        model.trace(path, block=[64])


def test_a_model_without_attention_has_steps_and_nothing_to_block(path):
    model = captioner(
        attention=None, decoder={"width": 12, "gated": False, "initial_state": "mean-deep", "fixed_context": True}
    )
    trace = model.trace(path, max_length=4)
    assert trace.sites == []
    assert trace.steps
    assert trace.sides["source"].image is not None
    with pytest.raises(ConfigError, match="nothing to block or to pull"):
        model.trace(path, block=[0])


def test_a_file_that_is_no_picture(tmp_path):
    (tmp_path / "x.png").write_text("hello")
    with pytest.raises(DataError, match=r"x\.png is not an image"):
        captioner().trace(str(tmp_path / "x.png"))


class Drawn:
    """An image without a file."""

    def __init__(self, pixels):
        self.pixels = pixels

    def load(self):
        return self.pixels


@pytest.mark.parametrize("preset", CAPTIONERS)
def test_captions_that_are_forced_look_as_those_that_are_written(preset, path):
    model = captioner(preset)
    found = model(path, max_length=6)
    (attention,) = model.task.attend([Example(target=found.text, image=Drawn(quarters(SIZE, SIZE)))])
    for site in found.attention.source_sites:
        forced = attention.weights[site][:, : len(found.tokens)]
        np.testing.assert_allclose(forced, found.attention.weights[site], atol=1e-4)
    assert attention.picture.boxes == ()


def test_boxes_are_those_of_the_square_that_was_seen():
    """The model reads the middle square of an image twice as wide as high."""
    wide = Drawn(np.zeros((SIZE, 2 * SIZE, 3), np.uint8))
    example = Example(target="a ring", image=wide, boxes=(None, (0.25, 0.0, 0.5, 0.75)))
    (attention,) = captioner().task.attend([example])
    assert attention.picture.boxes == (None, pytest.approx((0.0, 0.0, 0.5, 0.75)))
    assert attention.target.words == ["a", "ring"]


def test_the_steps_are_told_of_regions(path):
    told = "\n".join(explain(captioner().trace(path, max_length=3, detail=True), step=1))
    assert "reads   quarters.png" in told
    assert "The score of each region (row,column), v · tanh" in told
    assert "and 50 others" in told
