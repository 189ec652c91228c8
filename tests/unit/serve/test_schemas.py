"""Requests are validated, and errors name the place of each fault."""

import json

import pytest

from saccade.config import check, parse
from saccade.search.search_config import SearchConfig
from saccade.serve.problems import Problem
from saccade.serve.schemas import Options, Predict, TraceOf, parse_body, parse_picture


def refused(body, kind=Predict):
    with pytest.raises(Problem) as problem:
        parse_body(kind, body)
    assert problem.value.status == 400
    return problem.value.message


def test_options_are_those_of_a_recipe():
    assert set(Options.model_fields) == set(SearchConfig.model_fields) - {
        "batch_size",
        "captioner",  # it names a folder of the server
        "ctc",
        "fusion",  # it names a folder of the server
        "precision",
    }  # internal to the server


def test_the_bounds_of_options_are_described_as_they_are_checked():
    """The lower bound of each number; upper bounds depend on the server, except those of shares."""
    described, checked = Options.model_json_schema()["properties"], SearchConfig.model_json_schema()["properties"]
    for name, field in described.items():
        kinds = ("minimum", "exclusiveMinimum", *(("maximum",) if name == "top_p" else ()))
        parts = [checked[name], *checked[name].get("anyOf", ())]
        bounds = {kind: part[kind] for kind in kinds for part in parts if kind in part}
        assert {kind: field[kind] for kind in kinds if kind in field} == bounds, name


def test_one_input_or_several():
    assert parse_body(Predict, b'{"input": "a"}').texts == ["a"]
    assert parse_body(Predict, b'{"inputs": ["a", "b"]}').texts == ["a", "b"]
    assert parse_body(Predict, b'{"inputs": []}').texts == []


def test_a_model_may_be_called_by_a_number_in_an_address():
    asked = parse_picture(Predict, b"", {"model": "7", "beam": "2", "attention": "true"})
    assert (asked.model, asked.options.beam, asked.attention) == ("7", 2, True)


def test_options_that_were_not_given_stay_out():
    asked = parse_body(
        Predict, b'{"input": "a", "options": {"beam": 2, "sample": false, "top_p": null, "temperature": 1}}'
    )
    assert asked.options.given() == {"beam": 2, "sample": False, "temperature": 1}


def test_a_trace_can_be_interfered_with():
    asked = parse_body(TraceOf, b'{"input": "a", "force": [5], "block": [0, 1], "pull": [[0, 1, 0.5], [1, 0, 1]]}')
    assert (asked.force, asked.block, asked.pull, asked.detail) == ([5], [0, 1], [(0, 1, 0.5), (1, 0, 1)], False)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"input": "a"} x',
        b"[" * 100_000,
        b'{"input": ' * 100_000,
        b'{"input": "\xff"}',
        b'{"input": "\\ud800"}',
        b'{"input": NaN}',
        b'{"input": "a", "options": {"temperature": Infinity}}',
        b"\x00" * 100,
        b"1" * 5000,
    ],
    ids=range(11),
)
def test_what_is_not_json_is_refused(body):
    assert refused(body).startswith("The body is not JSON: ")


@pytest.mark.parametrize("body", [b"null", b"7", b'"text"', b"[]"])
def test_what_is_not_an_object_is_refused(body):
    assert refused(body) == 'The body is JSON, but not an object, such as {"input": "…"}.'


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            b"{}",
            "there must be exactly one of input (a text), inputs (a list of texts), image (in base64), images "
            "(a list of them), sound and sounds",
        ),
        (b'{"image": 7}', "image: it must be a base64 text (it is 7)"),
        (b'{"images": ["", null]}', "images.1: it must be a base64 text (it is None)"),
        (b'{"input": "a", "image": "b"}', "there must be exactly one of input"),
        (b'{"image": "a", "images": []}', "there must be exactly one of input"),
        (b'{"input": "a", "inputs": ["b"]}', "there must be exactly one of input"),
        (b'{"input": 7}', "input: Input should be a valid string (it is 7)"),
        (b'{"inputs": "a"}', "inputs: Input should be a valid list (it is 'a')"),
        (b'{"inputs": ["a", null]}', "inputs.1: Input should be a valid string (it is None)"),
        (b'{"imput": "a"}', "setting 'imput' does not exist. Did you mean 'input'?"),
        (
            b'{"input": "a", "options": {"beem": 2}}',
            "options.beem: setting 'beem' does not exist. Did you mean 'beam'?",
        ),
        (b'{"input": "a", "options": {"batch_size": 2}}', "options.batch_size: setting 'batch_size' does not exist."),
        (b'{"input": "a", "options": {"beam": "2"}}', "options.beam: Input should be a valid integer (it is '2')"),
        (b'{"input": "a", "options": {"beam": true}}', "options.beam: Input should be a valid integer"),
        (b'{"input": "a", "attention": 1}', "attention: Input should be a valid boolean"),
    ],
)
def test_faults_are_told_with_their_place(body, told):
    assert told in refused(body)


