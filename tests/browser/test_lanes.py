"""Lanes of running text in the explorer: passages with their map, questions and answers, dialogues."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from helpers.long_traces import QUESTION, REPLY, SAID, SUMMARY, answer, dialogue, reply, summary
from helpers.page_server import altered, expect_asked
from helpers.pages import AUDIT, LENSES, expect_answer, inspector, lens, looks, read, ribbons, wrote
from helpers.traces import translation
from saccade.look.page import page

ASKED = {"question": "where is the bag ?", "passage": "the bag is here"}
EXAMPLES = {"short": [{"input": "a long text"}], "reader": [{"input": ASKED}], "talker": [{"input": {"turns": SAID}}]}


@pytest.fixture
def explorer(serve, visit):
    """explorer(model) is a page and its server, with models that summarize, answer questions and reply."""

    def start(model, hash="", options=None):
        known = {"short": summary(), "reader": answer(), "talker": dialogue(), "plain": translation("plain")}
        server = serve({name: known[name] for name in sorted(known, key=lambda name: name != model)})
        server.examples = EXAMPLES
        server.answer = lambda trace, *asked: reply(trace, *asked) if trace.task == "chat" else altered(trace, *asked)
        return visit(f"{server.address}#{hash}", **(options or {})), server

    return start


def of_style(words, name):
    """The numeric values of a style property of the words."""
    return [
        float(found or 0)
        for found in words.evaluate_all(f"all => all.map(one => one.style.getPropertyValue('{name}'))")
    ]


def scrolled(shown, selector=".passage"):
    return shown.locator(selector).evaluate("box => box.scrollTop")


def words_of(shown, kind):
    return shown.locator(f"[data-lane=read] .word.{kind}")


def test_a_long_source_is_running_text_and_a_short_one_a_line_with_ribbons(explorer):
    shown, _ = explorer("short")
    expect_answer(shown, [*SUMMARY, "end"])
    expect(shown.locator(".passage .word")).to_have_count(301)
    assert ribbons(shown) == []
    shown.get_by_label("Model", exact=True).select_option("plain")
    expect(shown.locator(".passage")).to_have_count(0)
    shown.locator(".ribbon").first.wait_for(state="attached")
    assert ribbons(shown)


def test_the_passage_is_shaded_by_the_word_pointed_at_and_underlined_by_all_up_to_it(explorer):
    shown, _ = explorer("short")
    expect(read(shown)).to_have_count(301)
    covered = of_style(read(shown), "--seen")
    assert looks(read(shown)) == [0] * 301
    assert min(covered[3], covered[40], covered[295]) > 0.9
    wrote(shown).nth(1).hover()
    assert looks(read(shown))[40] > 0.9
    assert looks(read(shown))[3] < 0.1
    covered = of_style(read(shown), "--seen")
    assert min(covered[3], covered[40]) > 0.9
    assert covered[295] < 0.1


def test_selecting_a_written_word_scrolls_to_its_strongest_place_and_pointing_does_not(explorer):
    shown, _ = explorer("short")
    wrote(shown).nth(2).hover()
    assert scrolled(shown) == 0
    wrote(shown).nth(2).click()
    shown.wait_for_function("document.querySelector('.passage').scrollTop > 100")
    box, word = shown.locator(".passage").bounding_box(), read(shown).nth(295).bounding_box()
    assert box["y"] <= word["y"] <= box["y"] + box["height"]
    wrote(shown).nth(0).click()
    shown.wait_for_function("document.querySelector('.passage').scrollTop < 50")


def test_the_map_shows_attention_and_the_part_that_is_seen_and_scrolls(explorer):
    shown, _ = explorer("short")
    bars, view = shown.locator(".map-word"), shown.locator(".map-view")
    expect(bars).to_have_count(301)
    wrote(shown).nth(2).hover()
    opacities = bars.evaluate_all("all => all.map(one => Number(one.getAttribute('fill-opacity')))")
    assert max(range(301), key=opacities.__getitem__) == 295
    tops = bars.evaluate_all("all => all.map(one => Number(one.getAttribute('y')))")
    assert tops == sorted(tops)
    assert tops[300] > float(view.get_attribute("height")), "the end lies below what is seen"
    box = shown.locator(".minimap").bounding_box()
    shown.mouse.click(box["x"] + 10, box["y"] + box["height"] - 4)
    shown.wait_for_function("document.querySelector('.passage').scrollTop > 100")
    expect(view).to_have_attribute("y", re.compile(r"[1-9]\d\d"))


def test_copied_words_are_marked_and_linked_to_their_origins(explorer):
    shown, _ = explorer("short")
    expect(shown.locator(".word.copied")).to_have_text(["storm", "Junustad"])
    expect(wrote(shown).nth(0)).to_have_attribute("aria-label", re.compile("90 % copied"))
    wrote(shown).nth(2).hover()
    expect(words_of(shown, "origin")).to_have_text(["word20", "Junustad"])
    wrote(shown).nth(1).hover()
    expect(words_of(shown, "origin")).to_have_count(0)


def test_pointing_at_a_passage_word_lights_the_written_words_that_attended_to_it(explorer):
    shown, _ = explorer("short")
    read(shown).nth(40).hover()
    found = looks(wrote(shown))
    assert found[1] > 0.9
    assert max(found[0], found[2]) < 0.1
    expect(inspector(shown)).to_contain_text("word40 ← hits")


def test_a_passage_word_is_hidden_in_two_clicks(explorer):
    shown, server = explorer("short")
    read(shown).nth(295).scroll_into_view_if_needed()
    before = scrolled(shown)
    read(shown).nth(295).click()
    assert before > 100
    assert scrolled(shown) == before, "what is selected stays where it is"
    shown.get_by_role("button", name="Hide from all words").click()
    expect_asked(shown, server, "block", [295])
    expect(read(shown).nth(295)).to_have_class(re.compile("hidden-word"))
    expect(shown.locator(".was del")).to_have_text(["Junustad"])


def test_words_left_out_of_the_figure_stay_in_the_text(explorer):
    shown, _ = explorer("short", "sinks=hidden&text=a+text")
    expect_answer(shown, SUMMARY)
    expect(read(shown)).to_have_count(300)
    expect(shown.locator(".passage")).to_contain_text("word299 end")


def test_the_answer_is_framed_in_the_passage_with_ink_where_it_begins_and_ends(explorer):
    shown, server = explorer("reader")
    assert server.asked[0]["input"] == ASKED
    expect(shown.locator("[data-lane=question] .word")).to_have_text([*QUESTION, "end"])
    expect(words_of(shown, "answer-word")).to_have_text(["place7", "place8"])
    expect(shown.locator(".answer-text")).to_contain_text("place7 place8")
    first, last = of_style(read(shown), "--first"), of_style(read(shown), "--last")
    assert [max(range(41), key=each.__getitem__) for each in (first, last)] == [7, 8]
    wrote(shown).nth(1).hover()
    assert max(of_style(read(shown), "--first")) == 0
    assert looks(read(shown))[8] > 0.5


def test_the_next_best_answers_are_listed_with_probabilities_and_can_be_chosen(explorer):
    shown, server = explorer("reader")
    expect(read(shown)).to_have_count(41)
    spans = shown.locator(".span-choice")
    expect(spans.nth(0)).to_have_attribute("aria-pressed", "true")
    expect(spans.nth(1)).to_contain_text("place20 place21")
    expect(spans).to_have_count(5)
    shares = [float(re.search(r"([\d.]+) %", text)[1]) for text in spans.all_inner_texts()]
    assert shares == sorted(shares, reverse=True)
    spans.nth(1).hover()
    expect(words_of(shown, "offered")).to_have_text(["place20", "place21"])
    spans.nth(1).click()
    expect_asked(shown, server, "force", [20, 21])


def test_pointing_at_a_word_of_the_question_lights_what_it_attends_to(explorer):
    shown, _ = explorer("reader")
    asked = shown.locator("[data-lane=question] .word")
    expect(asked).to_have_count(6)
    assert looks(asked)[3] > 0.9, "the question is shaded by the weight of its words"
    asked.nth(3).hover()
    assert looks(read(shown))[30] > 0.9
    asked.nth(3).click()
    expect(inspector(shown).get_by_role("heading", name="bag")).to_be_visible()
    expect(shown.get_by_role("heading", name="Say instead")).to_have_count(0)
    assert looks(read(shown))[30] > 0.9


def test_a_new_question_is_typed_in_two_fields_and_kept_in_the_link(explorer):
    shown, server = explorer("reader")
    shown.get_by_role("button", name="Edit the text").click()
    shown.get_by_label("Question", exact=True).and_(shown.locator("textarea")).fill("who ?")
    shown.locator("textarea[aria-label=Passage]").fill("ant\n\nand bee")
    expect_asked(shown, server, "input", {"question": "who ?", "passage": "ant\n\nand bee"})
    assert parse_qs(urlsplit(shown.url).fragment)["passage"] == ["ant\n\nand bee"]
    shown.reload()
    expect_asked(shown, server, "input", {"question": "who ?", "passage": "ant\n\nand bee"})


def turns(shown):
    return shown.locator(".turn:not(.loose)")


def test_a_dialogue_has_a_bubble_a_turn_tinted_by_the_attention_of_the_reply(explorer):
    shown, server = explorer("talker")
    assert server.asked[0]["input"] == {"turns": SAID}
    expect(turns(shown)).to_have_count(3)
    expect_answer(shown, [*REPLY, "end"])
    lefts = [
        box["x"] for box in turns(shown).evaluate_all("all => all.map(one => one.getBoundingClientRect().toJSON())")
    ]
    assert lefts[1] < min(lefts[0], lefts[2]), "the model's turns are on the left"
    wrote(shown).nth(0).hover()
    masses = of_style(turns(shown), "--mass")
    assert masses[1] > 0.9
    assert max(masses[0], masses[2]) < 0.1
    expect(turns(shown).nth(1)).to_contain_text(re.compile(r"Model hello ant . 9\d %"))
    assert max(looks(turns(shown).nth(1).locator(".word"))) > 0.9
    assert sum(looks(read(shown))) == pytest.approx(1, abs=0.01)


def test_answering_sends_the_whole_dialogue_and_the_link_keeps_it(explorer):
    shown, server = explorer("talker")
    expect_answer(shown, [*REPLY, "end"])
    shown.get_by_label("What you say").fill("and you ?")
    shown.keyboard.press("Enter")
    said = [*SAID, " ".join(REPLY), "and you ?"]
    expect_asked(shown, server, "input", {"turns": said})
    expect(turns(shown)).to_have_count(5)
    expect(shown.get_by_label("What you say")).to_have_value("")
    assert parse_qs(urlsplit(shown.url).fragment)["turn"] == said
    shown.reload()
    expect(turns(shown)).to_have_count(5)
    shown.go_back()
    expect(turns(shown)).to_have_count(3)


def test_the_model_can_go_on_by_itself_and_a_dialogue_can_begin_anew(explorer):
    shown, server = explorer("talker")
    expect_answer(shown, [*REPLY, "end"])
    shown.get_by_role("button", name="Let it go on").click()
    expect_asked(shown, server, "input", {"turns": [*SAID, " ".join(REPLY)]})
    expect(turns(shown)).to_have_count(4)
    shown.get_by_role("button", name="New dialogue").click()
    expect(turns(shown)).to_have_count(0)
    shown.get_by_label("What you say").fill("hello")
    shown.get_by_role("button", name="Say it").click()
    expect_asked(shown, server, "input", {"turns": ["hello"]})


def test_what_was_written_stays_in_the_box_while_the_reply_is_missing(explorer):
    shown, server = explorer("talker")
    expect_answer(shown, [*REPLY, "end"])
    server.delays = {str([*SAID, " ".join(REPLY), "one"]): 3}
    for text in ("one", "two"):
        shown.get_by_label("What you say").fill(text)
        shown.keyboard.press("Enter")
    expect(shown.locator("#toast")).to_contain_text("The reply is not there yet.")
    expect(shown.get_by_label("What you say")).to_have_value("two")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("model", ["short", "reader", "talker"])
def test_every_lens_of_every_lane_passes_the_audit(model, scheme, explorer):
    shown, _ = explorer(model, options={"color_scheme": scheme, "reduced_motion": "reduce"})
    read(shown).first.wait_for()
    for name in LENSES:
        lens(shown, name)
        found = shown.evaluate(AUDIT)
        assert found.pop("looked at") > 30
        assert not any(found.values()), (name, found)


@pytest.mark.parametrize("model", ["short", "reader", "talker"])
def test_a_phone_shows_lanes_without_scrolling_sideways(model, explorer):
    shown, _ = explorer(model, options={"viewport": {"width": 390, "height": 844}})
    read(shown).first.wait_for()
    assert shown.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("trace", [summary(), answer(), dialogue()], ids=["summary", "answer", "dialogue"])
def test_a_saved_page_shows_every_lane_without_a_server(trace, visit, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(page([trace.dump()], title="A page"), encoding="utf-8")
    shown = visit(file.as_uri(), online=False)
    wrote(shown).first.hover()
    assert max(looks(read(shown))) > 0.5
    expect(shown.locator("textarea")).to_have_count(0)
