"""CUDA graphs for training: capture an update once per batch shape, then replay it.

A recurrent decoder launches thousands of small kernels per update. The launches from Python take longer than the
kernels. A replay launches all kernels of an update with one call. The results do not change, because a replay runs the
same kernels with the same random numbers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

import torch
from lightning_fabric import Fabric
from torch import Tensor

from saccade import pytree
from saccade.batch import Batch
from saccade.data.loader import TrainBatch
from saccade.kernels.graph_capture import recording
from saccade.train.train_config import TrainConfig

__all__ = ["Graphs", "graphs_fit"]

MOST = 64
"""The largest number of graphs.

Each graph takes some memory of its own besides the shared pool. Once there are this many, batches of other shapes run
without a graph.
"""

Step = Callable[[TrainBatch, Tensor], Tensor]
"""Runs the update of a batch. The second argument is 1 / the number of tokens in the batch.

It returns the loss and the gradient norm in one tensor. All tensors are on the device.
"""


@dataclass
class _CapturedUpdate:
    """A CUDA graph and the tensors it reads (`load`, `share`) and writes (`numbers`).

    Every replay uses the same memory, so a new batch is copied into `load` and `share` first.
    """

    graph: torch.cuda.CUDAGraph
    load: TrainBatch
    share: Tensor
    numbers: Tensor


def graphs_fit(config: TrainConfig, fabric: Fabric) -> bool:
    """Return whether CUDA graphs can capture the updates of this run.

    Capture needs a single GPU and the same operations in every update. If a setting prevents this on a GPU, log it.
    """
    if not config.cuda_graphs or fabric.device.type != "cuda":
        return False
    reasons = {
        "several devices share a batch": fabric.world_size > 1,
        "train.accumulate joins several batches to an update": config.accumulate > 1,
        "train.scheduled_sampling changes its share in every update": config.scheduled_sampling > 0,
        "the fp16 loss scaler decides at every update whether to skip it": config.precision == "fp16",
    }
    for reason in (reason for reason, true in reasons.items() if true):
        logging.getLogger("saccade").info("CUDA graphs disabled for updates: %s", reason)
    return not any(reasons.values())


class Graphs:
    """The captured updates of a training run.

    The first batch of a shape runs without a graph. That run does the one-time work that a capture must not contain,
    such as compiling kernels. The second batch of the shape is captured. From then on, that shape replays its graph.

    A capture fails, for example, if the model copies a value to the CPU. Then the log gives the reason and training
    goes on; it captures no further shapes.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._captured: dict[Hashable, _CapturedUpdate] = {}
        self._seen: set[Hashable] = set()
        self._pool, self._stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream(device)
        self.refused: str | None = None
        """Why the run captures no more graphs; None while it still may."""

    def run(self, load: TrainBatch, step: Step, phase: Hashable = None) -> Tensor:
        """Run the update of a batch; replay a graph if the batch's shape has one in this phase of the objective."""
        # all updates share one stream: autograd state made on another stream would break the capture
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            numbers = self._run(load, step, phase)
        torch.cuda.current_stream(self._device).wait_stream(self._stream)
        return numbers

    def _run(self, load: TrainBatch, step: Step, phase: Hashable) -> Tensor:
        shape = load.batch.shape_key, phase
        captured = self._captured.get(shape)
        if captured is None:
            if self.refused is None and shape in self._seen and len(self._captured) == MOST:
                self.refused = f"{MOST} batch shapes are captured, the maximum; other shapes run without"
                logging.getLogger("saccade").info("no more CUDA graphs: %s", self.refused)
            if self.refused is not None or shape not in self._seen:
                self._seen.add(shape)
                return step(*self._moved(load))
            captured = self._capture(load, step)
            if captured is None:
                return step(*self._moved(load))
            self._captured[shape] = captured
        self._fill(captured, load)
        captured.graph.replay()
        return captured.numbers

    def _moved(self, load: TrainBatch) -> tuple[TrainBatch, Tensor]:
        """Return a copy of the batch on the device, and 1 / the number of its tokens as a tensor."""
        batch = pytree.map_tensors(lambda tensor: tensor.to(self._device, non_blocking=True), _pinned(load))
        return replace(load, batch=batch), torch.full((), 1 / load.tokens, device=self._device)

    def _fill(self, captured: _CapturedUpdate, load: TrainBatch) -> None:
        for own, new in zip(pytree.leaves(captured.load.batch), pytree.leaves(_pinned(load)), strict=True):
            own.copy_(new, non_blocking=True)
        captured.share.fill_(1 / load.tokens)

    def _capture(self, load: TrainBatch, step: Step) -> _CapturedUpdate | None:
        own, share = self._moved(load)
        graph = torch.cuda.CUDAGraph()
        try:
            with recording(graph, self._pool, self._stream):
                numbers = step(own, share)
        except Exception as error:  # if the update itself is wrong, the caller's eager run raises this again
            self.refused = str(error).splitlines()[0] if str(error) else type(error).__name__
            logging.getLogger("saccade").warning("CUDA graph capture failed (%s); training without", self.refused)
            return None
        return _CapturedUpdate(graph, own, share, numbers)


def _pinned(load: TrainBatch) -> Batch:
    """Copy a batch to pinned memory; the next copy, to the device, can then be asynchronous."""
    return pytree.map_tensors(Tensor.pin_memory, load.batch)
