"""Crew: processes that answer jobs. One that is killed is started again and costs only the job that it had.

This module does not import torch, so what the processes load is up to `build`.
"""

from __future__ import annotations

import gc
import logging
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, NoReturn, Protocol

from saccade.errors import SaccadeError

__all__ = ["TRIES", "Crew", "Job", "LocalCrew", "Work", "answered", "built", "in_order", "lost"]

TRIES = 3
"""Times that a job is given to a worker. If a worker ends each time, the job is the cause."""
_AHEAD = 8
"""Jobs for each worker that may be begun after the oldest unanswered one, which bounds the answers in memory."""
Job = tuple[Any, ...]
Work = Callable[..., Any]


class Crew(Protocol):
    """Workers of some engine. Use it in a `with` statement."""

    room: int
    """Maximum jobs that are given and not yet answered."""

    def __enter__(self) -> Crew: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def give(self, number: int, job: Job) -> None:
        """Give a job to a worker that has room for it."""

    def collect(self) -> list[tuple[int, Any]]:
        """Wait until something happens; return jobs' numbers and answers. Raise what a job raised."""


def in_order(crew: Crew, jobs: Iterable[Job]) -> Iterator[Any]:
    """Yield the answers to jobs in their order; a job is taken when a worker has room for it."""
    upcoming, done, turn, given = enumerate(jobs), dict[int, Any](), 0, 0
    while True:
        while given < crew.room and given + len(done) < _AHEAD * crew.room and (found := next(upcoming, None)):
            crew.give(*found)
            given += 1
        if not given:
            return
        for number, answer in crew.collect():
            done[number] = answer
            given -= 1
        while turn in done:
            yield done.pop(turn)
            turn += 1


class LocalCrew:
    """Processes on this machine. In each, `build(*given)` makes the function that answers jobs.

    Use it in a `with` statement: at its end the processes are stopped, whatever they are doing.
    """

    def __init__(self, count: int, build: Callable[..., Work], *given: Any) -> None:
        self.room = count
        self._hands = [_Hand(build, given) for _ in range(count)]

    def give(self, number: int, job: Job) -> None:
        next(hand for hand in self._hands if hand.job is None).give(number, job)

    def collect(self) -> list[tuple[int, Any]]:
        busy = {hand.line: hand for hand in self._hands if hand.job is not None}
        return [answer for line in wait(list(busy)) for answer in busy[line].collect()]  # type: ignore[index]

    def __enter__(self) -> LocalCrew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hand in self._hands:
            hand.stop()


class _Hand:
    """One process, and its next incarnation after a death."""

    def __init__(self, build: Callable[..., Work], given: Job) -> None:
        self._built_by = (build, given)
        self.number, self.tries = 0, 0
        self.job: Job | None = None
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")  # not fork: locks held by threads of this process would deadlock the copy
        self.line, theirs = context.Pipe()
        self._process = context.Process(target=_answer, args=(theirs, *self._built_by), daemon=True)
        self._process.start()
        theirs.close()  # so that the end of the process ends the line

    def give(self, number: int, job: Job) -> None:
        self.number, self.job, self.tries = number, job, 0
        self._send()

    def _send(self) -> None:
        self.tries += 1
        with suppress(OSError):  # the process has ended, as `collect` will see
            self.line.send(self.job)

    def collect(self) -> list[tuple[int, Any]]:
        """Return the answer, if there is one; give the job to a new process if this one has ended."""
        try:
            well, answer = self.line.recv()
        except (EOFError, OSError):
            self.stop()
            if self.tries == TRIES:
                raise lost() from None
            logging.getLogger("saccade").warning("a worker ended unexpectedly; another one does its batch again")
            self._start()
            self._send()
            return []
        self.job = None
        if not well:
            raise answer
        return [(self.number, answer)]

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self.line.close()


def lost() -> SaccadeError:
    """Return the error for a job whose workers ended each time."""
    return SaccadeError(
        f"a worker ended {TRIES} times before it was done with the same batch; it may have been killed for its memory. "
        "Use fewer --workers, or a smaller --batch-size."
    )


def built(build: Callable[..., Work], given: Job) -> Work:
    """Return the function that answers jobs in a worker; if it cannot be made, one that raises why."""
    try:
        return build(*given)
    except Exception as error:
        return _failing(error)


def answered(work: Work, job: Job) -> tuple[bool, Any]:
    """Return True and the answer to a job, or False and the error that it raised, in a form that can be unpickled."""
    try:
        return True, work(*job)
    except (SaccadeError, MemoryError) as error:
        return False, error
    except Exception as error:
        return False, RuntimeError("".join(traceback.format_exception(error)))


def _failing(error: Exception) -> Work:
    def fail(*_: Any) -> NoReturn:
        raise error

    return fail


def _answer(line: Connection, build: Callable[..., Work], given: Job) -> None:
    """Answer jobs in a process of a crew until the other end of the line is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the first one stops the others
    work = built(build, given)
    gc.freeze()  # what is loaded stays alive; do not scan it in every garbage collection
    with suppress(EOFError, OSError):
        while True:
            line.send(answered(work, line.recv()))
