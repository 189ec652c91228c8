"""Saved pages: one file, no network, everything in a trace is shown, and no trace breaks the page."""

import json
import re
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest

from helpers.pages import (
    AUDIT,
    LENSES,
    SHOWN,
    downloaded,
    expect_answer,
    inspector,
    lane_names,
    lens,
    looks,
    open_more,
    open_share,
    read,
    ribbons,
    wrote,
)
from helpers.traces import HOSTILE, fixed, hostile, long, transformer, translation
from saccade.look.page import page
from saccade.trace import Trace


@pytest.fixture
def saved(visit, tmp_path):
    """saved(trace, …, hash="…") opens a page of traces from disk, with the network off."""

    def open_page(*traces, hash="", **options):
        texts = [trace if isinstance(trace, str) else trace.dump() for trace in traces]
        file = tmp_path / "page.html"
        file.write_text(page(texts, title="A page"), encoding="utf-8")
        return visit(f"{file.as_uri()}#{hash}", online=False, **options)

    return open_page


def test_a_page_from_disk_loads_nothing(saved, visit):
    shown = saved(translation())
    expect_answer(shown)
    for name in LENSES:
        lens(shown, name)
    assert {urlsplit(address).scheme for address in visit.requests} <= {"file", "data", "blob"}


def test_a_saved_page_can_be_looked_at_but_not_asked(saved):
    shown = saved(translation())
    assert "A saved answer" in shown.locator("#no-model").inner_text()
    wrote(shown).nth(1).click()
    assert inspector(shown).get_by_role("heading", name="loi").is_visible()
    assert inspector(shown).get_by_role("button", name="autre 5.0 %").is_disabled()
    assert inspector(shown).get_by_role("slider").count() == 0
    read(shown).nth(1).click()
    assert shown.get_by_role("button", name="Hide from all words").count() == 0
    assert shown.get_by_role("textbox").count() == 0


def test_changes_that_were_made_before_saving_are_told(saved):
    shown = saved(translation(options={"block": [6], "pull": [[0, 1, 0.5]]}))
    assert "hidden-word" in read(shown).nth(6).get_attribute("class")
    assert "1 tokens hidden, 1 weights set by hand" in shown.locator("#stage").inner_text()


def test_pointing_at_a_word_lights_up_what_it_attended_to(saved):
    shown = saved(translation(), hash="lens=matrix")
    wrote(shown).nth(4).hover()
    weights = looks(read(shown))
    assert weights.index(max(weights)) == 6
    assert max(weights) > 0.7
    assert shown.locator(".row-band").get_attribute("visibility") == "visible"
    assert shown.locator(".row-labels text.on").text_content() == "zone"
    assert shown.locator("#inspector .readout").inner_text().startswith("zone → Area ")
    read(shown).nth(6).hover()
    weights = looks(wrote(shown))
    assert weights.index(max(weights)) == 4
    assert shown.locator("#inspector .readout").inner_text().startswith("Area ← zone ")


def test_ribbons_are_as_wide_as_weights(saved):
    trace = translation()
    shown = saved(trace)
    weights = trace.sites[0].weights.unpack()[0]
    strong = sorted(weight for weight in weights.flatten().tolist() if weight >= 0.04)
    assert [width for _, width in ribbons(shown)] == pytest.approx([1 + 10 * weight for weight in strong], abs=0.006)
    wrote(shown).nth(4).hover()
    lit = [width for opacity, width in ribbons(shown) if opacity > 0.2]
    assert lit == pytest.approx([1 + 10 * weight for weight in sorted(weights[4]) if weight >= 0.04], abs=0.006)


def test_a_ribbon_joins_its_two_words(saved):
    shown = saved(translation())
    ends = shown.locator(".ribbon").last.get_attribute("d")
    start, *_, stop = [tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+) (-?[\d.]+)", ends)]
    lanes = shown.locator(".lanes").bounding_box()
    best = translation().sites[0].weights.unpack()[0]
    row, column = divmod(int(best.argmax()), best.shape[1])
    for (x, y), box in ((start, read(shown).nth(column)), (stop, wrote(shown).nth(row))):
        box = box.bounding_box()
        assert abs(lanes["x"] + x - box["x"] - box["width"] / 2) < 1
        assert min(abs(lanes["y"] + y - box["y"]), abs(lanes["y"] + y - box["y"] - box["height"])) < 1


def test_the_keyboard_lights_up_as_the_pointer_does(saved):
    shown = saved(translation())
    wrote(shown).first.focus()
    for _ in range(4):
        shown.keyboard.press("ArrowRight")
    weights = looks(read(shown))
    assert weights.index(max(weights)) == 6


