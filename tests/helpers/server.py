"""A real server in a process of its own, for the tests that connect to it."""

import http.client
import json
import os
import re
import signal
import socket
import time
from pathlib import Path

from helpers.processes import Run

PATIENCE = 60
QUICK = {"input": "ant bee", "options": {"max_length": 5}}


class Running:
    """A server, and its port."""

    def __init__(self, printed, folder, *options, before=None, given=()):
        printed.touch()  # read before the process writes it
        self.process = Run(printed, ["serve", folder, "--port", 0, "--device", "cpu", *options], before, given)
        wait_until(lambda: "Ctrl-C" in self.process.text or self.process.poll() is not None)
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", self.process.text)
        assert found, self.process.text
        self.port = int(found[1])

    def ask(self, method, path, value=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        body = None if value is None else json.dumps(value)
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        found = answer.status, answer.read()
        connection.close()
        return found

    def send(self, value):
        """Send a request over a new socket, without reading the response."""
        body = json.dumps(value).encode()
        client = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        head = "POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return client

    def show(self, picture, path="/v1/predict"):
        """Send an image as the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("POST", path, picture, {"Content-Type": "image/png"})
        answer = connection.getresponse()
        found = answer.status, json.loads(answer.read())
        connection.close()
        return found

    @property
    def most_memory(self):
        """Its peak memory in bytes."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", text)[1]) * 1000

    @property
    def processor_seconds(self):
        """Its CPU seconds, user and system."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def connect(self, data=b""):
        """A socket of its own, with some data sent."""
        client = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        client.sendall(data)
        return client

    def number(self, name):
        """One of the counters."""
        text = self.ask("GET", "/metrics")[1].decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    def end(self, number=signal.SIGTERM):
        """Ask it to end; the exit code."""
        self.process.send(number)
        return self.ended()

    def ended(self):
        """Stop a server that must have logged nothing, and return its exit code."""
        code = self.process.end()
        assert self.process.text.count("\n") == 1, self.process.text
        return code


def wait_until(truth):
    deadline = time.monotonic() + PATIENCE
    while not truth():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.02)


def read_all(client):
    found = b""
    while part := client.recv(65536):
        found += part
    return found
