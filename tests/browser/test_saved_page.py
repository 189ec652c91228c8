"""Saved pages: one file, no network, all there is to see of a trace, and nothing that a trace could break."""

import json
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest

from helpers.traces import FRENCH, HOSTILE, fixed, hostile, long, transformer, translation
from saccade.look.page import page
from saccade.trace import Trace

AUDIT = Path(__file__).with_name("audit.js").read_text(encoding="utf-8")
VIEWS = ["Matrix", "Reading", "Arcs", "Heads", "Beam", "Step by step"]
SHOWN = {
    "Matrix": ".matrix",
    "Arcs": ".arcs",
    "Heads": ".thumbnail",
    "Beam": ".beam",
    "Step by step": ".step-view",
    "Reading": ".reading",
}


@pytest.fixture
def saved(visit, tmp_path):
    """saved(trace, …, hash="…") opens a page of traces from disk, with the network off."""

    def open_page(*traces, hash="", **options):
        texts = [trace if isinstance(trace, str) else trace.dump() for trace in traces]
        file = tmp_path / "page.html"
        file.write_text(page(texts, title="A page"), encoding="utf-8")
        return visit(f"{file.as_uri()}#{hash}", online=False, **options)

    return open_page


def show(shown, view):
    shown.get_by_role("button", name=view, exact=True).click()


def chips(shown, side):
    return shown.get_by_role("group", name=f"Words {side}", exact=True).locator(".chip")


def looks(shown, side):
    return [
        float(style or 0)
        for style in chips(shown, side).evaluate_all("all => all.map(one => one.style.getPropertyValue('--look'))")
    ]


def downloaded(shown, kind):
    with shown.expect_download() as waiting:
        shown.get_by_role("button", name=kind, exact=True).click()
    return Path(waiting.value.path()).read_bytes()


def test_a_page_from_disk_loads_nothing(saved, visit):
    shown = saved(translation())
    assert shown.locator(".answer").inner_text() == " ".join(FRENCH)
    for view in ["Arcs", "Beam", "Step by step"]:
        show(shown, view)
    assert {urlsplit(address).scheme for address in visit.requests} <= {"file", "data", "blob"}


def test_pointing_at_a_word_lights_up_what_it_looked_at(saved):
    shown = saved(translation())
    chips(shown, "written").nth(4).hover()
    weights = looks(shown, "read")
    assert weights.index(max(weights)) == 6
    assert max(weights) > 0.7
    assert shown.locator(".row-band").get_attribute("visibility") == "visible"
    assert shown.locator(".row-labels text.on").text_content() == "zone"
    chips(shown, "read").nth(6).hover()
    weights = looks(shown, "written")
    assert weights.index(max(weights)) == 4


def test_the_keyboard_lights_up_as_the_pointer_does(saved):
    shown = saved(translation())
    chips(shown, "written").first.focus()
    for _ in range(4):
        shown.keyboard.press("ArrowRight")
    weights = looks(shown, "read")
    assert weights.index(max(weights)) == 6


def test_the_matrix_can_be_walked_with_arrows(saved):
    shown = saved(translation())
    shown.locator(".matrix").focus()
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("ArrowRight")
    assert shown.locator(".readout").inner_text().startswith("loi looks at law: 9")
    shown.keyboard.press("Enter")
    assert shown.get_by_role("dialog").get_by_role("slider").is_disabled()
    shown.keyboard.press("Escape")
    assert shown.get_by_role("dialog").count() == 0


def test_gold_links_are_outlined(saved):
    assert saved(translation()).locator(".overlay .gold").count() == 14


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_can_be_chosen(view, saved):
    trace = transformer() if view in {"Reading", "Heads", "Arcs"} else translation()
    shown = saved(trace, hash="site=decoder.own.0" if view == "Reading" else "")
    show(shown, view)
    assert shown.locator(SHOWN[view]).count() > 0
    assert shown.get_by_role("button", name=view, exact=True).get_attribute("aria-pressed") == "true"


def test_what_cannot_be_shown_is_grey_and_says_why(saved):
    shown = saved(translation(beams=None))
    for view, reason in [("Reading", "looks back"), ("Beam", "No beam")]:
        assert reason in shown.get_by_role("button", name=view, exact=True).get_attribute("aria-description")
        show(shown, view)
        assert reason in shown.locator(".reason").inner_text()


def test_reading_shows_the_word_in_red_and_what_it_looked_back_at_in_blue(saved):
    shown = saved(transformer(), hash="view=reading&site=decoder.own.0")
    lines = shown.locator(".reading li")
    assert lines.count() == 15
    assert lines.nth(3).inner_text().split() == ["<bos>", "la", "loi", "sur", "la"]
    assert lines.nth(3).locator(".current").inner_text() == "la"
    assert float(lines.nth(0).locator(".seen").first.evaluate("one => one.style.getPropertyValue('--look')")) > 0.9


