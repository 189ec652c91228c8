"""A map as an SVG element of another page, such as a notebook."""

import re
from xml.etree import ElementTree

from saccade.look import Map
from saccade.look.svg import CELL, LOOKS, Drawing

AREA = Map(["the", "<b>", "."], ["la", "zone"], [[0.9, 0.1, 0], [0, 0.4, 0.6]], gold=[(0, 0)])


def test_alone_it_needs_no_style_and_leaves_none():
    text = str(Drawing(AREA, "where it looked", alone=True))
    assert not re.search(r"\b(class|id|style)=|<style", text)
    for look in LOOKS.values():
        assert look in text
    assert text.count('stroke="#e8820c"') == 1


def test_letters_and_lines_take_the_colour_of_the_page():
    """Text follows the page, so it is light in a dark notebook."""
    root = ElementTree.fromstring(str(Drawing(AREA, "where it looked", alone=True)))
    assert root.get("fill") == "currentColor"
    assert root.find("path").get("stroke") == "currentColor"
    assert all(label.get("fill") is None for label in root.iter("text"))
    assert [text.text for text in root.iter("text")] == ["the", "<b>", ".", "la", "zone"]


def test_in_a_page_its_parts_have_classes():
    text = str(Drawing(AREA, "where it looked"))
    assert "currentColor" not in text
    assert set(re.findall(r'class="([^"]*)"', text)) == {"grid", "band", "cell", "gold", "written", "mark"}


def test_marks_stand_apart():
    apart, even = Drawing(AREA, ""), Drawing(Map(AREA.source, AREA.target, AREA.weights, marks=((), ())), "")
    assert apart.xs == [0, CELL, round(2.35 * CELL), round(3.35 * CELL)]
    assert even.xs == [0, CELL, 2 * CELL, 3 * CELL]


def test_nothing_can_be_drawn():
    ElementTree.fromstring(str(Drawing(Map([], [], []), "nothing")))


def test_a_weight_above_1_is_as_opaque_as_1():
    root = ElementTree.fromstring(str(Drawing(Map(["a", "b"], ["c"], [[1.5, 0.25]]), "")))
    assert [cell.get("fill-opacity") for cell in root.iter("rect") if cell.get("class") == "cell"] == ["1", "0.25"]
