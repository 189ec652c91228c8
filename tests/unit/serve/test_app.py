"""The routes, over a fake model."""

import asyncio
import base64
import hashlib
import html
import json
import logging
import re

import pytest

from helpers.asgi import JSON, Fake, Seeing, application, ask, got, post, run, until
from saccade.errors import DataError
from saccade.trace import Trace

TEXT = {"input": "a b"}


def test_one_input():
    got = run(post(application(), TEXT))
    assert (got.status, got.headers["content-type"]) == (200, "application/json")
    assert got.json == {"model": "fake", "predictions": [{"text": "A B"}]}


def test_several_inputs_in_their_order():
    model = Fake()
    got = run(post(application(model, max_batch=2), {"inputs": ["a", "b", "c"], "attention": True}))
    assert got.json["predictions"] == [{"text": "A"}, {"text": "B"}, {"text": "C"}]
    assert model.batches == [["a", "b"], ["c"]]
    assert model.searches[0][1] is True


def test_no_input_is_no_answer():
    assert run(post(application(), {"inputs": []})).json["predictions"] == []


def test_models_by_name_the_first_by_default():
    first, second = Fake("first"), Fake("second")

    async def test():
        app = application(first, second)
        listed = (await ask(app, path="/v1/models")).json
        assert [model["name"] for model in listed["models"]] == ["first", "second"]
        assert (await post(app, TEXT)).json["model"] == "first"
        assert (await post(app, TEXT | {"model": "second"})).json["model"] == "second"
        none = await post(app, TEXT | {"model": "third"})
        assert (none.status, none.error) == (404, "There is no model 'third'. Known: first, second.")

    run(test())
    assert len(first.batches) == len(second.batches) == 1


def test_of_a_long_unknown_name_only_the_beginning_is_repeated():
    got = run(post(application(), TEXT | {"model": "x" * 100_000}))
    assert (got.status, got.error) == (404, f"There is no model '{'x' * 80}'. Known: fake.")


def test_requests_that_arrive_together_are_decoded_together_if_they_want_the_same():
    model = Fake()

    async def test():
        app = application(model, max_wait_ms=300)
        same = [{"input": f"w{n}", "options": {"beam": 2}} for n in range(6)]
        written_otherwise = {"input": "w6", "options": {"beam": 2, "nbest": 1}}
        others = [{"input": "x", "options": {"beam": 3}}, {"input": "y", "options": {"beam": 2}, "attention": True}]
        got = await asyncio.gather(*(post(app, value) for value in (*same, written_otherwise, *others)))
        assert [g.json["predictions"][0]["text"] for g in got] == [*(f"W{n}" for n in range(7)), "X", "Y"]

    run(test())
    assert sorted(model.batches) == [[f"w{n}" for n in range(7)], ["x"], ["y"]]


def test_a_trace():
    model = Fake()
    asked = TEXT | {"options": {"beam": 2}, "force": [4], "block": [0], "pull": [[0, 1, 0.5]], "detail": True}
    got = run(post(application(model), asked, "/v1/trace"))
    assert got.json == {"saccade_trace": 1, "text": "A B"}
    wishes = {"beam": 2, "force": [4], "block": [0], "pull": [(0, 1, 0.5)], "detail": True}
    assert model.traced == [("a b", wishes)]


def test_the_page_and_its_files():
    async def test():
        app = application()
        page = await ask(app)
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert page.body.startswith(b"<!doctype html>")
        script = await ask(app, path="/static/app.js")
        assert (script.body, script.headers["content-type"]) == (b"let x;", "text/javascript; charset=utf-8")
        assert (await ask(app, path="/static/deep/look.css")).headers["content-type"] == "text/css; charset=utf-8"
        for path in ("/static/none.js", "/static/../app.js", "/static/", "/static//etc/passwd"):
            got = await ask(app, path=path)
            assert (got.status, got.json["error"]["code"]) == (404, "not_found")
            assert "There is n" in got.error

    run(test())


def test_the_documentation_loads_nothing():
    app = application(Fake(), Seeing())
    got = run(ask(app, path="/docs"))
    page = got.body.decode()
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in got.headers["content-security-policy"]
    assert not re.findall(r"<script|<link|<img|\bon\w+=|url\(|@import|(?:src|href)=.(?:http|//)", page)
    described = run(ask(app, path="/openapi.json")).json
    assert [*re.findall(r'<h2 id="\w+"><code>(\w+) (\S+)</code>', page)] == [
        (method.upper(), path) for path, methods in described["paths"].items() for method in methods
    ]
    targets, links = set(re.findall(r'id="(\w+)"', page)), set(re.findall(r'href="#(\w+)"', page))
    assert links <= targets
    (body, *_) = re.findall(r"-d '(.*?)'</pre>", page)
    assert json.loads(html.unescape(body)) == {"input": "the European Economic Area"}
    assert run(ask(app, path="/redoc")).status == 404


