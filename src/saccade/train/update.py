"""Updates: from a batch to a step of the optimiser, done at once or put on a GPU's list of things to do."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor

from saccade.data.loader import Load
from saccade.train.graphs import Graphs
from saccade.train.objective import losses_of
from saccade.train.settings import TrainConfig

__all__ = ["Learnt", "Updater"]


@dataclass(frozen=True)
class Learnt:
    """What came of an update: the loss per token, the gradient's length before it was cut; which one it was."""

    loss: float
    norm: float
    group: list[Load]
    step: int
    rate: float

    @property
    def tokens(self) -> int:
        """How many there were to predict."""
        return sum(load.tokens for load in self.group)


class Updater:
    """Makes updates; tells of each by `learnt`, in time to stop what must not happen.

    On one GPU a batch of a shape that came before is replayed from a graph, and nobody waits for it: what came of it is
    told with the next update, or by `finish`. Elsewhere it is told before the weights change.
    """

    def __init__(
        self,
        fabric: Fabric,
        objective: Any,
        optimizer: Any,
        config: TrainConfig,
        learnt: Callable[[Learnt], None],
        graphs: Graphs | None = None,
    ) -> None:
        self.fabric, self.objective, self.optimizer, self.config = fabric, objective, optimizer, config
        self.learnt, self.graphs = learnt, graphs
        self._waiting: list[tuple[Callable[[float, float], Learnt], Tensor, torch.cuda.Event]] = []

    def update(self, group: list[Load], step: int, rate: float) -> None:
        """One step, the `step`-th, along the gradient of some batches."""
        made = partial(Learnt, group=group, step=step, rate=rate)
        for part in self.optimizer.param_groups:
            _set(part, rate)
        if self.graphs is None or len(group) > 1:
            self._at_once(group, made)
            return
        numbers = self.graphs.run(group[0], self._step)
        self._count_change()
        self.finish()  # while the device is at work on this one
        kept = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True).copy_(numbers, non_blocking=True)
        done = torch.cuda.Event()
        done.record()
        self._waiting.append((made, kept, done))

    def finish(self) -> None:
        """Wait for what is under way, and tell of it."""
        while self._waiting:
            made, numbers, done = self._waiting.pop(0)
            done.synchronize()
            self.learnt(made(*numbers.tolist()))

    def _at_once(self, group: list[Load], made: Callable[[float, float], Learnt]) -> None:
        fabric, tokens = self.fabric, sum(load.tokens for load in group)
        plain = torch.zeros((), device=fabric.device)
        for number, load in enumerate(group, 1):
            batch = load.batch.to(fabric.device)
            with fabric.no_backward_sync(self.objective, enabled=number < len(group)):
                losses = losses_of(self.objective, batch)
                fabric.backward(losses.total * (load.weight * fabric.world_size / tokens))
            plain += losses.plain.detach() * load.weight
        norm = self._clip()
        self.learnt(made(self._summed(plain) / tokens, float(norm)))
        self.optimizer.step()
        self._count_change()
        self.optimizer.zero_grad(set_to_none=True)

    def _count_change(self) -> None:
        """Fused optimisers and replays change weights without a trace; who keeps something made of them looks there."""
        changed = [weight for part in self.optimizer.param_groups for weight in part["params"]]
        torch.autograd.graph.increment_version(changed)

    def _step(self, load: Load, share: Tensor) -> Tensor:
        """The same for one batch, without ever looking at a number; `share`: 1 / its tokens. -> (2,): loss and norm."""
        self.optimizer.zero_grad(set_to_none=True)  # a recording that failed may have left some
        losses = losses_of(self.objective, load.batch)
        self.fabric.backward(losses.total * share)
        norm = self._clip()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return torch.stack([(losses.plain.detach() * share).float(), norm.float()])

    def _clip(self) -> Tensor:
        limit = self.config.clip if self.config.clip is not None else math.inf
        norm = self.fabric.clip_gradients(self.objective, self.optimizer, max_norm=limit, error_if_nonfinite=False)
        return norm if isinstance(norm, Tensor) else torch.zeros(())

    def _summed(self, value: Tensor) -> float:
        total: Any = self.fabric.all_reduce(value, reduce_op="sum") if self.fabric.world_size > 1 else value
        return float(total)


def _set(part: dict[str, Any], rate: float) -> None:
    """A group's learning rate; a graph reads it from where it was when the graph was made."""
    if isinstance(part["lr"], Tensor):
        part["lr"].fill_(rate)
    else:
        part["lr"] = rate
