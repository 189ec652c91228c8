"""The report page: complete, self-contained, and with all text escaped."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from saccade.errors import ConfigError, DataError, ShapeError
from saccade.look import Map, Sample, Table, report

EVIL = ["<script>alert(1)</script>", "&amp;", '" onload="x', "\x1b[31m", "</style>", "$title"]
AREA = Map(["the", "Area"], ["la", "zone"], [[0.9, 0.1], [0.002, 0.998]], gold=[(0, 0)])
THREE = Map(["a", "b", "c"], ["d"], [[0.3, 0.2, 0.5]])
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
VOID = {"meta", "img", "path", "rect"}


class Page(HTMLParser):
    """A parsed page: elements with attributes, and text by element; asserts that all elements are closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID - {"rect"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.text.setdefault(self.open[-1], []).append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def whole(tmp_path, word="plain"):
    figure = tmp_path / "lengths.png"
    figure.write_bytes(PIXEL)
    nasty = Map([word, "b"], ["c", word], [[0.5, 0.5], [0.1, 0.9]])
    return report(
        word,
        {word: word, "BLEU": "41.7"},
        [Sample(word, nasty, word), ("Area", AREA, None)],
        [Table(word, [(word, "1 200")], head=("name", word)), Table("Data", [("corpus", word)])],
        [(word, figure)],
    )


def test_everything_is_on_the_page(tmp_path):
    page = Page(whole(tmp_path))
    assert page.text["h1"] == ["plain"]
    assert {"41.7", "plain"} <= set(page.text["dd"])
    assert page.text["h2"] == ["Attention", "plain", "plain", "Data"]
    assert {"the", "Area", "la", "zone", "b", "c"} <= set(page.text["span"])
    assert {"the", "Area", "la", "zone", "b", "c"} <= set(page.text["text"])
    assert "zone ← Area 100 %" in "".join(page.text["pre"])
    assert len(page.all("svg")) == 2


@pytest.mark.parametrize("word", EVIL)
def test_words_stay_words(word, tmp_path):
    harmless, page = Page(whole(tmp_path)), Page(whole(tmp_path, word))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in harmless.elements]
    assert [sorted(attributes) for _, attributes in page.elements] == [
        sorted(attributes) for _, attributes in harmless.elements
    ]
    shown = word.replace("\x1b", "␛")
    assert page.text["h1"] == page.text["title"][:1] == page.text["h3"][:1] == [shown]
    assert shown in page.text["span"]
    assert shown in page.text["text"]
    assert page.all("img")[0]["alt"] == shown


def test_the_page_loads_nothing(tmp_path):
    text = whole(tmp_path)
    page = Page(text)
    for _, attributes in page.elements:
        for name in ("src", "href", "xlink:href", "srcset", "action", "data"):
            assert attributes.get(name, "data:").startswith("data:")
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    assert not re.search(r"https?://|@import|url\(", text)