def test_the_matrix_can_be_walked_with_arrows(saved):
    shown = saved(translation(), hash="lens=matrix")
    shown.locator(".matrix").focus()
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("ArrowRight")
    assert shown.locator("#inspector .readout").inner_text().startswith("loi → law 9")
    shown.keyboard.press("Enter")
    assert inspector(shown).get_by_role("heading", name="loi").is_visible()
    assert shown.locator(".picked").count() == 1
    shown.keyboard.press("Escape")
    assert inspector(shown).get_by_role("heading", name="loi").count() == 0


def test_gold_links_are_outlined(saved):
    shown = saved(translation(), hash="lens=matrix")
    assert shown.locator(".overlay .gold").count() == 14
    assert shown.locator(".ribbon.right").count() > 5


@pytest.mark.parametrize("view", LENSES)
def test_every_lens_can_be_chosen(view, saved):
    shown = saved(transformer() if view == "Heads" else translation())
    lens(shown, view)
    assert shown.locator(SHOWN[view]).count() > 0
    assert shown.locator(".tabs").get_by_role("button", name=view).get_attribute("aria-pressed") == "true"


def test_the_words_lens_lists_what_each_word_attended_to(saved):
    shown = saved(translation())
    line = shown.locator(".word-lines tbody tr").nth(4)
    assert line.locator("th").inner_text() == "zone"
    assert line.locator("td").first.inner_text() == "90 %"
    assert line.locator("li").first.inner_text().split()[0] == "Area"


def test_an_answer_without_a_beam_says_so(saved):
    shown = saved(translation(beams=None), hash="lens=search")
    assert "not found by a beam search" in shown.locator(".search-view").inner_text()


def test_the_words_lens_of_self_attention_is_the_reading_figure(saved):
    shown = saved(transformer(), hash="site=decoder.own.0")
    lines = shown.locator(".reading li")
    assert lines.count() == 15
    assert lines.nth(3).inner_text().split() == ["start", "la", "loi", "sur", "la"]
    assert lines.nth(3).locator(".current").inner_text() == "la"
    assert float(lines.nth(0).locator(".seen").first.evaluate("one => one.style.getPropertyValue('--look')")) > 0.9


def test_a_head_of_the_grid_becomes_the_matrix_and_the_ribbons(saved):
    shown = saved(transformer(), hash="lens=heads")
    assert shown.locator(".thumbnail").count() == 24
    shown.get_by_role("button", name="Cross-attention: Layer 2, head 3").click()
    assert shown.locator(".matrix").is_visible()
    assert "site=decoder.cross.1&head=2" in shown.url
    assert shown.get_by_label("Head", exact=True).input_value() == "2"
    assert shown.get_by_label("Layer").locator("option:checked").inner_text() == "2 of 2"


def test_what_a_model_has_one_of_is_not_asked_for(saved):
    shown = saved(translation())
    for name in ("Attention", "Layer", "Head"):
        assert shown.get_by_label(name, exact=True).count() == 0


def test_switches_choose_attention_layer_head_unit_and_ends(saved):
    shown = saved(transformer())
    assert read(shown).count() == 14
    open_more(shown)
    shown.get_by_label("Unit").select_option("pieces")
    assert read(shown).count() > 20
    shown.get_by_label("Unit").select_option("words")
    shown.get_by_label("Ends and punctuation").select_option("hidden")
    assert [read(shown).count(), wrote(shown).count()] == [12, 13]
    shown.get_by_label("Ends and punctuation").select_option("apart")
    assert read(shown).all_inner_texts()[-2:] == [".", "end"]
    shown.get_by_label("Attention", exact=True).select_option("Encoder self-attention")
    shown.get_by_label("Layer").select_option("encoder.1")
    shown.get_by_label("Head", exact=True).select_option("3")
    assert "site=encoder.1&head=3" in shown.url
    assert lane_names(shown) == ["is attended to", "attends"]


def test_steps_are_walked_with_keys_and_buttons(saved):
    shown = saved(translation(), hash="lens=step")
    where = shown.locator(".where")
    assert where.inner_text() == "Step 1 of 15: la"
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("ArrowLeft")
    assert where.inner_text() == "Step 2 of 15: loi"
    shown.get_by_role("button", name="Next →").click()
    assert shown.evaluate("document.activeElement.textContent") == "Next →"  # redrawn, with the focus kept
    assert where.inner_text() == "Step 3 of 15: sur"
    shown.get_by_role("button", name="Play").click()
    shown.get_by_role("button", name="Pause").click()
    assert shown.url.endswith("lens=step&step=2")
    wrote(shown).nth(4).click()
    assert where.inner_text() == "Step 5 of 15: zone"  # a click on a word selects its step


