"""The process that computes: models decode in a process of their own, beside the one that speaks HTTP.

In one process both would share Python's interpreter lock. Decoding small models is thousands of short operations, each
of which waits for the lock while requests are read and answered. Here the server keeps descriptions of the models,
which have tokenizers and settings but no weights.
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

from saccade.errors import Interruption, SaccadeError
from saccade.front import Model, describe
from saccade.search.settings import SearchConfig
from saccade.serve.models import Answer, Check, Described, Died, load_models, names_of
from saccade.tasks.inputs import Input
from saccade.threads import limit_threads, set_by_user

__all__ = ["ModelProcess", "Remote", "remote_models"]

_POLL = 0.02
"""Seconds between two looks at whether an answer is still wanted."""
_PATIENCE = 2.0
"""Seconds that the process has to end by itself."""


class ModelProcess:
    """A process with the models of some folders. It ends with this one, however this one ends.

    If it dies itself, say for want of memory, the call under way fails and the next one starts it again. `threads`: of
    the CPU; left out, one for small models, else all cores except one.
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
        self._waiting: list[int] = []  # the calls under way, the first one first
        self._start()

    def ready(self) -> None:
        """Wait until the models are loaded; raises the error of one that cannot be."""
        self._result()

    def call(self, model: int, method: str, given: tuple[Any, ...], check: Check) -> Any:
        """Call a method of a model. What `check` raises ends the work there and is raised here.

        A second thread may call while the first one waits: the process then has its next work at hand.
        """
        with self._turn:
            check()
            if not self._waiting and not self._process.is_alive():
                code = self._process.exitcode
                logging.getLogger("saccade").error("the models' process ended with %s; starting it again", code)
                self._start()
                self.ready()
            self._number += 1
            mine = self._number
            self._waiting.append(mine)
            with suppress(ConnectionError):  # it has ended, which waiting for the answer will tell
                self._calls.send((mine, model, method, given))
        try:
            return self._wait(mine, check)
        finally:
            with self._turn:
                self._waiting.remove(mine)
                self._turn.notify_all()

    def _wait(self, mine: int, check: Check) -> Any:
        """The answer to a call, after those to earlier ones."""
        gone: Interruption | None = None
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
                if gone is None:
                    check()
            except Interruption as interruption:
                gone = interruption
                with suppress(ConnectionError):
                    self._life.send(mine)
        found = self._result()
        if gone is not None:
            raise gone
        return found

    def close(self) -> None:
        """End the process."""
        for connection in (self._calls, self._life):
            connection.close()
        self._process.join(_PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _start(self) -> None:
        # A fork shares what is imported, and takes no time. It is safe while there is one thread and no GPU is in use.
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
            self._process.join(_PATIENCE)
            raise Died(f"the models' process ended with {self._process.exitcode}") from error
        if kind == "answer":
            return found
        raise found if kind == "refused" else RuntimeError(found)


class Remote(Described):
    """A model that another process computes."""

    def __init__(self, name: str, model: Model, process: ModelProcess, number: int, **usual: Any) -> None:
        super().__init__(name, model, **usual)
        self._process, self._number = process, number

    def predict(self, inputs: Sequence[Input], search: SearchConfig, attention: bool, check: Check) -> list[Answer]:
        """Answers to some inputs, decoded together."""
        found: list[Answer] = self._process.call(self._number, "predict", (inputs, search, attention), check)
        return found

    def trace(self, given: Input, wishes: dict[str, Any], check: Check) -> Answer:
        """A trace of one input."""
        found: Answer = self._process.call(self._number, "trace", (given, self._usual | wishes), check)
        return found


def remote_models(folders: Sequence[Path], process: ModelProcess, *, trust_code: bool, **usual: Any) -> list[Remote]:
    """Descriptions of the models of some folders, which the process computes; `usual`: see Described."""
    described = [describe(folder, trust_code=trust_code) for folder in folders]
    process.ready()
    names = names_of(folders)
    pairs = enumerate(zip(names, described, strict=True))
    return [Remote(name, model, process, number, **usual) for number, (name, model) in pairs]


class _Wanted:
    """In the process: whether the call under way is still wanted. `stopped`: the calls that are not."""

    def __init__(self) -> None:
        self.now, self.stopped = 0, set[int]()

    def check(self) -> None:
        """Raise where it is not."""
        if self.now in self.stopped:
            raise Interruption("the call is no longer wanted")


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
    """What the process does: answer calls until the other end is closed."""
    close()
    for connection in inherited:  # or this process would never notice that the server is gone
        connection.close()
    for number in (signal.SIGINT, signal.SIGTERM):  # meant for the server, which has answers to finish
        signal.signal(number, signal.SIG_IGN)
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
    gc.freeze()  # what is loaded stays: the garbage collector need not go through it again and again
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
    """Leave a core to the HTTP process, unless the user has set a number of threads."""
    if not set_by_user():
        limit_threads(max(1, torch.get_num_threads() - 1))


def _watch(life: Connection, wanted: _Wanted) -> None:
    """Note which calls are no longer wanted; end the process when the server is gone."""
    while True:
        try:
            wanted.stopped.add(life.recv())
        except (EOFError, OSError):
            os._exit(0)


def _fault(error: Exception) -> tuple[str, Any]:
    """Errors that tell a user what to do are raised in the server as they are; of others it gets the description."""
    if isinstance(error, SaccadeError):
        return "refused", error
    return "failed", f"{type(error).__name__}: {error}"


def _nothing() -> None:
    """There is nothing to close."""
