"""What the tests of the server share: a fake model, and a client without a network."""

import asyncio
import json
import threading
import time
from typing import NamedTuple

from saccade.config import parse
from saccade.search.search_config import SearchConfig
from saccade.serve.application import Application, Explorer
from saccade.serve.models import Answer
from saccade.serve.serve_config import Settings

PATIENCE = 20
"""Seconds after which a test that waits has failed."""
JSON = {"content-type": "application/json"}
_END = object()


class Fake:
    """A fake model that answers in capitals; `hold` makes it wait, and record whether it was canceled meanwhile.

    `stubborn`: it ignores cancellation.
    """

    reads = "text"

    def __init__(self, name="fake"):
        self.name = name
        self.batches = []
        self.searches = []
        self.traced = []
        self.begun, self.free = threading.Event(), threading.Event()
        self.free.set()
        self.given_up = 0
        self.stubborn = False
        self.breaks = None

    def hold(self):
        self.free.clear()

    def facts(self):
        rest = {"preset": "none", "parameters": 1, "attention": False}
        return {"name": self.name, "task": "translation", "input": self.reads, **rest}

    def search(self, options):
        return parse(SearchConfig, options, "the search")

    def fault(self, given):
        return None if isinstance(given, str) else "is no text."

    def length(self, text):
        return len(text.split()) + 1

    def looked(self, tokens, search):
        return search.nbest * tokens * (search.max_length or 2 * tokens + 20)

    def predict(self, texts, search, attention, check):
        self.batches.append(list(texts))
        self.searches.append((search, attention))
        self._wait(check)
        if self.breaks is not None and "fault" in texts:
            raise self.breaks
        return [Answer(json.dumps({"text": text.upper()}).encode(), len(text.split())) for text in texts]

    def trace(self, text, wishes, check):
        self.traced.append((text, wishes))
        self._wait(check)
        if self.breaks is not None:
            raise self.breaks
        return Answer(json.dumps({"saccade_trace": 1, "text": text.upper()}).encode(), 1)

    def _wait(self, check):
        self.begun.set()
        latest = time.monotonic() + PATIENCE  # a test that fails must not leave a thread that never ends
        try:
            while not self.free.wait(0.002) and time.monotonic() < latest:
                if not self.stubborn:
                    check()
        except Exception:
            self.given_up += 1
            raise


class Seeing(Fake):
    """A fake model that answers with the size of images. `opening` makes it wait before it opens one."""

    reads = "picture"

    def __init__(self, name="seeing"):
        super().__init__(name)
        self.opened, self.opening = [], threading.Event()
        self.opening.set()

    def open(self, picture, *, name, max_bytes, max_pixels):
        from saccade.data.pictures import open_picture

        self.opened.append((name, threading.current_thread().name))
        self.opening.wait(PATIENCE)
        return open_picture(picture, name=name, max_bytes=max_bytes, max_pixels=max_pixels)

    def predict(self, pictures, search, attention, check):
        return super().predict(
            ["×".join(map(str, picture.shape[:2])) for picture in pictures], search, attention, check
        )

    def trace(self, picture, wishes, check):
        return super().trace("×".join(map(str, picture.shape[:2])), wishes, check)


class Got(NamedTuple):
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        """The sentence of an error, which has the documented form."""
        error = self.json["error"]
        assert set(error) == {"code", "message"}
        assert "Traceback" not in error["message"]
        return error["message"]


def application(*models, **settings):
    assets = {"app.js": b"let x;", "deep/look.css": b"p {}"}
    page = Explorer("<!doctype html><title>explorer</title>", "default-src 'none'; script-src 'self'", assets)
    return Application(models or [Fake()], Settings(**settings), page)


async def ask(
    app, method="GET", path="/", *, body=b"", headers=None, host="localhost", leave=None, said=None, query=b""
):
    """Send a request as an ASGI server would; `body` may be in parts, and the client disconnects when `leave` is set.

    Parts may be made while they are read; None among them is a client that stalls. `said` collects messages.
    """
    parts = iter([body] if isinstance(body, bytes) else body)
    following = next(parts, _END)
    sent = {"host": host, **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query,
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in sent.items() if value],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }
    said = [] if said is None else said

    async def receive():
        nonlocal following
        if following is not _END:
            part, following = following, next(parts, _END)
            if part is None:
                await asyncio.sleep(PATIENCE)
            return {"type": "http.request", "body": part, "more_body": following is not _END}
        await (leave or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    async def send(message):
        said.append(message)

    async with asyncio.timeout(PATIENCE):
        await app(scope, receive, send)
    return got(said)


def got(said):
    """The response that some ASGI messages amount to."""
    headers = {name.decode(): value.decode() for name, value in said[0]["headers"]}
    return Got(said[0]["status"], headers, b"".join(part.get("body", b"") for part in said[1:]))


async def post(app, value, path="/v1/predict", **more):
    """JSON sent to the server."""
    return await ask(app, "POST", path, body=json.dumps(value).encode(), headers=JSON | more.pop("headers", {}), **more)


def run(coroutine):
    """Run a coroutine to its end; no task may be left."""

    async def whole():
        async with asyncio.timeout(PATIENCE):
            return await coroutine

    return asyncio.run(whole())


async def until(truth):
    """Wait until a condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not truth():
            await asyncio.sleep(0.002)
