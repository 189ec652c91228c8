"""Interventions in the explorer: the sentence about a change, the selection after it, and the requests it makes."""

import re

import pytest
from playwright.sync_api import expect

from helpers.page_server import expect_asked
from helpers.pages import (
    CHANGED,
    TEXT,
    drag,
    expect_answer,
    hide,
    inspector,
    lens,
    let_go,
    looks,
    read,
    ribbons,
    wrote,
)
from helpers.traces import FRENCH, beams, translation


def happened(shown):
    return shown.locator(".what-happened")


def compared(shown, before, after):
    return shown.evaluate(
        "([before, after]) => import('saccade/stage/diff').then((diff) => diff.matches(before, after))",
        [before.split(), after.split()],
    )


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("la zone économique européenne end", "la zone européenne européenne end", [0, 1, None, 3, 4]),
        ("a b c", "b c", [1, 2]),
        ("a b", "a x b", [0, None, 1]),
        ("a b c d", "d a b c", [None, 0, 1, 2]),
        ("a a", "x a", [None, 1]),
    ],
)
def test_a_word_is_compared_with_the_one_whose_place_it_took(before, after, kept, explorer):
    shown, _ = explorer()
    assert compared(shown, before, after) == kept


def test_after_a_change_one_sees_where_the_changed_word_attends(explorer):
    shown, _ = explorer()
    hide(shown, 6)
    expect_answer(shown, CHANGED)
    expect(inspector(shown).get_by_role("heading", name="autre")).to_be_visible()
    expect(wrote(shown).nth(4)).to_have_attribute("aria-pressed", "true")
    assert max(opacity for opacity, _ in ribbons(shown)) > 0.3
    assert max(looks(read(shown))) > 0.1


def test_after_a_change_of_no_word_the_whole_picture_is_seen(explorer):
    shown, _ = explorer(f"text={TEXT}&model=two")
    hide(shown, 6)
    expect(happened(shown)).to_contain_text("the words stay the same")
    expect(shown.locator('.word[aria-pressed="true"]')).to_have_count(0)
    expect(shown.locator(".was")).to_have_count(0)
    assert max(opacity for opacity, _ in ribbons(shown)) > 0.25


def test_a_hidden_word_under_the_pointer_leaves_the_picture(explorer):
    shown, _ = explorer(f"text={TEXT}&hide=6")
    expect_answer(shown, CHANGED)
    read(shown).nth(6).hover()
    assert max(opacity for opacity, _ in ribbons(shown)) > 0.5


def test_the_sentence_speaks_of_a_word_that_changed(explorer):
    """“sur” attends to Area most then, but keeps its place; “zone” changes."""
    shown, server = explorer()
    expect_answer(shown)
    server.kept = ["sur"]
    hide(shown, 2)
    expect(happened(shown)).to_contain_text("“on” is hidden: the words stay the same; “sur” now attends most to")
    hide(shown, 6)
    expect(happened(shown)).to_contain_text("“zone” became “autre”")


def test_what_was_said_has_its_consequences_told(explorer):
    shown, _ = explorer(f"text={TEXT}&on=one&hide=6&force=5&force=100")
    expect(happened(shown)).to_contain_text("“Area” is hidden, you wrote “autre”: the model now writes “la autre")
    expect(happened(shown)).to_contain_text("; “zone” became “autre”.")


def test_a_change_is_read_aloud(explorer):
    shown, _ = explorer()
    hide(shown, 6)
    expect(shown.get_by_role("status").last).to_contain_text("“Area” is hidden: the model now writes “… sur la autre")


def test_a_lane_stays_in_one_line_after_another_word_was_said(explorer):
    shown, _ = explorer()
    wrote(shown).nth(2).click()
    inspector(shown).get_by_role("button", name="autre 5.0 %").click()
    expect(shown.locator(".word.yours.changed")).to_have_count(1)
    assert len(set(wrote(shown).evaluate_all("all => all.map(one => one.offsetTop)"))) == 1


def test_numbers_follow_while_a_slider_is_held(explorer):
    trace = translation("one")
    shown, server = explorer()
    wrote(shown).nth(4).click()
    slider = shown.get_by_role("slider", name="Attention of zone to Area")
    doubt = trace.steps[4].model_copy(update={"log_probability": -0.7})
    steps = [doubt if number == 4 else step for number, step in enumerate(trace.steps)]
    server.traces["one"] = trace.model_copy(update={"steps": steps})
    drag(slider, 0.3)
    expect(inspector(shown)).to_contain_text("50 % sure (was 90 %)")
    expect(shown.locator(".readout")).to_contain_text("Area 30 %")
    expect(wrote(shown).nth(4)).to_have_attribute("data-shift", "90 → 50 %")
    assert slider.evaluate("one => one.isConnected"), "the held slider is not redrawn"
    let_go(slider)
    expect(inspector(shown)).to_contain_text("50 % sure (was 90 %)")


