"""Masks: boolean, True = keep. Combine them with `&`; sum them for lengths.

A padding mask (B, S) marks the real positions of a batch. An attention mask broadcasts to (B, T, S), or with heads to
(B, H, T, S), and marks the keys that each query may attend to.
"""

import torch
from torch import Tensor

from saccade.errors import ShapeError

__all__ = ["causal", "is_full", "last", "lengths_of", "mean", "padding", "reverse"]


def padding(lengths: Tensor, size: int | None = None) -> Tensor:
    """Return the mask (B, S) of lengths (B,): True at the first `lengths[b]` positions of row b.

    padding([1, 3]) = [[1, 0, 0],
                       [1, 1, 1]]
    """
    if not isinstance(lengths, Tensor) or lengths.dim() != 1 or lengths.is_floating_point():
        was = f"{tuple(lengths.shape)} of {lengths.dtype}" if isinstance(lengths, Tensor) else type(lengths).__name__
        raise ShapeError(f"lengths must be a tensor (B,) of whole numbers, but are {was}. Pass one length per row.")
    if size is None:
        size = int(lengths.max())
    elif lengths.device.type == "cpu" and not torch.compiler.is_compiling() and int(lengths.max()) > size:
        raise ShapeError(f"a sentence is {int(lengths.max())} long, but the mask only {size}. Make it as long as that.")
    return torch.arange(size, device=lengths.device) < lengths[:, None]


def causal(queries: int, keys: int | None = None, device: torch.device | None = None) -> Tensor:
    """Return the causal mask (1, T, S): query t sees keys 0..t, both counted from the start of the sequence.

    causal(3) = [[[1, 0, 0],
                  [1, 1, 0],
                  [1, 1, 1]]]
    """
    keys = queries if keys is None else keys
    return (torch.arange(keys, device=device) <= torch.arange(queries, device=device)[:, None])[None]


def lengths_of(mask: Tensor) -> Tensor:
    """Count the real positions of each row: (B, S) -> (B,)."""
    return mask.sum(-1)


def is_full(mask: Tensor) -> bool:
    """Return whether a mask is all True; always False on a GPU, where the check would sync, and in compiled code."""
    return mask.device.type == "cpu" and not torch.compiler.is_compiling() and bool(mask.all())


def reverse(sequences: Tensor, mask: Tensor) -> Tensor:
    """Reverse the real part of each row of (B, S, ...); padding stays in place. The function is its own inverse."""
    positions = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    mirrored = lengths_of(mask)[:, None] - 1 - positions
    index = torch.where(mask, mirrored, positions)  # (B, S)
    index = index.view(*index.shape, *([1] * (sequences.dim() - 2))).expand_as(sequences)
    return sequences.gather(1, index)


def last(sequences: Tensor, mask: Tensor) -> Tensor:
    """Select the last real position of each row: (B, S, D) -> (B, D)."""
    index = (lengths_of(mask) - 1).clamp_min(0)[:, None, None].expand(-1, 1, sequences.shape[-1])
    return sequences.gather(1, index).squeeze(1)


def mean(sequences: Tensor, mask: Tensor) -> Tensor:
    """Average the real positions of each row: (B, S, D) -> (B, D)."""
    total = (sequences * mask[..., None]).sum(1)
    return total / lengths_of(mask).clamp_min(1)[:, None]
