"""The OpenAPI description at /openapi.json, with schemas and examples of all bodies."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from saccade.config import Config
from saccade.serve.models import ENTRIES
from saccade.serve.problems import CODES
from saccade.serve.schemas import Failure, Health, Models, Predict, Predictions, Sample, TraceOf
from saccade.trace import Trace

__all__ = ["answers", "asks", "describe"]

_MEANINGS = {
    400: "The request cannot be understood.",
    401: "The token is missing or wrong.",
    404: "There is no such model.",
    413: "The body is too large.",
    415: "The Content-Type is neither JSON nor, for models that read images or sounds, that of such a file.",
    422: "An input or an option is beyond the limits, or an image or a sound cannot be opened.",
    429: "The server has too much work; Retry-After says when to try again.",
    503: "The server is shutting down.",
    504: "The request timed out.",
}


def asks(kind: type[Config], reads: Set[str]) -> dict[str, Any]:
    """Describe the request body of a route: JSON, or an image or sound with its options in the query string."""
    types = {"picture": "image/*", "sound": "audio/*"}
    files = {types[read]: {"schema": {"type": "string", "format": "binary"}} for read in types if read in reads}
    return {"requestBody": {"required": True, "content": _content(kind) | files}}


def answers(kind: type[Config] | str, *errors: int) -> dict[int | str, dict[str, Any]]:
    """Describe the responses of a route; `kind`: of a JSON object, or a content type such as image/png."""
    binary = {"format": "binary"} if isinstance(kind, str) and not kind.startswith("text") else {}
    content = {kind: {"schema": {"type": "string", **binary}}} if isinstance(kind, str) else _content(kind)
    described: dict[int | str, dict[str, Any]] = {200: {"description": "The response.", "content": content}}
    for status in errors:
        described[status] = {"description": f"{_MEANINGS[status]} ({CODES[status]})", "content": _content(Failure)}
    return described


def describe(api: FastAPI, reads: Set[str]) -> Callable[[], dict[str, Any]]:
    """Return the function that builds the description once; `reads`: the modalities that the models read."""

    def build() -> dict[str, Any]:
        if api.openapi_schema is None:
            page = get_openapi(title=api.title, version=api.version, description=api.description, routes=api.routes)
            page.setdefault("components", {})["schemas"] = _schemas(reads)
            api.openapi_schema = page
        return api.openapi_schema

    return build


def _content(kind: type[Config]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}


def _schemas(reads: Set[str]) -> dict[str, Any]:
    kinds: list[Any] = [
        (kind, "validation") for kind in (Predict, TraceOf, Sample, Predictions, Models, Health, Failure, Trace)
    ]
    _, found = models_json_schema(kinds, ref_template="#/components/schemas/{model}")
    schemas: dict[str, Any] = found["$defs"]
    for kind in (Predict, TraceOf):
        _offer(schemas[kind.__name__], reads)
    return schemas


def _offer(schema: dict[str, Any], reads: Set[str]) -> None:
    """Remove the input fields that no model reads, and require exactly one of the others."""
    fields: dict[str, Any] = schema["properties"]
    offered = {name for read in reads for name in ENTRIES[read]}
    for name in {name for names in ENTRIES.values() for name in names} - offered:
        fields.pop(name, None)
        schema["examples"] = [example for example in schema["examples"] if name not in example]
    inputs = [name for name in ("input", "inputs", "image", "images", "sound", "sounds") if name in fields]
    none = {name: {"type": "null"} for name in inputs}
    kinds = {"string": bool(reads & {"text", "dialogue", "seed"}), "object": bool(reads - {"text", "picture", "sound"})}
    schema["oneOf"] = [
        {"title": name, "required": [name], "properties": none | {name: _shape(fields[name], kinds)}} for name in inputs
    ]


def _shape(field: dict[str, Any], kinds: dict[str, bool]) -> dict[str, Any]:
    """Return the schema of a field that is not null: texts and mappings only if a model reads them."""
    found: list[dict[str, Any]] = [part for part in field["anyOf"] if part["type"] != "null"]
    if len(found) > 1:
        found = [part for part in found if kinds[part["type"]]]
    part: dict[str, Any] = found[0] if len(found) == 1 else {"anyOf": found}
    if "anyOf" in part.get("items", {}):
        part = part | {"items": _shape(part["items"], kinds)}
    return part
