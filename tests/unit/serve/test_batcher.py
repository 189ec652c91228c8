"""Requests that arrive together share a batch, and each gets its own answers."""

import asyncio
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.asgi import PATIENCE, run, until
from saccade.serve.batcher import Batcher, Closed, Full


class Worker:
    """Doubles numbers; `hold` makes it wait."""

    def __init__(self):
        self.batches = []
        self.begun, self.free = threading.Event(), threading.Event()
        self.free.set()
        self.checks = 0

    def __call__(self, key, items, check):
        self.batches.append((key, list(items)))
        self.begun.set()
        latest = time.monotonic() + PATIENCE
        while not self.free.wait(0.002) and time.monotonic() < latest:
            check()
            self.checks += 1
        if "bad" in items:
            raise ValueError("bad")
        return [2 * item for item in items]


def batcher(work, **options):
    return Batcher(work, **{"max_batch": 8, "max_wait": 0.02, "queue": 100, **options})


def test_what_arrives_together_is_worked_on_together():
    work = Worker()

    async def test():
        made = batcher(work, max_wait=0.3)
        assert await asyncio.gather(*(made.submit("k", [n]) for n in range(5))) == [[0], [2], [4], [6], [8]]
        await made.close()

    run(test())
    assert work.batches == [("k", [0, 1, 2, 3, 4])]


def test_a_full_batch_does_not_wait():
    work = Worker()

    async def test():
        made = batcher(work, max_batch=3, max_wait=60)
        await asyncio.gather(*(made.submit("k", [n]) for n in range(3)))
        await made.close()

    run(test())
    assert work.batches == [("k", [0, 1, 2])]


def test_a_single_one_waits_only_so_long():
    async def test():
        made = batcher(Worker(), max_wait=0.1)
        began = time.monotonic()
        assert await made.submit("k", [1]) == [2]
        await made.close()
        return time.monotonic() - began

    assert 0.09 < run(test()) < 5


def test_other_keys_are_other_batches_and_the_oldest_goes_first():
    work = Worker()

    async def test():
        made = batcher(work, max_wait=0)
        work.free.clear()
        calls = [asyncio.create_task(made.submit("first", [0]))]
        await until(work.begun.is_set)
        for key, item in (("b", 1), ("a", 2), ("b", 3)):
            calls.append(asyncio.create_task(made.submit(key, [item])))
            await asyncio.sleep(0.002)
        work.free.set()
        assert await asyncio.gather(*calls) == [[0], [2], [4], [6]]
        await made.close()

    run(test())
    assert work.batches == [("first", [0]), ("b", [1, 3]), ("a", [2])]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.integers(), max_size=5)), max_size=12), st.integers(1, 4))
def test_everyone_gets_their_own_answers(calls, max_batch):
    work = Worker()

    async def test():
        made = batcher(work, max_batch=max_batch, max_wait=0.001)
        found = await asyncio.gather(*(made.submit(key, items) for key, items in calls))
        await made.close()
        return found

    assert run(test()) == [[2 * item for item in items] for _, items in calls]
    assert all(0 < len(items) <= max_batch for _, items in work.batches)


def test_a_full_queue_refuses_at_once_and_has_room_again_later():
    work = Worker()

    async def test():
        made = batcher(work, max_wait=0, queue=2)
        work.free.clear()
        running = asyncio.create_task(made.submit("k", [0]))
        await until(work.begun.is_set)
        waiting = asyncio.create_task(made.submit("k", [1, 2]))
        await until(lambda: made.depth == 2)
        with pytest.raises(Full, match="full for about 1 s") as refused:
            await made.submit("k", [3])
        assert refused.value.seconds == 1
        work.free.set()
        await asyncio.gather(running, waiting)
        assert await made.submit("k", [3, 4]) == [6, 8]
        await made.close()

    run(test())


