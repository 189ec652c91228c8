"""Inputs of models that generate images: a seed of the noise, and perhaps a class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saccade.tasks.inputs import Modality, json_object, shown

__all__ = ["SEED", "SeedModality"]

MOST = 2**31
"""Seeds are below this number."""
_HELP = 'a seed such as "3", or {"seed": 3, "class": "7"}'


class SeedModality(Modality):
    """A seed as text, or an object with a seed and a class; without a class, the seed chooses one."""

    name = "seed"

    def is_one(self, given: Any) -> bool:
        return isinstance(given, Mapping) or super().is_one(given)

    def fault(self, given: Any) -> str | None:
        if isinstance(given, str):
            return None if given.strip().isdecimal() and int(given) < MOST else f"is {shown(given)}, {_READS}"
        if not isinstance(given, Mapping):
            return f"is {shown(given)}, {_READS}"
        if more := [name for name in given if name not in ("seed", "class")]:
            return f"has the field {shown(more[0])}, {_READS}"
        seed, chosen = given.get("seed"), given.get("class")
        if type(seed) is not int or not 0 <= seed < MOST:
            return f"has the seed {shown(seed)}, which must be a whole number from 0 to {MOST - 1:,}."
        return None if chosen is None or isinstance(chosen, str) else f"has the class {shown(chosen)}, {_READS}"

    def of_line(self, line: str) -> Any:
        """Return the input of a line: a seed, or a JSON object."""
        found = json_object(line)
        return line if found is None else found


_READS = f"but this model reads {_HELP}."
SEED = SeedModality()
