"""Utterances: words, a voice and a seed. They are small in memory, and synthesized on load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from saccade.corpora.spoken.chance import seed_of
from saccade.corpora.spoken.effects import Color, Samples, add_noise, level_of, reverberate
from saccade.corpora.spoken.espeak import speak
from saccade.corpora.spoken.espeak_engine import EspeakVoice
from saccade.corpora.spoken.plan import plan
from saccade.corpora.spoken.synth import PEAK, VERSION, synthesize
from saccade.corpora.spoken.timing import Delivery, arrange
from saccade.corpora.spoken.voice import formant_voice
from saccade.data.example import Time
from saccade.data.resample import resample
from saccade.data.sounds import Sound

__all__ = ["EspeakUtterance", "Surroundings", "Utterance"]

_LOUDEST = 0.98
_RINGING = 0.03
"""Seconds of sound that are kept after the end of an espeak voice's last word."""


@dataclass(frozen=True)
class Surroundings:
    """How an utterance is recorded.

    level: factor of its amplitude. snr: signal-to-noise ratio in decibels, None for no noise. room: reverberation time
    (RT60) in seconds, 0 for none.
    """

    rate: int = 8000
    level: float = 1.0
    snr: float | None = None
    color: Color = "pink"
    room: float = 0.0

    def applied(self, samples: Samples, rate: int, times: tuple[Time, ...], seed: str) -> Sound:
        """Return the sound as it is recorded; `snr` is relative to the power within `times`, those of words."""
        if self.room > 0:
            samples = reverberate(samples, rate, self.room, seed_of(f"{seed} room"))
        if self.snr is not None:
            power = level_of(samples, rate, times)
            samples = add_noise(samples, power, self.snr, self.color, seed_of(f"{seed} noise"))
        peak = float(np.abs(samples).max(initial=0.0)) * self.level
        return Sound(samples * np.float32(self.level * min(1.0, _LOUDEST / max(peak, 1e-9))), rate)


@dataclass(frozen=True)
class Utterance:
    """Words that a formant voice speaks."""

    name: str
    words: tuple[str, ...]
    voice: int
    delivery: Delivery
    surroundings: Surroundings
    seed: str

    @property
    def times(self) -> tuple[Time, ...]:
        """When each word is spoken; computed without the sound."""
        return arrange(self.words, formant_voice(self.voice), self.delivery, self.seed).times

    def load(self) -> Sound:
        """Speak."""
        voice, rate = formant_voice(self.voice), self.surroundings.rate
        score = plan(arrange(self.words, voice, self.delivery, self.seed), voice, self.delivery)
        samples = synthesize(score, voice, seed_of(self.seed), rate)
        return self.surroundings.applied(samples, rate, score.times, self.seed)

    def stamp(self) -> list[Any]:
        """Return everything that the sound depends on."""
        return [VERSION, self.words, self.voice, repr(self.delivery), repr(self.surroundings), self.seed]


@dataclass(frozen=True)
class EspeakUtterance:
    """Words that a voice of espeak speaks."""

    name: str
    words: tuple[str, ...]
    voice: EspeakVoice
    delivery: Delivery
    surroundings: Surroundings
    seed: str

    @property
    def times(self) -> tuple[Time, ...]:
        """When each word is spoken; this synthesizes the sound."""
        return self._spoken()[2]

    def load(self) -> Sound:
        """Speak."""
        samples, rate, times = self._spoken()
        return self.surroundings.applied(samples, rate, times, self.seed)

    def stamp(self) -> list[Any]:
        """Return everything that the sound depends on."""
        return [VERSION, self.words, repr(self.voice), repr(self.delivery), repr(self.surroundings)]

    def _spoken(self) -> tuple[Samples, int, tuple[Time, ...]]:
        """Return samples at the wanted rate, with silence before and after, and the times of the words."""
        spoken, rate, times = speak(self.words, self.delivery.pauses, self.voice)
        wanted, (before, after) = self.surroundings.rate, (self.delivery.before, self.delivery.after)
        whole = torch.from_numpy(spoken[: round((times[-1][1] + _RINGING) * rate)])
        heard = resample(whole, rate, wanted).numpy()
        lead, tail = round(before * wanted), max(0, round((after - _RINGING) * wanted))
        samples = np.pad(heard, (lead, tail))
        peak = float(np.abs(samples).max(initial=0.0))
        samples *= np.float32(PEAK / peak if peak else 1.0)
        return samples, wanted, tuple((round(a + before, 4), round(b + before, 4)) for a, b in times)
