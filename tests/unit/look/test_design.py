"""Figures and the explorer page have the same colors, names and thresholds."""

import re
from pathlib import Path

import pytest

from saccade import look
from saccade.look import design

PAGE = Path(look.__file__).parent / "page"
FILES = {path.relative_to(PAGE).as_posix(): path.read_text(encoding="utf-8") for path in PAGE.rglob("*.[jc]s*")}
STAGE, RIBBONS = FILES["stage/stage.js"], FILES["stage/ribbons.js"]


def light(name):
    """A color of the page's light theme."""
    theme = re.search(r":root \{(.*?)\}", FILES["style/base.css"], re.DOTALL)[1]
    return re.search(rf"--{name}: (#\w+);", theme)[1]


@pytest.mark.parametrize(
    ("name", "colour"),
    [
        ("text", design.TEXT),
        ("muted", design.MUTED),
        ("line", design.FAINT),
        ("ink", design.INK),
        ("point", design.POINT),
        ("yours", design.YOURS),
        ("gold", design.GOLD),
    ],
)
def test_colours_are_those_of_the_page(name, colour):
    assert colour == light(name)


def test_the_page_is_printed_in_the_same_ink():
    printed = FILES["style/lenses.css"].split("@media print", 1)[1]
    assert {design.INK, design.POINT, design.YOURS} <= set(re.findall(r"#\w{6}", printed))


def test_names_are_those_of_the_page():
    named = dict(re.findall(r'(\w+): "([^"]+)"', re.search(r"const NAMES = \{(.*)\}", STAGE)[1]))
    assert named == design.LANES
    assert all(f'? "{name}" : nameOf' in STAGE for name in design.OWN)
    ways = re.search(r"const WAYS = \{(.*?)\}", FILES["lenses/heads.js"], re.DOTALL)[1]
    assert {tuple(sides.split(" → ")): way for sides, way in re.findall(r'"([^"]+)": "([^"]+)"', ways)} == design.WAYS
    assert "head ${number + 1}" in FILES["lenses/heads.js"], "figures count heads from 1, too"


def test_ribbons_are_those_of_the_page():
    assert float(re.search(r"FAINTEST = ([\d.]+)", RIBBONS)[1]) == design.FAINTEST_LINK
    widest = float(re.search(r"WIDEST = ([\d.]+)", RIBBONS)[1])
    assert "(1 + (WIDEST - 1) * weight)" in RIBBONS
    assert [design.thickness(weight, 26) for weight in (0, 1)] == [1, widest]
    for opacity in (design.resting, design.lit):
        base = opacity(0)
        assert f"{base:g} + {opacity(1) - base:g} * weight" in RIBBONS
    assert "C${x0.toFixed(1)} ${middle.toFixed(1)} ${x1.toFixed(1)}" in RIBBONS, "curves leave upright"


def test_cells_have_the_threshold_of_the_page():
    assert float(re.search(r"FAINTEST = ([\d.]+)", FILES["lenses/matrix.js"])[1]) == design.FAINTEST


def test_the_page_shows_the_same_site_first():
    assert 'trace.sites.findLast((site) => site.rows === "target"' in FILES["trace/fold.js"]
    assert "trace.sites.find((site) => site.name === trace.defaultSite)" in FILES["trace/fold.js"]


def contrast(one, other):
    def luminance(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_what_is_drawn_can_be_seen_without_hue():
    for colour in (design.TEXT, design.MUTED, design.INK, design.YOURS):
        assert contrast(colour, "#ffffff") > 4.5
    assert contrast(design.GOLD, "#ffffff") > 3, "gold links are outlined in white, too, against dark cells"
    assert contrast(design.POINT, design.TEXT) > 4.5
    assert design.mixed("#000000", 2) == "#000000"
    assert design.mixed("#204060", 0.5) == "#90a0b0"


def test_sides_have_names():
    assert design.lane_names("target", "source") == ("Read", "Wrote")
    assert design.lane_names("source", "source") == ("is attended to", "attends")
    assert design.lane_names("target", "passage") == ("passage", "Wrote")
    assert design.way_of("passage", "question") == "passage to question"
