"""Write the reference of the HTTP interface from its OpenAPI description."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from saccade.serve.api_page import type_name
from saccade.serve.application import Application, Explorer
from saccade.serve.models import ENTRIES
from saccade.serve.serve_config import Settings
from saccade.trace import Trace

SKIPPED = {"Trace", *Trace.model_json_schema()["$defs"]}
"""The trace has a page of its own."""
INTRODUCTION = """# HTTP interface

Written by `python docs/reference/make.py` from the description that a server gives at `/openapi.json`.
[The server](../serve.md) explains batching, errors and limits; a [trace](../trace.md) has a page of its own.
Fields without a default are required. `GET /` is the explorer page,
`GET /docs` this page for the running server."""


def description() -> dict[str, Any]:
    """Return the OpenAPI description of a server whose models read everything that models can read."""
    models: list[Any] = [SimpleNamespace(name=reads, reads=reads) for reads in ENTRIES]
    found: dict[str, Any] = Application(models, Settings(), Explorer("", "", {}))._routes().openapi()
    return found


def kind(schema: dict[str, Any]) -> str:
    """Return the type of a value in words: `list of text`, [Options](#options)."""
    return type_name(schema, lambda name: "[trace](../trace.md)" if name == "Trace" else f"[{name}](#{name.lower()})")


def fields(schema: dict[str, Any]) -> Iterator[str]:
    """Write a row for each field of an object."""
    yield from ("| field | type | default | meaning |", "|---|---|---|---|")
    for name, field in schema["properties"].items():
        value = field.get("default")
        default = (
            "" if name in schema.get("required", ()) else f"`{json.dumps({} if isinstance(value, dict) else value)}`"
        )
        yield f"| `{name}` | {kind(field)} | {default} | {field.get('description', '')} |"


def reference(content: dict[str, Any]) -> str:
    """Return the types of a body, one for each content type."""
    shown = []
    for media, body in content.items():
        shown.append(kind(body["schema"]) if media == "application/json" else f"`{media}`")
    return " or ".join(shown)


def http_api() -> str:
    """Return the page."""
    page = description()
    lines = [INTRODUCTION, ""]
    for path, methods in page["paths"].items():
        for method, route in methods.items():
            lines += [f"## `{method.upper()} {path}`", "", route["description"], ""]
            if "requestBody" in route:
                lines += [f"Request: {reference(route['requestBody']['content'])}.", ""]
            lines += ["| status | answer | when |", "|---|---|---|"]
            for status, answer in route["responses"].items():
                lines.append(f"| {status} | {reference(answer['content'])} | {answer['description']} |")
            lines.append("")
    for name, schema in page["components"]["schemas"].items():
        if name not in SKIPPED and "properties" in schema:
            lines += [f"## {name}", "", " ".join(schema.get("description", "").split()), "", *fields(schema), ""]
    return "\n".join(lines).rstrip() + "\n"
