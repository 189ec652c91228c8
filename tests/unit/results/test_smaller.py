"""SVG files that take fewer bytes and show the same: every shape and text stays, at its place and in its color."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

RESULTS = Path(__file__).parents[3] / "results"
sys.path.insert(0, str(RESULTS))

from smaller import SVG, smaller  # noqa: E402

from saccade.look import Curve, Map, save, save_lengths, save_reading  # noqa: E402

WORDS = ["the", "fbi", "is", "chasing"]
WEIGHTS = [[0.7, 0.1, 0.1, 0.1], [0.1, 0.9, 0, 0], [0, 0, 0.5, 0.5], [0.25, 0.25, 0.25, 0.25]]
FIGURES = {
    "curves": lambda path: save_lengths([Curve(n, [(1, 9, 20, 19, 23), (10, 19, 9, 8, 11)]) for n in "ab"], path, 12),
    "matrix": lambda path: save(Map(WORDS, WORDS, WEIGHTS), path),
    "reading": lambda path: save_reading(Map(WORDS, WORDS, WEIGHTS), path),
}


@pytest.fixture(params=FIGURES)
def drawing(request, tmp_path):
    """A figure as matplotlib writes it."""
    FIGURES[request.param](tmp_path / "x.svg")
    return (tmp_path / "x.svg").read_text(encoding="utf-8")


def corners(path):
    """The points of a path, from absolute or relative commands."""
    x = y = 0.0
    found = []
    for name, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        values = [float(number) for number in re.findall(r"-?[\d.]+", numbers)]
        if name in "hv":
            values = [part for value in values for part in ((value, 0) if name == "h" else (0, value))]
        size = {"q": 4, "c": 6}.get(name.lower(), 2)
        for at in range(0, len(values), size):
            pairs = list(zip(values[at : at + size : 2], values[at + 1 : at + size : 2], strict=True))
            pairs = [(x + a, y + b) for a, b in pairs] if name.islower() else pairs
            found += pairs
            x, y = pairs[-1]
    return found


def points_of(text):
    """The points of all paths, in the order of drawing."""
    return [point for path in ElementTree.fromstring(text).iter(f"{SVG}path") for point in corners(path.attrib["d"])]


def test_every_point_stays_where_it_was(drawing):
    before, after = points_of(drawing), points_of(smaller(drawing))
    assert len(before) == len(after) > 20
    for old, new in zip(before, after, strict=True):
        assert new == pytest.approx(old, abs=0.06)


def test_texts_and_colors_stay(drawing):
    made = smaller(drawing)
    old, new = ElementTree.fromstring(drawing), ElementTree.fromstring(made)
    assert [text.text for text in old.iter(f"{SVG}text")] == [text.text for text in new.iter(f"{SVG}text")]
    assert set(re.findall(r"(?:fill|stroke): (#\w{6})", drawing)) == set(re.findall(r"#[0-9a-f]{6}\b", made))


def test_every_reference_leads_to_an_element_and_every_class_to_a_rule(drawing):
    made = smaller(drawing)
    root = ElementTree.fromstring(made)
    names = {element.get("id") for element in root.iter()} - {None}
    linked = {element.get("href", "")[1:] for element in root.iter()} | set(re.findall(r"url\(#(\w+)\)", made))
    assert linked - {""} == names
    rules = set(re.findall(r"\.([a-z]+)\{", made))
    assert {element.get("class") for element in root.iter()} - {None} == rules


def test_it_takes_half_the_bytes(drawing):
    made = smaller(drawing)
    assert len(made) < 0.5 * len(drawing)
    assert "DejaVu Sans',Verdana" in made, "and a font of the same width for computers without matplotlib's"
