"""SoundConfig: how a recording becomes frames of a log-mel spectrogram, and its augmentation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from saccade.config import Config, Share

__all__ = ["AugmentConfig", "SoundConfig"]

Few = Annotated[int, Field(ge=0, le=64)]
Speed = Annotated[float, Field(ge=0.5, le=2)]


class AugmentConfig(Config):
    """Augmentation of the spectrogram in training: SpecAugment, and random speeds."""

    speed: Annotated[tuple[Speed, Speed], Field(strict=False)] = (1.0, 1.0)
    """Slowest and fastest speed; a faster voice is also a higher one."""
    tract: Annotated[tuple[Speed, Speed], Field(strict=False)] = (1.0, 1.0)
    """Least and most factor by which frequencies rise, as in a shorter vocal tract; the duration stays."""
    frequency_masks: Few = 0
    """Frequency masks for each recording."""
    frequency_width: Few = 8
    """Maximum width of a frequency mask in mels."""
    time_masks: Few = 0
    """Time masks for each recording."""
    time_width: Annotated[int, Field(ge=0, le=1000)] = 10
    """Maximum width of a time mask in frames."""
    time_share: Share = 0.2
    """Maximum share of a recording that a time mask hides."""
    channel: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Standard deviation of a random smooth curve over the bands that is added, as other microphones would."""
    floor: Share = 0.0
    """Maximum share of a recording's range of values that a floor hides, as background noise would."""
    noise: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Standard deviation of noise added to the normalized spectrogram."""

    @model_validator(mode="after")
    def _rising(self) -> AugmentConfig:
        if self.speed[0] > self.speed[1]:
            raise ValueError(f"speed is {list(self.speed)}, but must be [slowest, fastest]")
        if self.tract[0] > self.tract[1]:
            raise ValueError(f"tract is {list(self.tract)}, but must be [least, most]")
        return self

    @property
    def warps(self) -> bool:
        """Whether training changes the speed or the frequencies."""
        return self.speed != (1.0, 1.0) or self.tract != (1.0, 1.0)

    @property
    def changes(self) -> bool:
        """Whether training augments anything."""
        added = self.channel or self.floor or self.noise
        return self.warps or bool(self.frequency_masks or self.time_masks or added)


class SoundConfig(Config):
    """For speech: the log-mel frames of a recording, and their augmentation in training."""

    rate: Annotated[int, Field(ge=1000, le=96000)] = 16000
    """Samples a second; recordings of another rate are resampled."""
    mels: Annotated[int, Field(ge=4, le=256)] = 40
    """Bands of the mel scale."""
    window: Annotated[float, Field(ge=0.002, le=0.2)] = 0.025
    """Seconds of sound that a frame is computed from."""
    hop: Annotated[float, Field(ge=0.002, le=0.1)] = 0.01
    """Seconds from one frame to the next."""
    deltas: bool = False
    """Whether a frame also has the first and second derivatives of its bands."""
    range: Annotated[float, Field(gt=0, le=200)] | None = None
    """Decibels below the loudest band of a recording at which weaker ones are cut off, so that digital silence is no
    outlier; default: no limit."""
    normalize: Literal["recording", "level", "none"] = "recording"
    """recording: every band has mean 0 and variance 1 over each recording; level: all bands together have them."""
    augment: AugmentConfig = AugmentConfig()

    @model_validator(mode="after")
    def _overlapping(self) -> SoundConfig:
        if self.hop > self.window:
            raise ValueError(f"hop is {self.hop}, but must be at most the window, {self.window}")
        return self

    @property
    def width(self) -> int:
        """Values per frame."""
        return self.mels * (3 if self.deltas else 1)

    @property
    def step(self) -> int:
        """Samples from one frame to the next."""
        return max(1, round(self.hop * self.rate))

    @property
    def reach(self) -> int:
        """Samples that a frame is computed from."""
        return max(2, round(self.window * self.rate))

    def seconds(self, frames: float) -> float:
        """Return how long some frames last."""
        return frames * self.step / self.rate
