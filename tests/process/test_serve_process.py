"""The models' process and the HTTP process: what each does when the other one ends."""

import json
import os
import signal
from pathlib import Path

import pytest

import saccade
from helpers.processes import children_of
from helpers.server import QUICK, wait_until

SLOW = {"input": "ant bee", "options": {"min_length": 400, "max_length": 401}}


def gone(pid):
    status = Path(f"/proc/{pid}/status")
    return not status.exists() or "State:\tZ" in status.read_text()


def end(server):
    server.process.send(signal.SIGTERM)
    return server.process.end()


@pytest.fixture
def server(start):
    made = start()
    (made.models,) = children_of(made.process.pid)
    return made


def test_answers_are_those_of_the_model(server, folder):
    status, body = server.ask("POST", "/v1/predict", QUICK)
    assert status == 200
    (found,) = json.loads(body)["predictions"]
    assert found["text"] == saccade.load(folder, device="cpu")(QUICK["input"], max_length=5).text


def test_models_that_die_are_started_again(server):
    assert server.ask("POST", "/v1/predict", QUICK)[0] == 200
    os.kill(server.models, signal.SIGKILL)
    wait_until(lambda: server.ask("POST", "/v1/predict", QUICK)[0] == 200)
    assert "the models' process exited with code -9; restarting it" in server.process.text
    assert end(server) == 0


def test_a_request_whose_models_die_is_refused_and_the_next_is_answered(server):
    client = server.send(SLOW)
    wait_until(lambda: server.number("saccade_requests_running") == 2)
    os.kill(server.models, signal.SIGKILL)
    assert client.recv(15).startswith(b"HTTP/1.1 503")
    client.close()
    wait_until(lambda: server.ask("POST", "/v1/predict", QUICK)[0] == 200)
    assert "Traceback" not in server.process.text
    assert end(server) == 0


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_models_are_left_behind(start, number, busy):
    server = start("--timeout", 1)
    (models,) = children_of(server.process.pid)
    client = server.send(SLOW) if busy else None
    if busy:
        wait_until(lambda: server.number("saccade_requests_running") == 2)
    server.process.send(number)
    server.process.end()
    wait_until(lambda: gone(models))
    if client is not None:
        client.close()


def test_signals_to_all_processes_are_an_orderly_end(server):
    """Signals as a service manager sends them."""
    client = server.send(QUICK)
    os.kill(server.models, signal.SIGTERM)
    os.kill(server.models, signal.SIGINT)
    assert client.recv(15).startswith(b"HTTP/1.1 200")
    client.close()
    assert server.end() == 0
    wait_until(lambda: gone(server.models))
