"""/openapi.json is true: requests generated from it get responses that fit it."""

import asyncio
from urllib.parse import unquote, urlsplit

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks as conformance

from helpers.asgi import Fake, Seeing, application, ask, run
from helpers.captioning import captioning_task
from helpers.recipes import MODEL, untrained
from saccade.api import Model
from saccade.serve.models import Served

INPUTS = {"text": {"input", "inputs"}, "picture": {"image", "images"}}
SMALL = {"max_input_tokens": 8, "max_inputs": 3, "max_beam": 3, "max_image_bytes": 10_000, "max_pixels": 10_000}
VALID, INVALID = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
GENERATED = [
    ("GET", "/healthz", VALID),  # without a parameter that could be invalid
    ("GET", "/metrics", VALID),
    ("GET", "/v1/models", VALID),
    ("POST", "/v1/predict", VALID),
    ("POST", "/v1/predict", INVALID),
    ("POST", "/v1/trace", VALID),
    ("POST", "/v1/trace", INVALID),
]
CHECKS = [
    not_a_server_error,
    conformance.content_type_conformance,
    conformance.response_schema_conformance,
    conformance.status_code_conformance,
]


@pytest.fixture(scope="module")
def models():
    """Tiny untrained models."""
    return {
        "text": Served("tiny", Model(untrained("translation", MODEL))),
        "picture": Served("tiny", Model(captioning_task())),
    }


def described(app):
    return run(ask(app, path="/openapi.json")).json


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/trace"])
@pytest.mark.parametrize("served", [["text"], ["picture"], ["text", "picture"]], ids=" and ".join)
def test_only_what_the_models_read_is_offered(served, path):
    page = described(application(*({"text": Fake, "picture": Seeing}[read]() for read in sorted(served))))
    content = page["paths"][path]["post"]["requestBody"]["content"]
    assert ("image/*" in content) == ("picture" in served)
    schema = page["components"]["schemas"][content["application/json"]["schema"]["$ref"].rpartition("/")[2]]
    offered = set().union(*(INPUTS[read] for read in served))
    expected = offered & {"input", "image"} if path == "/v1/trace" else offered
    assert set(schema["properties"]) & {"input", "inputs", "image", "images"} == expected
    assert [choice["required"] for choice in schema["oneOf"]] == [
        [name] for name in ("input", "inputs", "image", "images") if name in expected
    ]
    assert {name for example in schema["examples"] for name in example} & (offered | {"image", "input"}) == expected


@pytest.mark.parametrize("read", ["text", "picture"])
def test_exactly_one_input_is_said(read):
    valid = validator(described(application({"text": Fake, "picture": Seeing}[read]())), "Predict")
    one, several = {"text": ("input", "inputs"), "picture": ("image", "images")}[read]
    assert valid({one: "a"})
    assert valid({several: ["a"]})
    assert valid({one: None, several: []})
    for wrong in ({}, {one: None}, {one: "a", several: ["a"]}, {one: ["a"]}, {several: "a"}, {"other": 1, one: "a"}):
        assert not valid(wrong)


def validator(page, name):
    import jsonschema_rs

    whole = {"$ref": f"#/components/schemas/{name}", "components": page["components"]}
    return jsonschema_rs.Draft202012Validator(whole).is_valid


@pytest.mark.parametrize(("method", "path", "mode"), GENERATED)
@pytest.mark.parametrize("read", ["text", "picture"])
def test_requests_made_from_it_are_answered_as_it_says(models, read, method, path, mode):
    app = application(models[read], **SMALL)
    operation = schemathesis.openapi.from_dict(described(app))[path][method]
    checks = [*CHECKS, conformance.negative_data_rejection] if mode is INVALID else CHECKS

    statuses = set()

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=25 if method == "POST" else 1, suppress_health_check=list(HealthCheck))
    def test(case):
        response = runner.run(sent(app, case))
        statuses.add(response.status_code)
        case.validate_response(response, checks=checks)

    with asyncio.Runner() as runner:
        test()
        runner.run(app.batcher.close())
    assert (200 in statuses) == (mode is VALID)


async def sent(app, case):
    """A generated request, given to the application without a network."""
    request = requests.Request(**case.as_transport_kwargs(base_url="http://localhost")).prepare()
    address = urlsplit(request.url)
    body = request.body.encode() if isinstance(request.body, str) else request.body
    got = await ask(
        app,
        request.method,
        unquote(address.path),
        body=body or b"",
        headers=dict(request.headers),
        query=address.query.encode(),
    )
    headers = {name: [value] for name, value in got.headers.items()}
    return schemathesis.Response(got.status, headers, got.body, request, elapsed=0.0, verify=False)
