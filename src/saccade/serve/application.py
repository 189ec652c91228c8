"""The ASGI application: routes for models, a batcher and the explorer page."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TypeVar

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from saccade import __version__
from saccade.errors import SaccadeError
from saccade.look.picture import png, sheet
from saccade.search.search_config import SearchConfig
from saccade.serve import metrics as counters
from saccade.serve.api_page import POLICY, api_page
from saccade.serve.batcher import Batcher, Check, Closed, Full
from saccade.serve.describe import answers, asks, describe
from saccade.serve.limits import check_attention, check_count, check_search, check_texts
from saccade.serve.memory_budget import Hold, MemoryBudget
from saccade.serve.middleware import Middleware, until_gone
from saccade.serve.models import FILES, Answer, Answering, Died
from saccade.serve.pictures import Opener
from saccade.serve.problems import Problem, client_gone
from saccade.serve.requests import read_request
from saccade.serve.schemas import Health, Models, Predict, Predictions, Sample, TraceOf
from saccade.serve.serve_config import Settings
from saccade.trace import Trace

__all__ = ["Application", "Explorer"]

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


Found = TypeVar("Found")


class Explorer(NamedTuple):
    """The page at /, its Content-Security-Policy header, and its static files by name."""

    page: str
    policy: str
    assets: Mapping[str, bytes]


@dataclass(frozen=True)
class _Predicting:
    """Batch key of a prediction: inputs with equal keys share a batch. Searches are compared by their JSON text.

    Models compare by identity, so a model and its replacement of the same name share no batch.
    """

    model: Answering
    search: SearchConfig = field(compare=False)
    text: str
    attention: bool


@dataclass(frozen=True, eq=False)
class _Tracing:
    """Batch key of a trace. Keys compare by identity, so every trace is a batch of its own."""

    model: Answering
    wishes: dict[str, Any]


class Application:
    """An ASGI application that serves models; the first is the default."""

    def __init__(self, models: Sequence[Answering], settings: Settings, explorer: Explorer, *, lanes: int = 1) -> None:
        self.settings, self.metrics = settings, counters.Metrics()
        self._know(models)
        self.uploads, self.opener = MemoryBudget(settings.max_inflight_bytes), Opener(settings, self.metrics)
        self._explorer = explorer
        self._compressed = {name: gzip.compress(content, mtime=0) for name, content in explorer.assets.items()}
        self.batcher = Batcher(
            _run_batch,
            max_batch=settings.max_batch,
            max_wait=settings.max_wait_ms / 1000,
            queue=settings.max_queue,
            lanes=lanes,
            watch=lambda key, size, seconds: self.metrics.batch(key.model.name, size, seconds),
        )
        self.gate = Middleware(self._routes(), settings, self.metrics)
        self.metrics.depth, self.metrics.running = lambda: self.batcher.depth, lambda: self.gate.running
        self.metrics.held = lambda: self.uploads.held
        self._outer: ASGIApp = self.gate
        if settings.cors:
            self._outer = CORSMiddleware(
                self.gate,
                allow_origins=settings.cors,
                allow_methods=("GET", "POST"),
                allow_headers=("Authorization", "Content-Type"),
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._outer(scope, receive, send)

    def replace(self, models: Sequence[Answering]) -> None:
        """Serve other models from now on; requests in progress are answered by the model that they began with."""
        self._know(models)
        self.gate.inner = self._routes()

    def _know(self, models: Sequence[Answering]) -> None:
        self.models = {model.name: model for model in models}
        self._reads = {model.reads for model in models}

    def _routes(self) -> FastAPI:
        api = FastAPI(
            title="saccade",
            version=__version__,
            description="Predictions and attention of sequence-to-sequence models.",
            docs_url=None,  # FastAPI's documentation pages load scripts from a CDN; see `_docs`
            redoc_url=None,
            default_response_class=Response,
            generate_unique_id_function=lambda route: route.name,
            lifespan=self._lifespan,
        )
        api.openapi = self._description = describe(api, self._reads)  # type: ignore[method-assign]
        api.add_exception_handler(Problem, _on_problem)
        api.add_exception_handler(HTTPException, _on_http_error)
        api.add_exception_handler(ClientDisconnect, _on_disconnect)
        api.add_exception_handler(Exception, _on_internal_error)
        api.get("/", include_in_schema=False)(self._index)
        api.get("/docs", include_in_schema=False)(self._docs)
        api.get("/static/{name:path}", include_in_schema=False)(self._asset)
        api.get("/healthz", name="health", responses=answers(Health, 400, 503))(self._healthz)
        api.get("/livez", name="live", responses=answers(Health, 400))(self._livez)
        api.get("/readyz", name="ready", responses=answers(Health, 400, 503))(self._healthz)
        api.get("/metrics", name="metrics", responses=answers("text/plain", 400, 401))(self._metrics)
        api.get("/v1/models", name="models", responses=answers(Models, 400, 401, 503))(self._models)
        errors = (400, 401, 404, 413, 415, 422, 429, 503, 504)
        for name, kind, answer, route in (
            ("predict", Predict, Predictions, self._predict),
            ("trace", TraceOf, Trace, self._trace),
            ("sample", Sample, "image/png", self._sample),
        ):
            files = set() if kind is Sample else self._reads
            body, described = asks(kind, files), answers(answer, *errors)
            api.post(f"/v1/{name}", name=name, openapi_extra=body, responses=described)(route)
            # FastAPI's route only serves the OpenAPI description. This one matches first and takes half of the time.
            api.router.routes.insert(0, Route(f"/v1/{name}", route, methods=["POST"], include_in_schema=False))
        return api

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        yield
        self.opener.close()
        await self.batcher.close()

    async def _index(self) -> Response:
        """Return the explorer page."""
        headers = {"Cache-Control": "no-cache", "Content-Security-Policy": self._explorer.policy}
        return Response(self._explorer.page, headers=headers, media_type="text/html")

    async def _docs(self) -> Response:
        """Return the description of the HTTP API as a page."""
        headers = {"Cache-Control": "no-cache", "Content-Security-Policy": POLICY}
        return Response(api_page(self._description()), headers=headers, media_type="text/html")

    async def _asset(self, name: str, request: Request) -> Response:
        """Return a static file of the explorer page, compressed if the client accepts that."""
        if name not in self._explorer.assets:
            raise Problem(404, f"There is no file {name!r} here.")
        kind = _TYPES.get(PurePosixPath(name).suffix, "application/octet-stream")
        headers = {"Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(self._explorer.assets[name], headers=headers, media_type=kind)
        return Response(self._compressed[name], headers=headers | {"Content-Encoding": "gzip"}, media_type=kind)

    async def _healthz(self) -> Response:
        """Report whether the server accepts requests."""
        if self.gate.draining:
            raise Problem(503, "The server is shutting down.")
        return _json({"status": "ok"})

    async def _livez(self) -> Response:
        """Report that the process runs, also while it is shutting down."""
        return _json({"status": "ok"})

    async def _metrics(self) -> Response:
        """Return the counters in Prometheus' text format."""
        return Response(self.metrics.text(), media_type=counters.TYPE)

    async def _models(self) -> Response:
        """List the served models."""
        return _json({"models": [model.facts() for model in self.models.values()]})

    async def _predict(self, request: Request) -> Response:
        """Predict the answers to one input or several."""
        async with _in_time(self.settings.timeout):
            with self.uploads.hold() as hold:
                asked = await read_request(Predict, request, self.settings, hold, pictures=bool(self._reads & {*FILES}))
                model = self._model(asked.model)
                search = check_search(model, asked.options.given(), self.settings)
                inputs, read = await self._inputs(request, model, asked, hold)
                if asked.attention:
                    check_attention(model, len(inputs), search, read)
                key = _Predicting(model, search, search.model_dump_json(), asked.attention)
                found = await self._submit(request, key, inputs, read)
        parts = b",".join(answer.body for answer in found)
        head = json.dumps({"model": model.name}, ensure_ascii=False).encode()[:-1]
        return Response(head + b', "predictions": [' + parts + b"]}", media_type="application/json")

    async def _trace(self, request: Request) -> Response:
        """Trace one input: attention, alternatives, beam and, on request, hidden vectors."""
        async with _in_time(self.settings.timeout):
            with self.uploads.hold() as hold:
                asked = await read_request(TraceOf, request, self.settings, hold, pictures=bool(self._reads & {*FILES}))
                model = self._model(asked.model)
                options = asked.options.given()
                check_search(model, options, self.settings)
                inputs, read = await self._inputs(request, model, asked, hold)
                intervention = {"force": asked.force, "block": asked.block, "pull": asked.pull, "detail": asked.detail}
                found = await self._submit(request, _Tracing(model, options | intervention), inputs, read)
        return Response(found[0].body, media_type="application/json")

    async def _sample(self, request: Request) -> Response:
        """Draw a grid of images as one PNG file."""
        async with _in_time(self.settings.timeout):
            with self.uploads.hold() as hold:
                asked = await read_request(Sample, request, self.settings, hold, pictures=False)
                model = self._model(asked.model)
                if model.reads != "seed":
                    raise Problem(422, f"{model.name} reads a {model.reads}, so it cannot draw from a seed.")
                await check_texts(model, asked.texts, self.settings)
                inputs = asked.inputs()
                read = await check_texts(model, inputs, self.settings)
                search = check_search(model, {}, self.settings)
                key = _Predicting(model, search, search.model_dump_json(), False)
                found = await self._submit(request, key, inputs, read)
        return Response(await asyncio.to_thread(_sheet, found, asked.grid), media_type="image/png")

    def _model(self, name: str | None) -> Answering:
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise Problem(404, f"There is no model {name[:80]!r}. Known: {', '.join(self.models)}.")
        return self.models[name]

    async def _inputs(
        self, request: Request, model: Answering, asked: Predict | TraceOf, hold: Hold
    ) -> tuple[list[Any], int]:
        """Return the inputs in the form the model reads, and their number of tokens (0 for images)."""
        texts, kind = asked.texts, FILES.get(model.reads)
        if kind is None:
            if texts is None:
                sent = "an image" if asked.files("image") else "a sound"
                raise Problem(422, f"{model.name} reads a {model.reads}. Send it as input, instead of {sent}.")
            with _as_problems():
                return texts, await check_texts(model, texts, self.settings)
        files = asked.files(kind)
        if files is None:
            if model.reads == "episode":
                raise Problem(422, f"{model.name} reads labeled images and a query. Send them as input.")
            what = {"image": "an image", "sound": "a sound"}[kind]
            sent = "a text" if texts is not None else "another file"
            raise Problem(422, f"{model.name} reads {kind}s. Send {kind}, {what} file in base64, instead of {sent}.")
        check_count(len(files), self.settings, f"{kind}s")
        with _as_problems():
            self.batcher.check_room(len(files))
            found = await _unless_gone(request, self.opener.open(model, files, hold))
            return found, 0 if kind == "image" else sum(map(model.length, found))

    async def _submit(
        self, request: Request, key: _Predicting | _Tracing, inputs: list[Any], read: int
    ) -> list[Answer]:
        """Return the batcher's answers; raise a Problem as soon as the client disconnects."""
        name, began, status = key.model.name, time.perf_counter(), 500
        try:
            with _as_problems():
                found: list[Answer] = await _unless_gone(request, self.batcher.submit(key, inputs))
            status = 200
        except Problem as problem:
            status = problem.status
            raise
        except asyncio.CancelledError:  # `_in_time` ends the request
            status = 504
            raise
        finally:
            self.metrics.model(name, status, len(inputs), time.perf_counter() - began)
        self.metrics.tokens(name, read, sum(answer.tokens for answer in found))
        return found


