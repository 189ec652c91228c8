"""speakers: choose a voice and a way of speaking for every text of a corpus."""

from __future__ import annotations

from saccade.corpora.spoken.config import SpokenConfig
from saccade.corpora.spoken.plan import Delivery
from saccade.corpora.spoken.utterance import Surroundings, Utterance
from saccade.corpora.spoken.voice import voices_of
from saccade.corpora.stream import Dice
from saccade.data.example import Recording, Time

__all__ = ["Speakers"]

_PAUSES = {"digits": 0.5, "sentences": 0.06, "translation": 0.06}
"""How often there is a pause after a word."""
_ASKING = "who whom whose what when where which why how do did does is are was were can could will"


class Speakers:
    """The voices of a split, and how they are recorded."""

    def __init__(self, config: SpokenConfig, split: str, seed: int) -> None:
        self._config, self._split, self._seed = config, split, seed

    def speak(self, text: str, number: int) -> tuple[Recording, tuple[Time, ...]]:
        """Return the utterance with this number in its split, and the times of its words."""
        seed = f"{self._config.kind} {self._split} {self._seed} {number}"
        dice = Dice(f"spoken {seed}")
        words = tuple(text.split())
        voices = tuple(voices_of(self._split, self._config.held_out_voices))
        utterance = Utterance(
            f"spoken {seed}",
            words,
            dice.pick(voices),
            self._delivery(words, dice),
            self._surroundings(dice),
            seed,
        )
        return utterance, utterance.times

    def _delivery(self, words: tuple[str, ...], dice: Dice) -> Delivery:
        often = _PAUSES[self._config.kind]
        pauses = tuple(round(_between(dice, 0.03, 0.25), 3) if dice.chance(often) else 0.0 for _ in words[1:])
        return Delivery(
            before=round(_between(dice, 0.05, 0.3), 3),
            after=round(_between(dice, 0.05, 0.3), 3),
            pauses=pauses,
            speed=round(_between(dice, 0.88, 1.14), 3),
            pitch=round(_between(dice, 0.92, 1.08), 3),
            asks=words[0] in _ASKING.split() and self._config.kind != "digits",
        )

    def _surroundings(self, dice: Dice) -> Surroundings:
        config = self._config
        level = round(10 ** (-_between(dice, 0, 12) / 20), 4)
        snr = None if config.noise is None else round(_between(dice, *config.noise), 2)
        room = round(_between(dice, 0.1, max(0.1, config.room)), 3) if config.room else 0.0
        return Surroundings(config.rate, level, snr, config.noise_color, min(room, config.room))


def _between(dice: Dice, low: float, high: float) -> float:
    return low + dice.random() * (high - low)
