"""scenes: captions are true of their images, checked from captions, boxes and pixels alone."""

import pickle
import re
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.corpora import CORPORA
from saccade.corpora.scenes import COLOURS, DIGITS, SHAPES, Scene, scenes, things
from saccade.corpora.scenes.things import KINDS, mask, samples
from saccade.data.captions import by_picture
from saccade.errors import ConfigError, DataError

COUNTS = {"a": 1, "an": 1, "two": 2, "three": 3, "four": 4}
SIZES = {"small": "small", "little": "small", "large": "large", "big": "large"}
SINGULAR = {kind: kind for kind in KINDS} | {f"{kind}{'es' if kind[-1] in 'sx' else 's'}": kind for kind in KINDS}
SAYS = ["left of", "right of", "next to", "beside", "above", "over", "below", "under", "inside", "in", "around"]
GLUE = {"a", "an", "the", "of", "to", "there", "is", "are", "and", "with"}
PHRASE = rf"(?:{'|'.join(COUNTS)})(?: (?:{'|'.join(SIZES)}))? (?:{'|'.join(COLOURS)}) (?:{'|'.join(SINGULAR)})\b"


def overlap(one, other, axis):
    """How much of the shorter of two boxes lies beside the other, seen along an axis."""
    shared = min(one[axis + 2], other[axis + 2]) - max(one[axis], other[axis])
    return shared / min(one[axis + 2] - one[axis], other[axis + 2] - other[axis])


def before(one, other, axis):
    """Whether a box ends before another begins, and lies beside it."""
    return one[axis + 2] + 1 / 32 <= other[axis] and overlap(one, other, 1 - axis) >= 0.4


def within(one, other):
    return other[0] < one[0] and other[1] < one[1] and one[2] < other[2] and one[3] < other[3]


def near(one, other):
    gap = max(one[0] - other[2], other[0] - one[2])
    return (before(one, other, 0) or before(other, one, 0)) and gap <= 0.13


TRUE = {
    "left of": lambda a, b: before(a, b, 0),
    "right of": lambda a, b: before(b, a, 0),
    "above": lambda a, b: before(a, b, 1),
    "over": lambda a, b: before(a, b, 1),
    "below": lambda a, b: before(b, a, 1),
    "under": lambda a, b: before(b, a, 1),
    "next to": near,
    "beside": near,
    "inside": within,
    "in": within,
    "around": lambda a, b: within(b, a),
}


def things_of(phrase, scene):
    """Return the things in an image that a noun phrase describes; check everything that it says."""
    count, *size, colour, noun = phrase.split()
    found = [thing for thing in scene.things if (thing.colour, thing.kind) == (colour, SINGULAR[noun])]
    assert len(found) == COUNTS[count], phrase
    assert (noun in KINDS) == (len(found) == 1), phrase
    first = ([*size, colour])[0]
    assert (count == "an") == (count in ("a", "an") and first[0] in "aeiou"), phrase
    for thing in found:
        large = thing.height / scene.canvas > 0.3
        assert not size or SIZES[size[0]] == ("large" if large else "small"), phrase
    return found


def around(things, canvas):
    edges = np.array([[thing.x, thing.y, thing.x + thing.width, thing.y + thing.height] for thing in things])
    return (*(edges[:, :2].min(0) / canvas), *(edges[:, 2:].max(0) / canvas))


def check(example):
    """Parse a caption and check every part of it against the image."""
    text, scene = example.target, example.image
    phrases = [(match.start(), match[0]) for match in re.finditer(PHRASE, text)]
    groups = [things_of(phrase, scene) for _, phrase in phrases]
    assert sum(map(len, groups)) == len(scene.things), text  # nothing is left unsaid, nothing said twice
    boxes = [around(group, scene.canvas) for group in groups]
    frame_ = re.sub(PHRASE, "#", text)
    verb = "are" if len(groups[0]) > 1 else "is"
    frame_ = re.sub(rf"^(there {verb} #|# {verb}(?= ))", "#", frame_).replace("to the left of", "left of")
    frame_ = frame_.replace("to the right of", "right of")
    if frame_ in ("# between #", "# with # between them"):
        middle, outer = (0, 1) if frame_ == "# between #" else (1, 0)
        neighbours = [around([thing], scene.canvas) for thing in groups[outer]]
        assert is_between(boxes[middle], *neighbours), text
    elif frame_ in ("# between # and #", "# and # with # between them"):
        middle = 0 if frame_.startswith("# between") else 2
        others = [box for place, box in enumerate(boxes) if place != middle]
        assert is_between(boxes[middle], *others), text
    elif frame_ != "#":
        match = re.fullmatch(rf"# ({'|'.join(SAYS)}) #(?: and ({'|'.join(SAYS)}) #)?", frame_)
        assert match, text
        for place, relation in enumerate(filter(None, match.groups()), 1):
            assert TRUE[relation](boxes[0], boxes[place]), text
    check_boxes(example, phrases, boxes)


def is_between(middle, one, other):
    return any(
        before(a, middle, axis) and before(middle, b, axis) for a, b in ((one, other), (other, one)) for axis in (0, 1)
    )


