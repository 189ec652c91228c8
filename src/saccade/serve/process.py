"""ModelProcess: a separate process that runs the models, beside the HTTP process.

In a single process, both would share Python's GIL. Decoding a small model takes thousands of short operations, and each
would wait for the GIL while requests are read and answered. The HTTP process keeps only descriptions of the models:
tokenizers and settings without weights.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from saccade.api import Model, describe
from saccade.errors import Interruption, SaccadeError
from saccade.search.search_config import SearchConfig
from saccade.serve.models import Answer, Check, Described, Died, load_models, names_of
from saccade.tasks.inputs import Input
from saccade.threads import limit_threads, set_by_user

__all__ = ["ModelProcess", "Remote", "remote_models"]

_POLL = 0.02
"""Seconds between two checks whether a client still waits for the answer."""
_EXIT_TIMEOUT = 2.0
"""Seconds to wait for the process to exit before it is killed."""


class ModelProcess:
    """A child process with the models of some folders. It exits when this process does, even after a crash.

    If the child dies, for example out of memory, the call in progress fails and the next call restarts it. `threads`:
    CPU threads; None means one for small models, else all cores except one.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        device: str,
        trust_code: bool,
        close: Callable[[], None],
        threads: int | None = None,
    ) -> None:
        self._given = ([folder.resolve() for folder in folders], device, trust_code, threads)
        self._close_in_child = close
        self._turn, self._number = threading.Condition(), 0
        self._waiting: list[int] = []  # the numbers of the calls in progress, oldest first
        self._start()

    def ready(self) -> None:
        """Wait until the models are loaded; raise the error of a model that cannot be loaded."""
        self._result()

    def call(self, model: int, method: str, given: tuple[Any, ...], check: Check) -> Any:
        """Call a method of a model. If `check` raises an Interruption, stop the work and raise it here.

        A second thread may call while the first one waits: its call is then queued in the child's pipe.
        """
        with self._turn:
            check()
            if not self._waiting and not self._process.is_alive():
                code = self._process.exitcode
                logging.getLogger("saccade").error("the models' process exited with code %s; restarting it", code)
                self._start()
                self.ready()
            self._number += 1
            mine = self._number
            self._waiting.append(mine)
            with suppress(ConnectionError):  # the child has exited; _wait raises Died
                self._calls.send((mine, model, method, given))
        try:
            return self._wait(mine, check)
        finally:
            with self._turn:
                self._waiting.remove(mine)
                self._turn.notify_all()

    def _wait(self, mine: int, check: Check) -> Any:
        """Return the answer to a call; answers arrive in the order of the calls."""
        interruption: Interruption | None = None
        while True:
            with self._turn:
                if self._waiting[0] != mine:
                    self._turn.wait(_POLL)
                    first = False
                else:
                    first = True
            if first and self._calls.poll(_POLL):
                break
            try:
                if interruption is None:
                    check()
            except Interruption as error:
                interruption = error
                with suppress(ConnectionError):
                    self._life.send(mine)
        found = self._result()
        if interruption is not None:
            raise interruption
        return found

    def close(self) -> None:
        """Close the pipes, wait for the process to exit, then kill it."""
        for connection in (self._calls, self._life):
            connection.close()
        self._process.join(_EXIT_TIMEOUT)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _start(self) -> None:
        # Forking shares the imported modules and is fast. It is safe with a single thread and no GPU in use.
        fork = sys.platform == "linux" and threading.active_count() == 1
        context: Any = multiprocessing.get_context("fork" if fork else "spawn")
        self._calls, theirs = context.Pipe()
        watched, self._life = context.Pipe(duplex=False)
        inherited = (self._calls, self._life) if fork else ()
        close = self._close_in_child if fork else _nothing
        given = (theirs, watched, inherited, close, *self._given)
        self._process = context.Process(target=_work, args=given, name="saccade models", daemon=True)
        self._process.start()
        theirs.close()
        watched.close()

    def _result(self) -> Any:
        try:
            kind, found = self._calls.recv()
        except (EOFError, ConnectionError) as error:
            self._process.join(_EXIT_TIMEOUT)
            raise Died(f"the models' process exited with code {self._process.exitcode}") from error
        if kind == "answer":
            return found
        raise found if kind == "refused" else RuntimeError(found)