def test_the_policy_allows_this_style_and_this_script_only(tmp_path):
    text = whole(tmp_path)
    (policy,) = (meta["content"] for meta in Page(text).all("meta") if "http-equiv" in meta)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    for rule, tag in [("style-src", "style"), ("script-src", "script")]:
        (inline,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert rules[rule] == f"'sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}'"


def test_written_words_can_be_reached_and_say_where_they_looked():
    spans = [span for span in Page(report("T", {}, [Sample("s", AREA)])).all("span") if "data-t" in span]
    assert [(span["data-look"], span["tabindex"], span["title"]) for span in spans] == [
        ("0:90 1:10", "0", "the 90 %, Area 10 %"),
        ("1:100", "0", "Area 100 %"),
    ]


def test_a_word_names_the_two_it_looked_at_most():
    (span,) = (s for s in Page(report("T", {}, [Sample("s", THREE)])).all("span") if "data-t" in s)
    assert (span["title"], span["data-look"]) == ("c 50 %, a 30 %", "0:30 1:20 2:50")


def test_a_map_may_shrink_to_three_quarters_and_never_grows():
    page = report("T", {}, [Sample("s", AREA), Sample("t", THREE)])
    limits = re.findall(r"#map-(\d) svg { max-width: (\d+)px; min-width: (\d+)px }", page)
    assert [number for number, *_ in limits] == ["0", "1"]
    for (_, most, least), svg in zip(limits, Page(page).all("svg"), strict=True):
        assert (most, int(least)) == (svg["width"], round(0.75 * int(most)))


def test_cells_are_as_strong_as_their_weights():
    cells = [rect for rect in Page(report("T", {}, [Sample("s", AREA)])).all("rect") if rect["class"] == "cell"]
    assert [float(cell["fill-opacity"]) for cell in cells] == [0.9, 0.1, 1.0]  # 0.002 is not drawn
    places = [(float(cell["x"]), float(cell["y"])) for cell in cells]
    assert places[0][1] == places[1][1] < places[2][1]
    assert places[0][0] < places[1][0] == places[2][0]


def test_labels_lie_inside_the_drawing():
    long = Map(["a", "b" * 25], ["c" * 25], [[0.5, 0.5]])
    (svg,) = Page(report("T", {}, [Sample("s", long)])).all("svg")
    assert int(svg["width"]) > 25 * 6.5 + 48 + 25 * 6.5 * 0.7 - 24
    assert int(svg["height"]) > 24 + 25 * 6.5 * 0.7


def test_gold_links_are_explained_where_there_are_some():
    assert "gold" in " ".join(Page(report("T", {}, [Sample("s", AREA)])).text["p"])
    plain = Map(AREA.source, AREA.target, AREA.weights)
    assert "gold" in " ".join(Page(report("T", {}, [Sample("s", plain), Sample("t", AREA)])).text["p"])
    assert "gold" not in " ".join(Page(report("T", {}, [Sample("s", plain)])).text["p"])


def test_what_a_person_wrote_stands_below_where_it_is_known():
    with_it, without = (Page(report("T", {}, [Sample("s", AREA, reference)])) for reference in ("la région", None))
    assert with_it.text["dt"] == ["Source", "Output", "Reference"]
    assert with_it.text["dd"][-1] == "la région"
    assert without.text["dt"] == ["Source", "Output"]


@pytest.mark.parametrize(("weight", "drawn"), [(0.005, 2), (0.0049, 1)])
def test_what_would_round_to_nothing_is_not_drawn(weight, drawn):
    page = Page(report("T", {}, [Sample("s", Map(["a", "b"], ["c"], [[0.9, weight]]))]))
    assert len([rect for rect in page.all("rect") if rect["class"] == "cell"]) == drawn
    (span,) = (span for span in page.all("span") if "data-t" in span)
    assert len(span["data-look"].split()) == len(span["title"].split(", ")) == drawn


def test_a_page_of_almost_nothing():
    page = Page(report("Nothing", {}))
    assert not page.all("section")
    assert "(nothing)" in report("T", {}, [Sample("empty", Map(["a"], [], []))])


def test_the_page_can_be_written_as_utf8_and_is_the_same_each_time():
    samples = [Sample("\ud800", Map(["\ud800"], ["読む"], [[1]]))]
    assert report("\ud800", {}, samples).encode() == report("\ud800", {}, samples).encode()


def test_a_map_of_sixty_words_keeps_the_page_modest():
    near = [[0.9 if s == t else 0.1 / 59 for s in range(60)] for t in range(60)]
    assert len(report("T", {}, [Sample("long", Map(["source"] * 60, ["target"] * 60, near))])) < 60_000


def test_figures_are_inside_the_page(tmp_path):
    (tmp_path / "a.svg").write_text("<svg onload='x'/>")
    (image,) = Page(report("T", {}, figures=[("A", tmp_path / "a.svg")])).all("img")
    kind, data = image["src"].split(";base64,")
    assert kind == "data:image/svg+xml"
    assert base64.b64decode(data) == b"<svg onload='x'/>"


def test_figures_that_cannot_be_shown_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"a\.pdf cannot be shown in a page\. .*\.png"):
        report("T", {}, figures=[("A", tmp_path / "a.pdf")])
    with pytest.raises(DataError, match=r"a\.png does not exist"):
        report("T", {}, figures=[("A", tmp_path / "a.png")])


def test_tables_are_rectangles():
    with pytest.raises(ShapeError, match="row 1 of the table 'Data' has 1 cells, but the table 2 columns"):
        report("T", {}, tables=[Table("Data", [("a", "b"), ("c",)])])
