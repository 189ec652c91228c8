"""Grids: from an image to annotations, one per region."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from pickle import UnpicklingError

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from saccade.errors import ConfigError, DataError, ShapeError

__all__ = [
    "MEAN",
    "STD",
    "VGG",
    "Grid",
    "SmallGrid",
    "check_pictures",
    "flatten",
    "load_weights",
    "normalise",
    "sinusoidal_places",
]

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of red, green and blue over ImageNet, for networks trained on it."""


def normalise(images: Tensor) -> Tensor:
    """Convert bytes (B, H, W, 3) to numbers (B, 3, H, W), normalized by MEAN and STD, on the same device."""
    if images.dtype != torch.uint8 or images.ndim != 4 or images.shape[3] != 3:
        raise ShapeError(
            f"images must be bytes of (batch, height, width, 3), but are {images.dtype} of {tuple(images.shape)}."
        )
    colours = zip(images.unbind(3), MEAN, STD, strict=True)
    return torch.stack([colour * (1 / (255 * std)) - mean / std for colour, mean, std in colours], 1)


class Grid(nn.Module):
    """grid(images (B, 3, H, W)) -> a feature map (B, width, rows, columns), one vector per region.

    Any module that returns such a map and has a `width` can be used instead.
    """

    width: int
    """The width of an annotation."""

    def forward(self, images: Tensor) -> Tensor:
        """Return the feature map (B, width, rows, columns)."""
        raise TypeError(f"{type(self).__name__} must implement forward()")


class SmallGrid(Grid):
    """A small convolutional network to train from scratch.

    The first stage halves the image twice, every other once: with two `channels`, 64 × 64 pixels become 8 × 8
    regions. Two extra input channels give each pixel's x and y coordinate, since relations such as "left of" depend
    on position. It uses batch norm: with per-image norms, training is far slower. Strided convolutions have an even
    size, so that a vector is centered on its region. Most 3 × 3 convolutions run where regions are still small.
    Otherwise a region's vector could describe objects elsewhere, and attention would not have to find them.
    """

    def __init__(self, width: int = 128, channels: Sequence[int] = (48, 96)) -> None:
        super().__init__()
        half = max(1, channels[0] // 2)
        layers = [*_convolution(5, half, 4, stride=2), *_convolution(half, channels[0], 4, stride=2)]
        layers += [Residual(channels[0]), Residual(channels[0])]
        for before, after in pairwise(channels):
            layers += [*_convolution(before, after, 2, stride=2), Residual(after)]
        self.layers, self.width = nn.Sequential(*layers, *_convolution(channels[-1], width, 1)), width

    def forward(self, images: Tensor) -> Tensor:
        check_pictures(images)
        rows, columns = images.shape[-2:]
        down, across = (torch.linspace(-1, 1, n, device=images.device, dtype=images.dtype) for n in (rows, columns))
        places = torch.stack(torch.meshgrid(across, down, indexing="xy")).expand(len(images), -1, -1, -1)
        seen = torch.cat([images, places], 1).contiguous(memory_format=torch.channels_last)  # the faster layout
        out: Tensor = self.layers(seen)
        return out


class Residual(nn.Module):
    """x + ReLU(norm(convolution(x)))."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*_convolution(channels, channels, 3))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.layers(x)
        return out


def _convolution(before: int, after: int, size: int, stride: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(before, after, size, stride, (size - 1) // 2, bias=False), nn.BatchNorm2d(after), nn.ReLU()]


_VGG: dict[int, tuple[int, ...]] = {16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
"""Number of convolutions in each block, by depth."""


class VGG(Grid):
    """The convolutions of VGG-16 or -19, without the last pooling: 224 × 224 -> 14 × 14 × 512.

    Parameters have the names and shapes of the published ImageNet weights, `features.0.weight` and so on. The
    classifier is left out.
    Paper: Simonyan and Zisserman 2015, arXiv:1409.1556; used like this by Xu et al. 2015, arXiv:1502.03044.
    """

    width = 512

    def __init__(self, depth: int = 16) -> None:
        super().__init__()
        if depth not in _VGG:
            raise ConfigError(f"there is no VGG of depth {depth}. Choose one of {', '.join(map(str, _VGG))}.")
        layers: list[nn.Module] = []
        before = 3
        for block, count in enumerate(_VGG[depth]):
            after = min(64 << block, 512)
            for _ in range(count):
                layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU()]
                before = after
            if block < 4:
                layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)

    def forward(self, images: Tensor) -> Tensor:
        check_pictures(images)
        if min(images.shape[-2:]) < 16:
            raise ShapeError(f"images are {tuple(images.shape)}, but VGG halves them four times: at least 16 × 16.")
        out: Tensor = self.features(images)
        return out


def load_weights(grid: nn.Module, path: Path) -> None:
    """Load a grid's weights from a PyTorch file (without running code in it) or a safetensors file.

    Other tensors in the file, such as a classifier's (`classifier.…`, `fc.…`), are ignored.
    """
    try:
        tensors = load_file(path) if path.suffix == ".safetensors" else torch.load(path, "cpu", weights_only=True)
    except FileNotFoundError as error:
        raise DataError(f"the weights {path} do not exist. Check image_encoder.weights.") from error
    except UnpicklingError as error:  # torch's message suggests running code in the file
        raise DataError(
            f"{path} contains objects other than tensors and was not loaded. Save a state_dict there."
        ) from error
    except Exception as error:  # a damaged file raises many kinds of exceptions
        raise DataError(f"{path} cannot be read as weights: {str(error).splitlines()[0]}") from error
    if not isinstance(tensors, dict) or not all(isinstance(part, Tensor) for part in tensors.values()):
        raise DataError(f"{path} contains no dict of tensors. Save a model's state_dict there.")
    own = grid.state_dict()
    missing = [name for name in own if name not in tensors]
    if missing:
        raise DataError(f"{path} lacks {missing[0]} and {len(missing) - 1} more of the grid's {len(own)} tensors.")
    for name, tensor in own.items():
        if tensors[name].shape != tensor.shape:
            raise DataError(
                f"{path} has {name} as {tuple(tensors[name].shape)}, but the grid has it as {tuple(tensor.shape)}."
            )
    grid.load_state_dict({name: tensors[name] for name in own})


def check_pictures(images: Tensor) -> None:
    """Raise unless images are floating-point (B, 3, H, W) without an axis of 0."""
    if images.dim() != 4 or images.shape[1] != 3 or not images.is_floating_point() or 0 in images.shape:
        raise ShapeError(
            f"images are {tuple(images.shape)} of {images.dtype}, but must be (B, 3, H, W) of floating-point "
            "numbers, with no axis of 0."
        )


def flatten(map_: Tensor) -> Tensor:
    """Reshape a map (B, D, rows, columns) to annotations (B, rows · columns, D), row by row."""
    return map_.flatten(2).mT


def sinusoidal_places(rows: int, columns: int, width: int, like: Tensor) -> Tensor:
    """Return positional encodings (rows · columns, width): half the entries encode the row, half the column."""
    half = width // 2
    waves = torch.exp(torch.arange(0, half, 2, device=like.device) * (-4.0 * math.log(10.0) / half))

    def code(count: int) -> Tensor:
        angles = torch.arange(count, device=like.device)[:, None] * waves
        return torch.cat([angles.sin(), angles.cos()], 1)[:, :half]

    down, across = code(rows)[:, None].expand(-1, columns, -1), code(columns)[None].expand(rows, -1, -1)
    places = torch.cat([down, across], -1).flatten(0, 1)
    return F.pad(places, (0, width - places.shape[1])).to(like.dtype)
