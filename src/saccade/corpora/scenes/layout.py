"""Layout: place the groups of a scene so that its captions are true.

What relations mean in pixels:
- left: all of a group ends at least a gap before the other begins, and they overlap vertically by at least half the
  height of the shorter one; right, above and below are the same in other directions.
- next to: left or right, with a gap that is hardly larger than the minimum.
- inside: within the hole of a hollow thing.
- between: with a neighbor on either side.
"""

from __future__ import annotations

from typing import NamedTuple

from saccade.corpora.scenes.scene import Thing
from saccade.corpora.stream import Dice

__all__ = ["Group", "Placed", "Sketch", "lay_out"]

_MARGIN, _GAP, _NEAR, _FAR = 0.03, 0.06, 0.11, 0.17
"""Fractions of the canvas: outer margin; minimum gap; maximum gap if near; minimum gap of `left`, which is not near."""
_HEIGHTS = {"small": (0.21, 0.25), "large": (0.34, 0.4), "huge": (0.6, 0.66)}
"""Fractions of the canvas. A huge thing has room for another inside."""
_APART = 2
"""Pixels between the things of a group."""


class Group(NamedTuple):
    """Some things of one kind, color and size."""

    number: int
    size: str
    colour: str
    kind: str

    @property
    def key(self) -> str:
        """What every caption says about the group."""
        return f"{self.number} {self.colour} {self.kind}"


class Sketch(NamedTuple):
    """What a scene is to show. The relation is that of the first group to the others.

    relation: alone, left, near (left, and next to), above, inside, between, around (between two things of one group),
    or corner (left of the second and above the third; `turned` selects right and below).
    """

    relation: str
    groups: tuple[Group, ...]
    turned: tuple[bool, bool] = (False, False)


Placed = tuple[tuple[Thing, ...], ...]
"""The things of each group."""


class _Block(NamedTuple):
    """An arranged group: its things, placed relative to the block, and the size of the block."""

    things: tuple[Thing, ...]
    wide: int
    high: int

    def at(self, x: int, y: int) -> tuple[Thing, ...]:
        return tuple(thing._replace(x=thing.x + x, y=thing.y + y) for thing in self.things)

    def flipped(self) -> _Block:
        """Swap width and height, so that a row of blocks can be laid out as a column."""
        return _Block(self.things, self.high, self.wide)


def lay_out(sketch: Sketch, canvas: int, samples: dict[str, list[int]], dice: Dice) -> Placed | None:
    """Place all groups, or return None if they have no room."""
    margin = max(1, round(_MARGIN * canvas))
    room = canvas - 2 * margin
    if sketch.relation == "inside":
        placed = _inside(sketch, room, canvas, samples, dice)
    elif sketch.relation == "corner":
        placed = _corner(sketch, room, canvas, samples, dice)
    else:
        placed = _line(sketch, room, canvas, samples, dice)
    if placed is None:
        return None
    return tuple(tuple(thing._replace(x=thing.x + margin, y=thing.y + margin) for thing in group) for group in placed)


def _things(group: Group, canvas: int, samples: dict[str, list[int]], dice: Dice) -> list[Thing]:
    """Return the things of a group, not placed yet, each digit with its own handwritten sample."""
    low, high = (round(part * canvas) for part in _HEIGHTS[group.size])
    height = dice.between(low, high)
    hands = samples.get(group.kind)
    return [
        Thing(group.kind, group.colour, height, dice.pick(hands) if hands else -1, 0, 0) for _ in range(group.number)
    ]