def test_a_head_of_the_grid_becomes_the_matrix(saved):
    shown = saved(transformer(), hash="view=heads")
    assert shown.locator(".thumbnail").count() == 24
    shown.get_by_role("button", name="decoder.cross.1, head 2").click()
    assert shown.locator(".matrix").is_visible()
    assert "site=decoder.cross.1&head=2" in shown.url


def test_switches_choose_site_layer_head_unit_and_marks(saved):
    shown = saved(transformer())
    assert chips(shown, "read").count() == 14
    shown.get_by_label("Unit").select_option("pieces")
    assert chips(shown, "read").count() > 20
    shown.get_by_label("Unit").select_option("words")
    shown.get_by_label("Marks and punctuation").select_option("hidden")
    assert [chips(shown, "read").count(), chips(shown, "written").count()] == [12, 13]
    shown.get_by_label("Marks and punctuation").select_option("apart")
    assert chips(shown, "read").all_inner_texts()[-2:] == [".", "<eos>"]
    shown.get_by_label("Site").select_option("source → source")
    shown.get_by_label("Layer").select_option("encoder.1")
    shown.get_by_label("Head").select_option("3")
    assert "site=encoder.1&head=3" in shown.url
    assert shown.locator(".line-name").all_inner_texts() == ["is looked at", "looks"]


def test_steps_are_walked_with_keys_and_buttons(saved):
    shown = saved(translation(), hash="view=step")
    where = shown.locator(".where")
    assert where.inner_text() == "Step 1 of 15: la"
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("ArrowLeft")
    assert where.inner_text() == "Step 2 of 15: loi"
    shown.get_by_role("button", name="Next →").click()
    assert shown.evaluate("document.activeElement.textContent") == "Next →"  # drawn anew, yet the focus stayed
    assert where.inner_text() == "Step 3 of 15: sur"
    shown.get_by_role("button", name="Play").click()
    shown.get_by_role("button", name="Pause").click()
    assert shown.get_by_role("link", name="link to this step").get_attribute("href").endswith("view=step&step=2")


def test_a_step_tells_the_model_s_own_numbers(saved):
    trace = translation()
    shown = saved(trace, hash="view=step&step=4")
    row = shown.locator(".shares tbody tr").nth(6)
    cells = row.locator("td").all_inner_texts()
    score = trace.sites[0].scores.unpack()[0, 4, 6]
    assert row.locator("th").inner_text() == "Area"
    assert cells[0] == f"{score:.2f}"
    assert cells[1] == "1.000"
    assert cells[2].strip() == f"{100 * trace.sites[0].weights.unpack()[0, 4, 6]:.0f} %"
    assert "vᵀ tanh(W q + U k)" in shown.locator(".formula").nth(1).inner_text()
    assert shown.locator("canvas.strip").count() == 3
    assert shown.locator(".candidates li").count() == 5
    assert "zone" in shown.locator(".candidates .chosen").inner_text()
    assert max(looks(shown, "read")) > 0.7  # the words are lit as the step looks at them


def test_a_step_of_a_head_shows_its_query_key_and_value(saved):
    shown = saved(transformer(), hash="view=step&site=decoder.cross.0&head=1&step=3")
    assert shown.locator(".vector b").all_inner_texts()[0] == "query q"
    shown.get_by_label("Head").select_option("mean")
    assert "Choose a head" in shown.locator(".step-view").inner_text()


def test_the_beam_tells_survivors_from_dead_ends(saved):
    shown = saved(translation(), hash="view=beam")
    assert shown.locator(".node.best").count() == 15
    assert shown.locator(".node.dead").count() > 10
    assert shown.locator(".edge.best").count() == 14
    shown.locator(".node.best").first.focus()
    shown.keyboard.press("ArrowRight")
    assert "Step 2: loi" in shown.evaluate("document.activeElement.getAttribute('aria-label')")
    shown.keyboard.press("Enter")
    dialog = shown.get_by_role("dialog")
    assert dialog.get_by_role("button", name="Go on from here").is_disabled()
    assert "needs a model" in dialog.inner_text()


def test_alternatives_are_shown_but_need_a_model(saved):
    shown = saved(translation())
    chips(shown, "written").nth(1).click()
    dialog = shown.get_by_role("dialog", name="Instead of loi")
    assert dialog.get_by_role("button", name="autre 5.0 %").is_disabled()
    assert "saccade serve" in dialog.inner_text()
    shown.keyboard.press("Escape")
    assert shown.evaluate("document.activeElement.textContent") == "loi"
    assert shown.get_by_label("Text", exact=True).is_disabled()
    assert "saved without a model" in shown.locator("#no-model").inner_text()


