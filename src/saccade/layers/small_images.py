"""ImageEmbedding: a vector for each small image, by a few convolutions."""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.errors import ConfigError, ShapeError

__all__ = ["ImageEmbedding"]


class ImageEmbedding(nn.Module):
    """images (..., H, W, C) bytes -> vectors (..., width).

    Layers of a 3 × 3 convolution, 2 × 2 max pooling, batch norm and ReLU, then a mean over the places that are left.
    Dark pixels are 1 and white ones 0, as ink on paper, so that the padding of the convolutions is paper.
    Paper: the embedding of Vinyals et al. 2016, arXiv:1606.04080; its images of 28 × 28 leave one place. Differs:
    pooling comes before the norm.
    """

    def __init__(self, channels: int, filters: int, layers: int, width: int) -> None:
        super().__init__()
        if layers < 1:
            raise ConfigError(f"an embedding of images has {layers} layers, but needs 1 or more.")
        self.channels, self.width = channels, width
        sizes = [channels, *[filters] * (layers - 1), width]
        self.convolutions = nn.ModuleList(
            nn.Conv2d(before, after, 3, padding=1, bias=False) for before, after in pairwise(sizes)
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(size) for size in sizes[1:])

    def forward(self, images: Tensor) -> Tensor:
        if images.dtype != torch.uint8 or images.dim() < 4 or images.shape[-1] != self.channels or not images.numel():
            raise ShapeError(
                f"images are {images.dtype} of {tuple(images.shape)}, but this model reads bytes of (…, height, width, "
                f"{self.channels})."
            )
        flat = images.flatten(0, -4)
        x = (255 - flat).movedim(-1, 1).to(next(self.parameters()).dtype) / 255
        x = x.contiguous(memory_format=torch.channels_last)  # the faster layout
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = convolution(x)
            if min(x.shape[-2:]) > 1:  # norm and ReLU then have a quarter of the numbers
                x = F.max_pool2d(x, 2)
            x = F.relu(norm(x))
        return x.mean((2, 3)).view(*images.shape[:-3], self.width)
