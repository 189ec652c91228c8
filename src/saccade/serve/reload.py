"""Replace the served models while the server runs: load the new ones in a process of their own, then switch."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from saccade.serve.application import Application
from saccade.serve.process import ModelProcess, Remote, remote_models
from saccade.serve.serve_config import Settings

__all__ = ["Fleet", "Reload"]

Found = TypeVar("Found")
_log = logging.getLogger("saccade")
_POLL = 0.1
"""Seconds between two checks whether the replaced models have answered all their requests."""


class Fleet:
    """The processes of models: the newest one, and older ones until their requests are answered."""

    def __init__(
        self, settings: Settings, *, device: str, trust_code: bool, close_in_child: Callable[[], None]
    ) -> None:
        self._settings, self._device, self._trust_code = settings, device, trust_code
        self._close_in_child = close_in_child
        self._running: list[ModelProcess] = []

    def load(self, folders: Sequence[Path]) -> list[Remote]:
        """Start a process with the models of some folders, and describe them; raise the error of a faulty folder."""
        settings = self._settings
        process = ModelProcess(
            folders,
            device=self._device,
            trust_code=self._trust_code,
            close=self._close_in_child,
            threads=settings.threads,
        )
        self._running.append(process)
        usual = {} if settings.precision is None else {"precision": settings.precision}
        try:
            return remote_models(folders, process, trust_code=self._trust_code, **usual)
        except BaseException:
            self._running.remove(process)
            process.close()
            raise

    def close_older(self) -> None:
        """Close all processes but the newest."""
        while len(self._running) > 1:
            self._running.pop(0).close()

    def close(self) -> None:
        """Close all processes."""
        while self._running:
            self._running.pop().close()


class Reload:
    """Replaces the models of an application. If the new ones cannot be loaded, the old ones stay."""

    def __init__(
        self, application: Application, fleet: Fleet, folders: Callable[[], Sequence[Path]], done: Callable[[], None]
    ) -> None:
        self._application, self._fleet, self._folders, self._done = application, fleet, folders, done
        self._task: asyncio.Task[None] | None = None
        self._again = False

    def begin(self) -> None:
        """Begin to replace the models; if that is in progress, do it once more afterwards. Call it in the loop."""
        self._again = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while self._again:
            self._again = False
            try:
                models = await _in_thread(lambda: self._fleet.load(self._folders()))
            except Exception as error:
                names = ", ".join(self._application.models)
                _log.error("the models were not replaced: %s The server still serves %s.", error, names)
                continue
            self._application.replace(models)
            self._done()
            await self._requests_ended()
            await _in_thread(self._fleet.close_older)  # which waits until they have exited

    async def _requests_ended(self) -> None:
        """Wait until no request can need the replaced models: none is running, or its time is up."""
        deadline = asyncio.get_running_loop().time() + self._application.settings.timeout
        while self._application.gate.running and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_POLL)


async def _in_thread(work: Callable[[], Found]) -> Found:
    """Run `work` in a thread that does not delay the exit of the process, unlike those of asyncio's executor."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Found] = loop.create_future()

    def finish(set_result: Callable[..., None], found: object) -> None:
        if not future.cancelled():
            set_result(found)

    def run() -> None:
        try:
            outcome: tuple[Callable[..., None], object] = future.set_result, work()
        except BaseException as error:
            outcome = future.set_exception, error
        with suppress(RuntimeError):  # the loop is closed, since the server has ended
            loop.call_soon_threadsafe(finish, *outcome)

    threading.Thread(target=run, name="saccade-reload", daemon=True).start()
    return await future
