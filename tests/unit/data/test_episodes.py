"""Episodes: drawn by number, from classes of their own; padded; and what cannot be drawn."""

import numpy as np
import pytest

from saccade.batch import NO_LABEL
from saccade.data.episode_feature import padded_episodes, pixels_of
from saccade.data.episodes import TURNS, EpisodePlan, EpisodesConfig, Setting, members_of, turned
from saccade.errors import DataError

LABELS = [f"c{number // 6}" for number in range(60)]
WHOLE = np.ones(60, np.bool_)


def plan(codes=7, queries=4, seed=1, name="train", rotated=False, labels=LABELS, whole=WHOLE):
    return EpisodePlan(members_of(labels, whole, rotated=rotated), codes, queries, seed, name)


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("setting", [Setting(2, 1), Setting(5, 3), Setting(7, 5)])
def test_an_episode_has_its_classes_and_shots_and_asks_for_other_images(setting):
    for number in range(30):
        made = plan().draw(number, setting)
        classes = made.support // TURNS // 6
        assert len(made.support) == setting.ways * setting.shots
        assert len(set(made.support.tolist())) == len(made.support)
        found = {int(code): set(classes[made.given == code].tolist()) for code in set(made.given.tolist())}
        assert len(found) == setting.ways, "a code for each class"
        assert all(len(each) == 1 for each in found.values())
        assert all((made.given == code).sum() == setting.shots for code in found)
        assert set(found) <= set(range(7))
        for image, label in zip(made.queries, made.labels, strict=True):
            assert {int(image) // TURNS // 6} == found[int(label)]
            assert image not in made.support


def test_number_and_seed_decide_an_episode():
    setting = Setting(5, 2)
    assert same(plan().draw(3, setting), plan().draw(3, setting))
    for other in (plan().draw(4, setting), plan(seed=2).draw(3, setting), plan(name="valid").draw(3, setting)):
        assert not same(plan().draw(3, setting), other)


def test_codes_and_order_of_classes_are_random():
    firsts = [plan().draw(number, Setting(2, 1)) for number in range(400)]
    given = np.array([made.given for made in firsts])
    assert set(given.ravel().tolist()) == set(range(7)), "every code is used, also by episodes of few classes"
    counts = np.bincount(given.ravel(), minlength=7)
    assert counts.min() > 0.6 * counts.mean()
    asked = np.concatenate([made.labels == made.given[0] for made in firsts])
    assert 0.4 < asked.mean() < 0.6, "the answer is not told by the order"


def test_broken_images_are_left_out_and_turns_are_classes():
    whole = WHOLE.copy()
    whole[:5] = False
    members = members_of(LABELS, whole, rotated=True)
    assert len(members) == 40
    assert members[0].tolist() == [5 * TURNS]
    assert members[10].tolist() == [5 * TURNS + 1]


def test_images_are_turned():
    image = np.arange(6, dtype=np.uint8).reshape(1, 2, 3, 1)
    square = np.arange(9, dtype=np.uint8).reshape(1, 3, 3, 1)
    assert np.array_equal(turned(image, np.array([0]))[0], image[0])
    for turn in range(TURNS):
        assert np.array_equal(turned(square, np.array([turn]))[0, ..., 0], np.rot90(square[0, ..., 0], turn))


@pytest.mark.parametrize(
    ("labels", "setting", "why"),
    [
        (LABELS, Setting(11, 1), "has 10 classes, but a 11-way 1-shot episode needs 11"),
        (["one"] * 9, Setting(2, 1), "has 1 classes, but a 2-way 1-shot episode needs 2"),
        (LABELS, Setting(5, 6), "has a class of 6 images, but a 5-way 6-shot episode needs 6 and a query"),
    ],
)
def test_what_cannot_be_drawn_is_refused(labels, setting, why):
    with pytest.raises(DataError, match=why):
        plan(labels=labels, whole=np.ones(len(labels), np.bool_)).check(setting, "the data")


def test_padding_repeats_images_and_has_no_labels():
    pixels = np.arange(60, dtype=np.uint8)[:, None, None, None] * np.ones((1, 2, 2, 1), np.uint8)
    made = plan()
    few, many = made.draw(0, Setting(2, 1)), made.draw(1, Setting(3, 2))
    batch = padded_episodes(pixels, [few, many], 3, 8)
    assert batch["source_mask"].sum(1).tolist() == [2, 6, 2]
    assert batch["support"].shape == (3, 8, 2, 2, 1)
    assert batch["queries"].shape == (3, 4, 2, 2, 1)
    assert batch["support"][0, :, 0, 0, 0].tolist() == (few.support // TURNS).tolist() * 4
    assert (batch["source"][0, 2:] == 0).all()
    assert batch["source"][1, :6].tolist() == many.given.tolist()
    assert (batch["labels"][2] == NO_LABEL).all()
    assert batch["labels"][1].tolist() == many.labels.tolist()


def test_gray_is_the_mean_of_colors():
    colors = np.array([[[[0, 90, 240]]]], np.uint8)
    assert pixels_of(colors, color=False).tolist() == [[[[110]]]]
    assert pixels_of(colors, color=True).tolist() == colors.tolist()


def test_the_most_classes_of_any_episode_are_the_codes():
    assert EpisodesConfig(ways=(2, 6), tests=[(3, 1)]).codes == 6
    assert EpisodesConfig(ways=(2, 6), tests=[(3, 1), (20, 5)]).codes == 20
    with pytest.raises(ValueError, match=r"shots are 5 to 2, but must be \[least, most\]"):
        EpisodesConfig(shots=(5, 2))
