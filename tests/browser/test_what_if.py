"""What a word depends on, from which words it is hidden, and what the page then shows; on a phone too."""

import re
import time

import pytest
from playwright.sync_api import expect

from helpers.page_server import expect_asked
from helpers.pages import CHANGED, TEXT, downloaded, drag, expect_answer, hide, inspector, let_go, read, wrote
from helpers.traces import long, translation

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LAPTOP = {"viewport": {"width": 1366, "height": 768}}


def effects(shown):
    return shown.locator(".effect")


def expect_wondered(shown, server, count, seconds=5.0):
    until = time.monotonic() + seconds
    while len(server.wondered) < count:
        assert time.monotonic() < until, f"{len(server.wondered)} effects were asked for, not {count}"
        shown.wait_for_timeout(20)


def pressed(shown):
    return shown.locator('.word[aria-pressed="true"]')


def box(locator):
    return locator.bounding_box()


def bottom(locator):
    found = box(locator)
    return found["y"] + found["height"]


# the effect of hiding a word, beside its weight


def test_beside_a_weight_stands_what_happens_if_that_word_is_hidden(explorer):
    shown, server = explorer()
    wrote(shown).nth(4).click()
    expect(effects(shown)).to_have_text(["if hidden: 90 → 20 %", "if hidden: 90 → 90 %", "if hidden: 90 → 90 %"])
    expect(effects(shown).first).to_have_class(re.compile("strong"))
    first = server.wondered[0]
    assert first["block"] == [6]
    assert first["force"] == list(range(5, 19)), "all tokens but the last, which may be the end"
    assert first["options"] == {"beam": 1, "min_length": 0, "max_length": 15}
    assert [asked["block"] for asked in server.wondered[1:]] != [[6], [6]]


def test_what_happens_if_hidden_is_remembered(explorer):
    shown, server = explorer()
    for place in (4, 2, 4):
        wrote(shown).nth(place).click()
        expect(effects(shown).last).to_contain_text("%")
    assert len(server.wondered) <= 6
    assert len({tuple(asked["block"]) for asked in server.wondered}) == len(server.wondered)


def test_what_happens_if_hidden_is_asked_for_the_words_that_matter(explorer):
    shown, _ = explorer()
    wrote(shown).nth(1).click()  # law 95 %, signed 1.3 %, and others below 1 %
    expect(effects(shown)).to_have_count(2)


def test_another_selection_ends_the_question_what_happens_if_hidden(explorer):
    shown, server = explorer()
    expect_answer(shown)
    server.delays[TEXT] = 0.4
    wrote(shown).nth(4).click()
    expect_wondered(shown, server, 1)
    wrote(shown).nth(12).click()  # attends to 1992 alone
    expect(effects(shown)).to_have_text(["if hidden: 90 → 20 %"])
    assert [asked["block"] for asked in server.wondered] == [[6], [11]]


def test_pointing_asks_nothing(explorer):
    shown, server = explorer()
    for place in range(6):
        wrote(shown).nth(place).hover()
    shown.wait_for_timeout(300)
    assert server.wondered == []


def test_while_a_slider_moves_nothing_stale_is_said(explorer):
    shown, server = explorer()
    wrote(shown).nth(4).click()
    expect(effects(shown).first).to_have_text("if hidden: 90 → 20 %")
    slider = shown.get_by_role("slider", name="Attention of zone to Area")
    drag(slider, 0.3)
    expect(effects(shown).first).to_have_text("")
    asked = len(server.wondered)
    let_go(slider)
    expect(effects(shown).first).to_contain_text("90 →")
    assert {tuple(map(tuple, one.get("pull", []))) for one in server.wondered[asked:]} <= {(), ((4, 6, 0.3),)}