def test_pages_and_methods_that_are_not_there():
    none, method = run(ask(application(), path="/none")), run(ask(application(), path="/v1/predict"))
    assert (none.status, none.error) == (404, "There is nothing at /none.")
    assert (method.status, method.error) == (405, "/v1/predict does not allow GET.")


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/trace"])
def test_what_cannot_be_understood(path):
    async def send(body, headers=JSON):
        return await ask(application(), "POST", path, body=body, headers=headers)

    garbage = run(send(b"\x00{"))
    assert (garbage.status, garbage.json["error"]["code"]) == (400, "bad_request")
    assert "not JSON" in garbage.error
    deep = run(send(b'{"input":' * 10_000))
    assert deep.status == 400
    plain = run(send(b'{"input": "a"}', {"content-type": "text/plain"}))
    assert (plain.status, plain.json["error"]["code"]) == (415, "unsupported_type")
    assert "Content-Type: application/json" in plain.error
    assert run(send(b'{"input": "a"}', {"content-type": "Application/JSON; charset=utf-8"})).status == 200


def test_a_body_is_read_no_further_than_it_may_be_long():
    taken = []

    def parts():
        for number in range(1000):
            taken.append(number)
            yield b" " * 100

    headers = JSON | {"content-length": "7"}  # its Content-Length is not trusted
    got = run(ask(application(max_body=1000), "POST", "/v1/predict", body=parts(), headers=headers))
    assert (got.status, got.json["error"]["code"]) == (413, "too_large")
    assert "more than 1,000 bytes. Send fewer inputs at a time." in got.error
    assert got.headers["connection"] == "close"
    assert len(taken) == 12
    assert run(ask(application(max_body=1000), "POST", "/v1/predict", body=b" " * 1000, headers=JSON)).status == 400


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"inputs": ["a"] * 5}, "There are 5 inputs, but this server takes at most 4 at a time."),
        ({"inputs": ["a", "a " * 10]}, "Input 2 has 11 tokens, but this server reads at most 10."),
        ({"input": "a" + " a" * 5000}, "The text has 5,002 tokens, but this server reads at most 10."),
        ({"input": "a", "options": {"beam": 9}}, "beam is 9, but this server allows at most 8."),
        ({"input": "a", "options": {"nbest": 10**30}}, "nbest is 10000000000000000000…, but this server allows"),
        ({"input": "a", "options": {"sample": True, "nbest": 9}}, "nbest is 9, but this server allows at most 8."),
        ({"input": "a", "options": {"max_length": 41}}, "max_length is 41, but this server allows at most 40."),
        ({"input": "a", "options": {"min_length": 41}}, "min_length is 41, but this server allows at most 40."),
        ({"input": "a", "options": {"seed": 2**64}}, "seed is 18446744073709551616, but this server allows"),
        ({"input": "a", "options": {"length_penalty": 1e30}}, "length_penalty is 1e+30, but this server allows"),
        ({"input": "a", "options": {"beam": 0}}, "beam: Input should be greater than or equal to 1"),
        ({"input": "a", "options": {"temperature": -1}}, "temperature: Input should be greater than or equal to 0.001"),
        ({"input": "a", "options": {"beam": 2, "nbest": 3}}, "a beam of 2 finds at most 2: raise beam"),
    ],
)
def test_what_is_beyond_the_limits(asked, told):
    model = Fake()
    got = run(post(application(model, max_inputs=4, max_input_tokens=10, max_beam=8), asked))
    assert (got.status, got.json["error"]["code"]) == (422, "beyond_limits")
    assert told in got.error
    assert model.batches == []


