"""Loading in a thread of its own, which the server does not wait for at its end; see also tests/process."""

import asyncio
import threading

from saccade.serve.reload import _in_thread


def test_models_that_are_loaded_too_late_are_dropped(monkeypatch):
    failed, ended = [], threading.Event()
    monkeypatch.setattr(threading, "excepthook", failed.append)

    async def begin():
        loading = asyncio.ensure_future(_in_thread(lambda: ended.wait(10)))
        await asyncio.sleep(0)
        return loading

    assert asyncio.run(begin()).cancelled()
    ended.set()
    (thread,) = (each for each in threading.enumerate() if each.name == "saccade-reload")
    thread.join(10)
    assert not failed
