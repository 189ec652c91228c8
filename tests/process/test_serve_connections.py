"""Clients that connect and then stall do not slow other clients, nor the shutdown."""

import resource
import signal
import sys
import time
from contextlib import ExitStack

import pytest

from helpers.server import PATIENCE, QUICK, read_all, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork and signals")

HALF = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Ty"
FILES = 128


def few_files(count):
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


def test_half_requests_do_not_keep_others_out(start):
    server = start("--head-timeout", 1, before=few_files, given=(FILES,))
    server.ask("POST", "/v1/predict", QUICK)  # the first one takes longer
    before = server.processor_seconds
    with ExitStack() as clients:
        waits = []
        for _ in range(10):
            for _ in range(20):
                clients.enter_context(server.connect(HALF))
            began = time.monotonic()
            assert server.ask("POST", "/v1/predict", QUICK)[0] == 200
            waits.append(time.monotonic() - began)
        assert max(waits) < 5
        assert server.number('saccade_connections_closed_total{reason="room"}') >= 200 - FILES
        answer = read_all(clients.enter_context(server.connect(HALF)))
        assert b" 408 " in answer
        assert b'"request_timeout"' in answer
        wait_until(lambda: server.number("saccade_connections") == 1)  # the client that sends requests
    assert server.processor_seconds - before < 5
    assert server.end() == 0  # and nothing was logged


def unread(server):
    """A client that asks for the page again and again and reads nothing, until the server cannot write any more."""
    client = server.connect(b"")
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    client.settimeout(0.5)
    try:
        while True:
            client.sendall(request * 100)
    except TimeoutError:
        return client


def short_grace(seconds):
    from saccade.serve import run

    run._GRACE = seconds


def seconds_to_end(server, number=signal.SIGTERM):
    began = time.monotonic()
    assert server.end(number) == 0
    return time.monotonic() - began


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_end_does_not_wait_longer_than_promised_for_a_client_that_does_not_read(start, number):
    server = start("--timeout", 0.5, before=short_grace, given=(1.5,))
    with unread(server):
        assert seconds_to_end(server, number) < 2.5


def stubborn(seconds):
    """Let the model work for so long, ignoring cancellation."""
    from saccade.serve.models import Served

    short_grace(1.5)
    Served.predict = lambda *_: time.sleep(seconds)


def test_the_end_does_not_wait_for_work_that_nobody_waits_for(start):
    server = start("--timeout", 0.5, before=stubborn, given=(PATIENCE,))
    assert server.ask("POST", "/v1/predict", QUICK)[0] == 504
    assert seconds_to_end(server) < 2.5


def deaf(seconds):
    """Block the event loop, too, once the server has been asked to end."""
    from saccade.serve import run

    short_grace(1.5)
    run._Server._end = lambda self: time.sleep(seconds)


def test_the_end_is_in_time_whatever_keeps_the_process_busy(start):
    server = start("--timeout", 0.5, before=deaf, given=(PATIENCE,))
    began = time.monotonic()
    server.process.send(signal.SIGTERM)
    assert server.process.end() == -signal.SIGALRM
    assert 1.9 < time.monotonic() - began < 3
