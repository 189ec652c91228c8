"""Inputs of models that generate images: a seed of the noise, perhaps a class, and a way towards another seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from saccade.tasks.inputs import Modality, json_object, shown

__all__ = ["SEED", "SeedModality"]

MOST = 2**31
"""Seeds are below this number."""
_DIGITS = 20
"""Maximum digits of a seed as text: Python refuses to read a number of thousands of digits."""
_HELP = 'a seed such as "3", or {"seed": 3, "class": "7"}; toward, share and truncation may be there too'
_READS = f"but this model reads {_HELP}."


def _is_seed(value: Any) -> bool:
    return type(value) is int and 0 <= value < MOST


def _is_share(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and 0 <= value <= 1


_SEED = (_is_seed, f"a whole number from 0 to {MOST - 1:,}")
_SHARE = (_is_share, "a number from 0 to 1")
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "seed": _SEED,
    "class": (lambda value: isinstance(value, str), "a text"),
    "toward": _SEED,
    "share": _SHARE,
    "truncation": _SHARE,
}
"""What the value of each field must be."""


class SeedModality(Modality):
    """A seed as text, or an object.

    seed: of the noise. class: of the image; without one, the seed chooses it. toward, share: the noise lies this share
    of the way to the noise of another seed. truncation: a factor on the noise.
    """

    name = "seed"

    def is_one(self, given: Any) -> bool:
        return isinstance(given, Mapping) or super().is_one(given)

    def fault(self, given: Any) -> str | None:
        if isinstance(given, str):
            digits = given.strip()
            well = digits.isdecimal() and len(digits) <= _DIGITS and int(digits) < MOST
            return None if well else f"is {shown(given)}, {_READS}"
        if not isinstance(given, Mapping):
            return f"is {shown(given)}, {_READS}"
        if more := [name for name in given if name not in _FIELDS]:
            return f"has the field {shown(more[0])}, {_READS}"
        for name, value in {"seed": None, **given}.items():
            fits, what = _FIELDS[name]
            if not fits(value) and (value is not None or name == "seed"):
                return f"has the {name} {shown(value)}, which must be {what}."
        return None

    def listed(self, given: Any) -> Any:
        """Return an example of a recipe as an object."""
        found = super().listed(given)
        return {"seed": int(found)} if isinstance(found, str) else found

    def of_line(self, line: str) -> Any:
        """Return the input of a line: a seed, or a JSON object."""
        found = json_object(line)
        return line if found is None else found


SEED = SeedModality()