def _arranged(group: Group, canvas: int, samples: dict[str, list[int]], dice: Dice) -> _Block:
    """Arrange a group in a row, in a column, or in rows of two."""
    things = _things(group, canvas, samples, dice)
    per_row = dice.pick((1, 2, len(things))) if len(things) > 2 else dice.between(1, len(things))
    cell_wide, cell_high = max(thing.width for thing in things), things[0].height
    loose = dice.between(0, max(1, canvas // 20)), dice.between(0, max(1, canvas // 20))
    placed = []
    for number, thing in enumerate(things):
        row, column = divmod(number, per_row)
        short = len(things) - row * per_row  # an incomplete last row is centered
        indent = (cell_wide + _APART) * max(0, per_row - short) // 2
        x = column * (cell_wide + _APART + loose[0]) + indent + (cell_wide - thing.width) // 2
        y = row * (cell_high + _APART + loose[1])
        placed.append(thing._replace(x=x, y=y))
    left, top = min(thing.x for thing in placed), min(thing.y for thing in placed)
    placed = [thing._replace(x=thing.x - left, y=thing.y - top) for thing in placed]
    return _Block(
        tuple(placed),
        max(thing.x + thing.width for thing in placed),
        max(thing.y + thing.height for thing in placed),
    )


def _line(sketch: Sketch, room: int, canvas: int, samples: dict[str, list[int]], dice: Dice) -> Placed | None:
    """Place one block after the other, from the left or from the top."""
    groups = list(sketch.groups)
    if sketch.relation == "around":  # two things of one group, one on either side
        one = groups[1]._replace(number=1)
        groups[1:] = [one, one]
    blocks = [_arranged(group, canvas, samples, dice) for group in groups]
    order = [1, 0, 2] if len(blocks) == 3 else list(range(len(blocks)))
    down = sketch.relation == "above" or (sketch.relation in ("between", "around") and sketch.turned[0])
    places = _in_line([blocks[n].flipped() if down else blocks[n] for n in order], sketch.relation, room, canvas, dice)
    if places is None:
        return None
    found: list[tuple[Thing, ...]] = [()] * len(blocks)
    for n, (along, across) in zip(order, places, strict=True):
        found[n] = blocks[n].at(across, along) if down else blocks[n].at(along, across)
    if sketch.relation == "around":
        return found[0], found[1] + found[2]
    return tuple(found)


def _in_line(blocks: list[_Block], relation: str, room: int, canvas: int, dice: Dice) -> list[tuple[int, int]] | None:
    """Return where blocks begin, along a line and across it, or None if they have no room."""
    least = round((_FAR if relation == "left" else _GAP) * canvas)
    most = round(_NEAR * canvas) if relation == "near" else room
    gaps: list[int] = []
    spare = room - sum(block.wide for block in blocks) - least * (len(blocks) - 1)
    if spare < 0 or max(block.high for block in blocks) > room:
        return None
    for _ in blocks[1:]:
        more = dice.between(0, min(spare, most - least))
        gaps.append(least + more)
        spare -= more
    along = dice.between(0, spare)
    tall = max(blocks, key=lambda block: block.high)
    start = dice.between(0, room - tall.high)
    places = []
    for number, block in enumerate(blocks):
        # at least half of the shorter block overlaps the highest one
        low = max(0, start - block.high // 2)
        high = min(room - block.high, start + tall.high - (block.high + 1) // 2)
        places.append((along, start if block is tall else dice.between(low, high)))
        along += block.wide + (gaps[number] if number < len(gaps) else 0)
    if len(blocks) == 3 and not _all_beside(blocks, places):
        return None
    return places


def _all_beside(blocks: list[_Block], places: list[tuple[int, int]]) -> bool:
    """Return whether the middle block overlaps each neighbor by half of the shorter of the two."""
    middle, top = blocks[1], places[1][1]
    for block, (_, start) in ((blocks[0], places[0]), (blocks[2], places[2])):
        overlap = min(top + middle.high, start + block.high) - max(top, start)
        if overlap * 2 < min(middle.high, block.high):
            return False
    return True


def _inside(sketch: Sketch, room: int, canvas: int, samples: dict[str, list[int]], dice: Dice) -> Placed | None:
    """Place the first group in the hole of the second, which is one hollow thing."""
    inner = _arranged(sketch.groups[0], canvas, samples, dice)
    outer = _arranged(sketch.groups[1], canvas, samples, dice)
    x, y = dice.between(0, room - outer.wide), dice.between(0, room - outer.high)
    # the largest square in the hole; in a ring, its corners touch the circle
    side = int(outer.high * (0.7 / 2**0.5 if sketch.groups[1].kind == "ring" else 0.7)) - 1
    if max(inner.wide, inner.high) > side:
        return None
    left, top = x + (outer.wide - side) // 2, y + (outer.high - side) // 2
    at = left + dice.between(0, side - inner.wide), top + dice.between(0, side - inner.high)
    return inner.at(*at), outer.at(x, y)


def _corner(sketch: Sketch, room: int, canvas: int, samples: dict[str, list[int]], dice: Dice) -> Placed | None:
    """Place the first group beside the second and above or below the third; keep those two apart."""
    blocks = [_arranged(group, canvas, samples, dice) for group in sketch.groups]
    beside = _in_line(blocks[:2], "near", room, canvas, dice)
    under = _in_line([blocks[0].flipped(), blocks[2].flipped()], "near", room, canvas, dice)
    if beside is None or under is None:
        return None
    # put the first block of both lines at the origin, then move everything into the room
    second = beside[1][0] - beside[0][0], beside[1][1] - beside[0][1]
    third = under[1][1] - under[0][1], under[1][0] - under[0][0]
    starts = [(0, 0), second, third]
    mirrored = [
        (-x - block.wide if sketch.turned[0] else x, -y - block.high if sketch.turned[1] else y)
        for (x, y), block in zip(starts, blocks, strict=True)
    ]
    left, top = min(x for x, _ in mirrored), min(y for _, y in mirrored)
    spare_wide = room - max(x + block.wide for (x, _), block in zip(mirrored, blocks, strict=True)) + left
    spare_high = room - max(y + block.high for (_, y), block in zip(mirrored, blocks, strict=True)) + top
    if min(spare_wide, spare_high) < 0 or _touch(blocks, mirrored):
        return None
    shift = dice.between(0, spare_wide) - left, dice.between(0, spare_high) - top
    return tuple(block.at(x + shift[0], y + shift[1]) for (x, y), block in zip(mirrored, blocks, strict=True))


def _touch(blocks: list[_Block], places: list[tuple[int, int]]) -> bool:
    (x, y), (u, v) = places[1:]
    one, other = blocks[1:]
    beside = x + one.wide + _APART <= u or u + other.wide + _APART <= x
    return not beside and not (y + one.high + _APART <= v or v + other.high + _APART <= y)
