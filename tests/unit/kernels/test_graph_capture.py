"""CUDA graph capture."""

import gc
import threading

import pytest
import torch

from saccade.kernels.graph_capture import recording, without_collecting


class _Loop:
    """Holds something and itself, so that only the garbage collector frees it."""

    def __init__(self, holds):
        self.holds, self.itself = holds, self


class _Tells:
    def __init__(self, told):
        self.told = told

    def __del__(self):
        self.told.append(True)


@pytest.fixture
def eager_collector():
    """Runs the garbage collector at every allocation."""
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(1)
    yield
    gc.set_threshold(*before)


def _make_some():
    return [[number] for number in range(100)]


def test_garbage_waits(eager_collector):
    told = []
    with without_collecting():
        _Loop(_Tells(told))
        _make_some()
        assert not told
    _make_some()
    assert told


def test_collecting_is_as_it_was_before():
    with pytest.raises(KeyError), without_collecting(), without_collecting():
        raise KeyError
    assert gc.isenabled()
    gc.disable()
    try:
        with without_collecting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_one_thread_at_a_time():
    """Else the first capture to end would enable garbage collection during the other."""
    inside, leave, seen = threading.Event(), threading.Event(), []

    def other():
        inside.wait(10)
        with without_collecting():
            seen.append(leave.is_set())

    thread = threading.Thread(target=other)
    thread.start()
    with without_collecting():
        inside.set()
        thread.join(0.1)
        leave.set()
    thread.join(10)
    assert seen == [True]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_graphs_that_nobody_needs_do_not_break_a_recording(eager_collector):
    stream = torch.cuda.Stream()
    old, new, x = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph(), torch.ones(3, device="cuda")
    with recording(old, None, stream):
        x + 1
    with recording(new, None, stream):
        _Loop(old)
        del old
        _make_some()
        y = x + 1
    new.replay()
    torch.cuda.synchronize()
    assert y.tolist() == [2, 2, 2]
