"""Interrupts: turn Ctrl-C and SIGTERM into a callback, so that the training loop can finish its step."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["on_interrupt"]


@contextmanager
def on_interrupt(react: Callable[[], None]) -> Iterator[None]:
    """Call `react` on each Ctrl-C and SIGTERM instead of ending the process; it may raise.

    Only the main thread can handle signals, so in another thread nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handled = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda number, frame: react()) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