def _sheet(answers: Sequence[Answer], columns: int) -> bytes:
    """Return a PNG of the images of some answers, in rows."""
    return png(sheet([answer.pixels for answer in answers if answer.pixels is not None], columns))


async def _unless_gone(request: Request, work: Coroutine[Any, Any, Found]) -> Found:
    """Return the result of `work`; cancel it and raise a Problem as soon as the client disconnects."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(until_gone(request.receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise client_gone()
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


@contextmanager
def _as_problems() -> Iterator[None]:
    """Convert errors of the batcher and the models to Problems."""
    try:
        yield
    except Full as error:
        raise Problem(429, "The queue is full. Try again later.", {"Retry-After": str(error.seconds)}) from error
    except Closed as error:
        raise Problem(503, "The server is shutting down. Try again when it is back.") from error
    except SaccadeError as error:
        raise Problem(422, str(error)) from error
    except Died as error:
        raise Problem(
            503, "The model's process ended while it worked on this request. Try again, or ask for less."
        ) from error


def _run_batch(key: _Predicting | _Tracing, inputs: list[Any], check: Check) -> list[Answer]:
    """Compute the answers to a batch; runs in a thread of the batcher."""
    if isinstance(key, _Predicting):
        return key.model.predict(inputs, key.search, key.attention, check)
    return [key.model.trace(inputs[0], key.wishes, check)]


@asynccontextmanager
async def _in_time(seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise Problem(
            504, f"There was no answer within {seconds:g} seconds. Ask for less, or try again later."
        ) from error


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value, ensure_ascii=False), status, media_type="application/json")


async def _on_problem(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)
    return problem.response()


async def _on_http_error(request: Request, error: Exception) -> Response:
    """Convert an error of the framework, such as an unknown path or a wrong method, to a Problem."""
    assert isinstance(error, HTTPException)
    path, method = request.url.path[:80], request.method[:20]
    messages = {404: f"There is nothing at {path}.", 405: f"{path} does not allow {method}."}
    return Problem(error.status_code, messages.get(error.status_code, str(error.detail)), error.headers).response()


async def _on_disconnect(_: Request, __: Exception) -> Response:
    return client_gone().response()


async def _on_internal_error(_: Request, __: Exception) -> Response:
    """Return 500 without details; the server logs them."""
    return Problem(500, "Internal server error. The request is not the cause.").response()