def check_boxes(example, phrases, boxes):
    """Words of a phrase have the box of their things; relations have one around some phrases; articles have none."""
    words = example.target.split()
    assert len(example.boxes) == len(words)
    owner = {}
    for (start, phrase), box in zip(phrases, boxes, strict=True):
        first = len(example.target[:start].split())
        owner |= dict.fromkeys(range(first, first + len(phrase.split())), box)
    for place, (word, box) in enumerate(zip(words, example.boxes, strict=True)):
        if word in GLUE:
            assert box is None, example.target
        elif place in owner:
            assert box == pytest.approx(owner[place]), example.target
        else:
            assert sum(holds(box, inner) for inner in boxes) >= (1 if word == "them" else 2), example.target


def holds(outer, inner):
    return outer[0] <= inner[0] and outer[1] <= inner[1] and outer[2] >= inner[2] and outer[3] >= inner[3]


def pictures(*arguments, **options):
    """The different scenes, in their order."""
    return list(dict.fromkeys(example.image for example in scenes(*arguments, **options)))


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_captions_are_true(split):
    for example in scenes(split, 400):
        check(example)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([48, 64, 96, 160]))
def test_captions_are_true_on_any_canvas(seed, canvas):
    for example in scenes("train", 15, seed, canvas=canvas):
        check(example)


def test_the_checker_notices_lies():
    lied = 0
    turned = {"left": "right", "above": "below", "inside": "beside", "two": "three", "red": "blue", "small": "large"}
    for example in scenes("train", 100):
        for word, other in turned.items():
            if word in example.target.split():
                lie = " ".join(other if said == word else said for said in example.target.split())
                with pytest.raises((AssertionError, IndexError)):
                    check(type(example)(target=lie, image=example.image, boxes=example.boxes))
                lied += 1
    assert lied > 100


def test_things_lie_whole_on_the_canvas_and_apart():
    for scene in pictures("train", 500):
        boxes = [(thing.x, thing.y, thing.x + thing.width, thing.y + thing.height) for thing in scene.things]
        for place, (thing, box) in enumerate(zip(scene.things, boxes, strict=True)):
            assert min(box) >= 1
            assert max(box) <= scene.canvas - 1
            for other, inner in zip(scene.things[place + 1 :], boxes[place + 1 :], strict=True):
                apart = box[2] < inner[0] or inner[2] < box[0] or box[3] < inner[1] or inner[3] < box[1]
                assert apart or (thing.kind in ("ring", "frame") and within(inner, box)), (thing, other)


def test_what_lies_inside_does_not_touch_the_rim():
    for scene in pictures("train", 400):
        rim, *inner = scene.things
        box = (rim.x, rim.y, rim.x + rim.width, rim.y + rim.height)
        if inner and within((inner[0].x, inner[0].y, inner[0].x + 1, inner[0].y + 1), box):
            cover = np.zeros((scene.canvas,) * 2)
            cover[rim.y : box[3], rim.x : box[2]] = mask(rim.kind, rim.height)
            for thing in inner:
                covered = cover[thing.y : thing.y + thing.height, thing.x : thing.x + thing.width]
                ink = mask(thing.kind, thing.height, thing.sample)
                assert (np.minimum(covered, ink) < 0.3).all()


def test_pixels_show_the_colours_where_the_boxes_are():
    for scene in pictures("train", 60):
        picture = scene.load().astype(int)
        assert picture.shape == (64, 64, 3)
        for thing in scene.things:
            patch = picture[thing.y : thing.y + thing.height, thing.x : thing.x + thing.width]
            far = np.abs(patch - COLOURS[thing.colour]).max(-1)
            assert (far < 45).sum() >= (0.1 if thing.kind in SHAPES else 0.02) * far.size, thing
        drawn = np.zeros((64, 64), bool)
        for thing in scene.things:
            drawn[thing.y : thing.y + thing.height, thing.x : thing.x + thing.width] = True
        assert picture[~drawn].min() > 190  # nothing but the pale background outside


def test_colours_can_be_told_apart():
    shades = np.array(list(COLOURS.values()))
    far = np.abs(shades[:, None] - shades[None]).sum(-1) + 999 * np.eye(len(shades))
    assert len(shades) >= 7
    assert far.min() >= 80


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("height", [10, 21, 40])
def test_shapes_fill_their_boxes_with_soft_edges(kind, height):
    drawn = mask(kind, height)
    assert drawn.shape[0] == height
    assert drawn.max() == 1
    edges = [drawn[0].max(), drawn[-1].max(), drawn[:, 0].max(), drawn[:, -1].max()]
    assert min(edges) > 0
    np.testing.assert_allclose(drawn, drawn[:, ::-1], atol=0.2)  # all of them are the same from left and right
    if kind not in ("square", "frame", "cross"):
        assert ((drawn > 0.05) & (drawn < 0.95)).any()


def test_shapes_differ_from_each_other():
    drawn = [mask(kind, 20) for kind in SHAPES]
    for place, one in enumerate(drawn):
        for other in drawn[place + 1 :]:
            assert one.shape != other.shape or np.abs(one - other).mean() > 0.1


