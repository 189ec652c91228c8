"""numbers: whole numbers, ordinals, years, dates and times of day in English words."""

from __future__ import annotations

from saccade.corpora.stream import Dice

__all__ = ["DAYS", "DIGITS", "MONTHS", "cardinal", "date", "ordinal", "time_of_day", "year"]

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def cardinal(number: int) -> str:
    """Return a number from 0 to 999,999 in words: three hundred and forty-two."""
    if number < 20:
        return (*DIGITS, *_TEENS)[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return f"{_TENS[tens - 2]}-{DIGITS[ones]}" if ones else _TENS[tens - 2]
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    many, rest = divmod(number, size)
    words = f"{cardinal(many)} {name}"
    if not rest:
        return words
    return f"{words} and {cardinal(rest)}" if rest < 100 else f"{words} {cardinal(rest)}"


def ordinal(number: int) -> str:
    """Return the place of a number from 1 to 99 in words: twenty-third."""
    *before, last = cardinal(number).split("-")
    placed = _ORDINALS.get(last, f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
    return "-".join([*before, placed])


def year(number: int) -> str:
    """Return a year as it is read: nineteen ninety-two, two thousand and five, twenty ten."""
    century, rest = divmod(number, 100)
    if number < 1000 or 2000 <= number < 2010 or (century % 10 == 0 and not rest):
        return cardinal(number)
    if not rest:
        return f"{cardinal(century)} hundred"
    return f"{cardinal(century)} {'o ' if rest < 10 else ''}{cardinal(rest)}"


def date(dice: Dice) -> str:
    """Return a random date, with or without its day of the week and its year."""
    month = dice.between(0, 11)
    day = ordinal(dice.between(1, _LENGTHS[month]))
    words = f"the {day} of {MONTHS[month]}" if dice.chance(0.6) else f"{MONTHS[month]} the {day}"
    if dice.chance(0.3):
        words = f"{dice.pick(DAYS)} {words}"
    return f"{words} {year(dice.between(1900, 2029))}" if dice.chance(0.35) else words


def time_of_day(dice: Dice) -> str:
    """Return a random time of day: half past seven, eight forty-five in the evening, noon."""
    if dice.chance(0.05):
        return dice.pick(("noon", "midnight"))
    hour = cardinal(dice.between(1, 12))
    minute = dice.between(1, 59)
    written = cardinal(minute) if minute > 9 else f"o {cardinal(minute)}"
    words = dice.pick(
        (f"{hour} o'clock", f"half past {hour}", f"quarter past {hour}", f"quarter to {hour}", f"{hour} {written}")
    )
    return (
        f"{words} {dice.pick(('in the morning', 'in the afternoon', 'in the evening'))}" if dice.chance(0.3) else words
    )
