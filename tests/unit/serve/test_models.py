"""Real models behind the server: the same answers together as alone."""

import asyncio
import json
import sys
from base64 import b64encode

import pytest

import saccade
from helpers.asgi import application, post, run, until
from helpers.recipes import MODEL, sentences, untrained, write_folder
from saccade.errors import ConfigError
from saccade.models import MODELS
from saccade.runtime import StepEngine, engine_of
from saccade.serve.batcher import Stopped
from saccade.serve.models import Served, load_models
from saccade.trace import Trace

TEXTS = [*sentences(20, seed=5), "", "ant ant ant ant ant ant ant ant ant"]
OPTIONS = [{}, {"beam": 3, "nbest": 2}, {"sample": True, "seed": 3, "nbest": 2, "max_length": 9}]


def nothing():
    pass


@pytest.fixture
def folder(tmp_path):
    """An untrained model: its answers do not end by themselves."""
    made = tmp_path / "untaught"
    made.mkdir()
    return write_folder(untrained("translation", MODEL), made)


@pytest.mark.parametrize("attention", [False, True])
def test_answers_are_those_that_the_model_gives_alone(translator, attention):
    plain = saccade.load(translator, device="cpu")
    alone = {
        (text, number): next(plain.stream([text], attention=attention, **options)).to_dict()
        for text in TEXTS
        for number, options in enumerate(OPTIONS)
    }
    (served,) = load_models([translator], device="cpu")

    async def test():
        app = application(served, max_wait_ms=100, max_batch=16)
        asked = [(text, number) for text in TEXTS for number in range(len(OPTIONS))]
        got = await asyncio.gather(
            *(post(app, {"input": text, "options": OPTIONS[n], "attention": attention}) for text, n in asked)
        )
        text = app.metrics.text()
        return {key: answer.json["predictions"][0] for key, answer in zip(asked, got, strict=True)}, text

    found, text = run(test())
    for key, prediction in alone.items():
        assert _rounded(found[key]) == _rounded(json.loads(json.dumps(prediction))), key
    batches = next(line for line in text.splitlines() if line.startswith("saccade_batch_size_count"))
    assert int(batches.split()[-1]) < 12  # of 66 inputs


def _rounded(value):
    """Sums in another order differ in their last digits."""
    if isinstance(value, float):
        return pytest.approx(value, abs=1e-4)
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return value


def test_a_trace_is_a_trace(translator):
    (served,) = load_models([translator], device="cpu")
    got = run(post(application(served), {"input": "ant bee", "options": {"beam": 2}, "detail": True}, "/v1/trace"))
    trace = Trace.parse(got.body.decode())
    assert trace.text == saccade.load(translator, device="cpu")("ant bee", beam=2).text
    assert trace.vectors
    assert trace.options["beam"] == 2


@pytest.mark.parametrize(
    "asked",
    [
        {"input": "ant bee", "block": [99]},
        {"input": "ant bee", "pull": [[0, 99, 0.5]]},
        {"input": "ant bee", "pull": [[0, 0, 7]]},
        {"input": "ant bee", "pull": [[99, 0, 0.5]]},
        {"input": "ant bee", "force": [10**9]},
        {"input": "ant bee", "force": [-1]},
        {"input": " "},
    ],
)
def test_a_trace_that_cannot_be_is_refused(translator, asked):
    (served,) = load_models([translator], device="cpu")
    got = run(post(application(served), asked, "/v1/trace"))
    assert got.status == 422
    assert len(got.error) > 20


def test_facts(translator):
    (served,) = load_models([translator], device="cpu")
    facts = served.facts()
    assert facts.pop("parameters") > 1000
    assert facts == {
        "name": "translator",
        "task": "translation",
        "input": "text",
        "preset": "bahdanau",
        "attention": True,
        "examples": [],
    }


def test_a_model_without_attention_says_so():
    settings = {"preset": "sutskever", "embedding": 8, "encoder": {"width": 8, "layers": 1}}
    task = untrained("translation", settings | {"decoder": {"width": 8, "layers": 1}})
    assert Served("s", saccade.api.Model(task)).facts()["attention"] is False


def test_models_are_called_like_their_folders(translator):
    names = [model.name for model in load_models([translator, translator, translator], device="cpu")]
    assert names == ["translator", "translator-2", "translator-3"]


def test_a_search_is_given_up_between_two_words(folder):
    (served,) = load_models([folder], device="cpu")
    asked = 0

    def check():
        nonlocal asked
        asked += 1
        if asked == 5:
            raise Stopped

    search = served.search({"min_length": 50, "max_length": 60})
    with pytest.raises(Stopped):
        served.predict(["ant bee"], search, False, check)
    assert asked == 5
    assert len(served.predict(["ant bee"], search, False, nothing)) == 1  # no client waits for the old input


@pytest.mark.parametrize("precision", ["full", "int8"])
def test_a_served_model_decodes_by_its_fast_writer(translator, precision, monkeypatch):
    (served,) = load_models([translator], device="cpu")
    model = served._model.task.model
    alone = type(engine_of(saccade.load(translator, device="cpu").task.model, precision))
    assert alone is not StepEngine
    asked = []

    def watched(given, precision="full"):
        found = engine_of(given, precision)
        asked.append((given is model, precision, type(found)))
        return found

    monkeypatch.setattr("saccade.search.continuous_batching.engine_of", watched)
    served.predict(["ant bee"], served.search({"precision": precision}), False, nothing)
    assert asked == [(True, precision, alone)]


def test_a_trace_is_given_up_between_two_words(folder):
    (served,) = load_models([folder], device="cpu")

    def check():
        raise Stopped

    with pytest.raises(Stopped):
        served.trace("ant bee", {"min_length": 50, "max_length": 60}, check)


