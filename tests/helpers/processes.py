"""Run `saccade` in processes forked from one that has imported everything: a fraction of a second each."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import torch

PATIENCE = 300.0
"""Seconds for anything to happen; only a test that fails waits as long."""


def wait_for(condition, process: subprocess.Popen | None = None) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process is None or process.poll() is None, f"ended too early: {process.communicate()}"
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.002)


def children_of(pid: int) -> list[int]:
    """The processes that a process has started, by number; none if it has ended."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(number) for number in path.read_text().split()] if path.exists() else []


_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(["saccade.runs.training", "saccade.cli.commands.train", "helpers.processes"])


class Run:
    """`saccade` with some arguments in a process; `before` is called in it first, with `given`."""

    def __init__(self, printed: Path, arguments: list, before=None, given: tuple = ()) -> None:
        self.printed = printed
        self._process = _server.Process(target=_main, args=(printed, [str(a) for a in arguments], before, given))
        self._process.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def end(self) -> int:
        """Wait for the process and return its exit code."""
        self._process.join(PATIENCE)
        code = self._process.exitcode
        assert code is not None, "it does not end"
        return code

    @property
    def text(self) -> str:
        return self.printed.read_text()

    def communicate(self) -> str:
        return self.text


def _main(printed: Path, arguments: list[str], before, given: tuple) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the server ignores it
    torch.set_num_threads(1)
    os.environ["COLUMNS"] = "10000"
    with printed.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
    if before is not None:
        before(*given)
    from saccade.cli import main

    main(arguments)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def quick_workers(monkeypatch) -> None:
    """Let workers start as forks of a process that has imported everything, in place of a new interpreter."""
    from saccade.runs import crew

    monkeypatch.setattr(crew, "get_context", _checked_context)


def quick_workers_here() -> None:
    """The same, in a process of a `Run`."""
    from saccade.runs import crew

    crew.get_context = _checked_context


def _checked_context(method: str):
    assert method == "spawn"
    return _server
