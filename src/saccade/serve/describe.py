"""The description for machines: /openapi.json, with the schemas and examples of all bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from saccade.config import Config
from saccade.serve.problems import CODES
from saccade.serve.schemas import Failure, Health, Models, Predict, Predictions, TraceOf
from saccade.trace import Trace

__all__ = ["answers", "asks", "describe"]

_MEANINGS = {
    400: "The request cannot be understood.",
    401: "The token is missing or wrong.",
    404: "There is no such model.",
    413: "The body is too large.",
    415: "The body is not said to be JSON, or a picture.",
    422: "An input or an option is beyond the limits, or a picture cannot be opened.",
    429: "Too much waits already; Retry-After says when to ask again.",
    503: "The server is shutting down.",
    504: "The time is up.",
}


def asks(kind: type[Config]) -> dict[str, Any]:
    """The part of a route's description that is about its body: JSON, or a picture with its options in the address."""
    picture = {"image/*": {"schema": {"type": "string", "format": "binary"}}}
    return {"requestBody": {"required": True, "content": _content(kind) | picture}}


def answers(kind: type[Config], *errors: int) -> dict[int | str, dict[str, Any]]:
    """The part that is about its answers."""
    described: dict[int | str, dict[str, Any]] = {200: {"description": "The answer.", "content": _content(kind)}}
    for status in errors:
        described[status] = {"description": f"{_MEANINGS[status]} ({CODES[status]})", "content": _content(Failure)}
    return described


def describe(api: FastAPI) -> Callable[[], dict[str, Any]]:
    """What makes the description, once."""

    def made() -> dict[str, Any]:
        if api.openapi_schema is None:
            page = get_openapi(title=api.title, version=api.version, description=api.description, routes=api.routes)
            page.setdefault("components", {})["schemas"] = _schemas()
            api.openapi_schema = page
        return api.openapi_schema

    return made


def _content(kind: type[Config]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}


def _schemas() -> dict[str, Any]:
    kinds: list[Any] = [
        (kind, "validation") for kind in (Predict, TraceOf, Predictions, Models, Health, Failure, Trace)
    ]
    _, found = models_json_schema(kinds, ref_template="#/components/schemas/{model}")
    schemas: dict[str, Any] = found["$defs"]
    return schemas