def test_faults_of_a_trace_are_told_with_their_place():
    assert "there must be exactly one of input (a text), image and sound (in base64)" in refused(b"{}", TraceOf)
    assert "there must be exactly one of input" in refused(b'{"input": "a", "image": "b"}', TraceOf)
    assert "pull.0.2: Input should be a valid number" in refused(b'{"input": "a", "pull": [[0, 1, "x"]]}', TraceOf)
    assert "block.0: Input should be a valid integer" in refused(b'{"input": "a", "block": ["x"]}', TraceOf)


@pytest.mark.parametrize(("name", "one"), [("force", 5), ("block", 0), ("pull", [0, 0, 0.5])])
def test_interference_has_a_limit(name, one):
    def body(count):
        return json.dumps({"input": "a", name: [one] * count}).encode()

    assert len(getattr(parse_body(TraceOf, body(4096)), name)) == 4096
    assert f"{name}: List should have at most 4096 items after validation, not 4097" in refused(body(4097), TraceOf)


def test_half_a_character_in_a_message_is_replaced():
    answer = Problem(400, "a \ud800 b").response()
    assert json.loads(answer.body.decode())["error"] == {"code": "bad_request", "message": "a ? b"}


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "bad_request"),
        (401, "unauthorized"),
        (404, "not_found"),
        (405, "method_not_allowed"),
        (408, "request_timeout"),
        (413, "too_large"),
        (415, "unsupported_type"),
        (422, "beyond_limits"),
        (429, "queue_full"),
        (499, "client_gone"),
        (500, "internal"),
        (503, "shutting_down"),
        (504, "timeout"),
        (418, "error"),
    ],
)
def test_every_status_has_its_code(status, code):
    answer = Problem(status, "why", {"Retry-After": "1"}).response()
    assert answer.status_code == status
    assert json.loads(answer.body)["error"]["code"] == code
    assert (answer.headers["retry-after"], answer.media_type) == ("1", "application/json")


MANY = b",".join(b'"name %d": 1' % number for number in range(5000))


@pytest.mark.parametrize(
    ("body", "first"),
    [
        (b'{"inputs": ["a", ' + b"1," * 5000 + b"1]}", "inputs.1: Input should be a valid string (it is 1)"),
        (b'{"images": ["a", ' + b"1," * 5000 + b"1]}", "images.1: it must be a base64 text (it is 1)"),
        (b"{" + MANY + b', "input": "a"}', "name 0: setting 'name 0' does not exist."),
        (b'{"input": "a", "options": {' + MANY + b"}}", "options.name 0: setting 'name 0' does not exist."),
    ],
)
def test_of_thousands_of_faults_few_are_found_and_told(body, first, monkeypatch):
    found = []

    def watched(kind, settings):
        request, faults = check(kind, settings)
        found.extend(faults)
        return request, faults

    monkeypatch.setattr("saccade.serve.schemas.check", watched)
    told = refused(body).split("\n")
    assert told[1].startswith(f"- {first}")
    assert len(found) == len(told) - 1 <= 8


def test_a_long_name_that_nobody_knows_is_not_said_again_in_full():
    told = refused(b'{"input": "a", "' + b"x" * 100_000 + b'": 1}')
    assert f"setting '{'x' * 60}…' does not exist." in told
    assert len(told) < 1000


@pytest.mark.parametrize("kind", [Predict, TraceOf])
def test_examples_are_right(kind):
    for example in kind.model_config["json_schema_extra"]["examples"]:
        options = kind.model_validate(example).options.given()
        search = parse(SearchConfig, options, "an example")
        sampling = {"temperature", "top_k", "top_p", "seed"} & set(options)
        assert search.sample or not sampling  # else these have no effect