def test_what_a_hidden_word_would_change_is_told_from_its_side_too(explorer):
    shown, server = explorer()
    read(shown).nth(6).click()
    expect(effects(shown).first).to_have_text("if hidden: 90 → 20 %")
    assert len(server.wondered) == 1, "one question answers for all words"
    inspector(shown).get_by_role("button", name="zone", exact=True).click()
    expect(effects(shown).last).to_have_text("if hidden: 90 → 90 %")
    assert [asked["block"] for asked in server.wondered].count([6]) == 1


def test_a_refused_question_leaves_an_empty_place(explorer, visit):
    shown, server = explorer()
    expect_answer(shown)
    server.refuse = (422, "That cannot be done.")
    wrote(shown).nth(4).click()
    expect(effects(shown)).to_have_text(["", "", ""])
    expect(shown.locator(".fault")).to_have_count(0)
    visit.faults.clear()


def test_a_saved_page_says_nothing_of_what_would_happen(explorer, visit, tmp_path):
    shown, server = explorer()
    expect_answer(shown)
    file = tmp_path / "saved.html"
    file.write_bytes(downloaded(shown, "HTML"))
    server.close()
    again = visit(file.as_uri(), online=False)
    wrote(again).nth(4).click()
    expect(inspector(again)).to_contain_text("Attends to")
    for part in (".effect", ".hide", ".scope"):
        expect(again.locator(part)).to_have_count(0)


# a button on each row


@pytest.mark.parametrize("by", ["mouse", "touch", "keyboard"])
def test_each_row_has_a_button_that_hides(by, explorer):
    shown, server = explorer(page=PHONE if by == "touch" else {})
    expect_answer(shown)
    if by == "keyboard":
        wrote(shown).nth(4).focus()
        shown.keyboard.press("h")
        shown.keyboard.press("Enter")
    else:
        (wrote(shown).nth(4).tap if by == "touch" else wrote(shown).nth(4).click)()
        button = inspector(shown).get_by_role("button", name="Hide Area from all words")
        (button.tap if by == "touch" else button.click)()
    expect_asked(shown, server, "block", [6])
    expect_answer(shown, CHANGED)
    again = inspector(shown).get_by_role("button", name="Show Area to all words again")
    if by == "keyboard":
        expect(again).to_be_focused()
        shown.keyboard.press("Enter")
    else:
        (again.tap if by == "touch" else again.click)()
    expect_answer(shown)


# from which words a word is hidden


def test_hiding_says_whom_it_concerns(explorer):
    shown, server = explorer()
    read(shown).nth(6).click()
    expect(inspector(shown).get_by_role("button", name="Hide from all words")).to_be_visible()
    inspector(shown).get_by_role("button", name="Hide from “zone” only").click()
    expect_asked(shown, server, "pull", [[4, 6, 0]])
    assert "block" not in server.asked[-1]
    expect(shown.locator(".what-happened")).to_contain_text("“Area” is hidden from “zone” only: ")


def test_rows_hide_from_all_words_or_from_this_one_and_so_do_their_numbers(explorer):
    shown, server = explorer()
    wrote(shown).nth(4).click()
    expect(effects(shown).first).to_have_text("if hidden: 90 → 20 %")
    expect(shown.get_by_role("button", name="Hide from all words")).to_have_attribute("aria-pressed", "true")
    shown.get_by_role("button", name="Hide from this word only").click()
    expect(effects(shown).first).to_have_text("if hidden: 90 → 20 %")
    assert server.wondered[-3]["pull"] == [[4, 6, 0]]
    assert "block" not in server.wondered[-3]
    inspector(shown).get_by_role("button", name="Hide Area from this word only").click()
    expect_asked(shown, server, "pull", [[4, 6, 0]])
    inspector(shown).get_by_role("button", name="Show Area to this word again").click()
    expect(shown.locator(".changes")).to_have_count(0)


# which word stays selected


def test_a_followed_word_that_stays_is_still_selected(explorer):
    shown, _ = explorer()
    wrote(shown).nth(12).click()
    hide(shown, 6)
    expect_answer(shown, CHANGED)
    expect(pressed(shown)).to_have_text(["1992"])


