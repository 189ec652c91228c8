"""Uploads: what requests hold in memory, counted together, so that many large ones cannot take all there is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from saccade.serve.problems import Problem

__all__ = ["CLOSE", "Hold", "Uploads"]

CLOSE = {"Connection": "close"}
"""What is left of a body that is not read to its end must not be read as the next request."""
_SOON = {"Retry-After": "1"}


class Uploads:
    """The bytes that all requests hold, of which there are at most `most`."""

    def __init__(self, most: int) -> None:
        self.most, self.held = most, 0

    @contextmanager
    def hold(self) -> Iterator[Hold]:
        """What one request holds; let go at the end, however it ends."""
        hold = Hold(self)
        try:
            yield hold
        finally:
            self.held -= hold.size


class Hold:
    """The part of one request."""

    def __init__(self, uploads: Uploads) -> None:
        self._uploads, self.size = uploads, 0

    def add(self, size: int) -> None:
        """Hold some more; nobody waits for room here, since those who wait would hold what they have."""
        if self._uploads.held + size > self._uploads.most:
            most = f"{self._uploads.most / 1e6:g} MB"
            raise Problem(
                429, f"Requests already hold the {most} that they may together. Ask again later.", CLOSE | _SOON
            )
        self._uploads.held += size
        self.size += size
