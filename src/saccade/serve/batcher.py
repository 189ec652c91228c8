"""Batcher: dynamic batching of requests in worker threads.

The batcher is independent of models. Inputs with equal keys may share a batch. The threads serve the key with the
oldest input first. Its batch starts when it is full, or when that input has waited long enough and no batch is running.
While a batch runs, new inputs collect in the queue. Each thread takes its next batch itself. It does not wait for the
event loop, which may be busy sending answers.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from saccade.errors import Interruption

__all__ = ["Batcher", "Closed", "Full", "Stopped", "Work"]

Check = Callable[[], None]
"""Raises Stopped when no client waits for the answers any more."""
Work = Callable[[Any, list[Any], Check], Sequence[Any]]
"""work(key, items, check) returns an answer for each item.

It runs in a worker thread and should call `check` now and then.
"""
Watch = Callable[[Any, int, float], None]
"""watch(key, size, seconds); called after every batch."""


class Full(Exception):
    """The queue is full; retry after `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"the queue is full for about {seconds} s")
        self.seconds = seconds


class Closed(Exception):
    """The server is shutting down."""


class Stopped(Interruption):
    """Work was canceled because all its clients have disconnected."""


class _Call:
    """A request and the answers to its inputs so far. `gone` is True once no client waits for the answers."""

    def __init__(self, size: int) -> None:
        self.future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self.gone = False
        self._answers: list[Any] = [None] * size
        self._left = size

    def put(self, place: int, answer: Any) -> None:
        self._answers[place] = answer
        self._left -= 1
        if self._left == 0 and not self.future.done():
            self.future.set_result(self._answers)

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class _Ticket:
    """One queued input."""

    __slots__ = ("call", "item", "place", "since")

    def __init__(self, item: Any, call: _Call, place: int, since: float) -> None:
        self.item, self.call, self.place, self.since = item, call, place, since


class Batcher:
    """Collects inputs into batches of at most `max_batch`.

    At most `queue` inputs wait in total. If no batch is running, the first input of a batch waits at most `max_wait`
    seconds for others. While a batch is running, only full batches start; smaller ones keep growing. `lanes` is the
    number of worker threads. Each thread runs one batch at a time.
    """

    def __init__(
        self,
        work: Work,
        *,
        max_batch: int,
        max_wait: float,
        queue: int,
        lanes: int = 1,
        watch: Watch | None = None,
    ) -> None:
        self._work, self._watch, self._lanes = work, watch, lanes
        self._max_batch, self._max_wait, self._room = max_batch, max_wait, queue
        self._waiting: dict[Hashable, dict[_Ticket, None]] = {}  # by key; keys and inputs in order of arrival
        self._running: dict[int, list[_Ticket]] = {}  # by thread
        self._changed = threading.Condition()
        """Guards `_waiting`, `_running` and `_closed`."""
        self._threads: list[threading.Thread] = []
        self._closed = False
        self._pace = 0.0

    @property
    def depth(self) -> int:
        """The number of queued inputs."""
        with self._changed:
            return sum(map(len, self._waiting.values()))

    @property
    def busy(self) -> bool:
        """Whether a thread is running a batch. It may still be running one after `close`."""
        return bool(self._running)

    def check_room(self, count: int) -> None:
        """Raise Closed or Full if the queue cannot take `count` more inputs. Call this before preparing the inputs."""
        if self._closed:
            raise Closed("the server is shutting down")
        depth = self.depth
        if depth + count > self._room:
            raise Full(min(60, max(1, math.ceil(depth * self._pace))))

    async def submit(self, key: Hashable, items: Sequence[Any]) -> list[Any]:
        """Queue some inputs and return their answers; raise Full at once if there is no room for them.

        If the caller cancels this call, the batcher drops those of its inputs that are still queued. A running batch
        stops once every call with an input in it is canceled.
        """
        self.check_room(len(items))
        if not items:
            return []
        call, now = _Call(len(items)), time.monotonic()
        tickets = [_Ticket(item, call, place, now) for place, item in enumerate(items)]
        with self._changed:
            self._waiting.setdefault(key, {}).update(dict.fromkeys(tickets))
            self._changed.notify_all()
        while len(self._threads) < self._lanes:
            self._threads.append(threading.Thread(target=self._serve, name="saccade-model", daemon=True))
            self._threads[-1].start()
        try:
            return await call.future
        finally:
            call.gone = True
            with self._changed:
                self._take_back(key, tickets)

    async def close(self) -> None:
        """Stop all work; waiting calls raise Closed."""
        with self._changed:
            self._closed = True
            waiting = [ticket for group in self._waiting.values() for ticket in group]
            self._waiting.clear()
            left = (*waiting, *chain.from_iterable(self._running.values()))
            self._changed.notify_all()
        for ticket in left:
            ticket.call.gone = True
            ticket.call.fail(Closed("the server is shutting down"))

    def _take_back(self, key: Hashable, tickets: Sequence[_Ticket]) -> None:
        group = self._waiting.get(key, {})
        for ticket in tickets:
            group.pop(ticket, None)
        if not group:
            self._waiting.pop(key, None)
        self._changed.notify_all()

    # In the worker threads

    def _serve(self) -> None:
        me = threading.get_ident()
        while True:
            with self._changed:
                self._running.pop(me, None)
                self._changed.notify_all()
                found = self._next()
                if found is None:
                    return
                key, batch = found
                self._running[me] = batch
            self._answer(key, batch)

    def _next(self) -> tuple[Hashable, list[_Ticket]] | None:
        """Wait until the batch with the oldest input is ready, and return it; return None after `close`."""
        while not self._closed:
            if not self._waiting:
                self._changed.wait()
                continue
            key = min(self._waiting, key=lambda key: next(iter(self._waiting[key])).since)
            batch = list(self._waiting[key])[: self._max_batch]
            left = batch[0].since + self._max_wait - time.monotonic()
            if len(batch) == self._max_batch or (left <= 0 and not self._running):
                self._take_back(key, batch)
                return key, batch
            self._changed.wait(None if self._running else left)
        return None

    def _answer(self, key: Hashable, batch: list[_Ticket]) -> None:
        """Run a batch and deliver its answers. If it fails, run each of its requests separately."""
        began = time.monotonic()

        def check() -> None:
            if all(ticket.call.gone for ticket in batch):
                raise Stopped

        try:
            answers = self._work(key, [ticket.item for ticket in batch], check)
            pairs = list(zip(batch, answers, strict=True))
        except Stopped:
            return
        except Exception as error:
            self._on_failure(key, batch, error)
            return
        self._in_loop(batch, lambda: self._deliver(key, pairs, time.monotonic() - began))

    def _on_failure(self, key: Hashable, batch: list[_Ticket], error: Exception) -> None:
        calls = list(dict.fromkeys(ticket.call for ticket in batch))
        if len(calls) == 1:
            self._in_loop(batch, lambda: calls[0].fail(error))
            return
        for call in calls:
            if not call.gone:
                self._answer(key, [ticket for ticket in batch if ticket.call is call])

    def _in_loop(self, batch: list[_Ticket], action: Callable[[], None]) -> None:
        """Call `action` in the event loop; do nothing if the loop has been closed."""
        with suppress(RuntimeError):
            batch[0].call.future.get_loop().call_soon_threadsafe(action)

    # In the event loop

    def _deliver(self, key: Hashable, pairs: list[tuple[_Ticket, Any]], seconds: float) -> None:
        for ticket, answer in pairs:
            ticket.call.put(ticket.place, answer)
        self._note(key, len(pairs), seconds)

    def _note(self, key: Hashable, size: int, seconds: float) -> None:
        pace = seconds / size / self._lanes
        self._pace = pace if self._pace == 0 else 0.9 * self._pace + 0.1 * pace
        if self._watch is not None:
            self._watch(key, size, seconds)
