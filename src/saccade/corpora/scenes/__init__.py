"""scenes: pictures of handwritten digits and drawn shapes, with captions and the region each word is about.

    two blue circles left of a red seven
    there is a red seven to the right of two little blue circles

Read `things` first (what there is to see), then `scene` (how it is drawn), `layout` (what relations mean) and `words`
(what is said). Handwriting comes with scikit-learn, the extra `scenes`.
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
"""Pixels of a canvas on which small things can still be told apart."""
_PATIENCE = 20_000
_OFTEN = {"alone": 1, "left": 2, "near": 2, "above": 3, "inside": 2, "between": 1, "around": 1, "corner": 1}
"""How often scenes show each relation, as far as there is room."""
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
    """`size` pictures, each as `captions` Examples one after the other; `size` None goes on forever.

    The first caption of a picture is the plain one: `a red seven left of two blue circles`, always from the left or
    from the top, without sizes. With one caption a picture has only that, so that there is one right answer.

    Of an example, `image` is the Scene, drawn when it is loaded, `target` a caption, `references` all captions of the
    picture and `boxes` the region of each word of the target (see `words`). Lengths count the words of a caption; they
    are 3 to 16, or fewer lengths if asked. The same arguments give the same pictures, and a larger size only adds to
    them. Splits share no sample of handwriting and no caption: the counted, coloured things of a picture decide its
    split, whatever their places, and every caption names them all.
    """
    check_request("scenes", split, size, min_length, max_length)
    low, high = max(min_length, SHORTEST), min(max_length, LONGEST)
    if low > high:
        raise ConfigError(
            f"scenes: lengths {min_length} to {max_length} are asked for, but captions have {SHORTEST} to {LONGEST} "
            "words. Allow some of these."
        )
    if canvas < SMALLEST:
        raise ConfigError(f"scenes: a canvas of {canvas} pixels is too small to tell things apart. Take {SMALLEST}.")
    if captions < 1:
        raise ConfigError(f"scenes: {captions} captions are asked for each picture. Ask for 1 or more.")
    found = _endless(split, seed, low, high, canvas, captions)
    return found if size is None else islice(found, size * captions)


def _endless(split: str, seed: int, low: int, high: int, canvas: int, captions: int) -> Iterator[Example]:
    dice = Dice(f"scenes {split} {seed} {canvas} {low} {high} {captions}")
    hands = samples(split)
    number = vain = 0
    while True:
        if (vain := vain + 1) > _PATIENCE:
            raise DataError(
                f"scenes has no {split} picture with {captions} different captions of {low} to {high} words. Allow "
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
        scene = Scene(f"scenes {split} {seed}, picture {number}", canvas, _stacked(placed), int(dice.random() * 2**32))
        number, vain = number + 1, 0
        texts = tuple(" ".join(word for word, _ in caption) for caption in written)
        for text, caption in zip(texts, written, strict=True):
            yield Example(target=text, image=scene, references=texts, boxes=tuple(box for _, box in caption))


def _stacked(placed: Placed) -> tuple[Thing, ...]:
    """All things, what may lie around another first."""
    return tuple(thing for group in reversed(placed) for thing in group)


def _sketch(dice: Dice) -> Sketch:
    """Something to draw; whether it has room shows later."""
    relation = dice.pick(_RELATIONS)
    count = {"alone": 1, "between": 3, "corner": 3}.get(relation, 2)
    groups: list[Group] = []
    while len(groups) < count:
        group = _group(relation, len(groups), dice)
        # no two groups that a caption could mix up
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