def test_a_link_opens_exactly_what_was_seen(saved, visit):
    shown = saved(transformer())
    shown.get_by_label("Layer").select_option("decoder.cross.1")
    shown.get_by_label("Head").select_option("2")
    shown.get_by_label("Unit").select_option("pieces")
    show(shown, "Step by step")
    shown.keyboard.press("ArrowRight")
    again = visit(shown.url, online=False)
    assert again.locator(".where").inner_text() == shown.locator(".where").inner_text()
    assert again.get_by_label("Head").input_value() == "2"
    assert again.get_by_label("Layer").input_value() == "decoder.cross.1"
    assert again.get_by_label("Unit").input_value() == "pieces"


@pytest.mark.parametrize(
    "hash",
    ["view=nope", "step=-1", "head=two", "pull=1:2", "pull=0:0:7", "%FF%00", "beam=0", "__proto__=1", "sample=perhaps"],
)
def test_links_that_make_no_sense_are_ignored_and_said(hash, saved):
    shown = saved(translation(), hash=hash)
    assert "could not be understood" in shown.locator("#notices").inner_text()
    assert shown.locator(".matrix").is_visible()


def test_numbers_beyond_the_trace_do_no_harm(saved):
    shown = saved(translation(), hash="view=step&step=999&head=7&site=none&trace=9")
    assert shown.locator(".where").inner_text() == "Step 15 of 15: <eos>"


def test_several_traces_stand_side_by_side(saved):
    shown = saved(translation(), transformer(), fixed())
    assert shown.locator(".panel").count() == 3
    assert "has no attention" in shown.locator(".panel").nth(2).inner_text()
    shown.get_by_role("checkbox", name="2. self-attentive").uncheck()
    assert shown.locator(".panel").count() == 2
    show(shown, "Step by step")
    assert shown.locator(".panel").nth(1).locator(".candidates li").count() == 5  # steps there are, without attention


@pytest.mark.parametrize("view", VIEWS)
def test_hostile_text_stays_text(view, saved, visit):
    shown = saved(hostile())
    show(shown, view)
    chips(shown, "written").first.click()
    chips(shown, "written").first.hover()
    downloaded(shown, "SVG")
    assert shown.evaluate("window.pwned") is None
    assert shown.locator("#results img, #results script, .menu img").count() == 0
    assert HOSTILE[0] in shown.locator(".answer").inner_text()
    assert "\u202e" not in shown.locator("#results").inner_text()
    assert all(urlsplit(address).scheme in {"file", "data", "blob"} for address in visit.requests)


def damaged(change):
    trace = json.loads(translation().dump())
    change(trace)
    return json.dumps(trace)


DAMAGES = {
    "newer saccade": lambda trace: trace.update(saccade_trace=2),
    "no saccade_trace": lambda trace: trace.pop("saccade_trace"),
    "never was": lambda trace: trace.update(saccade_trace=0),
    "shape 1 × 14 × 15, but": lambda trace: trace["sites"][0]["weights"].update(shape=[1, 14, 15]),
    "more numbers than its shape": lambda trace: trace["sites"][0]["weights"].update(shape=[1, 2, 3]),
    "fewer numbers than its shape": lambda trace: trace["sites"][0]["weights"].update(shape=[9, 15, 14]),
    "more numbers than this page": lambda trace: trace["sites"][0]["weights"].update(shape=[1, 99999, 99999]),
    "is damaged": lambda trace: trace["sites"][0]["weights"].update(data="????"),
    "names the side elsewhere": lambda trace: trace["sites"][0].update(columns="elsewhere"),
    "word_of outside": lambda trace: trace["sides"]["source"].update(word_of=[99] * 14),
    "3 steps for 15": lambda trace: trace.update(steps=trace["steps"][:3]),
    "not inside the file": lambda trace: trace["sides"]["source"].update(image="https://example.org/x.png"),
    "does not fit together in step 0": lambda trace: trace["beams"]["steps"][0].update(parents=[0, 0, 9]),
    "grid that does not fit": lambda trace: trace["sides"]["source"].update(grid=[0, 14]),
    "candidates that are not": lambda trace: trace["steps"][0].update(candidates=[["a", 1, 2]]),
    "low and a high": lambda trace: trace["vectors"]["state"].update(low=2, high=1),
}


@pytest.mark.parametrize("told", DAMAGES)
def test_traces_that_do_not_fit_the_format_give_a_sentence(told, saved):
    shown = saved(damaged(DAMAGES[told]))
    assert told in shown.locator("#notices").inner_text()


