"""Grids: a picture becomes annotations, one for each region."""

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
"""Of red, green and blue over ImageNet: networks trained on it expect the one taken away and the other divided by."""


def normalise(pictures: Tensor) -> Tensor:
    """Bytes (B, H, W, 3) as numbers (B, 3, H, W) around 0, on the device they are on."""
    if pictures.dtype != torch.uint8 or pictures.ndim != 4 or pictures.shape[3] != 3:
        raise ShapeError(
            f"pictures must be bytes of (batch, height, width, 3), but are {pictures.dtype} of {tuple(pictures.shape)}."
        )
    colours = zip(pictures.unbind(3), MEAN, STD, strict=True)
    return torch.stack([colour * (1 / (255 * std)) - mean / std for colour, mean, std in colours], 1)


class Grid(nn.Module):
    """grid(pictures (B, 3, H, W)) -> a map (B, width, rows, columns), one vector for each region.

    Any module that gives back such a map will do in its place, if it says how wide it is.
    """

    width: int
    """The width of an annotation."""

    def forward(self, pictures: Tensor) -> Tensor:
        """The map."""
        raise TypeError(f"{type(self).__name__} does not say how it sees: write forward()")


class SmallGrid(Grid):
    """A small network that is learned from scratch, in stages of convolutions.

    The first stage halves the picture twice, every other once: with two `channels`, 64 × 64 pixels become 8 × 8
    regions. Two further channels of the input say where a pixel lies, across and down, since relations such as "left
    of" are about places. Norms are over the batch: with norms of each picture by itself it learns far slower. What
    halves has an even size, so that a vector is about the middle of its region and not about a corner, and most of the
    looking around is done where regions are still small: else attention need not go where things are.
    """

    def __init__(self, width: int = 128, channels: Sequence[int] = (48, 96)) -> None:
        super().__init__()
        half = max(1, channels[0] // 2)
        layers = [*_convolution(5, half, 4, stride=2), *_convolution(half, channels[0], 4, stride=2)]
        layers += [Residual(channels[0]), Residual(channels[0])]
        for before, after in pairwise(channels):
            layers += [*_convolution(before, after, 2, stride=2), Residual(after)]
        self.layers, self.width = nn.Sequential(*layers, *_convolution(channels[-1], width, 1)), width

    def forward(self, pictures: Tensor) -> Tensor:
        check_pictures(pictures)
        rows, columns = pictures.shape[-2:]
        down, across = (torch.linspace(-1, 1, n, device=pictures.device, dtype=pictures.dtype) for n in (rows, columns))
        places = torch.stack(torch.meshgrid(across, down, indexing="xy")).expand(len(pictures), -1, -1, -1)
        seen = torch.cat([pictures, places], 1).contiguous(memory_format=torch.channels_last)  # as processors like it
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
"""Convolutions of each block."""


class VGG(Grid):
    """The convolutions of VGG-16 or -19 up to the last block, whose pooling is left out: 224 × 224 -> 14 × 14 × 512.

    Parameters have the names and shapes of the published ImageNet weights, `features.0.weight` and so on; the
    classifier behind them is not needed and not kept.
    Paper: Simonyan and Zisserman 2015, arXiv:1409.1556; Xu et al. 2015, arXiv:1502.03044, reads it so.
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

    def forward(self, pictures: Tensor) -> Tensor:
        check_pictures(pictures)
        if min(pictures.shape[-2:]) < 16:
            raise ShapeError(f"pictures are {tuple(pictures.shape)}, but VGG halves them four times: at least 16 × 16.")
        out: Tensor = self.features(pictures)
        return out


def load_weights(grid: nn.Module, path: Path) -> None:
    """Give a grid the weights of a file, PyTorch's (nothing in it is run) or safetensors.

    Of a whole network only what the grid has is taken: a classifier behind it (`classifier.…`, `fc.…`) is left out.
    """
    try:
        tensors = load_file(path) if path.suffix == ".safetensors" else torch.load(path, "cpu", weights_only=True)
    except FileNotFoundError as error:
        raise DataError(f"the weights {path} do not exist. Check grid.weights.") from error
    except UnpicklingError as error:  # torch's own words say how to run what is in it
        raise DataError(
            f"{path} holds something else than tensors, which is not opened. Save a state_dict there."
        ) from error
    except Exception as error:  # a dozen kinds, all of which mean the same
        raise DataError(f"{path} cannot be read as weights: {str(error).splitlines()[0]}") from error
    if not isinstance(tensors, dict) or not all(isinstance(part, Tensor) for part in tensors.values()):
        raise DataError(f"{path} holds no table of tensors. Save a model's state_dict there.")
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


def check_pictures(pictures: Tensor) -> None:
    """Refuse what is not (B, 3, H, W) of numbers."""
    if pictures.dim() != 4 or pictures.shape[1] != 3 or not pictures.is_floating_point() or 0 in pictures.shape:
        raise ShapeError(
            f"pictures are {tuple(pictures.shape)} of {pictures.dtype}, but must be (B, 3, H, W) of floating-point "
            "numbers, none of them 0."
        )


def flatten(map_: Tensor) -> Tensor:
    """A map (B, D, rows, columns) as annotations (B, rows · columns, D), in reading order."""
    return map_.flatten(2).mT


def sinusoidal_places(rows: int, columns: int, width: int, like: Tensor) -> Tensor:
    """(rows · columns, width): half of the numbers tell how far down a region lies, half how far across."""
    half = width // 2
    waves = torch.exp(torch.arange(0, half, 2, device=like.device) * (-4.0 * math.log(10.0) / half))

    def code(count: int) -> Tensor:
        angles = torch.arange(count, device=like.device)[:, None] * waves
        return torch.cat([angles.sin(), angles.cos()], 1)[:, :half]

    down, across = code(rows)[:, None].expand(-1, columns, -1), code(columns)[None].expand(rows, -1, -1)
    places = torch.cat([down, across], -1).flatten(0, 1)
    return F.pad(places, (0, width - places.shape[1])).to(like.dtype)
