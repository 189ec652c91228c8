"""voice: what distinguishes one synthetic speaker from another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from saccade.corpora.spoken.phones import VOWELS
from saccade.corpora.stream import Dice

__all__ = ["VOICES", "Voice", "formant_voice", "voices_of"]

VOICES = {"train": 200, "valid": 40, "test": 40}
"""How many voices each split has when splits share none."""
_FEMALE = 0.5
_ACCENT = 0.05
"""Standard deviation of a voice's own formants around the usual ones, as a fraction."""


@dataclass(frozen=True)
class Voice:
    """A speaker of the formant synthesizer.

    pitch: mean in Hz. melody: semitones between its highs and lows. tract: formants relative to an average man's, which
    is the inverse of the length of the vocal tract. speed: relative to usual durations. breath: noise in vowels.
    softness: Hz above which the glottal source falls faster. roughness: random change of pitch and amplitude from pulse
    to pulse. drag: seconds that articulation needs from one target to the next. bands: factor of all bandwidths.
    accent: factors of each vowel's first and second formant.
    """

    name: str
    pitch: float = 120.0
    melody: float = 4.0
    tract: float = 1.0
    speed: float = 1.0
    breath: float = 0.04
    softness: float = 2500.0
    roughness: float = 0.01
    drag: float = 0.06
    bands: float = 1.0
    accent: tuple[tuple[str, float, float], ...] = ()


@lru_cache(maxsize=1024)
def formant_voice(number: int) -> Voice:
    """Return a voice by its number; every number is another voice, half of them female."""
    dice = Dice(f"voice {number}")
    female = dice.chance(_FEMALE)
    # formants of women lie about a sixth above those of men
    tract = _bell(dice, 1.15, 0.04, 1.05, 1.25) if female else _bell(dice, 1.0, 0.05, 0.87, 1.1)
    return Voice(
        f"formant-{number}",
        pitch=_bell(dice, 205, 28, 150, 290) if female else _bell(dice, 118, 18, 78, 165),
        melody=_between(dice, 1.5, 6.5),
        tract=tract,
        speed=_between(dice, 0.8, 1.3),
        breath=_between(dice, 0.01, 0.12),
        softness=_between(dice, 1200, 3800),
        roughness=_between(dice, 0.003, 0.025),
        drag=_between(dice, 0.045, 0.08),
        bands=_between(dice, 0.85, 1.35),
        accent=tuple((vowel, _bell(dice, 1, _ACCENT), _bell(dice, 1, _ACCENT)) for vowel in VOWELS),
    )


def voices_of(split: str, held_out: bool) -> range:
    """Return the numbers of a split's voices: those of train, or others if voices are held out."""
    if not held_out or split == "train":
        return range(VOICES["train"])
    first = VOICES["train"] + (VOICES["valid"] if split == "test" else 0)
    return range(first, first + VOICES[split])


def _between(dice: Dice, low: float, high: float) -> float:
    return low + dice.random() * (high - low)


def _bell(dice: Dice, mean: float, deviation: float, low: float = 0.0, high: float = 1e9) -> float:
    """Return a nearly normal random number, within bounds: a sum of three uniform ones."""
    return min(max(mean + deviation * 2 * (dice.random() + dice.random() + dice.random() - 1.5), low), high)
