"""Masks: boolean, True = keep. Joined with `&`, summed for lengths.

(B, S) says which positions of a padded batch are real; anything that broadcasts to (B, T, S), or with
heads to (B, H, T, S), says what each query may see.
"""

import torch
from torch import Tensor

from saccade.errors import ShapeError

__all__ = ["causal", "is_full", "last", "lengths_of", "mean", "padding", "reverse"]


def padding(lengths: Tensor, size: int | None = None) -> Tensor:
    """(B,) lengths -> (B, S): True at the first `lengths[b]` positions.

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
    """(1, T, S), for every sentence: query t sees keys 0..t, both counted from the start of the sequence.

    causal(3) = [[[1, 0, 0],
                  [1, 1, 0],
                  [1, 1, 1]]]
    """
    keys = queries if keys is None else keys
    return (torch.arange(keys, device=device) <= torch.arange(queries, device=device)[:, None])[None]


def lengths_of(mask: Tensor) -> Tensor:
    """(B, S) -> (B,): how many positions of each row are real."""
    return mask.sum(-1)


def is_full(mask: Tensor) -> bool:
    """Whether a mask keeps everything, where looking costs no wait for a device; False elsewhere."""
    return mask.device.type == "cpu" and not torch.compiler.is_compiling() and bool(mask.all())


def reverse(sequences: Tensor, mask: Tensor) -> Tensor:
    """(B, S, ...): each row's real part back to front, the padding where it was. Its own inverse."""
    positions = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    mirrored = lengths_of(mask)[:, None] - 1 - positions
    index = torch.where(mask, mirrored, positions)  # (B, S)
    index = index.view(*index.shape, *([1] * (sequences.dim() - 2))).expand_as(sequences)
    return sequences.gather(1, index)


def last(sequences: Tensor, mask: Tensor) -> Tensor:
    """(B, S, D) -> (B, D): what stands at each row's last real position."""
    index = (lengths_of(mask) - 1).clamp_min(0)[:, None, None].expand(-1, 1, sequences.shape[-1])
    return sequences.gather(1, index).squeeze(1)


def mean(sequences: Tensor, mask: Tensor) -> Tensor:
    """(B, S, D) -> (B, D): the mean over each row's real positions."""
    total = (sequences * mask[..., None]).sum(1)
    return total / lengths_of(mask).clamp_min(1)[:, None]