def test_answers_come_while_one_pulls_and_not_only_after(explorer):
    shown, server = explorer(delays={TEXT: 0.12})
    expect_answer(shown)
    wrote(shown).nth(4).click()
    slider = shown.get_by_role("slider", name="Attention of zone to Area")
    asked = len(server.asked)
    for percent in range(20, 80):
        drag(slider, percent / 100)
        shown.wait_for_timeout(15)
    expect(shown.locator(".what-happened")).to_contain_text("You set attention weights")  # the slider is still held
    during = len(server.asked) - asked
    assert 3 <= during <= 25, "one after the other, each when the one before is answered"
    let_go(slider)
    expect_asked(shown, server, "pull", [[4, 6, 0.79]])
    assert "pull=4%3A6%3A0.79" in shown.url


def test_what_was_refused_is_not_asked_again_by_selecting(explorer, visit):
    shown, server = explorer()
    expect_answer(shown)
    server.refuse = (422, "That cannot be done.")
    hide(shown, 6)
    expect(shown.locator(".fault")).to_be_visible()
    asked = len(server.asked)
    for place in (1, 2, 3):
        wrote(shown).nth(place).click()
    lens(shown, "Matrix")
    shown.wait_for_timeout(200)
    assert len(server.asked) == asked
    visit.faults.clear()


def test_the_old_answer_is_dim_while_the_new_one_is_refused(explorer, visit):
    shown, server = explorer()
    expect_answer(shown)
    server.refuse = (422, "That cannot be done.")
    hide(shown, 6)
    expect(shown.locator(".answer .lane").first).to_have_css("opacity", "0.55")
    shown.locator(".fault").get_by_role("button", name="Undo").click()
    expect(shown.locator(".answer .lane").first).to_have_css("opacity", "1")
    visit.faults.clear()


@pytest.mark.parametrize("status", [429, 502, 503])
def test_a_busy_server_is_asked_again_by_itself(status, explorer, visit):
    shown, server = explorer()
    expect_answer(shown)
    server.refuse = (status, "The queue is full.")
    hide(shown, 6)
    expect(shown.locator(".fault")).to_contain_text("The queue is full. The page tries again by itself.")
    server.refuse = None
    expect_answer(shown, CHANGED)
    expect(shown.locator(".fault")).to_have_count(0)
    visit.faults.clear()


def test_a_server_that_is_still_starting_is_asked_again_for_its_models(serve, browser):
    server = serve({"one": translation("one")})
    server.starting = True
    context = browser.new_context()
    shown = context.new_page()
    shown.goto(f"{server.address}#text={TEXT}")
    expect(shown.locator("#toast")).to_contain_text("tries again by itself")
    server.starting = False
    expect_answer(shown)
    context.close()


def test_changes_of_a_link_can_be_undone(explorer):
    shown, _ = explorer(f"text={TEXT}&hide=6")
    expect_answer(shown, CHANGED)
    shown.get_by_role("button", name="Undo").click()
    expect_answer(shown)
    expect(shown.locator(".changes")).to_have_count(0)
    shown.go_forward()
    expect_answer(shown, CHANGED)


def test_what_was_typed_can_be_undone(explorer):
    shown, server = explorer()
    expect_answer(shown)
    shown.get_by_role("button", name="Edit the text").click()
    shown.get_by_label("Sentence to translate").press_sequentially("xyz", delay=10)
    expect_asked(shown, server, "input", "xyz")
    shown.keyboard.press("Escape")
    shown.get_by_role("button", name="Undo").click()  # one request for all letters
    expect(shown.locator("#status")).to_contain_text(f"({TEXT})")
    assert "text=the+law" in shown.url


def test_every_word_that_was_given_is_marked_and_no_other(explorer):
    shown, _ = explorer(f"text={TEXT}&on=one&force=5&force=100&force=7&force=100")
    expect(shown.locator(".word.yours")).to_have_count(2)
    assert [wrote(shown).nth(place).get_attribute("aria-label") for place in (1, 3)] == [
        "autre, 90 % sure, written by you, changed"
    ] * 2


def test_a_kept_word_tells_how_its_probability_changed(explorer):
    trace = translation("one")
    shown, server = explorer()
    expect_answer(shown)
    doubt = [step.model_copy(update={"log_probability": -0.9}) for step in trace.steps]
    server.traces["one"] = trace.model_copy(update={"steps": doubt})
    hide(shown, 6)
    expect_answer(shown, CHANGED)
    expect(wrote(shown).nth(0)).to_have_attribute("data-shift", "90 → 41 %")
    assert wrote(shown).nth(4).get_attribute("data-shift") is None, "it is another word"
    assert "before 90 %" in wrote(shown).nth(0).get_attribute("aria-label")