class Clock:
    """A clock that advances only during work."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.mark.parametrize(("seconds", "told"), [(0.1, 1), (10, 20), (30, 60), (31, 60), (10_000, 60)])
def test_a_full_queue_says_when_to_ask_again_but_never_after_more_than_a_minute(monkeypatch, seconds, told):
    clock, work = Clock(), Worker()
    monkeypatch.setattr("saccade.serve.batcher.time", clock)

    def slow(key, items, check):
        clock.now += seconds * len(items)
        return work(key, items, check)

    async def test():
        made = batcher(slow, max_wait=0, queue=2)
        await made.submit("k", [0, 1])
        work.begun.clear()
        work.free.clear()
        running = asyncio.create_task(made.submit("k", [0]))
        await until(work.begun.is_set)
        waiting = asyncio.create_task(made.submit("k", [1, 2]))
        await until(lambda: made.depth == 2)
        with pytest.raises(Full) as refused:
            made.check_room(1)
        assert refused.value.seconds == told
        work.free.set()
        await asyncio.gather(running, waiting)
        await made.close()

    run(test())


def test_what_is_cancelled_before_it_begins_is_never_worked_on():
    work = Worker()

    async def test():
        made = batcher(work, max_wait=0)
        work.free.clear()
        running = asyncio.create_task(made.submit("k", [0]))
        await until(work.begun.is_set)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await made.submit("k", [1])
        assert made.depth == 0
        work.free.set()
        assert await running == [0]
        assert await made.submit("k", [2]) == [4]  # the dispatcher would have run the canceled one first
        await made.close()

    run(test())
    assert work.batches == [("k", [0]), ("k", [2])]


def test_work_that_nobody_waits_for_is_given_up():
    work = Worker()

    async def test():
        made = batcher(work, max_wait=0)
        work.free.clear()
        gone = asyncio.create_task(made.submit("k", [0]))
        await until(work.begun.is_set)
        gone.cancel()
        work.begun.clear()
        after = asyncio.create_task(made.submit("k", [1]))
        await until(work.begun.is_set)  # while the first one still runs
        work.free.set()
        assert await after == [2]
        await made.close()

    run(test())
    assert work.batches == [("k", [0]), ("k", [1])]


def test_work_goes_on_while_one_of_them_waits():
    work = Worker()

    async def test():
        made = batcher(work)
        work.free.clear()
        gone, stays = (asyncio.create_task(made.submit("k", [n])) for n in range(2))
        await until(work.begun.is_set)
        gone.cancel()
        before = work.checks
        await until(lambda: work.checks > before + 1)
        work.free.set()
        assert await stays == [2]
        await made.close()

    run(test())
    assert work.batches == [("k", [0, 1])]


def test_a_fault_of_one_is_not_a_fault_of_all():
    work = Worker()

    async def test():
        made = batcher(work)
        calls = (made.submit("k", [1]), made.submit("k", [2, "bad"]), made.submit("k", [3]))
        found = await asyncio.gather(*calls, return_exceptions=True)
        await made.close()
        return found

    first, bad, last = run(test())
    assert (first, last) == ([2], [6])
    assert isinstance(bad, ValueError)
    assert work.batches == [("k", [1, 2, "bad", 3]), ("k", [1]), ("k", [2, "bad"]), ("k", [3])]


def test_work_that_gives_too_few_answers_is_a_fault_and_no_wait_without_end():
    async def test():
        made = batcher(lambda key, items, check: items if key == "right" else items[1:])
        with pytest.raises(ValueError, match="zip"):
            await made.submit("wrong", [1, 2])
        assert await made.submit("right", [1, 2]) == [1, 2]  # the dispatcher continues
        await made.close()

    run(test())


def test_it_is_busy_while_it_works_and_after_an_end_that_did_not_wait():
    work = Worker()

    async def test():
        made = batcher(work, max_wait=0)
        assert not made.busy
        assert await made.submit("k", [1]) == [2]
        await until(lambda: not made.busy)
        work.free.clear()
        work.begun.clear()
        call = asyncio.create_task(made.submit("k", [1]))
        await until(work.begun.is_set)
        assert made.busy
        await made.close()
        assert made.busy
        with pytest.raises(Closed):
            await call

    run(test())


def test_the_pace_is_a_mean_that_forgets_slowly():
    made = batcher(Worker())
    made._note("k", 2, 4.0)
    assert made._pace == 2.0
    made._note("k", 1, 12.0)
    assert made._pace == pytest.approx(0.9 * 2 + 0.1 * 12)
    two = batcher(Worker(), lanes=2)
    two._note("k", 2, 4.0)  # of which half was the time of another batch
    assert two._pace == 1.0


def test_an_end_tells_all_who_wait():
    work = Worker()

    async def test():
        made = batcher(work, max_wait=0)
        work.free.clear()
        calls = [asyncio.create_task(made.submit(key, [0])) for key in "ab"]
        await until(work.begun.is_set)
        await made.close()
        assert [type(e) for e in await asyncio.gather(*calls, return_exceptions=True)] == [Closed, Closed]
        with pytest.raises(Closed, match="shutting down"):
            await made.submit("k", [1])

    run(test())


def test_the_loop_stays_awake_while_there_is_work():
    work = Worker()

    async def test():
        made = batcher(work, max_wait=0)
        work.free.clear()
        running = asyncio.create_task(made.submit("k", [0]))
        await until(work.begun.is_set)
        began = time.monotonic()
        for _ in range(20):
            await asyncio.sleep(0)
        assert time.monotonic() - began < 0.5
        work.free.set()
        await running
        await made.close()

    run(test())


def test_batches_are_reported():
    seen = []

    async def test():
        made = batcher(Worker(), watch=lambda key, size, seconds: seen.append((key, size, seconds >= 0)))
        await asyncio.gather(*(made.submit("k", [n]) for n in range(5)))
        await made.close()

    run(test())
    assert {key for key, _, _ in seen} == {"k"}
    assert sum(size for _, size, _ in seen) == 5  # one batch or two
    assert all(timed for _, _, timed in seen)


def test_a_second_lane_takes_full_batches_while_the_first_works():
    """A full batch starts while another one runs; a smaller one grows until no batch is running."""
    work = Worker()
    work.free.clear()

    async def test():
        made = batcher(work, max_batch=2, max_wait=0.0, lanes=2)
        first = asyncio.ensure_future(made.submit("k", [1]))
        await until(lambda: len(work.batches) == 1)
        small = asyncio.ensure_future(made.submit("k", [2]))
        await asyncio.sleep(0.05)
        assert work.batches == [("k", [1])]
        full = asyncio.ensure_future(made.submit("k", [3]))
        await until(lambda: len(work.batches) == 2)
        last = asyncio.ensure_future(made.submit("k", [4]))
        await asyncio.sleep(0.05)
        assert work.batches == [("k", [1]), ("k", [2, 3])]
        work.free.set()
        found = await asyncio.gather(first, small, full, last)
        await made.close()
        return found

    assert run(test()) == [[2], [4], [6], [8]]
    assert work.batches[2:] == [("k", [4])]
