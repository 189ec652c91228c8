"""speakers: choose a voice and a way of speaking for every text of a corpus."""

from __future__ import annotations

from saccade.corpora.spoken.config import SpokenConfig
from saccade.corpora.spoken.espeak import espeak_voices_of
from saccade.corpora.spoken.espeak_engine import EspeakVoice
from saccade.corpora.spoken.timing import Delivery
from saccade.corpora.spoken.utterance import EspeakUtterance, Surroundings, Utterance
from saccade.corpora.spoken.voice import voices_of
from saccade.corpora.stream import Dice
from saccade.data.example import Recording, Time

__all__ = ["Speakers"]

_PAUSES = {"digits": 0.5, "sentences": 0.06, "translation": 0.06}
"""Probability of a pause after a word."""
_ASKING = "who whom whose what when where which why how do did does is are was were can could will"


class Speakers:
    """The voices of a split, and how they are recorded."""

    def __init__(self, config: SpokenConfig, split: str, seed: int) -> None:
        self._config, self._split, self._seed = config, split, seed
        self._voices = tuple(voices_of(split, config.held_out_voices))
        self._espeak = espeak_voices_of(split, config.held_out_voices)

    def speak(self, text: str, number: int) -> tuple[Recording, tuple[Time, ...]]:
        """Return the utterance with this number in its split, and the times of its words."""
        seed = f"{self._config.kind} {self._split} {self._seed} {number}"
        dice = Dice(f"spoken {seed}")
        words = tuple(text.split())
        name, delivery, surroundings = f"spoken {seed}", self._delivery(words, dice), self._surroundings(seed)
        if self._config.voices == "espeak" or (self._config.voices == "both" and dice.chance(0.5)):
            voice = self._espeak_voice(delivery, dice)
            spoken: Utterance | EspeakUtterance = EspeakUtterance(name, words, voice, delivery, surroundings, seed)
        else:
            spoken = Utterance(name, words, dice.pick(self._voices), delivery, surroundings, seed)
        return spoken, spoken.times

    def _espeak_voice(self, delivery: Delivery, dice: Dice) -> EspeakVoice:
        speed, pitch = round(170 * delivery.speed), round(50 * delivery.pitch) + dice.between(-20, 20)
        return EspeakVoice(dice.pick(self._espeak), speed, pitch, dice.between(30, 70))

    def _delivery(self, words: tuple[str, ...], dice: Dice) -> Delivery:
        often = _PAUSES[self._config.kind]
        pauses = tuple(round(_between(dice, 0.03, 0.25), 3) if dice.chance(often) else 0.0 for _ in words[1:])
        return Delivery(
            before=round(_between(dice, 0.05, 0.3), 3),
            after=round(_between(dice, 0.05, 0.3), 3),
            pauses=pauses,
            speed=round(_between(dice, 0.88, 1.14), 3),
            pitch=round(_between(dice, 0.92, 1.08), 3),
            asks=words[0] in _ASKING.split() and words[1:2] != ("not",),
        )

    def _surroundings(self, seed: str) -> Surroundings:
        """Draw level, noise and room from random numbers of their own, so that they do not change the speech."""
        config, dice = self._config, Dice(f"spoken {seed} surroundings")
        level = round(10 ** (-_between(dice, 0, 12) / 20), 4)
        near, far = dice.random(), dice.random()
        snr = None if config.noise is None else round(config.noise[0] + near * (config.noise[1] - config.noise[0]), 2)
        return Surroundings(config.rate, level, snr, config.noise_color, round(far * config.room, 3))


def _between(dice: Dice, low: float, high: float) -> float:
    return low + dice.random() * (high - low)
