"""Limits on connections: how many are open at once, and how long a client may keep the server waiting.

A connection costs a file descriptor even if its client sends half a request and then nothing. The server therefore
stays below the process's limit of open files, and gives each request head a deadline. At the maximum, it closes the
connection whose client has kept it waiting longest.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from saccade.errors import ConfigError
from saccade.serve.metrics import Metrics
from saccade.serve.problems import Problem

__all__ = ["ACCEPTS", "Connection", "Connections", "room"]

ACCEPTS = 16
"""Connections accepted in one turn of the event loop, before any of them can be counted or closed."""
_SPARE = 64
"""File descriptors kept free for connections just accepted and for files that the process opens."""
_MOST = 4096
"""Maximum connections if the process may open any number of files."""
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_LOG_INTERVAL = 60.0
"""Minimum seconds between two log lines about connections that could not be accepted."""


def room(asked: int | None) -> int:
    """Return the maximum number of connections: `asked`, or as many as the limit on open files allows."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return asked or _MOST
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return asked or _MOST
    free = limit - len(os.listdir("/dev/fd")) - _SPARE
    if free < (asked or 1):
        raise ConfigError(
            f"this process may open {limit:,} files, which leaves {max(0, free):,} for connections; needed: "
            f"{asked or 1:,}. Raise the limit (ulimit -n)" + (" or lower --max-connections." if asked else ".")
        )
    return asked or min(free, _MOST)


class Connections(ServerState):
    """The open connections of a server: at most `most`.

    A request head may take `head` seconds. A client may leave a response unread for `unread` seconds.
    """

    def __init__(self, most: int, *, head: float, unread: float, metrics: Metrics) -> None:
        super().__init__()
        self.most, self.head, self.unread, self.metrics = most, head, unread, metrics
        self._failed, self._logged = 0, -_LOG_INTERVAL
        metrics.connections = lambda: len(self.connections)

    def __iter__(self) -> Iterator[Connection]:
        return (each for each in list(self.connections) if isinstance(each, Connection))

    def make_room(self, new: Connection | None = None) -> bool:
        """Close the connection, other than `new`, that has kept the server waiting longest; False if none has."""
        waiting = [each for each in self if each.waits and each is not new]
        if not waiting:
            return False
        min(waiting, key=lambda each: each.since).drop("room")
        return True

    def sweep(self, now: float) -> None:
        """Close every connection that is past its deadline."""
        for each in self:
            each.check(now)

    @property
    def unsent(self) -> list[Connection]:
        """The connections with unsent response bytes."""
        return [each for each in self if each.transport.get_write_buffer_size() > 0]

    def on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle errors of the event loop; if accept() runs out of descriptors, make room and log once a minute.

        asyncio also pauses accepting for a second, but its default handler logs a traceback for every failure.
        """
        error = context.get("exception")
        if (
            not isinstance(error, OSError)
            or error.errno not in _EXHAUSTED
            or "accept" not in context.get("message", "")
        ):
            loop.default_exception_handler(context)
            return
        self.make_room()
        self._failed += 1
        if loop.time() - self._logged >= _LOG_INTERVAL:
            self._logged = loop.time()
            logging.getLogger("saccade").warning(
                "cannot accept connections (%s; %d times so far): %d are open. Raise the limit on open files "
                "(ulimit -n) or lower --max-connections.",
                error.strerror,
                self._failed,
                len(self.connections),
            )


class Connection(H11Protocol):
    """An HTTP connection that records since when the server waits for its client, and enforces deadlines."""

    server_state: Connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register a new connection; at the maximum, make room or answer 429."""
        super().connection_made(transport)
        self.since = self.loop.time()
        self._unsent = 0
        if len(self.connections) > self.server_state.most and not self.server_state.make_room(new=self):
            self._refuse(Problem(429, "The server has too many connections. Try again later.", {"Retry-After": "1"}))
            self.drop("full")

    def data_received(self, data: bytes) -> None:
        """Restart the clock when a request head is complete; from then on the request timeout applies."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self.since = self.loop.time()

    def on_response_complete(self) -> None:
        """Restart the clock for the next request head."""
        self.since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Restart the clock: from now on the client has to read."""
        self.since = self.loop.time()
        super().pause_writing()

    @property
    def waits(self) -> bool:
        """Whether the server waits for the client: for a head, the rest of a body, or room to send a response."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

    def check(self, now: float) -> None:
        """Close the connection if its request head is late or no bytes of a response were read in time."""
        unsent = self.transport.get_write_buffer_size()
        if unsent < self._unsent:
            self.since = now
        self._unsent = unsent
        if unsent > 0:
            if now - self.since > self.server_state.unread:
                self.drop("unread")
        elif (self.cycle is None or self.cycle.response_complete) and now - self.since > self.server_state.head:
            begun, _ = self.conn.trailing_data
            if begun and self.conn.their_state is h11.IDLE:
                self._refuse(
                    Problem(408, f"The head of the request was not complete within {self.server_state.head:g} seconds.")
                )
            self.drop("head")

    def drop(self, reason: str) -> None:
        """Close the connection now and count it under `reason`; bytes already in the socket buffer are still sent."""
        self.connections.discard(self)  # connection_lost runs only in the next turn of the loop
        self.server_state.metrics.closed(reason)
        self.transport.abort()

    def _refuse(self, problem: Problem) -> None:
        """Send an error without waiting for a request; it is the last response on this connection."""
        answer = problem.response()
        lines = [f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}", "Connection: close"]
        lines += [f"{name.decode()}: {value.decode()}" for name, value in answer.raw_headers]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + bytes(answer.body))
