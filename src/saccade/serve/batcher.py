"""Batcher: requests that arrive together are worked on together, in a thread of their own.

It knows nothing of models. Inputs with the same key may share a batch; the oldest key goes first, as soon as a batch is
full or its first input has waited long enough. While a batch is at work the next ones gather.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from saccade.errors import Interruption

__all__ = ["Batcher", "Closed", "Full", "Stopped", "Work"]

Check = Callable[[], None]
"""Raises Stopped when nobody waits for the answers any more."""
Work = Callable[[Any, list[Any], Check], Sequence[Any]]
"""work(key, items, check) -> an answer for each item; called in the thread, and wise to call `check` now and then."""
Watch = Callable[[int, float], None]
"""Told of every batch: its size and its seconds."""


class Full(Exception):
    """There is no room to wait; `seconds` says when it is worth another try."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"the queue is full for about {seconds} s")
        self.seconds = seconds


class Closed(Exception):
    """The server is ending."""


class Stopped(Interruption):
    """Work was given up, since all who asked for it are gone."""


class _Call:
    """A request: the answers to its inputs so far. `gone`: nobody waits for them."""

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
    """One input that waits."""

    __slots__ = ("call", "item", "place", "since")

    def __init__(self, item: Any, call: _Call, place: int, since: float) -> None:
        self.item, self.call, self.place, self.since = item, call, place, since


class Batcher:
    """Collects inputs into batches of at most `max_batch` and works on one batch after the other.

    The first of a batch waits at most `max_wait` seconds for others; at most `queue` inputs wait at all.
    """

    def __init__(self, work: Work, *, max_batch: int, max_wait: float, queue: int, watch: Watch | None = None) -> None:
        self._work, self._watch = work, watch
        self._max_batch, self._max_wait, self._room = max_batch, max_wait, queue
        self._waiting: dict[Hashable, dict[_Ticket, None]] = {}  # by key, both in the order of arrival
        self._running: list[_Ticket] = []
        self._changed = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "saccade-model")
        self._dispatcher: asyncio.Task[None] | None = None
        self._closed = False
        self._pace = 0.0

    @property
    def depth(self) -> int:
        """The inputs that wait."""
        return sum(map(len, self._waiting.values()))

    @property
    def busy(self) -> bool:
        """Whether the thread is at work, even if the batcher was closed meanwhile."""
        return bool(self._running)

    def check_room(self, count: int) -> None:
        """Closed or Full if so many more inputs could not wait: what is made ready for them would be in vain."""
        if self._closed:
            raise Closed("the server is shutting down")
        if self.depth + count > self._room:
            raise Full(min(60, max(1, math.ceil(self.depth * self._pace))))

    async def submit(self, key: Hashable, items: Sequence[Any]) -> list[Any]:
        """The answers to some inputs; Full at once if there is no room for them.

        Who cancels this, or lets its time run out, takes back the inputs that are not yet worked on; and work is given
        up when all who wanted it have gone.
        """
        self.check_room(len(items))
        if not items:
            return []
        if self._dispatcher is None:
            self._dispatcher = asyncio.create_task(self._dispatch())
        call, now = _Call(len(items)), time.monotonic()
        tickets = [_Ticket(item, call, place, now) for place, item in enumerate(items)]
        self._waiting.setdefault(key, {}).update(dict.fromkeys(tickets))
        self._changed.set()
        try:
            return await call.future
        finally:
            call.gone = True
            self._take_back(key, tickets)

    async def close(self) -> None:
        """Give up all work; who still waits is told."""
        self._closed = True
        waiting = [ticket for group in self._waiting.values() for ticket in group]
        for ticket in (*waiting, *self._running):
            ticket.call.gone = True
            ticket.call.fail(Closed("the server is shutting down"))
        self._waiting.clear()
        if self._dispatcher is not None:
            self._dispatcher.cancel()
            with suppress(asyncio.CancelledError):
                await self._dispatcher
        self._thread.shutdown(wait=False)

    def _take_back(self, key: Hashable, tickets: Sequence[_Ticket]) -> None:
        group = self._waiting.get(key, {})
        for ticket in tickets:
            group.pop(ticket, None)
        if not group:
            self._waiting.pop(key, None)
        self._changed.set()

    async def _dispatch(self) -> None:
        while True:
            while not self._waiting:
                await self._change()
            key = self._oldest()
            await self._let_fill(key)
            group = self._waiting.get(key, {})
            batch = list(group)[: self._max_batch]
            self._take_back(key, batch)
            if batch:
                self._running = batch
                await self._answer(key, batch)
                self._running = []

    def _oldest(self) -> Hashable:
        """The key whose first input has waited longest."""
        return min(self._waiting, key=lambda key: next(iter(self._waiting[key])).since)

    async def _let_fill(self, key: Hashable) -> None:
        """Wait until a batch is full, or its first input has waited long enough, or has gone."""
        until = next(iter(self._waiting[key])).since + self._max_wait
        while (left := until - time.monotonic()) > 0 and 0 < len(self._waiting.get(key, ())) < self._max_batch:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._change()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _answer(self, key: Hashable, batch: list[_Ticket]) -> None:
        """Work on a batch. What one request breaks is not the others' fault: each is then tried by itself."""
        began = time.monotonic()

        def check() -> None:
            if all(ticket.call.gone for ticket in batch):
                raise Stopped

        items, loop = [ticket.item for ticket in batch], asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._thread, self._work, key, items, check)
            pairs = list(zip(batch, answers, strict=True))
        except Stopped:
            return
        except Exception as error:
            await self._blame(key, batch, error)
            return
        for ticket, answer in pairs:
            ticket.call.put(ticket.place, answer)
        self._note(len(batch), time.monotonic() - began)

    async def _blame(self, key: Hashable, batch: list[_Ticket], error: Exception) -> None:
        calls = list(dict.fromkeys(ticket.call for ticket in batch))
        if len(calls) == 1:
            calls[0].fail(error)
            return
        for call in calls:
            if not call.gone:
                await self._answer(key, [ticket for ticket in batch if ticket.call is call])

    def _note(self, size: int, seconds: float) -> None:
        pace = seconds / size
        self._pace = pace if self._pace == 0 else 0.9 * self._pace + 0.1 * pace
        if self._watch is not None:
            self._watch(size, seconds)