def test_what_is_not_json_gives_a_sentence_and_the_others_are_shown(saved):
    shown = saved("<nothing", translation())
    assert "Trace 1 of this page is not JSON" in shown.locator("#notices").inner_text()
    assert shown.locator(".panel").count() == 1


def test_another_trace_can_be_opened_from_a_file(saved, tmp_path):
    other, broken = tmp_path / "other.json", tmp_path / "<b>.json"
    transformer("the other").save(other)
    broken.write_text("{}")
    shown = saved(translation())
    shown.get_by_label("Open a trace").set_input_files([other, broken])
    shown.get_by_role("heading", name="2. the other").wait_for()
    shown.locator("#notices p").wait_for()
    assert "<b>.json is not a trace" in shown.locator("#notices").inner_text()


def test_a_trace_can_be_dropped_on_the_page(saved):
    shown = saved(translation())
    shown.evaluate(
        """text => {
            const data = new DataTransfer();
            data.items.add(new File([text], "dropped.json"));
            document.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        transformer("dropped").dump(),
    )
    shown.get_by_role("heading", name="2. dropped").wait_for()


@pytest.mark.parametrize("view", ["Matrix", "Arcs", "Heads", "Beam", "Step by step"])
def test_what_is_on_the_screen_can_be_saved(view, saved):
    shown = saved(translation())
    show(shown, view)
    drawing = downloaded(shown, "SVG").decode()
    words = "".join(ElementTree.fromstring(drawing).itertext())
    assert all(word in words for word in ["zone", "européenne"])
    assert "style=" not in drawing
    assert "http" not in drawing.replace("http://www.w3.org/", "")
    assert downloaded(shown, "PNG")[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_trace_can_be_saved_again(saved):
    trace = translation()
    assert Trace.parse(downloaded(saved(trace), "JSON").decode()) == trace


def test_a_saved_page_saves_itself(saved, visit, tmp_path):
    file = tmp_path / "again.html"
    file.write_bytes(downloaded(saved(hostile(), translation(), hash="view=step&trace=0&trace=1"), "HTML"))
    again = visit(f"{file.as_uri()}#view=step&step=2&trace=1", online=False)
    assert again.locator(".where").inner_text() == "Step 3 of 15: sur"
    assert again.evaluate("window.pwned") is None


def test_long_inputs_stay_responsive(saved):
    shown = saved(long(200))
    assert shown.locator(".cells canvas").count() == 1
    box = shown.locator(".cells").bounding_box()
    assert box["width"] == 200 * 14
    for view in ["Arcs", "Heads", "Step by step", "Matrix"]:
        took = shown.evaluate(
            """async view => {
                const began = performance.now();
                [...document.querySelectorAll("#views button")].find(one => one.textContent === view).click();
                await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
                return performance.now() - began;
            }""",
            view,
        )
        assert took < 1000, (view, took)
    labels = shown.locator(".row-labels")
    before = labels.bounding_box()["x"]
    shown.locator(".matrix").evaluate("box => box.scrollTo(900, 500)")
    assert labels.bounding_box()["x"] == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_everything_has_a_name_and_can_be_read(view, scheme, saved):
    trace = transformer() if view in {"Reading", "Heads", "Arcs"} else translation()
    shown = saved(trace, fixed(), hash="site=decoder.own.0" if view == "Reading" else "", color_scheme=scheme)
    show(shown, view)
    chips(shown, "written").first.click()
    chips(shown, "written").first.hover(force=True)
    found = shown.evaluate(AUDIT)
    assert found["nameless"] == []
    assert found["faint"] == []
    assert found["looked at"] > 40


def test_lit_words_can_be_read(saved):
    """The strongest marker and the weakest letters together."""
    for scheme in ["light", "dark"]:
        shown = saved(translation(), color_scheme=scheme)
        chips(shown, "written").last.hover()
        assert shown.evaluate(AUDIT)["faint"] == []


def test_the_reader_s_choice_of_colours_wins(saved):
    shown = saved(translation(), color_scheme="light")
    before = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    shown.get_by_role("button", name="Change to dark colours").click()
    after = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after
    assert shown.get_by_role("button", name="Change to light colours").is_visible()


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_cut_off_on_a_telephone(view, saved):
    trace = transformer() if view in {"Reading", "Heads", "Arcs"} else translation()
    shown = saved(
        trace,
        fixed(),
        hash="site=decoder.own.0" if view == "Reading" else "",
        viewport={"width": 360, "height": 740},
    )
    show(shown, view)
    assert shown.evaluate("document.documentElement.scrollWidth") <= 360
