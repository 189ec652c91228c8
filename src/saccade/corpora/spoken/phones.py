"""phones: the sounds of English as targets for a formant synthesizer, written in X-SAMPA.

Formants of vowels are the means of Peterson & Barney (1952) for men; those of consonants follow Klatt (1980). The other
numbers, which say how loud and how long each phone is, were set by eye on spectrograms.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from saccade.errors import DataError

__all__ = ["PHONES", "STOPS", "VOWELS", "Phone", "Segment", "parse_phones"]

Formants = tuple[float, float, float]


class Segment(NamedTuple):
    """A part of a phone with constant targets; the synthesizer smooths the steps between segments.

    seconds: usual duration. voice, breath, noise: amplitudes of the glottal pulses, of aspiration (noise through the
    formants) and of frication (noise with its own spectrum, a bell of `center` and `width` in Hz).
    """

    seconds: float
    formants: Formants
    voice: float = 0.0
    breath: float = 0.0
    noise: float = 0.0
    center: float = 3000.0
    width: float = 3000.0
    nasal: float = 0.0
    """From 0 to 1: how far the way through the nose is open."""


class Phone(NamedTuple):
    """A phone as a sequence of segments.

    stretch: how strongly its duration follows the speed. borrows: it takes its formants from the vowel beside it,
    wholly (as h does) or by half (as k and g do).
    """

    segments: tuple[Segment, ...]
    stretch: float = 1.0
    borrows: float = 0.0


def _vowel(seconds: float, *targets: Formants) -> Phone:
    """Make a vowel; a diphthong has two targets, and reaches the second after half of its duration."""
    return Phone(tuple(Segment(seconds / len(targets), formants, 1.0) for formants in targets))


def _stop(formants: Formants, voiced: bool, center: float, width: float, borrows: float = 0.0) -> Phone:
    """Make a stop: closure, burst, and aspiration if it is voiceless."""
    if voiced:
        closure, burst = Segment(0.055, formants, 0.13), Segment(0.01, formants, 0.3, 0.0, 0.5, center, width)
        return Phone((closure, burst), 0.6, borrows)
    parts = (
        Segment(0.06, formants),
        Segment(0.015, formants, 0.0, 0.2, 0.9, center, width),
        Segment(0.03, formants, 0.0, 0.55),
    )
    return Phone(parts, 0.6, borrows)


def _fricative(
    seconds: float, formants: Formants, voice: float, noise: float, center: float, width: float
) -> tuple[Segment, ...]:
    return (Segment(seconds, formants, voice, 0.0, noise, center, width),)


def _nasal(second: float, third: float) -> Phone:
    return Phone((Segment(0.07, (280.0, second, third), 0.55, nasal=1.0),), 0.8)


def _glide(seconds: float, formants: Formants, voice: float) -> Phone:
    return Phone((Segment(seconds, formants, voice),), 0.8)


VOWELS: dict[str, Phone] = {
    "i": _vowel(0.12, (270, 2290, 3010)),
    "I": _vowel(0.085, (390, 1990, 2550)),
    "E": _vowel(0.105, (530, 1840, 2480)),
    "a": _vowel(0.13, (660, 1720, 2410)),
    "A": _vowel(0.13, (730, 1090, 2440)),
    "O": _vowel(0.13, (570, 840, 2410)),
    "U": _vowel(0.09, (440, 1020, 2240)),
    "u": _vowel(0.12, (300, 870, 2240)),
    "V": _vowel(0.1, (640, 1190, 2390)),
    "3": _vowel(0.12, (490, 1350, 1690)),
    "@": _vowel(0.06, (500, 1450, 2450)),
    "eI": _vowel(0.15, (480, 1900, 2520), (320, 2180, 2750)),
    "aI": _vowel(0.17, (710, 1200, 2450), (390, 1990, 2600)),
    "OI": _vowel(0.17, (550, 850, 2420), (390, 1950, 2550)),
    "aU": _vowel(0.17, (710, 1350, 2450), (430, 960, 2300)),
    "oU": _vowel(0.15, (520, 1050, 2350), (380, 850, 2280)),
}
_F, _S = ((340.0, 1100.0, 2080.0), 3500.0, 5000.0), ((320.0, 1390.0, 2530.0), 5200.0, 1500.0)
_TH, _SH = ((320.0, 1290.0, 2540.0), 5800.0, 2600.0), ((300.0, 1840.0, 2750.0), 2900.0, 800.0)
_LIPS, _TEETH, _BACK = (300.0, 950.0, 2150.0), (300.0, 1700.0, 2650.0), (280.0, 1800.0, 2300.0)
_T, _D = _stop(_TEETH, False, 4200, 1300), _stop(_TEETH, True, 4200, 1300)

STOPS: dict[str, Phone] = {
    "p": _stop(_LIPS, False, 700, 900),
    "b": _stop(_LIPS, True, 700, 900),
    "t": _T,
    "d": _D,
    "k": _stop(_BACK, False, 1900, 450, 0.5),
    "g": _stop(_BACK, True, 1900, 450, 0.5),
}
PHONES: dict[str, Phone] = {
    **VOWELS,
    **STOPS,
    "tS": Phone((*_T.segments[:1], *_fricative(0.075, _SH[0], 0.0, 0.6, *_SH[1:])), 0.7),
    "dZ": Phone((*_D.segments[:1], *_fricative(0.05, _SH[0], 0.3, 0.4, *_SH[1:])), 0.7),
    "f": Phone(_fricative(0.095, _F[0], 0.0, 0.17, *_F[1:]), 0.8),
    "v": Phone(_fricative(0.055, (240, 1100, 2080), 0.4, 0.09, *_F[1:]), 0.8),
    "T": Phone(_fricative(0.09, _TH[0], 0.0, 0.15, *_TH[1:]), 0.8),
    "D": Phone(_fricative(0.045, (270, 1290, 2540), 0.4, 0.07, *_TH[1:]), 0.8),
    "s": Phone(_fricative(0.105, _S[0], 0.0, 0.8, *_S[1:]), 0.8),
    "z": Phone(_fricative(0.07, (240, 1390, 2530), 0.3, 0.5, *_S[1:]), 0.8),
    "S": Phone(_fricative(0.11, _SH[0], 0.0, 0.65, *_SH[1:]), 0.8),
    "Z": Phone(_fricative(0.07, _SH[0], 0.3, 0.4, *_SH[1:]), 0.8),
    "h": Phone((Segment(0.06, (500, 1450, 2450), 0.05, 0.5),), 0.8, 1.0),
    "m": _nasal(1000, 2150),
    "n": _nasal(1550, 2550),
    "N": _nasal(2050, 2700),
    "l": _glide(0.065, (340, 1050, 2850), 0.6),
    "r": _glide(0.065, (330, 1080, 1420), 0.6),
    "w": _glide(0.06, (290, 620, 2150), 0.55),
    "j": _glide(0.055, (260, 2150, 3000), 0.55),
}
_WRITTEN = re.compile("|".join(sorted(("'", *PHONES), key=len, reverse=True)))


def parse_phones(text: str) -> list[tuple[str, bool]]:
    """Parse X-SAMPA to phones, each with whether it is stressed: `'` before a vowel marks stress."""
    found: list[tuple[str, bool]] = []
    stressed, end = False, 0
    for match in _WRITTEN.finditer(text):
        if match.start() != end:
            break
        end = match.end()
        if match[0] == "'":
            stressed = True
        else:
            found.append((match[0], stressed))
            stressed = False
    if end != len(text):
        raise DataError(f"{text!r} is not X-SAMPA: {text[end:]!r} begins with no phone.")
    return found
