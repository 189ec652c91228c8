"""Workers give the same answers as one process."""

import atexit
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
import torch

import saccade
from saccade.errors import ConfigError, SaccadeError
from saccade.runs import workers
from saccade.runs.workers import Workers
from saccade.search.search_config import SearchConfig


def test_two_workers_answer_as_one_process_in_order(translator):
    model = saccade.load(translator)
    texts = ["ant bee", "", "cat", "dog ant bee cat", "bee bee"] * 20
    alone = [prediction.text for prediction in model.stream(texts, batch_size=8)]
    assert [prediction.text for prediction in model.stream(texts, batch_size=8, workers=2)] == alone
    assert alone[0] == "ANT BEE"
    assert alone[1] == ""


def test_nobody_does_no_work(translator):
    with pytest.raises(ConfigError, match="workers is 0, but must be at least 1"):
        Workers(translator, 0)


class Threads(ThreadPoolExecutor):
    """Threads instead of processes."""

    def __init__(self, count, context, load, given):
        assert context.get_start_method() == "spawn"
        super().__init__(count, "worker", load, given)


@pytest.fixture
def threads(monkeypatch):
    monkeypatch.setattr(workers, "ProcessPoolExecutor", Threads)
    loaded = []
    monkeypatch.setattr(workers, "_load", lambda *given: loaded.append(given))
    return loaded


def test_a_worker_loads_the_folder_and_answers_batch_by_batch(threads, monkeypatch):
    asked = []
    monkeypatch.setattr(workers, "_predict", lambda *given: asked.append(given) or [str(len(given[0]))])
    with Workers(Path("folder"), 1, trust_code=True) as one:
        assert one.count == 1
        found = list(one.predict([("a", "b"), ("c",)], "search", True, "prefix"))
    assert found == [["2"], ["1"]]
    assert asked == [(["a", "b"], "search", True, "prefix"), (["c"], "search", True, "prefix")]
    assert threads == [(Path("folder"), True)]


def test_work_that_has_not_begun_is_dropped_at_the_end(threads, monkeypatch):
    """For example, when the consumer of the answers stops early."""
    begun, free = threading.Event(), threading.Event()

    def predict(*_):
        begun.set()
        free.wait(20)

    monkeypatch.setattr(workers, "_predict", predict)
    futures = []
    with Workers(Path("folder"), 1) as one:
        submit, shut = one._pool.submit, one._pool.shutdown

        def submitted(*given):
            futures.append(submit(*given))
            if len(futures) == 3:
                assert begun.wait(20)
                raise KeyboardInterrupt
            return futures[-1]

        monkeypatch.setattr(one._pool, "submit", submitted)
        monkeypatch.setattr(one._pool, "shutdown", lambda **more: (shut(wait=False, **more), free.set()))
        with pytest.raises(KeyboardInterrupt):
            next(one.predict([["a"], ["b"], ["c"]], None, False, None))
    assert [future.cancelled() for future in futures] == [False, True, True]


def test_a_worker_that_is_killed_is_told_with_what_to_do(threads, monkeypatch):
    def broken(*_):
        raise BrokenProcessPool

    monkeypatch.setattr(workers, "_predict", broken)
    with Workers(Path("folder"), 1) as one, pytest.raises(SaccadeError, match=r"killed for its memory\. Use fewer"):
        list(one.predict([["a"]], None, False, None))


def test_in_a_worker_the_model_has_one_thread_and_answers(translator, monkeypatch):
    done = []
    monkeypatch.setattr(torch, "set_num_threads", lambda count: done.append(count))
    monkeypatch.setattr(gc, "freeze", lambda: done.append("frozen"))
    monkeypatch.setattr(atexit, "register", lambda what: done.append(what))
    monkeypatch.setattr(workers, "_tasks", [])
    workers._load(translator, False)
    assert done == [1, "frozen", gc.unfreeze]
    (found,) = workers._predict(["ant bee"], SearchConfig(), False, None)
    assert found.text == "ANT BEE"
    (begun,) = workers._predict(["ant bee"], SearchConfig(), True, "DOG")
    assert begun.text.startswith("DOG")
    assert begun.attention
