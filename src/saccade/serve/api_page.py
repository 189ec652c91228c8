"""The page at /docs: the OpenAPI description as HTML, without scripts and without anything from other servers."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from html import escape
from typing import Any

__all__ = ["POLICY", "api_page", "type_name"]

_TYPES = {"string": "text", "integer": "whole number", "array": "list", "boolean": "true or false"}
_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8882 }
body { margin: 0 auto; padding: 1px 20px 60px; max-width: 940px; font: 16px/1.5 system-ui, sans-serif }
p, td { overflow-wrap: anywhere }
h2 { margin-top: 44px; padding-top: 14px; border-top: 1px solid var(--line); font-size: 20px }
table { width: 100%; border-collapse: collapse; font-size: 15px }
th, td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th { font-weight: 600 }
code, pre { font: 14px/1.45 ui-monospace, "DejaVu Sans Mono", monospace }
h2 code { font-size: 18px; font-weight: 600 }
pre { padding: 10px 14px; overflow-x: auto; background: var(--soft); border-radius: 8px }
.scroll { overflow-x: auto }
nav { columns: 16em; line-height: 1.8 }
"""
_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""Content-Security-Policy of the page: its own style sheet and nothing else."""


def api_page(page: dict[str, Any]) -> str:
    """Return the HTML page of an OpenAPI description."""
    routes = [(method, path, route) for path, methods in page["paths"].items() for method, route in methods.items()]
    schemas = {name: schema for name, schema in page["components"]["schemas"].items() if "properties" in schema}
    title = f"{page['info']['title']} {page['info']['version']}: HTTP API"
    links = "".join(
        f'<a href="#{route["operationId"]}"><code>{method.upper()} {escape(path)}</code></a><br>'
        for method, path, route in routes
    )
    return "\n".join(
        (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>',
            f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style>',
            f"<h1>{escape(title)}</h1><p>{escape(page['info']['description'])} For programs, the same is at",
            '<a href="./openapi.json">openapi.json</a>; <a href="./">the explorer</a> shows attention.</p>',
            f"<nav>{links}</nav>",
            *(part for route in routes for part in _route(*route, schemas)),
            *(part for name, schema in schemas.items() for part in _schema(name, schema)),
            "</html>",
        )
    )


def type_name(schema: dict[str, Any], link: Callable[[str], str]) -> str:
    """Return the type of a value in words, such as `list of text`; `link`: how the name of an object is written."""
    if "$ref" in schema:
        return link(schema["$ref"].rsplit("/", 1)[1])
    if "anyOf" in schema:
        parts = (type_name(part, link) for part in schema["anyOf"] if part.get("type") != "null")
        return " or ".join(dict.fromkeys(parts))
    if "prefixItems" in schema:
        return f"[{', '.join(type_name(part, link) for part in schema['prefixItems'])}]"
    if schema.get("contentEncoding"):
        return f"text in {schema['contentEncoding']}"
    inner = schema.get("items") or schema.get("additionalProperties")
    of = f" of {type_name(inner, link)}" if isinstance(inner, dict) and inner else ""
    name: str = schema.get("type", "anything")
    return _TYPES.get(name, name) + of


def _link(name: str) -> str:
    return f'<a href="#{name}">{name}</a>'


def _route(method: str, path: str, route: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    yield f'<h2 id="{route["operationId"]}"><code>{method.upper()} {escape(path)}</code></h2>'
    yield f"<p>{escape(route['description'])}</p>"
    bodies = route.get("requestBody", {}).get("content", {})
    if bodies:
        yield f"<p>Request: {_bodies(bodies)}.</p>"
        name = bodies["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
        for example in schemas[name].get("examples", ()):
            # in single quotes the shell changes nothing but a single quote itself
            body = json.dumps(example, ensure_ascii=False).replace("'", "\\u0027")
            header = "-H 'Content-Type: application/json'"
            yield f"<pre>curl localhost:8000{escape(path)} {header} -d '{escape(body, quote=False)}'</pre>"
    yield "<div class=scroll><table><tr><th>status<th>answer<th>when"
    for status, answer in route["responses"].items():
        yield f"<tr><td>{status}<td>{_bodies(answer['content'])}<td>{escape(answer['description'])}"
    yield "</table></div>"


def _bodies(content: dict[str, Any]) -> str:
    """Return the types of a body, one for each content type."""
    shown = (
        type_name(body["schema"], _link) if media == "application/json" else f"<code>{escape(media)}</code>"
        for media, body in content.items()
    )
    return " or ".join(shown)


def _schema(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f'<h2 id="{name}">{name}</h2><p>{escape(" ".join(schema.get("description", "").split()))}</p>'
    yield "<div class=scroll><table><tr><th>field<th>type<th>default<th>meaning"
    for field, what in schema["properties"].items():
        value = what.get("default")
        default = json.dumps({} if isinstance(value, dict) else value)
        shown = "" if field in schema.get("required", ()) else f"<code>{escape(default)}</code>"
        meaning = escape(what.get("description", ""))
        yield f"<tr><td><code>{field}</code><td>{type_name(what, _link)}<td>{shown}<td>{meaning}"
    yield "</table></div>"