class Remote(Described):
    """A model that runs in another process."""

    def __init__(self, name: str, model: Model, process: ModelProcess, number: int, **usual: Any) -> None:
        super().__init__(name, model, **usual)
        self._process, self._number = process, number

    def predict(self, inputs: Sequence[Input], search: SearchConfig, attention: bool, check: Check) -> list[Answer]:
        """Predict the answers to some inputs in one batch."""
        found: list[Answer] = self._process.call(self._number, "predict", (inputs, search, attention), check)
        return found

    def trace(self, given: Input, wishes: dict[str, Any], check: Check) -> Answer:
        """Trace one input."""
        found: Answer = self._process.call(self._number, "trace", (given, self._usual | wishes), check)
        return found


def remote_models(folders: Sequence[Path], process: ModelProcess, *, trust_code: bool, **usual: Any) -> list[Remote]:
    """Describe the models of some folders, which `process` runs; `usual`: see Described."""
    described = [describe(folder, trust_code=trust_code) for folder in folders]
    process.ready()
    names = names_of(folders)
    pairs = enumerate(zip(names, described, strict=True))
    return [Remote(name, model, process, number, **usual) for number, (name, model) in pairs]


class _Wanted:
    """In the child: `now` is the number of the call in progress, `stopped` the numbers of canceled calls."""

    def __init__(self) -> None:
        self.now, self.stopped = 0, set[int]()

    def check(self) -> None:
        """Raise an Interruption if the call in progress was canceled."""
        if self.now in self.stopped:
            raise Interruption("the call was canceled")


def _work(
    calls: Connection,
    life: Connection,
    inherited: Sequence[Connection],
    close: Callable[[], None],
    folders: list[Path],
    device: str,
    trust_code: bool,
    threads: int | None = None,
) -> None:
    """Run the child process: answer calls until the pipe is closed."""
    close()
    for connection in inherited:  # otherwise this process would not see the pipes close when the server exits
        connection.close()
    for name in ("SIGHUP", "SIGINT", "SIGTERM"):  # the server handles them and finishes its answers first
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    wanted = _Wanted()
    threading.Thread(target=_watch, args=(life, wanted), daemon=True).start()
    if threads is not None:
        torch.set_num_threads(threads)
    _leave_a_core()
    try:
        models = load_models(folders, device=device, trust_code=trust_code)
    except Exception as error:
        calls.send(_fault(error))
        return
    gc.freeze()  # keeps the garbage collector from scanning the loaded models
    calls.send(("answer", None))
    while True:
        try:
            wanted.now, model, method, given = calls.recv()
        except EOFError:
            return
        try:
            wanted.check()
            answer = ("answer", getattr(models[model], method)(*given, wanted.check))
        except Interruption:
            answer = ("answer", None)
        except Exception as error:
            answer = _fault(error)
        wanted.stopped.discard(wanted.now)
        calls.send(answer)


def _leave_a_core() -> None:
    """Leave one core to the HTTP process, unless the user has set the number of threads."""
    if not set_by_user():
        limit_threads(max(1, torch.get_num_threads() - 1))


def _watch(life: Connection, wanted: _Wanted) -> None:
    """Record canceled calls; exit when the server has exited."""
    while True:
        try:
            wanted.stopped.add(life.recv())
        except (EOFError, OSError):
            os._exit(0)


def _fault(error: Exception) -> tuple[str, Any]:
    """Encode an error for the server: a SaccadeError as it is, any other as its type and message."""
    if isinstance(error, SaccadeError):
        return "refused", error
    return "failed", f"{type(error).__name__}: {error}"


def _nothing() -> None:
    """Do nothing: a spawned process inherits no listener to close."""
