"""Middleware: checks the Host header, the token and shutdown, then adds security headers and counts the request."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from saccade.serve.metrics import Metrics
from saccade.serve.problems import Problem
from saccade.serve.serve_config import Settings

__all__ = ["Middleware", "host_name", "until_gone"]

OPEN = frozenset({"/", "/docs", "/healthz", "/livez", "/readyz"})
"""Paths that need no token, besides /static/: the pages, which hold no data, and the health checks."""
PATHS = OPEN | frozenset({"/metrics", "/openapi.json", "/v1/models", "/v1/predict", "/v1/sample", "/v1/trace"})
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
"""Added to responses without a policy of their own: a browser runs nothing in them. The page brings its own policy."""
_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::[0-9]{1,5})?", re.IGNORECASE | re.ASCII)
"""A Host header: an IPv6 address in brackets, an IPv4 address or a name; then a port, if any."""


class Middleware:
    """ASGI middleware. After `drain` it refuses new work; `idle` is set while no request is running."""

    def __init__(self, inner: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self.inner, self._metrics = inner, metrics
        self._hosts = settings.hosts
        self._token = None if settings.token is None else settings.token.encode()
        self._log = settings.log
        self.draining = False
        self.running = 0
        self.idle = asyncio.Event()
        self.idle.set()

    def drain(self) -> None:
        """Refuse new work from now on."""
        self.draining = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        began, status, ended = time.perf_counter(), 500, False

        async def watched(message: Message) -> None:
            nonlocal status, ended
            if message["type"] == "http.response.start":
                status = message["status"]
                own = list(message.get("headers", ()))
                policy = [] if any(name == POLICY[0] for name, _ in own) else [POLICY]
                message["headers"] = [*own, *HEADERS, *policy]
            if not ended:
                try:
                    await send(message)
                except Exception:  # the connection broke; which exception that raises depends on the ASGI server
                    ended = True

        self.running += 1
        self.idle.clear()
        try:
            problem = self._refusal(scope)
            if problem is None:
                await self.inner(scope, receive, watched)
            else:
                await problem.response()(scope, receive, watched)
            if ended:
                with suppress(TimeoutError):
                    async with asyncio.timeout(1):
                        await until_gone(receive)
        finally:
            self.running -= 1
            if self.running == 0:
                self.idle.set()
            seconds = time.perf_counter() - began
            self._metrics.request(_label(scope["path"]), status, seconds)
            if self._log != "off":
                print(_logged(scope, status, seconds, as_json=self._log == "json"), file=sys.stderr, flush=True)

    def _check_host(self, scope: Scope) -> Problem | None:
        """Return a Problem if the Host header is malformed, repeated, or names another server."""
        header = b", ".join(value for name, value in scope["headers"] if name == b"host").decode("latin-1")
        host = host_name(header)
        if header and host is None:
            return Problem(400, f"The Host header {header[:80]!r} is not a name or an address with an optional port.")
        if self._hosts is None or host in self._hosts:
            return None
        return Problem(
            400,
            f"This server does not accept the host name {(host or '')[:80]!r}. Use localhost, or start it with "
            "--allow-host.",
        )

    def _refusal(self, scope: Scope) -> Problem | None:
        """Return the reason to refuse a request, if any."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        path: str = scope["path"]
        if (problem := self._check_host(scope)) is not None:
            return problem
        is_open = path in OPEN or path.startswith("/static/")
        if self._token is not None and not is_open and not _has_token(headers.get(b"authorization", b""), self._token):
            return Problem(
                401,
                "This server requires a token: send it as Authorization: Bearer TOKEN.",
                {"WWW-Authenticate": "Bearer"},
            )
        if self.draining and path.startswith("/v1/"):
            return Problem(503, "The server is shutting down. Try again when it is back.", {"Retry-After": "5"})
        return None


async def until_gone(receive: Receive) -> None:
    """Wait until the client disconnects; discard everything it sends."""
    while (await receive())["type"] != "http.disconnect":
        pass


def host_name(header: str) -> str | None:
    """Return the lowercase name or address in a Host header, without brackets and port; None if it is malformed.

    More lenient parsers disagree about which part of `localhost:80@evil.example` is the name.
    """
    found = _HOST.fullmatch(header)
    return None if found is None else (found["address"] or found["name"]).lower()


def _has_token(header: bytes, token: bytes) -> bool:
    scheme, _, given = header.partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), token)


def _logged(scope: Scope, status: int, seconds: float, *, as_json: bool) -> str:
    """Return the line that logs a request. JSON escapes control characters, so no path can forge a line."""
    client = (scope.get("client") or ("-",))[0]
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    entry = {"time": now, "client": client, "method": scope["method"], "path": scope["path"][:200], "status": status}
    entry["ms"] = round(1000 * seconds, 1)
    if as_json:
        return json.dumps(entry)
    return f"{now} {client} {entry['method']} {json.dumps(entry['path'])} {status} {entry['ms']} ms"


def _label(path: str) -> str:
    """Return the path label for the counters; all unknown paths share one."""
    if path.startswith("/static/"):
        return "/static"
    return path if path in PATHS else "other"
