"""Cache: keys and values added one step at a time (a KV cache)."""

from __future__ import annotations

import torch
from torch import Tensor

from saccade import pytree
from saccade.attention.core import Attention, Bank
from saccade.attention.multihead import MultiHead
from saccade.errors import ShapeError

__all__ = ["Cache"]


@pytree.node
class Cache:
    """Keys and values of earlier steps in tensors of fixed size: an RNN's past states, a Transformer's KV cache.

    keys (N, T, [H,] prepared), values (N, T, [H,] D), count (N,): the number of filled positions.
    """

    keys: Tensor
    values: Tensor
    count: Tensor

    @classmethod
    def empty(cls, attention: Attention | MultiHead, rows: int, size: int, value_width: int, like: Tensor) -> Cache:
        """Create a cache with room for `size` keys of an attention; device and dtype as `like`."""
        keys, values = attention.cache_shapes(value_width)
        count = torch.zeros(rows, dtype=torch.long, device=like.device)
        return cls(like.new_zeros(rows, size, *keys), like.new_zeros(rows, size, *values), count)

    def add(self, keys: Tensor, values: Tensor) -> Cache:
        """Append one key and one value, each (N, [H,] 1, D), as returned by the attention's `project`."""
        self._check_room()
        keys = pytree.write_at(self.keys, self.count, keys.squeeze(-2))
        return Cache(keys, pytree.write_at(self.values, self.count, values.squeeze(-2)), self.count + 1)

    def _check_room(self) -> None:
        """Raise if the cache is full; checked on the CPU only, since reading the count would synchronize a GPU."""
        if self.count.device.type != "cpu" or torch.compiler.is_compiling():
            return
        step, size = int(self.count.max()) + 1, self.keys.shape[1]
        if step > size:
            raise ShapeError(f"this is step {step}, but there is room for {size}. Start with a larger max_length.")

    def bank(self, ahead: int = 0) -> Bank:
        """Return a Bank that shows the filled keys and the next `ahead` ones, which are still to be added."""
        filled = torch.arange(self.keys.shape[1], device=self.keys.device) < self.count[:, None] + ahead
        if self.keys.dim() == 3:
            return Bank(self.keys, self.values, filled[:, None])
        return Bank(self.keys.transpose(1, 2), self.values.transpose(1, 2), filled[:, None, None])
