"""Steps: one frame for each written word, as files, as a moving SVG and as a GIF."""

import re
from xml.etree import ElementTree

import pytest

from saccade.errors import ConfigError, ShapeError
from saccade.look import Format, Map, save_ribbons, save_steps
from saccade.look.design import POINT, lit

pytest.importorskip("matplotlib")
MAP = Map(["the", "old", "woman"], ["la", "vieille"], [[0.9, 0.1, 0], [0.03, 0.97, 0]])
SVG = "{http://www.w3.org/2000/svg}"


def texts(text):
    return ["".join(found.itertext()) for found in ElementTree.fromstring(text).iter(f"{SVG}text")]


def test_a_folder_has_a_file_for_each_word(tmp_path):
    save_steps(MAP, tmp_path / "steps", format=Format("T", "caption"))
    files = sorted(path.name for path in (tmp_path / "steps").iterdir())
    assert files == ["step-1.svg", "step-2.svg"]
    one, two = ((tmp_path / "steps" / name).read_text() for name in files)
    assert {"la", "90 %", "10 %", "T", "caption"} <= set(texts(one))
    assert "vieille" not in texts(one)
    assert {"la", "vieille", "97 %"} <= set(texts(two)), "what was written before stays"
    assert "90 %" not in texts(two)
    assert one.count(f"fill: {POINT}") == two.count(f"fill: {POINT}") == 1
    assert f"stroke-opacity: {lit(0.9):.2f}" in one
    assert len({re.search(r'viewBox="[^"]*"', frame)[0] for frame in (one, two)}) == 1, "frames lie above each other"


def test_there_are_enough_digits_to_sort_the_files(tmp_path):
    many = Map(["a"], ["b"] * 10, [[1.0]] * 10)
    save_steps(many, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir())[0] == "step-01.svg"


def test_an_animation_shows_the_whole_first_and_on_paper(tmp_path):
    save_steps(MAP, tmp_path / "x.svg", format=Format("T"))
    text = (tmp_path / "x.svg").read_text()
    assert texts(text).count("la") == 1, "each word is in the file once"
    hidden = set(re.findall(r'<g class="([\w-]+)" visibility="hidden"', text))
    shown = set(re.findall(r'<g class="([\w-]+)">', text)) | set(re.findall(r'<g class="([\w-]+)"', text)) - hidden
    assert hidden == {"at-1", "at-2"}
    assert {"at-0", "from-1", "from-2"} <= shown
    rules = re.search(
        r"@media screen and \(prefers-reduced-motion: no-preference\) \{(.*)\}\n</style>", text, re.DOTALL
    )
    moments = dict(re.findall(r"@keyframes ([\w-]+) \{(.*?)\}+ ?\}", rules[1]))
    assert set(moments) == hidden | {"at-0", "from-1", "from-2"}
    assert "from-2 {0.000% {visibility: visible} 33.333% {visibility: hidden} 66.667% {visibility: visible} }" in text
    assert "at-1 {0.000% {visibility: hidden} 33.333% {visibility: visible} 66.667% {visibility: hidden} }" in text
    assert "step-end infinite" in text
    assert not re.search(r'id="(at|from)-', text), "ids are not repeated"


def test_without_motion_it_is_the_figure_of_ribbons(tmp_path):
    save_steps(MAP, tmp_path / "x.svg")
    save_ribbons(MAP, tmp_path / "y.svg")
    steps, ribbons = ((tmp_path / name).read_text() for name in ("x.svg", "y.svg"))
    still = re.sub(r'<g class="at-[1-9]" visibility="hidden">.*?</g>', "", steps, flags=re.DOTALL)
    paths = [sorted(re.findall(r'<path d="(M[^"]*C[^"]*)"', text)) for text in (still, ribbons)]
    assert len(paths[0]) == len(paths[1]) > 0


def test_a_gif_moves(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    save_steps(MAP, tmp_path / "x.gif")
    with image.open(tmp_path / "x.gif") as moving:
        assert (moving.n_frames, moving.info["loop"], moving.info["duration"]) == (3, 0, 1500)
        frames = []
        for number in range(3):
            moving.seek(number)
            frames.append(moving.convert("RGB").tobytes())
    assert len(set(frames)) == 3


@pytest.mark.parametrize("name", ["x.png", "x.pdf"])
def test_one_picture_has_no_room_for_steps(name, tmp_path):
    with pytest.raises(ConfigError, match=r"steps are several frames\. Choose a folder .* \.svg for an animated"):
        save_steps(MAP, tmp_path / name)


def test_nothing_has_no_steps(tmp_path):
    with pytest.raises(ShapeError, match="there is nothing to draw"):
        save_steps(Map(["a"], [], []), tmp_path / "x.svg")
    assert not list(tmp_path.iterdir())