def test_a_followed_word_that_changes_gives_its_place_to_the_new_one(explorer):
    shown, _ = explorer()
    wrote(shown).nth(4).click()
    inspector(shown).get_by_role("button", name="Hide Area from all words").click()
    expect_answer(shown, CHANGED)
    expect(pressed(shown)).to_have_text(["autre"])
    expect(inspector(shown).get_by_role("heading", name="autre")).to_be_visible()


def test_where_no_word_was_followed_the_largest_change_is(explorer):
    shown, _ = explorer()
    hide(shown, 8)  # signed: “été” attends to it with 96 %, “signée” with 92 %
    expect(wrote(shown).nth(8)).to_have_text("autre")
    expect(pressed(shown)).to_have_count(1)
    expect(wrote(shown).nth(8)).to_have_attribute("aria-pressed", "true")


# the sentence on a change


def test_the_sentence_quotes_the_new_text_and_the_changed_words(explorer):
    shown, _ = explorer()
    hide(shown, 6)
    expect(shown.locator(".what-happened > span").first).to_have_text(
        "“Area” is hidden: the model now writes “… sur la autre économique européenne …”; “zone” became “autre”."
    )
    hide(shown, 8)
    expect(shown.locator(".what-happened > span").first).to_contain_text(
        "“zone” became “autre”, “été” became “autre” and “signée” became “autre”."
    )


def test_start_over_moves_nothing(explorer):
    shown, _ = explorer(page=LAPTOP)
    hide(shown, 6)
    expect_answer(shown, CHANGED)

    def places():
        parts = [shown.locator(name).first for name in ("#lens", "#inspector", ".examples", ".edit")]
        tops = [round(box(part)["y"]) for part in [*parts, wrote(shown).first, read(shown).first]]
        return tops, wrote(shown).first.evaluate("one => getComputedStyle(one).fontSize")

    before = places()
    shown.get_by_role("button", name="Start over").click()
    expect_answer(shown)
    assert places() == before
    assert len(set(wrote(shown).evaluate_all("all => all.map(one => one.offsetTop)"))) == 1


def test_undo_after_start_over_says_what_it_brings_back(explorer):
    shown, _ = explorer(f"text={TEXT}&on=one&force=5&force=100&hide=6")
    shown.get_by_role("button", name="Start over").click()
    expect_answer(shown)
    expect(shown.locator(".ask").get_by_role("button", name="Undo")).to_have_count(0)
    shown.get_by_role("button", name="Undo: hide “Area” and write “autre” again").click()
    expect(wrote(shown).nth(1)).to_have_text("autre")
    expect(read(shown).nth(6)).to_have_class(re.compile("hidden-word"))
    expect(shown.get_by_role("button", name="Undo", exact=True)).to_be_visible()


def test_jargon_waits_behind_a_question_mark_in_plain_words(explorer):
    shown, _ = explorer()
    expect_answer(shown)
    stage = shown.locator("#stage")
    for jargon in ("bahdanau", "parameters", "log-probability"):
        assert jargon not in stage.inner_text()
    stage.get_by_label("About this answer").click()
    for text in (
        "bahdanau",
        "The kind of model",
        "training learns",
        "How likely the model finds this whole answer: 21 %",
    ):
        expect(shown.locator(".facts")).to_contain_text(text)
    shown.keyboard.press("Escape")
    expect(shown.get_by_text("training learns")).to_be_hidden()


def test_what_matters_in_the_inspector_is_above_the_fold(explorer):
    shown, _ = explorer(page=LAPTOP)
    wrote(shown).nth(4).click()
    for _ in range(2):
        for part in (
            inspector(shown).locator("h2"),
            shown.locator(".scope"),
            shown.locator(".hide").nth(2),
            effects(shown).nth(2),
        ):
            expect(part).to_be_visible()
            assert bottom(part) <= 768
        if shown.locator(".changes").count() == 0:
            inspector(shown).get_by_role("button", name="Hide Area from all words").click()
            expect_answer(shown, CHANGED)
            expect(effects(shown).nth(2)).to_contain_text("%")