def test_no_handwriting_is_in_two_splits():
    found = {split: samples(split) for split in ("train", "valid", "test")}
    for digit in DIGITS:
        train, valid, test = (set(found[split][digit]) for split in ("train", "valid", "test"))
        assert not train & valid
        assert not (train | valid) & test
        assert len(train) > 100
        assert min(len(valid), len(test)) > 15
    for scene in pictures("valid", 100):
        assert all(thing.sample in found["valid"][thing.kind] for thing in scene.things if thing.kind in DIGITS)


def test_splits_share_no_caption_and_no_picture():
    found = {split: list(scenes(split, 400, seed)) for split, seed in (("train", 1), ("valid", 1), ("test", 2))}
    texts = {split: {example.target for example in some} for split, some in found.items()}
    assert texts["train"].isdisjoint(texts["valid"] | texts["test"])
    assert texts["valid"].isdisjoint(texts["test"])
    drawn = [scene.load().tobytes() for some in found.values() for scene in dict.fromkeys(e.image for e in some)]
    assert len(set(drawn)) == len(drawn) == 1200


def test_the_same_arguments_give_the_same():
    assert list(scenes("train", 30, 3)) == list(scenes("train", 30, 3))
    assert list(scenes("valid", 20)) == list(scenes("valid", 30))[:80]
    assert list(scenes("train", 20, 3)) != list(scenes("train", 20, 4))
    one, again = (next(scenes("train", 1, 3)).image for _ in range(2))
    np.testing.assert_array_equal(one.load(), again.load())
    assert one.stamp() == again.stamp()


def test_every_picture_has_different_captions_with_both_beginnings():
    groups = {}
    for number, example in by_picture(scenes("train", 300, captions=4)):
        groups.setdefault(number, []).append(example)
    assert len(groups) == 300
    both = 0
    for examples in groups.values():
        texts = tuple(example.target for example in examples)
        assert len(set(texts)) == 4
        assert all(example.references == texts and example.image is examples[0].image for example in examples)
        heads = {re.sub(r"^there (is|are) ", "", text).split()[-1] for text in texts}
        both += len(heads) > 1
    assert both > 200


def test_the_first_caption_is_plain_and_the_only_one_if_there_is_one():
    every = [example.references for example in scenes("train", 200, captions=3)]
    first = [example.target for example in scenes("train", 200, captions=1)]
    assert len({references[0] for references in every}) > 150
    for text in [*first, *(references[0] for references in every)]:
        assert not {
            *SIZES,
            "there",
            "is",
            "are",
            "to",
            "next",
            "beside",
            "over",
            "under",
            "in",
            "around",
            "with",
        } & set(text.split()), text


def test_lengths_and_words():
    words, lengths = set(), set()
    for example in scenes("train", 1500):
        lengths.add(len(example.target.split()))
        words |= set(example.target.split())
    assert (min(lengths), max(lengths)) == (3, 16)
    assert 60 <= len(words) <= 80
    assert words >= {*COLOURS, *SINGULAR, *SIZES, *COUNTS, *GLUE, "between", "them", "left", "right", "next"}


def test_lengths_can_be_narrowed():
    assert {len(example.target.split()) for example in scenes("train", 60, min_length=8, max_length=9)} == {8, 9}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"min_length": 17, "max_length": 30},
            "lengths 17 to 30 are asked for, but captions have 3 to 16 words. Choose",
        ),
        ({"canvas": 32}, "a canvas of 32 pixels is too small to tell things apart. Take 48"),
        ({"captions": 0}, "0 captions are asked for each image. Ask for 1 or more"),
    ],
)
def test_what_cannot_be_drawn_is_refused_at_once(options, said):
    with pytest.raises(ConfigError, match=f"scenes: {said}"):
        scenes("train", 1, **options)


def test_more_captions_than_there_are(monkeypatch):
    monkeypatch.setattr(sys.modules["saccade.corpora.scenes"], "_PATIENCE", 50)
    with pytest.raises(DataError, match=r"no train image with 9 different captions of 3 to 4 words. Allow more"):
        next(scenes("train", 1, max_length=4, captions=9))


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setattr(things, "_handwriting", things._handwriting.__wrapped__)  # without its cache
    with pytest.raises(ConfigError, match=r"'scenes', whose digits .* needs the extra 'scenes'\. .* -e '\.\[sc"):
        next(scenes("train", 1))


def test_a_scene_is_drawn_only_when_it_is_loaded():
    scene = next(scenes("train", 1)).image
    assert isinstance(scene, Scene)
    assert scene.name == "scenes train 1, image 0"
    assert not any(isinstance(value, np.ndarray) for value in vars(scene).values())


def test_scenes_travel_between_processes():
    example = next(scenes("train", 1))
    assert pickle.loads(pickle.dumps(example)) == example


def test_the_table_lists_the_corpus():
    corpus = CORPORA["scenes"]
    assert corpus.generate is scenes
    assert (corpus.task, corpus.sides) == ("captioning", ("en",))
