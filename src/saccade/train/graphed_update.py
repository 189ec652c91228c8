"""CUDA graphs for training: capture an update once per batch shape, then replay it.

A recurrent decoder launches thousands of small kernels per update, and the launches from Python take longer than the
kernels. A replay launches all of them at once. Results are identical: same kernels, same random numbers.
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
"""Maximum number of graphs; each takes some memory beside the shared pool. Other shapes run without a graph."""

Step = Callable[[TrainBatch, Tensor], Tensor]
"""Runs an update: takes a batch on the device and 1 / its tokens, returns loss and gradient norm on the device."""


@dataclass
class _CapturedUpdate:
    """A CUDA graph with its static inputs (`load`, `share`) and its static output (`numbers`)."""

    graph: torch.cuda.CUDAGraph
    load: TrainBatch
    share: Tensor
    numbers: Tensor


def graphs_fit(config: TrainConfig, fabric: Fabric) -> bool:
    """Return whether updates can be captured: one GPU, and the same operations every time. Log the reason if not."""
    if not config.graphs or fabric.device.type != "cuda":
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

    The first batch of a shape runs eagerly; this warms up everything that must not happen during capture. The second
    batch is captured. If capture fails, for example because the model reads a value on the CPU, training continues
    without CUDA graphs and the log gives the reason.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._captured: dict[Hashable, _CapturedUpdate] = {}
        self._seen: set[Hashable] = set()
        self._pool, self._stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream(device)
        self.refused: str | None = None
        """Why no graphs, or no further graphs, are captured; None while they are."""

    def run(self, load: TrainBatch, step: Step) -> Tensor:
        """Run the update of a batch, by replay if its shape is captured."""
        # one stream for all: autograd state made on another stream would break the capture
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            numbers = self._run(load, step)
        torch.cuda.current_stream(self._device).wait_stream(self._stream)
        return numbers

    def _run(self, load: TrainBatch, step: Step) -> Tensor:
        shape = load.batch.shape_key
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
        """Copy a batch to the device; also return 1 / its tokens there."""
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
        except Exception as error:  # a real error is raised again by the eager step that follows
            self.refused = str(error).splitlines()[0] if str(error) else type(error).__name__
            logging.getLogger("saccade").warning("CUDA graph capture failed (%s); training without", self.refused)
            return None
        return _CapturedUpdate(graph, own, share, numbers)


def _pinned(load: TrainBatch) -> Batch:
    """Copy a batch to pinned memory, from which copies to the device are asynchronous."""
    return pytree.map_tensors(Tensor.pin_memory, load.batch)
