"""Running the server: its socket, its signals, its end."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn

from saccade.errors import ConfigError
from saccade.look import page
from saccade.serve.app import Application, Explorer
from saccade.serve.connections import ACCEPTS, Connection, Connections, room
from saccade.serve.process import ModelProcess, remote_models
from saccade.serve.settings import Settings

__all__ = ["serve"]

_GRACE = 5.0
"""Seconds after the time for a request: for answers that are on their way, and for the end itself."""
_LAST = 1.0
"""The part of it that is for the end itself."""
_LANES = 2
"""Batches that are handed to the models' process: one that it works on, and the next."""
_QUEUE = 1024
"""Connections that the system keeps until the server accepts them."""


def serve(
    folders: Sequence[Path],
    settings: Settings,
    *,
    device: str = "auto",
    trust_code: bool = False,
    tell: Callable[[list[dict[str, Any]], str], None] = lambda models, address: None,
) -> None:
    """Serve models until SIGTERM or SIGINT; what was asked by then is answered first.

    `tell` is called with what is served, and where, when the server begins to listen.
    """
    with (
        _bound(settings) as listener,  # before the models, which take longer
        closing(
            ModelProcess(folders, device=device, trust_code=trust_code, close=listener.close, threads=settings.threads)
        ) as process,
    ):
        usual = {} if settings.precision is None else {"precision": settings.precision}
        models = remote_models(folders, process, trust_code=trust_code, **usual)
        explorer = Explorer(page.index(), page.policy(), page.assets())
        application = Application(models, settings, explorer, lanes=_LANES)
        config = uvicorn.Config(
            application,
            log_config=None,
            log_level="error",  # who sends garbage could fill a log with warnings
            access_log=False,
            server_header=False,
            lifespan="on",
            http=Connection,
            ws="none",
            backlog=ACCEPTS,
            timeout_graceful_shutdown=1,
        )
        connections = Connections(
            room(settings.max_connections),
            head=settings.head_timeout,
            unread=settings.timeout,
            metrics=application.metrics,
        )
        server = _Server(
            config, application, connections, lambda: tell([model.facts() for model in models], _address(listener))
        )
        gc.freeze()  # what is loaded stays: the garbage collector need not go through it again and again
        try:
            asyncio.run(server.serve(sockets=[listener]))
        finally:
            gc.unfreeze()


class _Server(uvicorn.Server):
    """Asked to end it first refuses new work and finishes what it has; asked twice it ends at once."""

    server_state: Connections

    def __init__(
        self,
        config: uvicorn.Config,
        application: Application,
        connections: Connections,
        listening: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self.server_state = connections
        self._application, self._listening = application, listening
        self._ending: asyncio.Task[None] | None = None

    @property
    def _patience(self) -> float:
        """Seconds from the first signal to the end of the process, at most."""
        return self._application.settings.timeout + _GRACE

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self.server_state.on_loop_error)
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_QUEUE)  # uvicorn has asked for as many as are accepted at a time
        if self.started:
            self._listening()

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # once a second
            self.server_state.sweep(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if self._application.batcher.busy:
            # Nobody waits for that work, but the interpreter would wait for the thread before it ends.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Unlike uvicorn's own, an ordered end is no death by signal: the exit code is 0."""
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT)

        def handle(*_: object) -> None:
            if self._ending is None and hasattr(signal, "setitimer"):
                # The system then ends the process even if a thread keeps the interpreter busy.
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.setitimer(signal.ITIMER_REAL, self._patience)
            loop.call_soon_threadsafe(self._end)

        before = [signal.signal(number, handle) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    def _end(self) -> None:
        if self._ending is not None:
            os._exit(1)  # asked twice: the interpreter itself would wait for the model's thread
        self._application.gate.drain()
        self._ending = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        """Wait for the answers, and for clients to read them, but not for those that do not."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience - _LAST):
                await self._application.gate.idle.wait()
                while self.server_state.unsent:
                    await asyncio.sleep(0.05)
        for connection in self.server_state.unsent:
            connection.drop("end")
        self.should_exit = True


@contextmanager
def _bound(settings: Settings) -> Iterator[socket.socket]:
    """The socket; nobody can connect before the server listens on it."""
    host, port = settings.host, settings.port
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigError(f"{host} is not an address of this machine: {error.strerror}. Check --host.") from error
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on port {port} of {host}: {error.strerror}. Choose another with --port or --host."
            ) from error
        yield listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
