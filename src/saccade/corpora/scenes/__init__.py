"""scenes: images of handwritten digits and drawn shapes, with captions and the region that each word describes.

    two blue circles left of a red seven
    there is a red seven to the right of two little blue circles

Read `things` first (the objects), then `scene` (drawing), `layout` (what relations mean) and `words` (captions).
Handwritten digits come from scikit-learn, which the extra `scenes` installs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from saccade.corpora.scenes.layout import Group, Placed, Sketch, lay_out
from saccade.corpora.scenes.scene import Scene, Thing, union
from saccade.corpora.scenes.things import COLOURS, DIGITS, HOLLOW, KINDS, SHAPES, samples
from saccade.corpora.scenes.words import write_captions
from saccade.corpora.stream import Dice, check_request, split_of
from saccade.data.example import Example
from saccade.errors import ConfigError, DataError

__all__ = ["COLOURS", "DIGITS", "LONGEST", "SHAPES", "SHORTEST", "SMALLEST", "Scene", "Thing", "scenes"]

SHORTEST, LONGEST = 3, 16
"""Words of a caption."""
SMALLEST = 48
"""Minimum side of a canvas in pixels: small things can still be distinguished."""
_PATIENCE = 20_000
_OFTEN = {"alone": 1, "left": 2, "near": 2, "above": 3, "inside": 2, "between": 1, "around": 1, "corner": 1}
"""Relative frequency of each relation, before scenes that do not fit the canvas are rejected."""
_RELATIONS = tuple(relation for relation, times in _OFTEN.items() for _ in range(times))


def scenes(
    split: str,
    size: int | None,
    seed: int = 1,
    *,
    min_length: int = 3,
    max_length: int = 20,
    canvas: int = 64,
    captions: int = 4,
) -> Iterator[Example]:
    """Generate `size` images, each as `captions` consecutive Examples; `size` None never ends.

    The first caption of an image is plain: `a red seven left of two blue circles`, naming the left or the upper
    thing first, without sizes. With `captions=1` an image has only this caption, so there is a single right answer.

    In an example, `image` is the Scene, drawn when it is loaded, and `target` is a caption. `references` are all
    captions of the image, and `boxes` the region of each word of the target (see `words`). Lengths count the words of
    a caption; they are 3 to 16, and within `min_length` and `max_length`. The same arguments give the same images, and
    a larger size only appends to them.

    Splits share no handwritten sample and no caption. The numbers, colors and kinds of the things in an image decide
    its split, whatever their places, and every caption names them all.
    """
    check_request("scenes", split, size, min_length, max_length)
    low, high = max(min_length, SHORTEST), min(max_length, LONGEST)
    if low > high:
        raise ConfigError(
            f"scenes: lengths {min_length} to {max_length} are asked for, but captions have {SHORTEST} to {LONGEST} "
            "words. Choose lengths in that range."
        )
    if canvas < SMALLEST:
        raise ConfigError(f"scenes: a canvas of {canvas} pixels is too small to tell things apart. Take {SMALLEST}.")
    if captions < 1:
        raise ConfigError(f"scenes: {captions} captions are asked for each image. Ask for 1 or more.")
    found = _endless(split, seed, low, high, canvas, captions)
    return found if size is None else islice(found, size * captions)


def _endless(split: str, seed: int, low: int, high: int, canvas: int, captions: int) -> Iterator[Example]:
    dice = Dice(f"scenes {split} {seed} {canvas} {low} {high} {captions}")
    hands = samples(split)
    number = vain = 0
    while True:
        if (vain := vain + 1) > _PATIENCE:
            raise DataError(
                f"scenes has no {split} image with {captions} different captions of {low} to {high} words. Allow "
                "more lengths, or ask for fewer captions."
            )
        sketch = _sketch(dice)
        if split_of(" , ".join(sorted(group.key for group in sketch.groups))) != split:
            continue
        placed = lay_out(sketch, canvas, hands, dice)
        if placed is None:
            continue
        boxes = [union([thing.box(canvas) for thing in things]) for things in placed]
        written = write_captions(sketch, boxes, captions, low, high, dice)
        if written is None:
            continue
        scene = Scene(f"scenes {split} {seed}, image {number}", canvas, _stacked(placed), int(dice.random() * 2**32))
        number, vain = number + 1, 0
        texts = tuple(" ".join(word for word, _ in caption) for caption in written)
        for text, caption in zip(texts, written, strict=True):
            yield Example(target=text, image=scene, references=texts, boxes=tuple(box for _, box in caption))


def _stacked(placed: Placed) -> tuple[Thing, ...]:
    """Return all things in drawing order: those that may surround others first."""
    return tuple(thing for group in reversed(placed) for thing in group)


def _sketch(dice: Dice) -> Sketch:
    """Pick a random sketch; `lay_out` finds out whether it fits the canvas."""
    relation = dice.pick(_RELATIONS)
    count = {"alone": 1, "between": 3, "corner": 3}.get(relation, 2)
    groups: list[Group] = []
    while len(groups) < count:
        group = _group(relation, len(groups), dice)
        # no two groups that a caption could confuse
        if all((group.colour, group.kind) != (other.colour, other.kind) for other in groups):
            groups.append(group)
    return Sketch(relation, tuple(groups), (dice.chance(0.5), dice.chance(0.5)))


def _group(relation: str, place: int, dice: Dice) -> Group:
    colour = dice.pick(tuple(COLOURS))
    if relation == "inside" and place == 1:
        return Group(1, "huge", colour, dice.pick(HOLLOW))
    kind = dice.pick(KINDS)
    if relation == "around" and place == 1:
        return Group(2, dice.pick(("small", "large")), colour, kind)
    if relation in ("between", "corner") or (relation == "around" and place == 0):
        return Group(1 if place or dice.chance(0.7) else 2, dice.pick(("small", "small", "large")), colour, kind)
    number = dice.pick((1, 1, 1, 1, 2, 2, 3, 4)) if relation != "inside" else dice.pick((1, 1, 1, 2))
    small = relation == "inside" or number > 2 or dice.chance(0.5)
    return Group(number, "small" if small else "large", colour, kind)
