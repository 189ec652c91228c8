"""The retina: patches around a place of an image, fine in the middle and coarse around, and the vector of a glimpse."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.errors import ConfigError, ShapeError
from saccade.layers.grids import Grid, check_pictures

__all__ = ["GlimpseEncoder", "GlimpseGrid", "Retina"]


class Retina(nn.Module):
    """Cut square patches of `size` × `size` values at several scales, all around one place.

    Patch k covers `size` · 2^k pixels a side. Outside of the image is 0. Places (..., 2) are (x, y) in [-1, 1], with
    (-1, -1) at the top left. The farthest places keep the finest patch inside the image.
    Paper: Mnih et al. 2014, arXiv:1406.6247. Differs: coarse patches are read, between pixels, from averaged images.
    """

    def __init__(self, size: int = 8, scales: int = 1) -> None:
        super().__init__()
        if size < 1 or scales < 1:
            raise ConfigError(f"a retina of {size} × {size} at {scales} scales sees nothing. Both must be 1 or more.")
        self.size, self.scales = size, scales
        steps = torch.arange(size) + 0.5 - size / 2
        self.register_buffer("offsets", torch.stack(torch.meshgrid(steps, steps, indexing="xy"), -1), persistent=False)
        self.offsets: Tensor

    def pyramid(self, images: Tensor) -> list[Tensor]:
        """Return the images (B, C, H, W), padded at the right and the bottom, and averages over 2^k × 2^k pixels."""
        step = 1 << (self.scales - 1)
        wide, high = -images.shape[3] % step, -images.shape[2] % step
        padded = F.pad(images, (0, wide, 0, high))
        return [padded, *(F.avg_pool2d(padded, 1 << scale) for scale in range(1, self.scales))]

    def centers(self, places: Tensor, shape: Sequence[int]) -> Tensor:
        """Return the pixels (..., 2), x and y, that places stand for in an image of this height and width."""
        sides = (shape[1], shape[0])
        both = zip(sides, places.float().unbind(-1), strict=True)
        return torch.stack([side / 2 + place * (max(0, side - self.size) / 2) for side, place in both], -1)

    def places(self, centers: Tensor, shape: Sequence[int]) -> Tensor:
        """Return the places (..., 2) nearest to centers (..., 2), which are in fractions of the image."""
        both = zip((shape[1], shape[0]), centers.float().unbind(-1), strict=True)
        found = [(center - 0.5) * side / max(0.5, (side - self.size) / 2) for side, center in both]
        return torch.stack(found, -1).clamp(-1, 1)

    def boxes(self, places: Tensor, shape: Sequence[int]) -> Tensor:
        """Return what each patch covers, (..., scales, 4): left, top, right, bottom in fractions of the image."""
        x, y = self.centers(places, shape).unbind(-1)
        high, wide = shape
        reaches = [(self.size << scale) / 2 for scale in range(self.scales)]
        edges = [
            torch.stack([(x - reach) / wide, (y - reach) / high, (x + reach) / wide, (y + reach) / high], -1)
            for reach in reaches
        ]
        return torch.stack(edges, -2)

    def forward(self, pyramid: Sequence[Tensor], places: Tensor, shape: Sequence[int]) -> Tensor:
        """Return the patches (B, …, scales, C, size, size) around places (B, …, 2) of each image."""
        centers = self.centers(places, shape).view(len(places), -1, 1, 1, 2)
        high, wide = pyramid[0].shape[2:]
        patches = []
        for scale, images in enumerate(pyramid):
            x, y = (centers + self.offsets * (1 << scale)).flatten(1, 2).unbind(-1)
            grid = torch.stack([x * (2 / wide) - 1, y * (2 / high) - 1], -1)
            read = F.grid_sample(images, grid.to(images.dtype), align_corners=False)
            patches.append(read.unflatten(2, (-1, self.size)).transpose(1, 2))
        return torch.stack(patches, 2).view(*places.shape[:-1], self.scales, -1, self.size, self.size)


class GlimpseEncoder(nn.Module):
    """The vector of a glimpse: what the retina sees, and where.

        g = relu(W relu(A patches + a) + U relu(B place + b) + c)

    patches (B, …, scales, C, size, size), places (B, …, 2) -> (B, …, width).
    Paper: Mnih et al. 2014, arXiv:1406.6247.
    """

    def __init__(self, retina: Retina, channels: int = 1, hidden: int = 128, width: int = 256) -> None:
        super().__init__()
        self.retina, self.width = retina, width
        self.what = nn.Linear(retina.scales * channels * retina.size**2, hidden)
        self.where = nn.Linear(2, hidden)
        self.what_out, self.where_out = nn.Linear(hidden, width), nn.Linear(hidden, width, bias=False)

    def forward(self, patches: Tensor, places: Tensor) -> Tensor:
        values = patches.flatten(-4)
        if patches.dim() != places.dim() + 3 or values.shape[-1] != self.what.in_features:
            raise ShapeError(
                f"patches are {tuple(patches.shape)}, but this encoder reads (B, …, {self.retina.scales}, C, "
                f"{self.retina.size}, {self.retina.size}) of {self.what.in_features} values each."
            )
        what, where = F.relu(self.what(values)), F.relu(self.where(places))
        return F.relu(self.what_out(what) + self.where_out(where))


class GlimpseGrid(Grid):
    """A glimpse at each of evenly spaced places, as many as finest patches fit: the image encoder of a captioner.

    Attention then chooses places instead of a locator; `align: hard` chooses one place for each word.
    """

    def __init__(self, encoder: GlimpseEncoder) -> None:
        super().__init__()
        self.encoder, self.width = encoder, encoder.width

    def forward(self, images: Tensor) -> Tensor:
        check_pictures(images)
        retina, shape = self.encoder.retina, images.shape[2:]
        counts = [max(1, side // retina.size) for side in shape]
        down, across = ((torch.arange(count, device=images.device) + 0.5) / count for count in counts)
        centers = torch.stack(torch.meshgrid(across, down, indexing="xy"), -1)
        places = retina.places(centers, shape).expand(len(images), -1, -1, -1)
        seen: Tensor = self.encoder(retina(retina.pyramid(images), places, shape), places.to(images.dtype))
        return seen.movedim(-1, 1)
