"""Clients that keep the server waiting lose their connections; those it works for do not."""

import asyncio
import errno
import json
import logging
import os
import resource
import sys
from types import SimpleNamespace

import h11
import pytest
import uvicorn

from helpers.asgi import application, run
from saccade.errors import ConfigError
from saccade.serve.connections import Connection, Connections, room
from saccade.serve.metrics import Metrics
from saccade.serve.run import _Server

HALF = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\n"
HEAD = HALF + b"Content-Length: 5\r\n\r\n"


class Loop:
    """An event loop with a simulated clock that runs nothing."""

    def __init__(self):
        self.now = 100.0
        self.defaults = []

    def time(self):
        return self.now

    def call_later(self, *_):
        return SimpleNamespace(cancel=lambda: None)

    def create_task(self, coroutine):
        coroutine.close()
        return asyncio.Future(loop=self)

    def get_debug(self):
        return False

    def default_exception_handler(self, context):
        self.defaults.append(context)


class Transport:
    """The other side of a connection; `unsent` is what the client has not read."""

    def __init__(self):
        self.written, self.unsent, self.closed = b"", 0, False

    def get_extra_info(self, name):
        return None

    def get_write_buffer_size(self):
        return self.unsent

    def write(self, data):
        self.written += data

    def abort(self):
        self.closed = True

    def is_closing(self):
        return self.closed

    def resume_reading(self):
        pass


class Server:
    """Connections without a network."""

    def __init__(self, most=3, head=10.0, unread=30.0):
        self.loop, self.metrics = Loop(), Metrics()
        self.state = Connections(most, head=head, unread=unread, metrics=self.metrics)
        self.config = uvicorn.Config(application(), http=Connection, lifespan="off", log_config=None)

    def connect(self, data=b""):
        made = Connection(self.config, self.state, {}, self.loop)
        made.connection_made(Transport())
        if data:
            made.data_received(data)
        self.loop.now += 1
        return made

    def after(self, seconds):
        self.loop.now += seconds
        self.state.sweep(self.loop.now)

    def counted(self, name):
        return int(self.metrics.text().split(f"{name} ")[-1].split("\n")[0])

    def closed(self, reason):
        return self.counted(f'saccade_connections_closed_total{{reason="{reason}"}}')


def answered(connection):
    connection.cycle.response_complete = True
    connection.on_response_complete()


def gone(*connections):
    return [connection.transport.closed for connection in connections]


def test_where_there_are_too_many_the_one_that_keeps_the_server_waiting_longest_goes():
    server = Server()
    busy = server.connect(HEAD + b"12345")
    first, second = server.connect(HALF), server.connect()
    assert server.counted("saccade_connections") == 3
    third = server.connect()
    assert gone(busy, first, second, third) == [False, True, False, False]
    fourth = server.connect(HALF)
    assert gone(busy, second, third, fourth) == [False, True, False, False]
    assert server.counted("saccade_connections") == 3
    assert server.closed("room") == 2
    assert first.transport.written == second.transport.written == b""


def test_where_the_server_works_for_all_a_new_one_is_refused():
    server = Server()
    busy = [server.connect(HEAD + b"12345") for _ in range(3)]
    new = server.connect()
    assert gone(*busy, new) == [False, False, False, True]
    head, _, body = new.transport.written.decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\n")
    assert "retry-after: 1" in head
    assert f"content-length: {len(body)}" in head
    assert json.loads(body)["error"]["code"] == "queue_full"
    assert (server.closed("full"), server.closed("room")) == (1, 0)
    answered(busy[1])
    assert gone(server.connect(), *busy) == [False, False, True, False]


def test_an_unfinished_body_and_an_unread_answer_keep_the_server_waiting_too():
    server = Server(most=2)
    body, reading = server.connect(HEAD + b"123"), server.connect(HEAD + b"12345")
    server.connect()
    assert gone(body, reading) == [True, False]
    server = Server(most=2)
    working, reading = server.connect(HEAD + b"12345"), server.connect(HEAD + b"12345")
    reading.pause_writing()
    server.connect()
    assert gone(working, reading) == [False, True]


def test_a_connection_that_was_just_answered_is_not_the_first_to_go():
    server = Server(most=2)
    answering, half = server.connect(HEAD + b"12345"), server.connect(HALF)
    answered(answering)
    server.connect()
    assert gone(answering, half) == [False, True]
    server = Server(most=2)
    slow, half = server.connect(HALF), server.connect(HALF)
    slow.data_received(b"Content-Length: 5\r\n\r\n")  # its head is complete: it counts anew
    server.connect()
    assert gone(slow, half) == [False, True]


def test_a_head_has_its_time_however_slowly_it_comes():
    server = Server()
    half, silent, busy = server.connect(HALF), server.connect(), server.connect(HEAD + b"123")
    half.since = silent.since = busy.since = server.loop.now
    for _ in range(10):
        server.after(1)
        half.data_received(b"X-More: 1\r\n")
    assert gone(half, silent, busy) == [False, False, False]
    server.after(0.1)
    assert gone(half, silent, busy) == [True, True, False]
    assert server.closed("head") == 2
    assert half.transport.written.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b'"The head of the request was not complete within 10 seconds."' in half.transport.written
    assert silent.transport.written == b""  # browsers open connections that they may need
    server.after(1000)
    assert gone(busy) == [False]  # the request has a timeout of its own


def test_the_next_head_on_a_connection_has_its_time_too():
    server = Server()
    next_one, idle = server.connect(HEAD + b"12345"), server.connect(HEAD + b"12345")
    for client in (next_one, idle):
        client.conn.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
        client.conn.send(h11.EndOfMessage())
        answered(client)
    next_one.data_received(HALF)
    server.after(10.1)
    assert gone(next_one, idle) == [True, True]
    assert next_one.transport.written.startswith(b"HTTP/1.1 408 ")
    assert idle.transport.written == b""