def test_a_word_is_made_to_look_at_another_from_both_sides(explorer):
    shown, server = explorer()
    wrote(shown).nth(2).click()
    read(shown).nth(8).click()
    shown.get_by_role("button", name="Make “sur” attend only here").click()
    expect_asked(shown, server, "pull", [[2, 8, 1]])
    read(shown).nth(9).click()
    wrote(shown).nth(3).click()
    shown.get_by_role("button", name="Make it attend only to “in”").click()
    expect_asked(shown, server, "pull", [[2, 8, 1], [3, 9, 1]])
    shown.keyboard.press("z")
    shown.keyboard.press("z")
    expect(shown.locator(".changes")).to_have_count(0)


def test_keys_hide_and_say_for_the_word_with_the_focus(explorer):
    shown, server = explorer()
    expect_answer(shown)
    read(shown).nth(6).focus()
    shown.keyboard.press("h")
    expect_asked(shown, server, "block", [6])
    expect_answer(shown, CHANGED)
    wrote(shown).nth(2).focus()
    shown.keyboard.press("i")
    assert "autre" in shown.evaluate("document.activeElement.textContent")


def test_hidden_columns_and_pulled_cells_are_marked_in_the_matrix(explorer):
    shown, _ = explorer(f"text={TEXT}&on=one&hide=6&pull=4:2:0.6&lens=matrix")
    expect(shown.locator(".hidden-column")).to_have_count(1)
    expect(shown.locator(".pulled")).to_have_count(1)
    cells, column = (shown.locator(name).bounding_box() for name in (".cells", ".hidden-column"))
    assert abs((column["x"] - cells["x"]) / cells["width"] - 6 / 14) < 0.02


def test_a_model_without_attention_in_first_place_leaves_the_other_everything(explorer):
    shown, server = explorer(f"text={TEXT}&model=fixed&model=two")
    expect_answer(shown, of=1)
    assert max(opacity for opacity, _ in ribbons(shown)) > 0.25
    expect(shown.get_by_label("Layer", exact=True)).to_be_visible()
    expect(shown.get_by_label("Head", exact=True)).to_be_visible()
    hide(shown, 6)
    expect(shown.locator(".changes")).to_have_count(1)
    assert {asked["model"] for asked in server.asked if "block" in asked} == {"two"}


def test_differences_between_models_are_marked(explorer):
    trace = translation("two")
    target = trace.sides["target"]
    words = ["cette" if word == "la" else word for word in FRENCH]
    other = target.model_copy(update={"tokens": [*words, "<eos>"], "words": words})
    traces = {"one": translation("one"), "two": trace.model_copy(update={"sides": trace.sides | {"target": other}})}
    shown, _ = explorer(f"text={TEXT}&model=one&model=two", traces=traces)
    expect(shown.locator(".word.differs")).to_have_text(["cette", "cette"])
    wrote(shown, 0).nth(3).hover()  # both answers highlight the word at this position
    expect(wrote(shown, 1).nth(3)).to_have_class(re.compile(r"\bon\b"))


def test_saying_is_shared_where_the_other_model_has_the_token(explorer):
    traces = {name: translation(name) for name in ("one", "two")}
    shown, server = explorer(f"text={TEXT}&model=one&model=two", traces=traces)
    expect_answer(shown, of=1)
    wrote(shown).nth(2).click()
    inspector(shown).get_by_role("button", name="autre 5.0 %").click()
    expect(wrote(shown, 1).nth(2)).to_have_text("autre")
    assert {asked["model"] for asked in server.asked if asked.get("force") == [5, 6, 100]} == {"one", "two"}


def test_pulling_is_shared_where_the_tokens_are_equal_else_it_is_said(explorer):
    shown, server = explorer(f"text={TEXT}&model=one&model=two&on=one&pull=4:6:0.3")
    expect(shown.locator(".answer").nth(1)).to_contain_text("Not changed: this model splits the text into other tokens")
    traces = {name: translation(name) for name in ("one", "two")}
    shown, server = explorer(f"text={TEXT}&model=one&model=two&on=one&pull=4:6:0.3", traces=traces)
    expect(shown.locator(".changes")).to_have_count(2)
    assert {asked["model"] for asked in server.asked if "pull" in asked} == {"one", "two"}


def test_equal_words_have_equal_numbers_however_they_were_found(explorer):
    """A search ranks by a score that is normalized by length; the page shows the log-probability of the words."""
    traces = {"one": translation("one", score=-0.32), "two": translation("two", score=-0.44, beams=None)}
    shown, _ = explorer(f"text={TEXT}&model=one&model=two", traces=traces)
    expect_answer(shown, of=1)
    facts = shown.locator(".facts dt:last-of-type").all_text_contents()
    total = sum(step.log_probability for step in traces["one"].steps)
    assert facts == [f"log-probability −{-total:.2f}"] * 2


@pytest.mark.parametrize("view", ["step=14&lens=step", "lens=search"])
def test_the_end_has_a_name_everywhere(view, explorer):
    trace = translation("one")
    shown, _ = explorer(
        f"text={TEXT}&{view}", traces={"one": trace.model_copy(update={"beams": beams([*FRENCH, "<eos>"])})}
    )
    expect(shown.locator("#lens")).to_contain_text("end")
    assert "eos" not in shown.locator("body").inner_text()
