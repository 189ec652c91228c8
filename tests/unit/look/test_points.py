"""Points in the plane with the answer drawn through them."""

import re

import pytest

from saccade.errors import ConfigError
from saccade.look import Map, draw_points, save_points

SOURCE = ["0,0", "4,0", "4,2", "0,2", "2,1", "<eos>"]
WEIGHTS = [[0.9, 0.02, 0.02, 0.02, 0.02, 0.02], [0, 0.75, 0, 0, 0.25, 0], [0, 0, 0.99, 0, 0.01, 0], [0, 0, 0, 0, 0, 1]]


def drawn(**changes):
    return Map(*{"source": SOURCE, "target": ["1", "2", "3", "<eos>"], "weights": WEIGHTS, **changes}.values())


def test_the_terminal_shows_numbers_at_their_places_and_the_answer():
    *lines, answer = draw_points(drawn(), width=40).splitlines()
    assert answer == "1 → 2 → 3"
    assert len(lines) == 16
    assert lines[-1].split() == ["1", "2"]
    assert lines[-1].index("1") == 0
    assert len(lines[-1]) == 40
    found = [(number, line.split()) for number, line in enumerate(lines) if line]
    assert [words for _, words in found] == [["4", "3"], ["5"], ["1", "2"]]
    rows = [number for number, _ in found]
    assert rows[2] - rows[0] == pytest.approx(7.5, abs=1), "half as high as wide, as the points are"


def test_the_file_has_points_answer_and_attention(tmp_path):
    save_points(drawn(), tmp_path / "points.svg", title="a trip")
    svg = (tmp_path / "points.svg").read_text()
    assert {"1", "2", "3", "4", "5", "a trip"} <= set(re.findall(r">([^<>\n]+)</(?:text|tspan)>", svg))
    opacities = re.findall(r"stroke: #\w+; stroke-opacity: ([\d.]+)", svg)
    # from 1 to 2 and to 5, from 2 to 3; the weight 0.01 is not drawn, nor is the choice of the first point
    assert [*map(float, opacities)] == [0.25, 0.75, 0.99]


def test_one_point_and_an_empty_answer(tmp_path):
    alone = Map(["1,1", "<eos>"], ["<eos>"], [[0.1, 0.9]])
    assert draw_points(alone).split() == ["1"]
    save_points(alone, tmp_path / "one.svg")


@pytest.mark.parametrize("source", [["a", "b"], ["0.5", "0.7"], ["1,2,3", "4,5,6"], ["1,2", "3"], ["1,nan", "2,3"]])
def test_what_is_no_plane_is_refused(source):
    with pytest.raises(ConfigError, match=r"shows points in the plane, but the source has none\. Draw a matrix"):
        draw_points(Map(source, ["1"], [[0.5, 0.5]]))
