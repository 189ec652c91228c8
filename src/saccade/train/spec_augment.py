"""Augmentation of spectrograms: perturbation of speed and vocal tract, frequency and time masks, noise.

All random numbers come from torch's generator, whose state checkpoints keep, so a resumed run repeats them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.batch import Batch
from saccade.data.log_mel import LEAST_DEVIATION
from saccade.data.sound_config import SoundConfig
from saccade.masks import lengths_of

__all__ = ["SpecAugment"]


class SpecAugment:
    """Changes the frames (B, S, D) of a batch: speeds and vocal tracts, SpecAugment without time warping, then noise.

    Masked parts become 0, the mean of a normalized band. Derivatives are changed in the same way as the bands.
    Papers: Park et al. 2019, arXiv:1904.08779; Ko et al. 2015 for speeds; Jaitly and Hinton 2013 for vocal tracts.
    """

    def __init__(self, config: SoundConfig) -> None:
        self.config, self.settings = config, config.augment

    def __call__(self, batch: Batch) -> Batch:
        """Return a changed copy of the batch."""
        settings, frames, mask, links = self.settings, batch.source, batch.source_mask, batch.links
        assert frames is not None
        assert mask is not None
        if settings.warps:
            frames, mask, links = self._faster(frames, mask, links)
        if settings.channel:
            frames = self._colored(frames)
        if settings.floor:
            frames = self._raised(frames, mask)
        for _ in range(settings.frequency_masks):
            frames = frames * self._bands(frames)
        for _ in range(settings.time_masks):
            frames = frames.masked_fill(self._interval(mask)[..., None], 0.0)
        if settings.noise:
            frames = frames + settings.noise * torch.randn_like(frames)
        return replace(batch, source=frames, source_mask=mask, links=links)

    def _faster(self, frames: Tensor, mask: Tensor, links: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """Draw a speed for each recording and interpolate: S'[i, f] = S[i · speed, f / (speed · tract)].

        A sound played faster is shorter, and its frequencies are higher. This is what the spectrogram of a resampled
        recording is, up to the length of the window, and it needs no samples. `tract` moves frequencies alone. Gold
        attention moves with the frames.
        """
        low, high = self.settings.speed
        speed = torch.empty(len(frames), device=frames.device).uniform_(low, high)
        rise = speed
        if self.settings.tract != (1.0, 1.0):
            rise = speed * torch.empty_like(speed).uniform_(*self.settings.tract)
        size = math.ceil(frames.shape[1] / low)
        lengths = (lengths_of(mask) / speed).round().clamp(1, size)
        times = (torch.arange(size, device=frames.device) + 0.5) * speed[:, None] - 0.5  # (B, S')
        times = times.minimum(lengths_of(mask)[:, None] - 1)  # padding is never read
        bands = self._moved_bands(rise, frames.device)  # (B, mels)
        kinds = frames.unflatten(2, (-1, self.config.mels)).transpose(1, 2)  # (B, 1 or 3, S, mels)
        grid = torch.stack(
            [
                _relative(bands, self.config.mels)[:, None].expand(-1, size, -1),
                _relative(times, frames.shape[1])[..., None].expand(-1, -1, self.config.mels),
            ],
            -1,
        )
        moved = F.grid_sample(kinds, grid.to(frames.dtype), padding_mode="border", align_corners=False)
        mask = torch.arange(size, device=frames.device) < lengths[:, None]
        found = moved.transpose(1, 2).flatten(2).masked_fill(~mask[..., None], 0.0)
        return found, mask, None if links is None else _followed(links, times, mask)

    def _moved_bands(self, rise: Tensor, device: torch.device) -> Tensor:
        """Return, for each band of the new spectrogram, the place (B, mels) of its frequency / rise in the old one."""
        low, high = (2595 * math.log10(1 + f / 700) for f in (20.0, self.config.rate / 2))
        step = (high - low) / (self.config.mels + 1)
        centers = low + step * (1 + torch.arange(self.config.mels, device=device))
        return (_mel(_hertz(centers) / rise[:, None]) - low) / step - 1

    def _colored(self, frames: Tensor) -> Tensor:
        """Add Σ_k c_k cos(π k m / mels) to band m of each recording, k = 1, 2, 3."""
        mels = self.config.mels
        angle = torch.pi * torch.arange(mels, device=frames.device) / mels
        curves = torch.stack([(k * angle).cos() for k in (1, 2, 3)])
        random = torch.randn(len(frames), 3, device=frames.device) * self.settings.channel
        return frames + F.pad(random @ curves, (0, frames.shape[2] - mels))[:, None].to(frames.dtype)

    def _raised(self, frames: Tensor, mask: Tensor) -> Tensor:
        """Raise what is below a random level of each recording to it, and normalize again. Derivatives stay."""
        bands, rest = frames.split([self.config.mels, frames.shape[2] - self.config.mels], 2)
        real = mask[..., None]
        low, high = bands.masked_fill(~real, torch.inf).amin((1, 2)), bands.masked_fill(~real, -torch.inf).amax((1, 2))
        share = self.settings.floor * torch.rand(len(frames), device=frames.device)
        bands = bands.maximum((low + share * (high - low))[:, None, None])
        if self.config.normalize != "none":
            over = (1,) if self.config.normalize == "recording" else (1, 2)
            count = lengths_of(mask)[:, None, None] * (1 if len(over) == 1 else bands.shape[2])
            bands = bands - (bands * real).sum(over, keepdim=True) / count
            variance = (bands.square() * real).sum(over, keepdim=True) / count
            bands = bands / variance.sqrt().clamp_min(LEAST_DEVIATION)
        return torch.cat([bands, rest], 2) * real

    def _bands(self, frames: Tensor) -> Tensor:
        """Return (B, 1, D), 0 for the bands that are masked."""
        mels = self.config.mels
        sizes = torch.full((len(frames),), float(mels), device=frames.device)
        first, width = _draw(sizes, self.settings.frequency_width)
        bands = torch.arange(frames.shape[2], device=frames.device) % mels
        return ((bands < first[:, None]) | (bands >= (first + width)[:, None]))[:, None].to(frames.dtype)

    def _interval(self, mask: Tensor) -> Tensor:
        """Return (B, S), True for the frames that are masked."""
        lengths = lengths_of(mask).float()
        first, width = _draw(lengths, self.settings.time_width, self.settings.time_share)
        frames = torch.arange(mask.shape[1], device=mask.device)
        return (frames >= first[:, None]) & (frames < (first + width)[:, None])


def _followed(links: Tensor, times: Tensor, mask: Tensor) -> Tensor:
    """Return gold attention (B, T, S') to frames that were taken from `times` (B, S'); rows sum to 1 or 0."""
    nearest = times.round().long().clamp_min(0)
    moved = links.gather(2, nearest[:, None].expand(-1, links.shape[1], -1)) * mask[:, None]
    return moved / moved.sum(2, keepdim=True).clamp_min(1e-9)


def _draw(sizes: Tensor, most: int, share: float = 1.0) -> tuple[Tensor, Tensor]:
    """Draw the first place and the width of an interval in `sizes` places: 0 to `most`, and at most `share` of them."""
    chances = torch.rand(2, len(sizes), device=sizes.device)
    limit = (sizes * share).clamp(max=most).floor()
    width = (chances[0] * (limit + 1)).floor().minimum(limit)
    return (chances[1] * (sizes - width + 1)).floor(), width


def _relative(places: Tensor, size: int) -> Tensor:
    """Convert places, whose centers are whole numbers, to the coordinates of grid_sample, from -1 to 1."""
    return (2 * places + 1) / size - 1


def _mel(hertz: Tensor) -> Tensor:
    return 2595 * torch.log10(1 + hertz / 700)


def _hertz(mel: Tensor) -> Tensor:
    return 700 * (10 ** (mel / 2595) - 1)
