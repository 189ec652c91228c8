"""MemoryBudget: limits the bytes that all requests together hold in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from saccade.serve.problems import Problem

__all__ = ["CLOSE", "Hold", "MemoryBudget"]

CLOSE = {"Connection": "close"}
"""Closes the connection. Otherwise the unread rest of a body would be parsed as the next request."""
_SOON = {"Retry-After": "1"}


class MemoryBudget:
    """The bytes that all requests hold; at most `most`."""

    def __init__(self, most: int) -> None:
        self.most, self.held = most, 0

    @contextmanager
    def hold(self) -> Iterator[Hold]:
        """Open the account of one request and release its bytes at the end, also after an error."""
        hold = Hold(self)
        try:
            yield hold
        finally:
            self.held -= hold.size


class Hold:
    """The bytes that one request holds."""

    def __init__(self, uploads: MemoryBudget) -> None:
        self._uploads, self.size = uploads, 0

    def add(self, size: int) -> None:
        """Reserve `size` more bytes, or raise 429. Waiting could deadlock: waiting requests keep their bytes."""
        if self._uploads.held + size > self._uploads.most:
            most = f"{self._uploads.most / 1e6:g} MB"
            raise Problem(
                429, f"All requests together may hold {most}, which is used up. Try again later.", CLOSE | _SOON
            )
        self._uploads.held += size
        self.size += size
