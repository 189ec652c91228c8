"""The server as a process: it listens, refuses requests, and shuts down gracefully."""

import base64
import json
import os
import re
import shutil
import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from helpers.processes import Run
from helpers.recipes import write_folder
from helpers.server import PATIENCE, QUICK, read_all, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork and signals")

SLOW = {"input": "ant bee", "options": {"beam": 16, "min_length": 1000, "max_length": 1040}}
"""A request of about a second: an untrained model must generate a thousand words."""


@pytest.fixture(scope="module")
def captions(tmp_path_factory):
    pytest.importorskip("PIL", reason="needs Pillow")
    from helpers.captioning import captioning_task

    return write_folder(captioning_task(), tmp_path_factory.mktemp("captions"))


def test_it_serves_and_ends(start, folder):
    server = start()
    assert server.ask("GET", "/healthz") == (200, b'{"status": "ok"}')
    status, page = server.ask("GET", "/")
    assert status == 200
    assert page.lower().startswith(b"<!doctype html>")
    for address in re.findall(rb'"\./(static/[^"]+)"', page):
        assert server.ask("GET", f"/{address.decode()}")[0] == 200
    status, body = server.ask("POST", "/v1/predict", QUICK)
    assert (status, json.loads(body)["model"]) == (200, folder.name)
    assert server.ask("POST", "/v1/trace", QUICK)[0] == 200
    assert server.end() == 0


def test_ctrl_c_is_an_orderly_end_too(start):
    server = start()
    assert server.ask("GET", "/healthz")[0] == 200
    assert server.end(signal.SIGINT) == 0


def test_what_was_asked_before_the_end_is_answered(start):
    server = start()
    answers = []
    asking = threading.Thread(target=lambda: answers.append(server.ask("POST", "/v1/predict", SLOW)))
    asking.start()
    wait_until(lambda: server.number("saccade_requests_running") == 2)  # the slow request and this one
    server.process.send(signal.SIGTERM)
    late = server.ask("POST", "/v1/predict", QUICK)
    assert (late[0], json.loads(late[1])["error"]["code"]) == (503, "shutting_down")
    assert server.ask("GET", "/healthz")[0] == 503
    asking.join(PATIENCE)
    assert answers[0][0] == 200
    assert len(json.loads(answers[0][1])["predictions"][0]["tokens"]) >= 1000
    assert server.ended() == 0


def test_asked_twice_it_ends_at_once(start):
    server = start("--timeout", 600)
    client = server.send(SLOW)
    wait_until(lambda: server.number("saccade_requests_running") == 2)
    server.process.send(signal.SIGTERM)
    wait_until(lambda: server.ask("GET", "/healthz")[0] == 503)
    server.process.send(signal.SIGTERM)
    assert server.process.end() == 1
    assert b"predictions" not in read_all(client)
    client.close()


def test_clients_that_go_are_not_worked_for(start, folder):
    server = start()
    for _ in range(5):
        client = server.send(SLOW)
        wait_until(lambda: server.number("saccade_requests_running") == 2)
        client.close()
    wait_until(lambda: server.number('saccade_requests_total{path="/v1/predict",status="499"}') == 5)
    assert server.ask("POST", "/v1/predict", QUICK)[0] == 200
    assert (
        server.number(f'saccade_batch_size_count{{model="{folder.name}"}}') == 1
    )  # the fast request; none of the others was finished
    assert server.end() == 0


def test_a_body_without_end_is_cut_off(start):
    server = start("--max-body", 10_000)
    client = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
    head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    client.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
    sent = 0
    try:
        while sent < 100_000_000:
            client.sendall(b"1000\r\n" + b" " * 0x1000 + b"\r\n")
            sent += 0x1000
    except OSError:
        pass  # it no longer listens
    assert sent < 100_000_000
    client.close()
    assert server.number('saccade_requests_total{path="/v1/predict",status="413"}') == 1
    assert server.end() == 0


def test_garbage_does_no_harm(start):
    server = start()
    for garbage in (
        b"\x00\xff\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/predict HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}",
        b"GET /" + b"x" * 1_000_000 + b" HTTP/1.1\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as client:
            try:
                client.sendall(garbage)
                assert b" 400 " in client.recv(65536)
            except ConnectionError:
                pass  # the connection was closed, which is allowed
    assert server.ask("POST", "/v1/predict", QUICK)[0] == 200
    assert server.end() == 0


def test_a_slow_client_is_told_when_its_time_is_up(start):
    server = start("--timeout", 1)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as client:
        head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        client.sendall(head + b"Content-Length: 100\r\n\r\n{")
        assert b" 504 " in client.recv(65536)
    assert server.end() == 0


def test_a_taken_port_is_told(start, folder, tmp_path):
    server = start()
    second = Run(tmp_path / "second", ["serve", folder, "--port", server.port])
    assert second.end() == 2
    assert f"saccade: cannot listen on port {server.port} of 127.0.0.1" in second.text
    assert "Traceback" not in second.text


def test_a_folder_that_is_no_model_is_told(tmp_path):
    run = Run(tmp_path / "printed", ["serve", tmp_path, "--port", 0])
    assert run.end() == 1
    assert "is not a model" in run.text


def test_a_model_whose_weights_are_damaged_is_told(folder, tmp_path):
    """The models' process reads the weights, and the server reports its errors."""
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    with (damaged / "model.safetensors").open("r+b") as file:
        file.seek(-8, os.SEEK_END)
        file.write(b"\xff" * 8)
    run = Run(tmp_path / "printed", ["serve", damaged, "--port", 0, "--device", "cpu"])
    assert run.end() == 1
    assert "model.safetensors is damaged or was changed" in run.text
    assert "Traceback" not in run.text


def test_pictures_are_described(start, captions):
    from helpers.images import encoded, png, quarters

    server, whole = start(model=captions), encoded(quarters())
    status, body = server.show(whole)
    assert status == 200
    value = {"images": [base64.b64encode(whole).decode()] * 2}
    status, text = server.ask("POST", "/v1/predict", value)
    assert (status, json.loads(text)["predictions"]) == (200, body["predictions"] * 2)
    for broken in (b"", b"hello", whole[:60], png(0, 0), png(50_000, 50_000)):
        status, body = server.show(broken)
        assert (status, body["error"]["code"]) == (422, "beyond_limits")
    assert server.show(whole, "/v1/trace")[0] in (200, 422)
    assert server.ask("POST", "/v1/predict", QUICK)[0] == 422
    assert server.show(whole)[0] == 200
    assert server.end() == 0


def test_many_large_pictures_do_not_take_all_memory(start, captions):
    from helpers.images import encoded, png, quarters

    server = start("--max-pixels", 9_000_000, model=captions)
    assert server.show(encoded(quarters()))[0] == 200
    before = server.most_memory
    with ThreadPoolExecutor(16) as clients:
        found = list(clients.map(lambda _: server.show(png(50_000, 50_000))[0], range(64)))
        assert found == [422] * 64
        assert server.most_memory - before < 50_000_000
        large = encoded(quarters(3000, 3000))  # 27 MB once decoded, and four times that while decoding
        found = list(clients.map(lambda _: server.show(large)[0], range(16)))
    assert found == [200] * 16
    assert server.most_memory - before < 450_000_000
    assert server.number("saccade_held_bytes") == 0
    assert server.end() == 0
