"""Images and sounds in requests: decoded from base64 and opened within the limits, in separate threads.

A client sends the content of a file, never a path: no path in a request is ever opened.
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
from saccade.serve.memory_budget import Hold
from saccade.serve.metrics import Metrics
from saccade.serve.models import FILES, Answering
from saccade.serve.problems import Problem
from saccade.serve.serve_config import Settings
from saccade.tasks.inputs import size_of

__all__ = ["Opener", "from_base64"]

_THREADS = 2
"""Images opened at once; opening one may take 30 bytes of memory a pixel."""
_IMAGES = 1000
"""Maximum labeled images of an episode."""
_FAULTS = 8
"""Stop after this many images that cannot be opened."""
_DATA_URL = re.compile(r"data:(?:image|audio)/[\w.+-]{1,40};base64,", re.IGNORECASE | re.ASCII)
"""The start of a data: URL of an image or a sound, as browsers make it from a file."""


class Opener:
    """Opens the images and sounds of requests, one at a time for each request, so that no request blocks others."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self._pool = ThreadPoolExecutor(_THREADS, "saccade-pictures")
        self._closed = False

    async def open(self, model: Answering, pictures: Sequence[str | bytes], hold: Hold) -> list[Any]:
        """Decode files to the model's inputs; a Problem names those that cannot be opened, counted from 1."""
        kind = FILES[model.reads]
        found: list[Any] = []
        faults: list[str] = []
        for number, picture in enumerate(pictures, 1):
            name = f"The {kind}" if len(pictures) == 1 else f"{kind.capitalize()} {number}"
            try:
                opened = await self._in_thread(model, picture, name)
            except DataError as error:
                faults.append(str(error))
                if len(faults) == _FAULTS:
                    break
            else:
                hold.add(size_of(opened) or getattr(opened, "nbytes", 0))
                found.append(opened)
        self._metrics.pictures(len(found), len(faults))
        if faults:
            raise Problem(422, "\n".join(faults))
        return found

    def close(self) -> None:
        """Open no more images; waiting calls raise Closed."""
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
        """Decode one image; runs in a thread."""
        settings = self._settings
        limits: dict[str, Any] = {"max_bytes": settings.max_image_bytes, "max_pixels": settings.max_pixels}
        if model.reads == "sound":
            limits = {"max_bytes": settings.max_sound_bytes, "max_seconds": settings.max_seconds}
        if model.reads == "episode":
            return model.open(_decoded(picture, name, limits["max_bytes"]), name=name, **limits)
        data = picture if isinstance(picture, bytes) else from_base64(picture, name, limits["max_bytes"])
        return model.open(data, name=name, **limits)


def _decoded(given: Any, name: str, max_bytes: int) -> dict[str, Any]:
    """Return an episode, {"support": {label: [images]}, "query": image}, with bytes in place of base64.

    Whatever is not base64 is refused here, so that no text of a request is taken for a path.
    """
    known: Any = given.get("support") if isinstance(given, dict) else None
    query = given.get("query") if isinstance(given, dict) else None
    listed = isinstance(known, dict) and all(isinstance(images, list) and images for images in known.values())
    leaves = [image for images in known.values() for image in images] if listed else []
    if not leaves or not isinstance(query, str) or not all(isinstance(image, str) for image in leaves):
        raise DataError(
            f'{name} is no episode. Send {{"support": {{"label": [image, …], …}}, "query": image}}, images in base64.'
        )
    if len(leaves) > _IMAGES:
        raise DataError(f"{name} has {len(leaves):,} labeled images, but at most {_IMAGES:,} are taken.")
    support = {
        label: [from_base64(image, f"{name}: an image of {label[:40]!r}", max_bytes) for image in images]
        for label, images in known.items()
    }
    return {"support": support, "query": from_base64(query, f"{name}: the query", max_bytes)}


def from_base64(text: str, name: str, max_bytes: int) -> bytes:
    """Decode base64 text or a data: URL; raise a DataError if it is neither or has more than `max_bytes`."""
    prefix = _DATA_URL.match(text)
    start = prefix.end() if prefix is not None else 0
    if (len(text) - start) // 4 * 3 > max_bytes + 2:
        raise DataError(f"{name} has more than {max_bytes / 1e6:g} MB, the most that this server takes.")
    try:
        return a2b_base64(text[start:], strict_mode=True)
    except ValueError as error:
        why = str(error).rstrip(".")
        raise DataError(
            f"{name} is not base64 ({why}). Send the file in base64, without spaces and line breaks."
        ) from error