def test_a_step_tells_the_model_s_own_numbers_in_the_order_of_the_equations(saved):
    trace = translation()
    shown = saved(trace, hash="lens=step&step=4")
    row = shown.locator(".shares tbody tr").nth(6)
    cells = row.locator("td").all_inner_texts()
    score = trace.sites[0].scores.unpack()[0, 4, 6]
    assert row.locator("th").inner_text() == "Area"
    assert cells[0] == f"{score:.2f}"
    assert cells[1] == "1.000"
    assert cells[2].strip() == f"{100 * trace.sites[0].weights.unpack()[0, 4, 6]:.0f} %"
    assert shown.locator(".formula").nth(1).inner_text() == "e = vᵀ tanh(W q + U k)"
    assert shown.locator("canvas.strip").count() == 3
    assert shown.locator(".card h3").all_inner_texts() == [
        "1. The decoder's state",
        "2. Scores and attention weights",
        "3. The context",
        "4. Joined with the state",
        "5. The next word",
    ]
    assert len({card.bounding_box()["x"] for card in shown.locator(".card").all()}) == 1  # one column
    assert shown.locator(".candidates li").count() == 5
    assert "zone" in shown.locator(".candidates .chosen").inner_text()
    assert max(looks(read(shown))) > 0.7  # the step's attention highlights words


def test_a_step_of_a_head_shows_its_query_key_and_value(saved):
    shown = saved(transformer(), hash="lens=step&site=decoder.cross.0&head=1&step=3")
    assert shown.locator(".vector b").all_inner_texts()[0] == "query q"
    shown.get_by_label("Head", exact=True).select_option("mean")
    assert "Choose a head" in shown.locator(".step-view").inner_text()


def test_the_tree_of_the_search_tells_kept_from_dropped(saved):
    shown = saved(translation(), hash="lens=search")
    assert shown.locator(".node.best").count() == 15
    assert shown.locator(".node.dead").count() > 10
    assert shown.locator(".edge.best").count() == 14
    shown.locator(".node.best").first.focus()
    shown.keyboard.press("ArrowRight")
    assert "Step 2: loi" in shown.evaluate("document.activeElement.getAttribute('aria-label')")
    shown.keyboard.press("Enter")
    assert "It is part of the answer." in shown.locator(".chosen-node").inner_text()
    assert shown.get_by_role("button", name="Go on from here").count() == 0
    shown.get_by_role("button", name="Close", exact=True).click()
    assert "Step 2: loi" in shown.evaluate("document.activeElement.getAttribute('aria-label')")


def test_the_tree_ends_where_the_answer_ends(saved):
    """A search that continued after the answer was complete: its later steps are not in the tree."""
    trace = translation()
    steps = [*trace.beams.steps, trace.beams.steps[-1], trace.beams.steps[-1]]
    shown = saved(
        trace.model_copy(update={"beams": trace.beams.model_copy(update={"steps": steps})}), hash="lens=search"
    )
    assert shown.locator(".node.best").count() == 15
    assert shown.locator('[data-key^="beam-15-"]').count() == 0
    assert "15 steps" in shown.locator(".beam").get_attribute("aria-label")


def test_a_link_opens_exactly_what_was_seen(saved, visit):
    shown = saved(transformer())
    shown.get_by_label("Layer").select_option("decoder.cross.1")
    shown.get_by_label("Head", exact=True).select_option("2")
    open_more(shown)
    shown.get_by_label("Unit").select_option("pieces")
    lens(shown, "Step")
    shown.get_by_role("button", name="Next →").click()
    again = visit(shown.url, online=False)
    assert again.locator(".where").inner_text() == shown.locator(".where").inner_text()
    assert again.get_by_label("Head", exact=True).input_value() == "2"
    assert again.get_by_label("Layer").input_value() == "decoder.cross.1"
    assert read(again).count() == read(shown).count()


@pytest.mark.parametrize(
    "hash",
    [
        "lens=nope",
        "step=-1",
        "head=two",
        "pull=1:2",
        "pull=0:0:7",
        "%FF%00",
        "beam=0",
        "__proto__=1",
        "sample=perhaps",
        "pick=1",
        "pick=a.b.c",
        "hide=x",
    ],
)
def test_links_that_make_no_sense_are_ignored_and_said(hash, saved):
    shown = saved(translation(), hash=hash)
    assert "could not be understood" in shown.locator("#toast").inner_text()
    expect_answer(shown)


def test_numbers_beyond_the_trace_do_no_harm(saved):
    shown = saved(translation(), hash="lens=step&step=999&head=7&site=none&trace=9&pick=99.99.9&hide=77")
    assert shown.locator(".where").inner_text() == "Step 15 of 15: end"