def test_a_trace_has_the_same_limits():
    model = Fake()
    got = run(post(application(model, max_beam=8), {"input": "a", "options": {"beam": 9}}, "/v1/trace"))
    assert (got.status, got.error) == (422, "beam is 9, but this server allows at most 8.")
    assert model.traced == []


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("beam", 8),
        ("max_length", 40),
        ("min_length", 40),
        ("seed", 2**63 - 1),
        ("top_k", 2**31 - 1),
        ("length_penalty", 100),
        ("coverage_penalty", 100),
        ("overlap_penalty", 100),
    ],
)
def test_the_most_that_is_allowed_is_allowed(name, most):
    app = application(max_input_tokens=10, max_beam=8)
    others = {"top_k": {"sample": True}, "seed": {"sample": True}, "min_length": {"max_length": 40}}.get(name, {})
    assert run(post(app, {"input": "a", "options": {name: most} | others})).status == 200
    got = run(post(app, {"input": "a", "options": {name: most + 1}}))
    assert (got.status, f"{name} is" in got.error) == (422, True)
    assert f"this server allows at most {most:,}." in got.error


@pytest.mark.parametrize(("each", "status"), [(2_666_666, 200), (2_666_667, 422)])
def test_attention_has_a_limit(each, status):
    model, asked = Fake(), []
    model.looked = lambda tokens, search: asked.append(tokens) or each
    got = run(post(application(model), {"inputs": ["a b", "c d", "e"], "attention": True}))
    assert (got.status, asked) == (status, [3])  # 8 tokens are 3 an input, rounded up
    if status == 422:
        assert "could have 8,000,001 attention weights, but this server sends at most 8,000,000 at a time." in got.error
    assert run(post(application(model), {"inputs": ["a b", "c d", "e"]})).status == 200
    assert run(post(application(model), {"input": "a b", "attention": True})).status == 200
    assert run(post(application(model), {"inputs": [], "attention": True})).status == 200
    assert asked[1:] == [3, 0]


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/trace"])
def test_what_a_model_refuses(path):
    model = Fake()
    model.breaks = DataError("this model reads no such thing.")
    got = run(post(application(model), {"input": "fault"}, path))
    assert (got.status, got.error) == (422, "this model reads no such thing.")


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/trace"])
def test_a_text_that_cannot_be_measured_is_refused(monkeypatch, path):
    def length(self, text):
        raise DataError(f"{text!r} is no episode.")

    monkeypatch.setattr(Fake, "length", length)
    got = run(post(application(Fake()), {"input": "x"}, path))
    assert (got.status, got.error) == (422, "'x' is no episode.")


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/trace"])
def test_our_own_faults_stay_in_our_log(path):
    model = Fake()
    model.breaks = RuntimeError("a secret of the server")

    async def test():
        app = application(model)
        broken = asyncio.create_task(post(app, {"input": "fault"}, path))
        with pytest.raises(RuntimeError, match="secret"):  # the log of the ASGI server
            await broken
        return (await ask(app, path="/metrics")).body.decode()

    assert f'saccade_requests_total{{path="{path}",status="500"}} 1' in run(test())


def test_a_fault_of_ours_is_told_without_its_reason():
    model, said = Fake(), []
    model.breaks = RuntimeError("a secret of the server")
    with pytest.raises(RuntimeError, match="secret"):
        run(post(application(model), {"input": "fault"}, said=said))
    told = got(said)
    assert (told.status, told.json["error"]["code"]) == (500, "internal")
    assert told.error == "Internal server error. The request is not the cause."
    assert told.headers["x-content-type-options"] == "nosniff"


def test_a_full_queue():
    model = Fake()

    async def test():
        app = application(model, max_queue=2, max_inputs=2, max_wait_ms=0)
        model.hold()
        running = asyncio.create_task(post(app, TEXT))
        await until(model.begun.is_set)
        waiting = asyncio.create_task(post(app, {"inputs": ["c", "d"]}))
        await until(lambda: app.batcher.depth == 2)
        got = await post(app, TEXT)
        assert (got.status, got.json["error"]["code"]) == (429, "queue_full")
        assert int(got.headers["retry-after"]) >= 1
        assert "saccade_queue_depth 2" in (await ask(app, path="/metrics")).body.decode()
        model.free.set()
        assert [g.status for g in await asyncio.gather(running, waiting)] == [200, 200]
        assert (await post(app, TEXT)).status == 200

    run(test())


def test_time_is_up_during_the_work():
    model = Fake()

    async def test():
        app = application(model, timeout=0.1)
        model.hold()
        late = await post(app, TEXT)
        assert (late.status, late.json["error"]["code"]) == (504, "timeout")
        assert "no answer within 0.1 seconds" in late.error
        await until(lambda: model.given_up == 1)

    run(test())


