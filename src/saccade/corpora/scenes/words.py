"""Captions of a sketch, each word with the region that it describes.

Counts (two and more), sizes, colors, nouns and `them` have the box around all their things. The words that carry a
relation (left, next, above, inside, between) have the box around everything that they relate. Articles, `there`, `is`,
`and` and the small words of a relation (to the left of) have none.
"""

from __future__ import annotations

from collections.abc import Sequence

from saccade.corpora.scenes.layout import Group, Sketch
from saccade.corpora.scenes.scene import union
from saccade.corpora.stream import Dice, Item
from saccade.data.example import Box

__all__ = ["COUNTS", "Caption", "plural", "write_captions"]

Words = list[tuple[str, Box | None]]
Caption = tuple[tuple[str, Box | None], ...]

COUNTS = {2: "two", 3: "three", 4: "four"}
_SIZES = {"small": ("small", "little"), "large": ("large", "big"), "huge": ("large", "big")}
_LEFT, _RIGHT = ("left of", "to the left of"), ("right of", "to the right of")
_ABOVE, _BELOW = ("above", "over"), ("below", "under")
_BESIDE = ("next to", "beside")
_BOTH_WAYS = {
    "left": (_LEFT, _RIGHT),
    "near": ((*_LEFT, *_BESIDE), (*_RIGHT, *_BESIDE)),
    "above": (_ABOVE, _BELOW),
    "inside": (("inside", "in"), ("around",)),
}
"""Phrases for the relation of the first group to the second, and of the second to the first."""
_SMALL_WORDS = {"to", "the", "of"}
_SAY_SIZE = 0.5
_TRIES = 12


def write_captions(
    sketch: Sketch, boxes: Sequence[Box], count: int, low: int, high: int, dice: Dice
) -> list[Caption] | None:
    """Write `count` different captions of `low` to `high` words, or return None if there are not enough.

    The first is the plain caption, without optional words. The others alternate in the group that they begin with, if
    the relation can be expressed from both sides.
    """
    found: dict[str, Caption] = {}
    begin = dice.between(0, 1)
    for number in range(count * _TRIES):
        how, turned = (_Plainly(dice), False) if number == 0 else (dice, (begin + number) % 2 == 1)
        words = _Speaker(sketch, boxes, how).caption(turned)
        if number == 0 and not low <= len(words) <= high:
            return None
        if low <= len(words) <= high:
            found.setdefault(" ".join(word for word, _ in words), tuple(words))
            if len(found) == count:
                return list(found.values())
    return None


class _Plainly(Dice):
    """Not random: always the first of several words, and nothing optional."""

    def pick(self, items: list[Item] | tuple[Item, ...]) -> Item:
        return items[0]

    def chance(self, probability: float) -> bool:
        return False

    def between(self, low: int, high: int) -> int:
        return low


class _Speaker:
    """Writes captions with one choice of noun phrases."""

    def __init__(self, sketch: Sketch, boxes: Sequence[Box], dice: Dice) -> None:
        self._sketch, self._boxes, self._dice = sketch, boxes, dice
        self._names = [self._noun_phrase(group, box) for group, box in zip(sketch.groups, boxes, strict=True)]

    def caption(self, turned: bool) -> Words:
        relation = self._sketch.relation
        if relation == "alone":
            return self._sentence(0, [])
        if relation == "corner":
            return self._corner(turned)
        if relation in ("between", "around"):
            return self._between(turned)
        first, second = (1, 0) if turned else (0, 1)
        how = self._related(_BOTH_WAYS[relation][first], union(self._boxes))
        return self._sentence(first, how + self._names[second])

    def _sentence(self, head: int, rest: Words) -> Words:
        """Write `a star left of a ring`, `there is a star …` or `a star is …`."""
        be: Words = [("are" if self._sketch.groups[head].number > 1 else "is", None)]
        form = self._dice.between(0, 2 if rest else 1)
        if form == 1:
            return [("there", None), *be, *self._names[head], *rest]
        return [*self._names[head], *(be if form == 2 else []), *rest]

    def _corner(self, turned: bool) -> Words:
        sides = (_RIGHT if self._sketch.turned[0] else _LEFT, _BELOW if self._sketch.turned[1] else _ABOVE)
        parts = [
            self._related(phrases, union([self._boxes[0], self._boxes[other]])) + self._names[other]
            for other, phrases in zip((1, 2), sides, strict=True)
        ]
        return self._sentence(0, [*parts[turned], ("and", None), *parts[not turned]])

    def _between(self, turned: bool) -> Words:
        """Write `a star between two rings` or `two rings with a star between them`."""
        all_of_it = union(self._boxes)
        around = list(self._names[1:])
        if len(around) == 2 and self._dice.chance(0.5):
            around.reverse()
        outer = [*around[0], ("and", None), *around[1]] if len(around) == 2 else around[0]
        if turned:
            them = union(self._boxes[1:])
            return [*outer, ("with", None), *self._names[0], ("between", all_of_it), ("them", them)]
        return self._sentence(0, [("between", all_of_it), *outer])

    def _related(self, phrases: Sequence[str], box: Box) -> Words:
        words = self._dice.pick(tuple(phrases)).split()
        # in `next to` or `to the left of`, only one word has a region
        return [(word, None if word in _SMALL_WORDS else box) for word in words]

    def _noun_phrase(self, group: Group, box: Box) -> Words:
        said = [self._dice.pick(_SIZES[group.size])] if self._dice.chance(_SAY_SIZE) else []
        words = [*said, group.colour, plural(group.kind) if group.number > 1 else group.kind]
        rest: Words = [(word, box) for word in words]
        if group.number > 1:
            return [(COUNTS[group.number], box), *rest]
        return [("an" if words[0] in ("orange", "eight") else "a", None), *rest]


def plural(noun: str) -> str:
    """Return the plural of a noun."""
    return f"{noun}es" if noun[-1] in "sx" else f"{noun}s"
