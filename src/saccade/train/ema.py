"""Ema: a running mean of a model's weights, which generalises better than the last of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from saccade.errors import CheckpointError

__all__ = ["Ema"]


class Ema:
    """mean ← decay · mean + (1 - decay) · weights, after every step.

    The decay starts low, min(decay, (1 + n) / (10 + n)) after n steps, so that the first weights are soon forgotten.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay, self.steps = decay, 0
        self._mean = {name: tensor.detach().clone() for name, tensor in _numbers(model).items()}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Take the weights of a step in."""
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        names = _numbers(model)
        torch._foreach_lerp_(list(self._mean.values()), [names[name] for name in self._mean], 1 - decay)

    @contextmanager
    def applied(self, model: nn.Module) -> Iterator[None]:
        """The model with the mean as its weights, for a while."""
        self._swap(model)
        try:
            yield
        finally:
            self._swap(model)

    @torch.no_grad()
    def _swap(self, model: nn.Module) -> None:
        for name, tensor in _numbers(model).items():
            kept = tensor.detach().clone()
            tensor.copy_(self._mean[name])
            self._mean[name].copy_(kept)

    def tensors(self) -> dict[str, Tensor]:
        """All there is to save."""
        return {name: tensor.cpu() for name, tensor in self._mean.items()} | {"steps": torch.tensor(self.steps)}

    def restore(self, tensors: dict[str, Tensor], where: str) -> None:
        """The inverse of `tensors`; `where` names the checkpoint, should they not fit."""
        wanted = {name: tensor.shape for name, tensor in self._mean.items()} | {"steps": torch.Size()}
        if {name: tensor.shape for name, tensor in tensors.items()} != wanted:
            raise CheckpointError(f"{where} belongs to another model: its running mean has other weights.")
        self.steps = int(tensors["steps"])
        for name, tensor in self._mean.items():
            tensor.copy_(tensors[name])


def _numbers(model: nn.Module) -> dict[str, Tensor]:
    """The parameters, and what norms have counted, which belongs to them."""
    saved = model.state_dict().keys()
    counted = {name: part for name, part in model.named_buffers() if name in saved and part.is_floating_point()}
    return dict(model.named_parameters()) | counted