def test_a_body_that_goes_on_after_the_answer_has_no_more_time_than_a_head():
    server = Server()
    endless = server.connect(HALF + b"Content-Length: 1000000\r\n\r\n")
    server.after(100)
    answered(endless)
    for _ in range(10):
        server.after(1)
        endless.data_received(b"x")
    assert gone(endless) == [False]
    server.after(0.1)
    assert gone(endless) == [True]
    assert endless.transport.written == b""


def test_an_answer_that_is_not_read_goes_when_nothing_of_it_was_read_for_long():
    server = Server()
    client = server.connect(HEAD + b"12345")
    client.transport.unsent = 1000
    client.pause_writing()
    server.after(29)
    client.transport.unsent = 999  # it reads, if slowly
    server.after(2)
    server.after(30)
    assert gone(client) == [False]
    server.after(0.1)
    assert gone(client) == [True]
    assert server.closed("unread") == 1
    assert client.transport.written == b""


def test_files_that_run_out_make_room_and_one_line_a_minute(caplog):
    server = Server(most=100)
    clients = [server.connect() for _ in range(50)]
    message = "socket.accept() out of system resource"
    with caplog.at_level(logging.WARNING, "saccade"):
        for number in range(40):
            kind = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)[number % 4]
            context = {"message": message, "exception": OSError(kind, os.strerror(kind))}
            server.state.on_loop_error(server.loop, context)
            server.loop.now += 2
    assert gone(*clients) == [True] * 40 + [False] * 10
    assert [record.getMessage() for record in caplog.records] == [
        "cannot accept connections (Too many open files; 1 times so far): 49 are open. Raise the limit on open files "
        "(ulimit -n) or lower --max-connections.",
        "cannot accept connections (Cannot allocate memory; 31 times so far): 19 are open. Raise the limit on open "
        "files (ulimit -n) or lower --max-connections.".replace("Cannot allocate memory", os.strerror(errno.ENOBUFS)),
    ]
    assert server.loop.defaults == []


@pytest.mark.parametrize(
    "context",
    [
        {"message": "socket.accept() out of system resource", "exception": OSError(errno.EPERM, "no")},
        {"message": "something else", "exception": OSError(errno.EMFILE, "no")},
        {"message": "socket.accept() out of system resource", "exception": ValueError()},
        {"message": "accept"},
    ],
)
def test_other_errors_are_logged_as_ever(context, caplog):
    server = Server()
    client = server.connect()
    server.state.on_loop_error(server.loop, context)
    assert server.loop.defaults == [context]
    assert (gone(client), caplog.records) == ([False], [])


def limited(monkeypatch, limit, files):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    monkeypatch.setattr(os, "listdir", lambda _: ["0"] * files)


def test_there_are_as_many_as_open_files_leave_room_for(monkeypatch):
    limited(monkeypatch, 1024, 20)
    assert room(None) == 1024 - 20 - 64
    assert room(7) == 7
    assert room(940) == 940
    told = "may open 1,024 files, which leaves 940 for connections; needed: 941. Raise .* or lower --max-conn"
    with pytest.raises(ConfigError, match=told):
        room(941)
    limited(monkeypatch, 85, 20)
    assert room(None) == 1
    limited(monkeypatch, 80, 20)
    with pytest.raises(ConfigError, match=r"leaves 0 for connections; needed: 1\. Raise .*\(ulimit -n\)\.$"):
        room(None)
    limited(monkeypatch, 10**6, 20)
    assert (room(None), room(100_000)) == (4096, 100_000)
    limited(monkeypatch, resource.RLIM_INFINITY, 20)
    assert (room(None), room(100_000)) == (4096, 100_000)


def test_where_no_limit_is_known_there_are_as_many_as_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    assert (room(None), room(7)) == (4096, 7)


class Ending(_Server):
    """A server that only shuts down."""

    def __init__(self, server, monkeypatch, timeout=0.2):
        monkeypatch.setattr("saccade.serve.run._GRACE", 1.1)
        self.idle = asyncio.Event()
        fake = SimpleNamespace(gate=SimpleNamespace(idle=self.idle), settings=SimpleNamespace(timeout=timeout))
        super().__init__(server.config, fake, server.state, lambda: None)


@pytest.mark.parametrize("idle", [True, False])
def test_the_end_waits_until_answers_are_read_but_not_for_ever(monkeypatch, idle):
    server = Server()
    reads, does_not, silent = (server.connect() for _ in range(3))
    reads.transport.unsent, does_not.transport.unsent = 100, 100

    async def test():
        ending = Ending(server, monkeypatch)
        if idle:
            ending.idle.set()
        draining = asyncio.create_task(ending._drain())
        await asyncio.sleep(0)
        assert not ending.should_exit
        reads.transport.unsent = 0
        await draining
        return ending.should_exit

    assert run(test())
    assert gone(reads, does_not, silent) == [False, True, False]
    assert server.closed("end") == 1


def test_the_end_comes_as_soon_as_all_is_answered_and_read(monkeypatch):
    server = Server()
    client = server.connect()
    client.transport.unsent = 100

    async def test():
        ending = Ending(server, monkeypatch, timeout=3600)
        draining = asyncio.create_task(ending._drain())
        await asyncio.sleep(0)
        ending.idle.set()
        await asyncio.sleep(0.01)
        assert not ending.should_exit
        client.transport.unsent = 0
        await draining
        return ending.should_exit

    assert run(test())
    assert gone(client) == [False]