# the phone


def test_a_phone_arrives_with_a_word_selected(explorer):
    shown, _ = explorer(page=PHONE)
    expect(pressed(shown)).to_have_count(1)
    expect(inspector(shown).get_by_role("button", name="Hide the from all words")).to_be_visible()
    assert bottom(pressed(shown)) <= box(inspector(shown))["y"]
    shown.get_by_role("button", name="Close").click()
    expect(pressed(shown)).to_have_count(0)


def test_a_phone_does_not_scroll_by_itself(explorer):
    shown, _ = explorer(page=PHONE)
    expect(effects(shown).first).to_contain_text("20 %")
    assert shown.evaluate("scrollY") == 0
    inspector(shown).get_by_role("button", name="Hide the from all words").tap()
    expect(shown.locator(".what-happened")).to_contain_text("“the” is hidden")
    shown.get_by_role("button", name="Start over").tap()
    expect(shown.get_by_role("button", name="Undo: hide “the” again")).to_be_visible()
    assert shown.evaluate("scrollY") == 0


CROSSED = """() => {
    const words = [...document.querySelectorAll(".word")].map((one) => one.getBoundingClientRect());
    const origin = document.querySelector(".ribbons").getBoundingClientRect();
    return [...document.querySelectorAll(".ribbon")].filter((one) => Number(one.getAttribute("stroke-opacity")) > 0)
        .flatMap((one) => Array.from({ length: 200 }, (_, step) =>
            one.getPointAtLength((one.getTotalLength() * step) / 199)))
        .filter(({ x, y }) => words.some((box) => origin.left + x > box.left + 1 && origin.left + x < box.right - 1
            && origin.top + y > box.top + 1 && origin.top + y < box.bottom - 1)).length;
}"""


@pytest.mark.parametrize("words", [14, 28])
def test_ribbons_of_a_phone_run_behind_no_word(words, explorer):
    shown, _ = explorer(f"text={TEXT}", traces={"one": translation("one") if words == 14 else long(28)}, page=PHONE)
    for place in (0, 5, words - 1):
        wrote(shown).nth(place).evaluate("one => one.click()")
        expect(wrote(shown).nth(place)).to_have_attribute("aria-pressed", "true")
        assert shown.evaluate(CROSSED) == 0
        assert shown.locator(".ribbon").evaluate_all(
            "all => all.some((one) => one.getAttribute('stroke-opacity') > 0.2)"
        )


@pytest.mark.parametrize("model", ["one", "two"])
def test_the_button_of_more_settings_stands_beside_the_lenses(model, explorer):
    shown, _ = explorer(f"text={TEXT}&model={model}", page=PHONE)
    expect_answer(shown)
    more, tabs = box(shown.locator(".more > summary")), box(shown.locator(".tabs"))
    assert abs(more["y"] - tabs["y"]) < 4
    assert more["x"] + more["width"] <= 390


def test_a_phone_scrolls_no_further_than_the_selected_word_needs(explorer):
    shown, _ = explorer(f"text={TEXT}", traces={"one": long(28)}, page=PHONE)
    expect(pressed(shown)).to_have_count(1)
    wrote(shown).nth(3).evaluate("one => one.click()")
    shown.wait_for_timeout(300)
    assert 0 <= box(wrote(shown).nth(3))["y"] < bottom(wrote(shown).nth(3)) <= box(inspector(shown))["y"]


def test_the_box_of_a_question_mark_covers_the_words_below(explorer):
    shown, _ = explorer(page=PHONE)
    shown.get_by_role("button", name="Close").click()
    shown.get_by_label("About this answer").tap()
    covered = shown.evaluate(
        """() => { const box = document.querySelector(".facts .popup-box").getBoundingClientRect();
            return [0.1, 0.5, 0.9].every((share) => document.elementFromPoint(box.left + box.width / 2,
                box.top + box.height * share).closest(".popup-box")); }"""
    )
    assert covered
