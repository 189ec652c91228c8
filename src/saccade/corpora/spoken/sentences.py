"""sentences: writers of strings of digits, and of numbers, dates, times and commands to a house."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from saccade.corpora.spoken.numbers import DAYS, DIGITS, cardinal, date, time_of_day
from saccade.corpora.stream import Dice
from saccade.data.example import Example

__all__ = ["Said", "digit_writer", "phrase_writer"]

_ROOMS = ("kitchen", "bathroom", "bedroom", "garage", "garden", "hall", "office")
_SWITCHES = ("light", "lamp", "radio", "television", "music", "heating", "fan", "oven")
_OPENINGS = ("door", "window", "blinds", "curtains")
_PEOPLE = ("mother", "father", "sister", "brother", "doctor", "neighbour", "aunt", "uncle")
_EVENTS = ("meeting", "concert", "lesson", "wedding", "journey", "conference", "match")
_NEWS = ("news", "radio", "first song", "next song", "last message", "letter from my sister", "story of the king")


@dataclass(frozen=True)
class Said:
    """A text to speak, as `stream` takes it."""

    target: str

    @property
    def length(self) -> int:
        """Words."""
        return len(self.target.split())

    def example(self) -> Example:
        """Return the text as an Example; its sound is added later."""
        return Example(target=self.target)


def digit_writer(dice: Dice) -> Callable[[int], Said]:
    """Return a writer of strings with so many digits."""
    return lambda length: Said(" ".join(dice.pick(DIGITS) for _ in range(length)))


def phrase_writer(dice: Dice) -> Callable[[int], Said | None]:
    """Return a writer of phrases; several fill a longer text."""

    def write(length: int) -> Said | None:
        words: list[str] = []
        for _ in range(12 * length):
            phrase = _phrase(dice).split()
            if len(words) + len(phrase) <= length:
                words += phrase
            if len(words) == length:
                break
        return Said(" ".join(words)) if words else None

    return write


def _phrase(dice: Dice) -> str:
    return dice.pick((_number, _command, _command, _command, date, time_of_day))(dice)


def _number(dice: Dice) -> str:
    size = dice.pick((10, 100, 1000, 10_000, 1_000_000))
    words = cardinal(dice.between(0, size - 1))
    if dice.chance(0.2):
        return f"{words} point {' '.join(dice.pick(DIGITS) for _ in range(dice.between(1, 3)))}"
    if dice.chance(0.1):
        return f"minus {words}"
    return f"{words} percent" if size <= 100 and dice.chance(0.15) else words


def _command(dice: Dice) -> str:
    return dice.pick((_switch, _open, _set, _call, _remember, _play))(dice)


def _switch(dice: Dice) -> str:
    what, where = dice.pick(_SWITCHES), dice.pick(_ROOMS)
    verb, way = dice.pick(("turn", "switch")), dice.pick(("on", "off"))
    words = f"{verb} {way} the {what}" if dice.chance(0.6) else f"{verb} the {what} {way}"
    return f"{words} in the {where}" if dice.chance(0.6) else words


def _open(dice: Dice) -> str:
    words = f"{dice.pick(('open', 'close', 'shut'))} the {dice.pick(_OPENINGS)}"
    return f"{words} {dice.pick(('in', 'of'))} the {dice.pick(_ROOMS)}" if dice.chance(0.6) else words


def _set(dice: Dice) -> str:
    share = cardinal(5 * dice.between(1, 20))
    return dice.pick(
        (
            f"set a timer for {cardinal(dice.between(2, 90))} {dice.pick(('minutes', 'seconds'))}",
            f"set the alarm for {time_of_day(dice)}",
            f"set the heating in the {dice.pick(_ROOMS)} to {cardinal(dice.between(12, 28))} degrees",
            f"set the volume to {share} percent",
            f"set the light to {share} percent",
        )
    )


def _call(dice: Dice) -> str:
    words = f"call {dice.pick(('my', 'our', 'her', 'his'))} {dice.pick(_PEOPLE)}"
    return f"{words} {dice.pick(('today', 'tomorrow', 'now', f'at {time_of_day(dice)}', f'on {dice.pick(DAYS)}'))}"


def _remember(dice: Dice) -> str:
    words = f"remember the {dice.pick(_EVENTS)} on {dice.pick(DAYS) if dice.chance(0.4) else date(dice)}"
    return f"{words} at {time_of_day(dice)}" if dice.chance(0.4) else words


def _play(dice: Dice) -> str:
    if dice.chance(0.5):
        return f"play {dice.pick(('music', 'a song', 'the radio', 'the news'))} in the {dice.pick(_ROOMS)}"
    return f"{dice.pick(('read', 'play', 'stop', 'repeat'))} the {dice.pick(_NEWS)}"
