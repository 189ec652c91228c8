"""CUDA graphs simulated on the CPU: a capture is a list of operations, which a replay repeats in the same memory.

As on a device, operations have no lasting effect during a capture. Unlike there, a capture may read values, since CPU
code does so to check its input; branches on a value are fixed at the capture.
Operations that bypass torch's dispatcher, such as our C code, are not captured.
"""

from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten


class Graph:
    """Stands in for torch.cuda.CUDAGraph."""

    def __init__(self):
        self.operations = []
        self.replays = 0

    def replay(self):
        self.replays += 1
        with torch.no_grad():
            for function, given, options, outputs in self.operations:
                _again(function, given, options, outputs)


def _again(function, given, options, outputs):
    made = function(*given, **options)
    returns = function._schema.returns
    for kind, old, new in zip(returns, _listed(outputs), _listed(made), strict=False):
        if kind.alias_info is None:  # results that share memory with an argument need no copy
            for before, after in zip(tree_flatten(old)[0], tree_flatten(new)[0], strict=True):
                if isinstance(before, torch.Tensor):
                    before.copy_(after)


def _listed(outputs):
    return list(outputs) if isinstance(outputs, tuple) else [outputs]


class Capture(TorchDispatchMode):
    """Records operations; restores what they changed when the capture ends."""

    now: "Capture | None" = None

    def __init__(self, graph):
        super().__init__()
        self.graph, self._before = graph, []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        options = kwargs or {}
        for place, argument in enumerate(function._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                self._remember(args[place] if place < len(args) else options.get(argument.name))
        outputs = function(*args, **options)
        self.graph.operations.append((function, args, options, outputs))
        return outputs

    def _remember(self, changed):
        for part in tree_flatten(changed)[0]:
            if torch.is_tensor(part):
                self._before.append((part, part.detach().clone()))

    def put_back(self):
        with torch.no_grad():
            for part, before in reversed(self._before):
                part.detach().copy_(before)


@contextmanager
def capture(graph, pool, stream):
    """Stands in for `kernels.graph_capture.recording`."""
    mode = Capture(graph)
    Capture.now = mode
    try:
        with mode:
            yield
    finally:
        Capture.now = None
        mode.put_back()


class Stream(SimpleNamespace):
    """Operations run synchronously, so there is nothing to wait for."""

    def __init__(self, *given):
        super().__init__(wait_stream=lambda other: None, wait_event=lambda event: None, synchronize=lambda: None)


class Event(SimpleNamespace):
    """Is ready at once."""

    def __init__(self):
        super().__init__(record=lambda: None, synchronize=lambda: None)


def play_device(monkeypatch):
    """Let searches on the CPU be captured and replayed as on a GPU."""
    for name, value in {
        "CUDAGraph": Graph,
        "Stream": Stream,
        "Event": Event,
        "graph_pool_handle": lambda: None,
        "current_stream": lambda device=None: Stream(),
        "stream": lambda stream: nullcontext(),
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    zeros = torch.zeros
    monkeypatch.setattr(torch, "zeros", lambda *given, pin_memory=False, **options: zeros(*given, **options))
    for place in ("saccade.runtime.engine", "saccade.layers.cells"):
        monkeypatch.setattr(f"{place}.is_recorded", lambda tensor: Capture.now is not None)
    monkeypatch.setattr("saccade.search.graphed_search.recording", capture)
    monkeypatch.setattr("saccade.search.graphed_search.can_record", lambda tensor: True)
