"""Setup and shutdown of the server, without a process and a network."""

import asyncio
import os
import signal
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import uvicorn

from helpers.asgi import Fake, application, run
from saccade.serve import process, reload
from saccade.serve import run as running
from saccade.serve.connections import Connection, Connections
from saccade.serve.metrics import Metrics
from saccade.serve.serve_config import Settings


class Exited(BaseException):
    """Raised in place of the exit of the process."""


@pytest.fixture
def exits(monkeypatch):
    def leave(code):
        raise Exited(code)

    monkeypatch.setattr(os, "_exit", leave)


def server(**settings):
    app = application(**settings)
    state = Connections(5, head=1.0, unread=1.0, metrics=Metrics())
    told = []
    made = running._Server(uvicorn.Config(app, log_config=None, lifespan="off"), app, state, lambda: told.append(1))
    return made, app, told


def test_what_the_server_is_made_of(monkeypatch):
    found = []

    async def serve(self, sockets):
        found.append((self, sockets))

    monkeypatch.setattr(running._Server, "serve", serve)
    started = SimpleNamespace(close=lambda: found.append("closed"))
    monkeypatch.setattr(
        reload, "ModelProcess", lambda folders, *, close, **more: found.append((folders, more)) or started
    )
    monkeypatch.setattr(reload, "remote_models", lambda *given, **more: found.append((given, more)) or [Fake()])
    settings = Settings(port=0, max_connections=7, head_timeout=3.0, timeout=4.0)
    told = []
    running.serve([Path("a")], settings, device="cpu", trust_code=True, tell=lambda *what: told.append(what))
    asked, described, (made, sockets), closed = found
    assert asked == ([Path("a")], {"device": "cpu", "trust_code": True, "threads": None})
    assert described == (([Path("a")], started), {"trust_code": True})
    assert closed == "closed"
    config, state = made.config, made.server_state
    assert (config.log_config, config.log_level, config.access_log) == (None, "error", False)
    assert (config.server_header, config.lifespan, config.http) == (False, "on", Connection)
    assert (config.backlog, config.timeout_graceful_shutdown, config.ws) == (16, 1, "none")
    assert (state.most, state.head, state.unread) == (7, 3.0, 4.0)
    assert made._shutdown_time == 4.0 + 5.0
    assert made._application.batcher._lanes == 2
    assert len(sockets) == 1
    assert told == []  # not before it listens


class Listener(socket.socket):
    """A socket that records the arguments of `listen`."""

    def listen(self, *count):
        self.told = [*getattr(self, "told", ()), *count]
        super().listen(*count)


def test_it_listens_with_a_long_queue_and_tells_then():
    made, _, told = server()

    async def test():
        with Listener() as listener:
            listener.bind(("127.0.0.1", 0))
            made.config.load()
            made.lifespan = made.config.lifespan_class(made.config)
            await made.startup([listener])
            assert asyncio.get_running_loop().get_exception_handler() == made.server_state.on_loop_error
            for each in made.servers:
                each.close()
            return listener.told

    assert run(test())[-1] == 1024
    assert told == [1]


def test_connections_are_looked_at_once_a_second(monkeypatch):
    made, _, _ = server()
    looked = []
    monkeypatch.setattr(Connections, "sweep", lambda self, now: looked.append(now))

    async def test():
        for counter in range(21):
            assert await made.on_tick(counter) is False
        made.should_exit = True
        assert await made.on_tick(21) is True

    run(test())
    assert len(looked) == 3


def test_the_end_leaves_work_that_nobody_waits_for(monkeypatch, exits):
    made, app, _ = server()

    async def nothing(self, sockets=None):
        pass

    monkeypatch.setattr(uvicorn.Server, "shutdown", nothing)
    run(made.shutdown())
    app.batcher._running = ["something"]
    with pytest.raises(Exited) as left:
        run(made.shutdown())
    assert left.value.args == (0,)


def test_asked_once_it_drains_and_asked_twice_it_goes(exits):
    made, app, _ = server()

    async def test():
        made._end()
        assert app.gate.draining
        await made._ending
        assert made.should_exit
        with pytest.raises(Exited) as left:
            made._end()
        assert left.value.args == (1,)

    run(test())


def test_signals_are_heard_and_the_system_is_asked_to_end_it_in_time(monkeypatch):
    made, _, _ = server(timeout=7.0)
    alarms, ended, before = [], [], signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(signal, "setitimer", lambda which, seconds: alarms.append((which, seconds)))
    monkeypatch.setattr(made, "_end", lambda: ended.append(1))

    async def test():
        alarm = signal.getsignal(signal.SIGALRM)
        with made.capture_signals():
            for number in (signal.SIGTERM, signal.SIGINT):
                os.kill(os.getpid(), number)
                await asyncio.sleep(0)
                made._ending = "begun"
        signal.signal(signal.SIGALRM, alarm)
        await asyncio.sleep(0.01)

    run(test())
    assert alarms == [(signal.ITIMER_REAL, 12.0)]  # by the first one alone
    assert ended == [1, 1]
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(("has", "gets"), [(8, [7]), (2, [1]), (1, [1])])
def test_a_core_is_left_for_http_unless_the_user_set_a_number(monkeypatch, has, gets):
    found = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: has)
    monkeypatch.setattr(process, "limit_threads", found.append)
    monkeypatch.setattr(process, "set_by_user", lambda: True)
    process._leave_a_core()
    assert found == []
    monkeypatch.setattr(process, "set_by_user", lambda: False)
    process._leave_a_core()
    assert found == gets


def test_the_address_of_ipv6_has_brackets():
    listener = SimpleNamespace(getsockname=lambda: ("::1", 8000, 0, 0))
    assert running._address(listener) == "http://[::1]:8000/"
