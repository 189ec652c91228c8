"""Pictures of requests: out of base64, opened within the limits, in threads of their own.

A client sends what is in a picture, never where one lies: no path of a request is ever opened.
"""

from __future__ import annotations

import asyncio
import re
from binascii import a2b_base64
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from saccade.errors import DataError
from saccade.serve.batcher import Closed
from saccade.serve.metrics import Metrics
from saccade.serve.models import Answering
from saccade.serve.problems import Problem
from saccade.serve.settings import Settings
from saccade.serve.uploads import Hold

__all__ = ["Opener", "from_base64"]

_THREADS = 2
"""Pictures that are opened at once: each may take thirty bytes for every pixel while it is."""
_FAULTS = 8
"""How many pictures are worth refusing by name."""
_ADDRESS = re.compile(r"data:image/[\w.+-]{1,40};base64,", re.IGNORECASE | re.ASCII)
"""How an address that is a picture begins, which is what a browser makes of a file."""


class Opener:
    """Opens the pictures of requests, one of each request after the other, so that long ones do not keep others out."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self._pool = ThreadPoolExecutor(_THREADS, "saccade-pictures")
        self._closed = False

    async def open(self, model: Answering, pictures: Sequence[str | bytes], hold: Hold) -> list[Any]:
        """What the model sees of each picture; a Problem names all that cannot be opened, counted from 1."""
        found: list[Any] = []
        faults: list[str] = []
        for number, picture in enumerate(pictures, 1):
            name = "The picture" if len(pictures) == 1 else f"Picture {number}"
            try:
                seen = await self._in_thread(model, picture, name)
            except DataError as error:
                faults.append(str(error))
                if len(faults) == _FAULTS:
                    break
            else:
                hold.add(seen.nbytes)
                found.append(seen)
        self._metrics.pictures(len(found), len(faults))
        if faults:
            raise Problem(422, "\n".join(faults))
        return found

    def close(self) -> None:
        """Open nothing any more; who still waits is told."""
        self._closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(self, model: Answering, picture: str | bytes, name: str) -> Any:
        if self._closed:
            raise Closed("the server is shutting down")
        opening = asyncio.get_running_loop().run_in_executor(self._pool, self._open, model, picture, name)
        try:
            return await opening
        except asyncio.CancelledError:
            if self._closed:
                raise Closed("the server is shutting down") from None
            raise

    def _open(self, model: Answering, picture: str | bytes, name: str) -> Any:
        """What happens in a thread."""
        limits = {"max_bytes": self._settings.max_picture, "max_pixels": self._settings.max_pixels}
        data = picture if isinstance(picture, bytes) else from_base64(picture, name, limits["max_bytes"])
        return model.open(data, name=name, **limits)


def from_base64(text: str, name: str, max_bytes: int) -> bytes:
    """The bytes that a text stands for, whether or not it begins as an address; no more than may be."""
    address = _ADDRESS.match(text)
    start = address.end() if address is not None else 0
    if (len(text) - start) // 4 * 3 > max_bytes + 2:
        raise DataError(f"{name} has more than {max_bytes / 1e6:g} MB, the most that this server takes.")
    try:
        return a2b_base64(text[start:], strict_mode=True)
    except ValueError as error:
        why = str(error).rstrip(".")
        raise DataError(
            f"{name} is not base64 ({why}). Send a picture's file in base64, without spaces and line breaks."
        ) from error
