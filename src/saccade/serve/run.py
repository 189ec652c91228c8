"""Run the server: socket, signals and shutdown."""

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
from saccade.serve.application import Application, Explorer
from saccade.serve.connections import ACCEPTS, Connection, Connections, room
from saccade.serve.reload import Fleet, Reload
from saccade.serve.serve_config import Settings

__all__ = ["serve"]

_GRACE = 5.0
"""Seconds of shutdown beyond the request timeout, to send responses and to exit."""
_LAST = 1.0
"""The last part of _GRACE, reserved for the exit itself."""
_LANES = 2
"""Batches handed to the models' process at once: the one in progress and the next."""
_BACKLOG = 1024
"""Connections that the kernel queues until the server accepts them."""


def serve(
    folders: Sequence[Path],
    settings: Settings,
    *,
    device: str = "auto",
    trust_code: bool = False,
    tell: Callable[[list[dict[str, Any]], str], None] = lambda models, address: None,
    again: Callable[[], Sequence[Path]] | None = None,
) -> None:
    """Serve models until SIGTERM or SIGINT; requests received by then are answered first.

    `tell` is called when the server starts to listen, with the entries of GET /v1/models and the URL. With `again`,
    SIGHUP loads the models of the folders that it returns, which then replace those served so far; `tell` is called
    again.
    """
    with (
        _bound(settings) as listener,  # fail on a bad address before the slow loading of the models
        closing(Fleet(settings, device=device, trust_code=trust_code, close_in_child=listener.close)) as fleet,
    ):
        models = fleet.load(folders)
        explorer = Explorer(page.index(), page.policy(), page.assets())
        application = Application(models, settings, explorer, lanes=_LANES)

        def announce() -> None:
            tell([model.facts() for model in application.models.values()], _address(listener))

        reload = None if again is None else Reload(application, fleet, again, announce)
        config = uvicorn.Config(
            application,
            log_config=None,
            log_level="error",  # malformed requests would fill the log with warnings
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
        server = _Server(config, application, connections, announce, reload)
        gc.freeze()  # keeps the garbage collector from scanning the loaded models
        try:
            asyncio.run(server.serve(sockets=[listener]))
        finally:
            gc.unfreeze()


class _Server(uvicorn.Server):
    """The first signal refuses new work and finishes what was begun; the second exits at once."""

    server_state: Connections

    def __init__(
        self,
        config: uvicorn.Config,
        application: Application,
        connections: Connections,
        listening: Callable[[], None],
        reload: Reload | None = None,
    ) -> None:
        super().__init__(config)
        self.server_state = connections
        self._application, self._listening, self._reload = application, listening, reload
        self._ending: asyncio.Task[None] | None = None

    @property
    def _shutdown_time(self) -> float:
        """Maximum seconds from the first signal to the exit of the process."""
        return self._application.settings.timeout + _GRACE

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self.server_state.on_loop_error)
        await super().startup(sockets)
        for listener in sockets or ():
            # uvicorn passed ACCEPTS for both the accepts per turn and the kernel's queue
            listener.listen(_BACKLOG)
        if self.started:
            self._listening()

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # once a second
            self.server_state.sweep(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if self._application.batcher.busy:
            # No client waits for this work, but the interpreter would wait for its thread before it exits.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGTERM and SIGINT; unlike uvicorn, do not raise the signal again, so that the exit code is 0."""
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT)

        def handle(*_: object) -> None:
            if self._ending is None and hasattr(signal, "setitimer"):
                # SIGALRM ends the process even if a thread keeps the interpreter busy.
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.setitimer(signal.ITIMER_REAL, self._shutdown_time)
            loop.call_soon_threadsafe(self._end)

        handlers: dict[signal.Signals, Callable[..., Any]] = dict.fromkeys(numbers, handle)
        if self._reload is not None and hasattr(signal, "SIGHUP"):
            begin = self._reload.begin
            handlers[signal.SIGHUP] = lambda *_: loop.call_soon_threadsafe(begin)
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self) -> None:
        if self._ending is not None:
            os._exit(1)  # second signal; a normal exit would wait for the model's thread
        self._application.gate.drain()
        self._ending = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        """Wait until all requests are answered and read; close connections that are still unread at the deadline."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._shutdown_time - _LAST):
                await self._application.gate.idle.wait()
                while self.server_state.unsent:
                    await asyncio.sleep(0.05)
        for connection in self.server_state.unsent:
            connection.drop("end")
        self.should_exit = True


@contextmanager
def _bound(settings: Settings) -> Iterator[socket.socket]:
    """Bind the socket without listening on it, so that no client can connect yet."""
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
