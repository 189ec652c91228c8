"""Graphs: an update on a GPU, recorded once for each shape of batch and replayed from then on.

A step of a recurrent decoder is thousands of small kernels, and Python takes longer to start them than the device to
run them. A replay starts all of them at once. Results are the same: the kernels are, and so are their random numbers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

import torch
from lightning_fabric import Fabric
from torch import Tensor

from saccade import tree
from saccade.batch import Batch
from saccade.data.loader import Load
from saccade.kernels.recording import recording
from saccade.train.settings import TrainConfig

__all__ = ["Graphs", "graphs_fit"]

MOST = 64
"""Graphs that are kept; each takes some memory beside what all of them share. Other shapes go without."""

Step = Callable[[Load, Tensor], Tensor]
"""An update by a batch whose tensors are on the device, given 1 / its tokens; what came of it, on the device."""


@dataclass
class _Recording:
    """A graph, where it reads its batch from and where it leaves what came of it."""

    graph: torch.cuda.CUDAGraph
    load: Load
    share: Tensor
    numbers: Tensor


def graphs_fit(config: TrainConfig, fabric: Fabric) -> bool:
    """Whether a training can be recorded: one GPU, and updates that do the same every time. The log says why not."""
    if not config.graphs or fabric.device.type != "cuda":
        return False
    reasons = {
        "several devices share a batch": fabric.world_size > 1,
        "train.accumulate joins several batches to an update": config.accumulate > 1,
        "train.scheduled_sampling draws other words in every update": config.scheduled_sampling > 0,
        "fp16 looks at every update whether to take it": config.precision == "fp16",
    }
    for reason in (reason for reason, true in reasons.items() if true):
        logging.getLogger("saccade").info("updates go without CUDA graphs: %s", reason)
    return not any(reasons.values())


class Graphs:
    """The recordings of a training.

    The first batch of a shape is done without, which also gets everything ready that must not happen inside a
    recording; the second is recorded. Where a model does something that cannot be recorded, such as to look at a
    number, training goes on without, and the log says why.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._recordings: dict[Hashable, _Recording] = {}
        self._seen: set[Hashable] = set()
        self._pool, self._stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream(device)
        self.refused: str | None = None
        """Why there are none, or no more of them."""

    def run(self, load: Load, step: Step) -> Tensor:
        """The update of a batch, replayed where it can be."""
        # all of it in one stream: what autograd keeps of a parameter must not belong to another one when it is recorded
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            numbers = self._run(load, step)
        torch.cuda.current_stream(self._device).wait_stream(self._stream)
        return numbers

    def _run(self, load: Load, step: Step) -> Tensor:
        shape = load.batch.shape_key
        recording = self._recordings.get(shape)
        if recording is None:
            if self.refused is None and shape in self._seen and len(self._recordings) == MOST:
                self.refused = f"there are {MOST} shapes of batches already, and other ones go without"
                logging.getLogger("saccade").info("no more CUDA graphs: %s", self.refused)
            if self.refused is not None or shape not in self._seen:
                self._seen.add(shape)
                return step(*self._moved(load))
            recording = self._record(load, step)
            if recording is None:
                return step(*self._moved(load))
            self._recordings[shape] = recording
        self._fill(recording, load)
        recording.graph.replay()
        return recording.numbers

    def _moved(self, load: Load) -> tuple[Load, Tensor]:
        """The batch on the device."""
        batch = tree.map_tensors(lambda tensor: tensor.to(self._device, non_blocking=True), _pinned(load))
        return replace(load, batch=batch), torch.full((), 1 / load.tokens, device=self._device)

    def _fill(self, recording: _Recording, load: Load) -> None:
        for own, new in zip(tree.leaves(recording.load.batch), tree.leaves(_pinned(load)), strict=True):
            own.copy_(new, non_blocking=True)
        recording.share.fill_(1 / load.tokens)

    def _record(self, load: Load, step: Step) -> _Recording | None:
        own, share = self._moved(load)
        graph = torch.cuda.CUDAGraph()
        try:
            with recording(graph, self._pool, self._stream):
                numbers = step(own, share)
        except Exception as error:  # whatever it is, the same step without a recording will tell if it is serious
            self.refused = str(error).splitlines()[0] if str(error) else type(error).__name__
            logging.getLogger("saccade").warning("training goes on without CUDA graphs: %s", self.refused)
            return None
        return _Recording(graph, own, share, numbers)


def _pinned(load: Load) -> Batch:
    """From such memory a device copies while this process goes on."""
    return tree.map_tensors(Tensor.pin_memory, load.batch)