def test_a_long_search_ends_when_its_client_goes(folder):
    (served,) = load_models([folder], device="cpu")
    slow = {"input": "ant bee", "options": {"beam": 16, "min_length": 1000, "max_length": 1040}}

    async def test():
        app = application(served, max_wait_ms=0)
        leave = asyncio.Event()
        first = asyncio.create_task(post(app, slow, leave=leave))
        await until(lambda: app.batcher._running)
        leave.set()
        assert (await first).status == 499
        await until(lambda: not app.batcher._running)
        return app.metrics.text()

    text = run(test())
    assert "saccade_batch_size_count" not in text  # it was never finished
    assert 'saccade_model_requests_total{model="' + served.name + '",status="499"} 1' in text


@pytest.fixture(params=["show-attend-tell-soft", "transformer-captioner"])
def seeing(request):
    """A model for images, plain and served."""
    pytest.importorskip("PIL", reason="needs Pillow")
    from helpers.captioning import captioning_task

    model = saccade.api.Model(captioning_task(request.param))
    return model, Served("seeing", model)


@pytest.fixture
def pictures():
    from helpers.images import encoded, quarters

    forms = [((8, 12), "PNG"), ((40, 30), "JPEG"), ((16, 16), "WEBP"), ((1, 1), "PNG"), ((3, 50), "GIF")]
    return [encoded(quarters(*size), form) for size, form in forms]


@pytest.mark.parametrize("options", OPTIONS)
def test_captions_are_those_that_the_model_gives_alone(seeing, pictures, options):
    model, served = seeing
    options = options | {"max_length": 7}
    alone = [next(model.stream([data], attention=True, **options)).to_dict() for data in pictures]

    async def test():
        app = application(served, max_wait_ms=300)
        asked = {"options": options, "attention": True}
        together = await post(app, asked | {"images": [b64encode(data).decode() for data in pictures]})
        apart = await asyncio.gather(*(post(app, asked | {"image": b64encode(data).decode()}) for data in pictures))
        return together.json["predictions"], [got.json["predictions"][0] for got in apart], app.metrics.text()

    together, apart, text = run(test())
    for found in (together, apart):
        for prediction, wanted in zip(found, alone, strict=True):
            for part in (prediction, *prediction.get("others", ())):
                attention = part["attention"]
                assert attention["grid"] == [4, 4]
                widths = {name: len(weights[0][0]) for name, weights in attention["sites"].items()}
                assert all(widths[site] == len(attention["source"]) == 16 for site in model.task.model.source_sites)
            assert _rounded(_without_grid(prediction)) == _rounded(_without_grid(json.loads(json.dumps(wanted))))
            assert "source" not in prediction
    assert 'saccade_batch_size_count{model="seeing"} 2' in text
    assert 'saccade_pictures_total{result="opened"} 10' in text
    assert 'saccade_tokens_total{model="seeing",direction="read"} 0' in text


def _without_grid(prediction):
    for part in (prediction, *prediction.get("others", ())):
        part["attention"].pop("grid", None)
    return prediction


def test_facts_of_a_model_for_pictures(seeing):
    facts = seeing[1].facts()
    assert (facts["task"], facts["input"], facts["attention"]) == ("captioning", "picture", True)


def test_without_attention_there_is_no_grid(seeing, pictures):
    got = run(post(application(seeing[1]), {"image": b64encode(pictures[0]).decode(), "options": {"max_length": 3}}))
    assert set(got.json["predictions"][0]) == {"text", "score", "tokens"}


def test_too_much_attention_is_refused(seeing, pictures, monkeypatch):
    served = seeing[1]
    numbers = 16 * 7 * served.looks  # 4 × 4 regions, and 7 words
    monkeypatch.setattr("saccade.serve.limits._ATTENTION", 5 * numbers)
    asked = {"images": [b64encode(data).decode() for data in pictures], "options": {"max_length": 7}}
    assert run(post(application(served), asked | {"attention": True})).status == 200
    asked["images"] += asked["images"][:1]
    got = run(post(application(served), asked | {"attention": True}))
    assert got.status == 422
    assert f"could have {6 * numbers:,} attention weights" in got.error
    assert run(post(application(served), asked)).status == 200
    assert served.looked(0, served.search({})) == 16 * 40 * served.looks, "as many words as a caption has at most"


def test_a_trace_of_a_picture_is_a_trace_or_refused(seeing, pictures):
    got = run(post(application(seeing[1]), {"image": b64encode(pictures[1]).decode()}, "/v1/trace"))
    if got.status == 200:
        trace = Trace.parse(got.body.decode())
        assert trace.steps
        assert trace.sides["source"].grid == [4, 4]
    else:
        assert got.status == 422
        assert "reads images" in got.error


def test_without_pillow_a_model_for_pictures_is_not_served(monkeypatch):
    from helpers.captioning import captioning_task

    model = saccade.api.Model(captioning_task())
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "PIL.Image", raising=False)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[images\]'"):
        Served("seeing", model)


def test_other_tasks_are_served_too():
    language = untrained("language-modeling", {"preset": "lstmn", **MODELS["lstmn"].tiny})
    classes = untrained("classification", {"preset": "bahdanau", **MODELS["bahdanau"].tiny})
    for task in (language, classes):
        served = Served(task.name, saccade.api.Model(task))
        got = run(post(application(served), {"inputs": ["good cat", ""], "options": {"max_length": 3}}))
        assert [set(part) >= {"text", "score", "tokens"} for part in got.json["predictions"]] == [True, True]
