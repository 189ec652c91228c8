"""Ema: an exponential moving average of the weights, which often generalizes better than the last weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from saccade.errors import CheckpointError

__all__ = ["Ema"]


class Ema:
    """mean ← decay · mean + (1 - decay) · weights, after every step.

    The decay starts low, min(decay, (1 + n) / (10 + n)) after n steps, so that the first weights soon lose influence.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay, self.steps = decay, 0
        self._own = _averaged_tensors(model)  # training changes these tensors in place
        self._mean = {name: tensor.detach().clone() for name, tensor in self._own.items()}

    @torch.no_grad()
    def update(self) -> None:
        """Add the weights of a step to the average."""
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        torch._foreach_lerp_(list(self._mean.values()), list(self._own.values()), 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Swap the average into the model inside the block."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for name, tensor in self._own.items():
            kept = tensor.detach().clone()
            tensor.copy_(self._mean[name])
            self._mean[name].copy_(kept)

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors to save in a checkpoint."""
        return {name: tensor.cpu() for name, tensor in self._mean.items()} | {"steps": torch.tensor(self.steps)}

    def restore(self, tensors: dict[str, Tensor], where: str) -> None:
        """Load what `tensors` returned; `where` names the checkpoint in errors."""
        wanted = {name: tensor.shape for name, tensor in self._mean.items()} | {"steps": torch.Size()}
        if {name: tensor.shape for name, tensor in tensors.items()} != wanted:
            raise CheckpointError(f"{where} belongs to another model: its running mean has other weights.")
        self.steps = int(tensors["steps"])
        for name, tensor in self._mean.items():
            tensor.copy_(tensors[name])


def _averaged_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return parameters and persistent floating-point buffers, such as the running statistics of batch norm."""
    saved = model.state_dict().keys()
    buffers = {name: part for name, part in model.named_buffers() if name in saved and part.is_floating_point()}
    return dict(model.named_parameters()) | buffers
