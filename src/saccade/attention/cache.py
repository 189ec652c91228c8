"""Cache: keys and values that come one step at a time."""

from __future__ import annotations

import torch
from torch import Tensor

from saccade import tree
from saccade.attention.core import Attention, Bank
from saccade.attention.multihead import MultiHead
from saccade.errors import ShapeError

__all__ = ["Cache"]


@tree.node
class Cache:
    """A bank of fixed size that fills up: what an RNN has read, what a Transformer has written.

    keys (N, T, [H,] prepared), values (N, T, [H,] D), count (N,): how many are there.
    """

    keys: Tensor
    values: Tensor
    count: Tensor

    @classmethod
    def empty(cls, attention: Attention | MultiHead, rows: int, size: int, value_width: int, like: Tensor) -> Cache:
        """Room for `size` keys of an attention; device and dtype as `like`."""
        keys, values = attention.cache_shapes(value_width)
        count = torch.zeros(rows, dtype=torch.long, device=like.device)
        return cls(like.new_zeros(rows, size, *keys), like.new_zeros(rows, size, *values), count)

    def add(self, keys: Tensor, values: Tensor) -> Cache:
        """One more of each, (N, [H,] 1, D), as the attention's `project` gives them."""
        self._check_room()
        keys = tree.write_at(self.keys, self.count, keys.squeeze(-2))
        return Cache(keys, tree.write_at(self.values, self.count, values.squeeze(-2)), self.count + 1)

    def _check_room(self) -> None:
        """Refuse to write past the end, where looking costs no wait for a device."""
        if self.count.device.type != "cpu" or torch.compiler.is_compiling():
            return
        step, size = int(self.count.max()) + 1, self.keys.shape[1]
        if step > size:
            raise ShapeError(f"this is step {step}, but there is room for {size}. Start with a larger max_length.")

    def bank(self, ahead: int = 0) -> Bank:
        """What is there, to be attended to; `ahead` counts keys that are about to come."""
        filled = torch.arange(self.keys.shape[1], device=self.keys.device) < self.count[:, None] + ahead
        if self.keys.dim() == 3:
            return Bank(self.keys, self.values, filled[:, None])
        return Bank(self.keys.transpose(1, 2), self.values.transpose(1, 2), filled[:, None, None])