def test_time_is_up_before_the_work_begins():
    model = Fake()
    model.stubborn = True

    async def test():
        app = application(model, timeout=0.5, max_wait_ms=0)
        model.hold()
        begun = asyncio.create_task(post(app, {"input": "begun"}))
        await until(model.begun.is_set)
        assert (await post(app, {"input": "late"})).status == 504
        assert (await begun).status == 504
        await until(lambda: app.batcher.depth == 0)
        model.free.set()
        await until(lambda: not app.batcher._running)

    run(test())
    assert model.batches == [["begun"]]


def test_a_client_that_stalls_is_not_waited_for():
    got = run(ask(application(timeout=0.05), "POST", "/v1/predict", body=[b'{"inp', None], headers=JSON))
    assert got.status == 504


def test_a_client_that_is_gone_is_not_worked_for():
    model = Fake()

    async def test():
        app = application(model, max_wait_ms=0)
        model.hold()
        begun, waits = asyncio.Event(), asyncio.Event()
        first = asyncio.create_task(post(app, {"input": "first"}, leave=begun))
        await until(model.begun.is_set)
        second = asyncio.create_task(post(app, {"input": "second"}, leave=waits))
        await until(lambda: app.batcher.depth == 1)
        waits.set()
        assert (await second).status == 499
        assert app.batcher.depth == 0
        begun.set()
        assert (await first).status == 499
        await until(lambda: model.given_up == 1)
        model.free.set()
        assert (await post(app, {"input": "third"})).status == 200
        return (await ask(app, path="/metrics")).body.decode()

    text = run(test())
    assert model.batches == [["first"], ["third"]]
    assert 'saccade_requests_total{path="/v1/predict",status="499"} 2' in text


def test_a_client_that_goes_in_the_middle_of_its_question():
    async def test():
        leave = asyncio.Event()
        leave.set()
        return await ask(application(), "POST", "/v1/predict", body=[], headers=JSON, leave=leave)

    assert run(test()).status == 499


def test_tokens_and_batches_are_counted():
    async def test():
        app = application()
        await post(app, {"inputs": ["a b", "c"]})
        return (await ask(app, path="/metrics")).body.decode()

    text = run(test())
    assert 'saccade_tokens_total{model="fake",direction="read"} 5' in text
    assert 'saccade_tokens_total{model="fake",direction="written"} 3' in text
    assert 'saccade_batch_size_sum{model="fake"} 2.0' in text
    assert 'saccade_requests_total{path="/v1/predict",status="200"} 1' in text


def test_the_description_for_machines():
    page = run(ask(application(Fake(), Seeing()), path="/openapi.json")).json
    assert set(page["paths"]) == {"/healthz", "/livez", "/readyz", "/metrics"} | {
        f"/v1/{name}" for name in ("models", "predict", "trace", "sample")
    }
    schemas = page["components"]["schemas"]
    for place in _references(page):
        assert place.removeprefix("#/components/schemas/") in schemas, place
    gets = {"/healthz": ["200", "400", "503"], "/metrics": ["200", "400", "401"]}
    for path, statuses in (gets | {"/v1/models": ["200", "400", "401", "503"]}).items():
        assert sorted(page["paths"][path]["get"]["responses"]) == statuses
    for path in ("/v1/predict", "/v1/trace"):
        route = page["paths"][path]["post"]
        name = route["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        assert {"200", "400", "401", "404", "413", "415", "422", "429", "503", "504"} <= set(route["responses"])
        for example in schemas[name]["examples"]:
            model = Fake() if "input" in example or "inputs" in example else Seeing()
            assert run(post(application(model), example, path)).status == 200
        assert route["requestBody"]["content"]["image/*"]
    assert set(Trace.model_fields) == set(schemas["Trace"]["properties"])


def _references(value):
    if isinstance(value, dict):
        yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
        for part in value.values():
            yield from _references(part)
    elif isinstance(value, list):
        for part in value:
            yield from _references(part)


def test_the_examples_of_answers_are_right():
    from saccade.serve import schemas

    for kind in (schemas.Predictions, schemas.Models, schemas.Health, schemas.Failure):
        for example in kind.model_config["json_schema_extra"]["examples"]:
            assert kind.model_validate(example)


def test_an_end_is_told_to_who_waits(caplog):
    model = Fake()

    async def test():
        app = application(model)
        model.hold()
        running = asyncio.create_task(post(app, TEXT))
        await until(model.begun.is_set)
        await app.batcher.close()
        assert (await running).status == 503
        assert (await post(app, TEXT)).status == 503

    with caplog.at_level(logging.ERROR):
        run(test())
    assert caplog.records == []
