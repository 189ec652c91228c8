"""Servers for the tests of this folder."""

import signal

import pytest

from helpers.recipes import MODEL, untrained, write_folder
from helpers.server import Running


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An untrained model."""
    return write_folder(untrained("translation", MODEL), tmp_path_factory.mktemp("untaught"))


@pytest.fixture
def start(folder, tmp_path):
    running = []

    def begin(*options, model=folder, **more):
        running.append(Running(tmp_path / f"printed {len(running)}", model, *options, **more))
        return running[-1]

    yield begin
    for server in running:
        if server.process.poll() is None:
            server.process.send(signal.SIGKILL)