def test_several_traces_stand_side_by_side(saved):
    shown = saved(translation(), transformer(), fixed())
    assert shown.locator(".answer").count() == 3
    assert "has no attention" in shown.locator(".answer").nth(2).inner_text()
    open_more(shown)
    shown.get_by_role("checkbox", name="2. self-attentive").uncheck()
    assert shown.locator(".answer").count() == 2
    lens(shown, "Step")
    assert shown.locator(".view").nth(1).locator(".candidates li").count() == 5  # there are steps, but no attention


@pytest.mark.parametrize("view", LENSES)
def test_hostile_text_stays_text(view, saved, visit):
    shown = saved(hostile())
    lens(shown, view)
    wrote(shown).first.click()
    wrote(shown).first.hover()
    downloaded(shown, "SVG")
    assert shown.evaluate("window.pwned") is None
    assert shown.locator("main img, main script").count() == 0
    assert HOSTILE[0] in shown.locator("main").inner_text()
    assert "\u202e" not in shown.locator("main").inner_text()
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


@pytest.mark.parametrize("first", range(0, len(DAMAGES), 4))
def test_each_trace_that_does_not_fit_the_format_gives_a_sentence(first, saved):
    some = dict(list(DAMAGES.items())[first : first + 4])  # the page shows the last four messages
    shown = saved(*map(damaged, some.values()))
    said = shown.locator("#toast p").all_inner_texts()
    assert len(said) == len(some)
    assert all(told in one for told, one in zip(some, said, strict=True))


def test_what_is_not_json_gives_a_sentence_and_the_others_are_shown(saved):
    shown = saved("<nothing", translation())
    assert "Trace 1 of this page is not JSON" in shown.locator("#toast").inner_text()
    assert shown.locator(".answer").count() == 1


def test_another_trace_can_be_opened_from_a_file(saved, tmp_path):
    other, broken = tmp_path / "other.json", tmp_path / "<b>.json"
    transformer("the other").save(other)
    broken.write_text("{}")
    shown = saved(translation())
    open_share(shown)
    shown.get_by_label("Open a trace").set_input_files([other, broken])
    shown.get_by_role("heading", name="2. the other").wait_for()
    shown.locator("#toast p").wait_for()
    assert "<b>.json is not a trace" in shown.locator("#toast").inner_text()


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


@pytest.mark.parametrize("view", LENSES)
def test_what_is_on_the_screen_can_be_saved(view, saved):
    shown = saved(translation())
    lens(shown, view)
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
    file.write_bytes(downloaded(saved(hostile(), translation(), hash="lens=step&trace=0&trace=1"), "HTML"))
    again = visit(f"{file.as_uri()}#view=step&step=2&trace=1", online=False)
    assert again.locator(".where").inner_text() == "Step 3 of 15: sur"
    assert again.evaluate("window.pwned") is None


def test_long_inputs_stay_responsive(saved):
    shown = saved(long(200), hash="lens=matrix")
    assert shown.locator(".cells canvas").count() == 1
    box = shown.locator(".cells").bounding_box()
    assert box["width"] == 200 * 12
    for view in ["Words", "Heads", "Step", "Matrix"]:
        took = shown.evaluate(
            """async view => {
                const began = performance.now();
                [...document.querySelectorAll(".tabs button")].find(one => one.textContent === view).click();
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
@pytest.mark.parametrize("view", LENSES)
def test_everything_has_a_name_and_can_be_read(view, scheme, saved):
    shown = saved(
        transformer() if view == "Heads" else translation(), fixed(), color_scheme=scheme, reduced_motion="reduce"
    )
    lens(shown, view)
    wrote(shown).first.click()
    wrote(shown).first.hover(force=True)
    found = shown.evaluate(AUDIT)
    assert found["nameless"] == []
    assert found["faint"] == []
    assert found["looked at"] > 40


def test_lit_words_can_be_read(saved):
    """The faintest letters have contrast on the strongest highlight."""
    for scheme in ["light", "dark"]:
        shown = saved(translation(), color_scheme=scheme, reduced_motion="reduce")
        wrote(shown).last.hover()
        assert shown.evaluate(AUDIT)["faint"] == []


def test_the_reader_s_choice_of_colours_wins(saved):
    shown = saved(translation(), color_scheme="light")
    before = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    shown.get_by_role("button", name="Dark colors").click()
    after = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after
    assert shown.get_by_role("button", name="Light colors").is_visible()


@pytest.mark.parametrize("view", LENSES)
def test_nothing_is_cut_off_on_a_telephone(view, saved):
    trace = transformer() if view == "Heads" else translation()
    shown = saved(trace, fixed(), viewport={"width": 360, "height": 740})
    lens(shown, view)
    assert shown.evaluate("document.documentElement.scrollWidth") <= 360
