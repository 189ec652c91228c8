"""SpokenConfig: what is said, by which voices, and how it was recorded."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from saccade.config import Config

__all__ = ["Kind", "SpokenConfig", "Voices"]

Kind = Literal["digits", "sentences", "translation"]
Voices = Literal["formant", "espeak", "both"]
Decibels = Annotated[float, Field(ge=-20, le=80)]


class SpokenConfig(Config):
    """For the corpus spoken: what is said, by which voices, and how it was recorded."""

    kind: Kind = "digits"
    """digits, sentences, or translation: English sentences whose targets are French."""
    voices: Voices = "formant"
    """formant: the built-in synthesizer; espeak: the extra `voices`; both: half of each."""
    held_out_voices: bool = False
    """Whether validation and test have other voices than training."""
    noise: Annotated[tuple[Decibels, Decibels] | None, Field(strict=False)] = None
    """Least and most signal-to-noise ratio in decibels; default: no noise."""
    noise_color: Literal["white", "pink"] = "pink"
    room: Annotated[float, Field(ge=0, le=2)] = 0.0
    """Longest reverberation time (RT60) in seconds; 0: no echoes."""
    rate: Literal[8000, 16000] = 8000
    """Samples a second."""

    @model_validator(mode="after")
    def _rising(self) -> SpokenConfig:
        if self.noise is not None and self.noise[0] > self.noise[1]:
            raise ValueError(f"noise is {list(self.noise)}, but must be [least, most] decibels")
        return self
