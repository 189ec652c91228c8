"""Updates: run optimizer steps, eagerly or through CUDA graphs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor

from saccade.data.loader import TrainBatch
from saccade.train.graphed_update import Graphs
from saccade.train.objective import losses_of
from saccade.train.train_config import TrainConfig

__all__ = ["UpdateResult", "Updater"]


@dataclass(frozen=True)
class UpdateResult:
    """The result of an update: loss per token and gradient norm before clipping; its batches, step and rate."""

    loss: float
    norm: float
    group: list[TrainBatch]
    step: int
    rate: float

    @property
    def tokens(self) -> int:
        """The number of tokens to predict."""
        return sum(load.tokens for load in self.group)


class Updater:
    """Runs updates and passes each result to the callback `learnt`, which may raise to stop training.

    Without `graphs`, `learnt` is called before the weights change. With `graphs`, the update runs asynchronously:
    its result is reported during the next update, or by `finish`.
    """

    def __init__(
        self,
        fabric: Fabric,
        objective: Any,
        optimizer: Any,
        config: TrainConfig,
        learnt: Callable[[UpdateResult], None],
        graphs: Graphs | None = None,
    ) -> None:
        self.fabric, self.objective, self.optimizer, self.config = fabric, objective, optimizer, config
        self.learnt, self.graphs = learnt, graphs
        self._waiting: list[tuple[Callable[[float, float], UpdateResult], Tensor, torch.cuda.Event]] = []

    def update(self, group: list[TrainBatch], step: int, rate: float) -> None:
        """Run optimizer step number `step` on the summed gradients of some batches."""
        made = partial(UpdateResult, group=group, step=step, rate=rate)
        for part in self.optimizer.param_groups:
            _set(part, rate * part.get("scale", 1.0))
        if self.graphs is None or len(group) > 1:
            self._at_once(group, made)
            return
        numbers = self.graphs.run(group[0], self._step, self.objective.phase)
        self._bump_versions()
        self.finish()  # report the previous update while the device runs this one
        kept = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True).copy_(numbers, non_blocking=True)
        done = torch.cuda.Event()
        done.record()
        self._waiting.append((made, kept, done))

    def finish(self) -> None:
        """Wait for pending updates and report their results."""
        while self._waiting:
            made, numbers, done = self._waiting.pop(0)
            done.synchronize()
            self.learnt(made(*numbers.tolist()))

    def _at_once(self, group: list[TrainBatch], made: Callable[[float, float], UpdateResult]) -> None:
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
        self._bump_versions()
        self.optimizer.zero_grad(set_to_none=True)

    def _bump_versions(self) -> None:
        """Bump the tensor versions of all weights, so that weight caches refresh.

        Fused optimizers and CUDA graph replays do not bump them.
        """
        changed = [weight for part in self.optimizer.param_groups for weight in part["params"]]
        torch.autograd.graph.increment_version(changed)

    def _step(self, load: TrainBatch, share: Tensor) -> Tensor:
        """Run an update without a GPU sync, so that it can be captured.

        `share` is 1 / the batch's tokens. Returns (2,): loss per token and gradient norm.
        """
        self.optimizer.zero_grad(set_to_none=True)  # a failed capture may have left gradients
        losses = losses_of(self.objective, load.batch)
        self.fabric.backward(losses.total * share)
        norm = self._clip()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return torch.stack([(losses.plain.detach() * share).float(), norm.float()])

    def _clip(self) -> Tensor:
        limit = self.config.max_grad_norm if self.config.max_grad_norm is not None else math.inf
        norm = self.fabric.clip_gradients(self.objective, self.optimizer, max_norm=limit, error_if_nonfinite=False)
        return norm if isinstance(norm, Tensor) else torch.zeros(())

    def _summed(self, value: Tensor) -> float:
        total: Any = self.fabric.all_reduce(value, reduce_op="sum") if self.fabric.world_size > 1 else value
        return float(total)


def _set(part: dict[str, Any], rate: float) -> None:
    """Set a group's learning rate; in place if it is a tensor, since a CUDA graph reads it at a fixed address."""
    if isinstance(part["lr"], Tensor):
        part["lr"].fill_(rate)
    else:
        part["lr"] = rate
