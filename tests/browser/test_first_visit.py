"""What people met who saw the explorer for the first time: ways in and out, and a page that stays where it is."""

import pytest
from playwright.sync_api import expect

from helpers.page_server import expect_asked
from helpers.page_states import in_doubt
from helpers.pages import CHANGED, TEXT, expect_answer, hide, inspector, lens, open_more, read, wrote
from helpers.traces import translation

LAPTOP = {"viewport": {"width": 1366, "height": 768}}
BAND = """(() => {
    const [lanes, answers] = [".lanes", ".answers"].map((one) => document.querySelector(one).getBoundingClientRect());
    return lanes.bottom - answers.bottom;
})()"""
LABEL = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"


def focused(shown):
    return shown.evaluate(LABEL)


def has_focus(shown, selector):
    return shown.evaluate("selector => document.activeElement.matches(selector)", selector)


def test_tab_leads_to_one_box_of_the_tree_and_keys_walk_it(explorer):
    shown, _ = explorer(f"text={TEXT}&lens=search")
    expect(shown.locator(".node").first).to_be_visible()
    shown.locator(".more > summary").focus()
    shown.keyboard.press("Tab")
    assert focused(shown).startswith("Step 1: la")
    shown.keyboard.press("ArrowRight")
    assert focused(shown).startswith("Step 2: loi")
    shown.keyboard.press("End")
    assert focused(shown).startswith("Step 15")
    shown.keyboard.press("Home")
    shown.keyboard.press("ArrowDown")
    assert focused(shown).startswith("Step 1: une")
    shown.keyboard.press("Enter")
    expect(shown.locator(".chosen-node")).to_be_visible()
    shown.keyboard.press("Tab")
    assert not has_focus(shown, ".node, .scroll"), "the tree is one stop"


def test_a_button_leaves_present_mode(explorer):
    shown, _ = explorer(page=LAPTOP)
    shown.get_by_role("button", name="Present").click()
    leave = shown.get_by_role("button", name="Leave present mode (Esc)")
    expect(leave).to_be_in_viewport()
    leave.click()
    expect(leave).to_have_count(0)
    expect(shown.locator(".top")).to_be_visible()


def test_undo_does_not_scroll(explorer):
    shown, _ = explorer(page={"viewport": {"width": 1366, "height": 500}})
    wrote(shown).nth(4).click()
    shown.evaluate("scrollTo(0, 200)")
    inspector(shown).get_by_role("button", name="Hide Area from all words").click()
    expect_answer(shown, CHANGED)
    shown.evaluate("scrollTo(0, 0)")
    shown.keyboard.press("z")
    expect_answer(shown)
    shown.wait_for_timeout(100)
    assert shown.evaluate("scrollY") == 0


@pytest.mark.parametrize("way", ["undo", "start over and go on"])
def test_no_empty_band_stays_below_the_lanes(way, explorer):
    shown, _ = explorer(f"text={TEXT}", page=LAPTOP)
    expect_answer(shown)
    high = "document.querySelector('.lanes').offsetHeight"
    before = shown.evaluate(high)
    hide(shown, 6)
    expect_answer(shown, CHANGED)
    tall = shown.evaluate(high)
    assert tall > before + 20
    if way == "undo":
        shown.keyboard.press("z")
        expect_answer(shown)
    else:
        shown.get_by_role("button", name="Start over").click()
        expect_answer(shown)
        assert shown.evaluate(high) == tall, "nothing moves under the pointer"
        lens(shown, "Matrix")
    shown.wait_for_timeout(200)
    assert shown.evaluate(BAND) < 2
    assert shown.evaluate(high) < tall


@pytest.mark.parametrize("way", ["Escape", "elsewhere"])
def test_the_menu_of_settings_closes(way, explorer):
    shown, _ = explorer()
    wrote(shown).nth(4).click()
    open_more(shown)
    expect(shown.locator(".more-box")).to_be_visible()
    shown.get_by_label("Unit").select_option("pieces")  # drawn anew, it stays open
    expect(shown.locator(".more-box")).to_be_visible()
    if way == "Escape":
        shown.keyboard.press("Escape")
        assert has_focus(shown, ".more > summary")
    else:
        shown.locator("footer").click()
    expect(shown.locator(".more-box")).to_be_hidden()


def test_a_menu_takes_escape_and_the_selection_stays(explorer):
    shown, _ = explorer()
    wrote(shown).nth(4).click()
    open_more(shown)
    shown.wait_for_timeout(100)
    shown.keyboard.press("Escape")
    expect(shown.locator(".more-box")).to_be_hidden()
    expect(inspector(shown).get_by_role("heading", name="zone")).to_be_visible()
    shown.keyboard.press("Escape")
    expect(inspector(shown).locator("h2")).to_have_count(0)


def test_the_reason_of_a_dropped_beginning_compares_like_with_like_and_is_in_view(explorer):
    shown, _ = explorer(f"text={TEXT}&lens=search", page=LAPTOP)
    shown.locator('[data-key="beam-0-2"]').click()
    expect(shown.locator(".chosen-node")).to_contain_text(
        "Its best next word took it to −2.10 or lower in step 2. The 3 kept there had −2.10 or more."
    )
    expect(shown.locator(".chosen-node")).to_be_in_viewport(ratio=1)


def test_the_reason_is_in_view_where_the_tree_is_taller_than_the_window(explorer):
    shown, _ = explorer(f"text={TEXT}&lens=search", page={"viewport": {"width": 1366, "height": 480}})
    node = shown.locator(".node.dead").first
    node.wait_for()
    node.focus()
    shown.keyboard.press("Enter")
    expect(shown.locator(".chosen-node")).to_be_in_viewport(ratio=1)


def test_what_a_word_already_looks_at_alone_is_not_offered(explorer):
    shown, server = explorer()
    read(shown).nth(8).click()
    wrote(shown).nth(2).click()
    only = shown.get_by_role("button", name="Make it attend only to “signed”")
    only.click()
    expect_asked(shown, server, "pull", [[2, 8, 1]])
    expect(shown.locator(".what-happened")).to_be_visible()
    expect(inspector(shown).get_by_role("heading", name="sur")).to_be_visible()
    expect(only).to_have_count(0)


def test_escape_in_the_inspector_goes_back_to_the_word(explorer):
    shown, _ = explorer()
    wrote(shown).nth(4).focus()
    shown.keyboard.press("Enter")
    inspector(shown).locator(".hide").first.focus()
    shown.keyboard.press("Escape")
    assert has_focus(shown, '.word[data-key="wrote-0-4"]')


def test_after_the_search_the_focus_is_in_the_tree(explorer):
    shown, server = explorer(f"text={TEXT}&lens=search", traces={"one": translation("one", beams=None)})
    again = shown.get_by_role("button", name="Search with beam 5")
    again.focus()
    server.traces["one"] = translation("one")
    shown.keyboard.press("Enter")
    expect(shown.locator(".node").first).to_be_visible()
    assert focused(shown).startswith("Step 1: la")


def test_undo_after_hiding_keeps_the_focus_off_the_close_button(explorer):
    shown, _ = explorer()
    read(shown).nth(6).click()
    shown.locator('[data-key="hide"]').focus()
    shown.keyboard.press("Enter")
    expect_answer(shown, CHANGED)
    shown.keyboard.press("z")
    expect_answer(shown)
    shown.wait_for_timeout(100)
    assert has_focus(shown, '.word, .hide, [data-key="hide"]')


def test_unknown_words_say_what_they_are(serve, visit):
    shown = visit(f"{serve({'doubt': in_doubt()}).address}#text={TEXT}")
    word = shown.locator(".word.unknown")
    expect(word).to_have_attribute("title", "not in the model's vocabulary")
    expect(shown.locator(".notes")).to_have_text("Not in the model's vocabulary: law.")
    word.click()
    expect(inspector(shown)).to_contain_text("not in the model's vocabulary")


GAPS = """() => [...document.querySelectorAll("#inspector .weights > li")].flatMap((line) => {
    const number = line.querySelector(".number:not(.effect)");
    number.textContent = "< 0.1 %";
    const range = document.createRange();
    range.selectNodeContents(number);
    const text = range.getBoundingClientRect();
    const others = [...line.children].filter((one) => one !== number && !one.matches(".effect"));
    return others.map((one) => one.getBoundingClientRect())
        .map((box) => Math.max(box.left - text.right, text.left - box.right));
})"""


@pytest.mark.parametrize("side", ["read", "written"])
def test_small_shares_touch_nothing(side, explorer):
    shown, _ = explorer(page=LAPTOP)
    (read(shown).nth(6) if side == "read" else wrote(shown).nth(4)).click()
    shown.locator("#inspector .weights > li").first.wait_for()
    assert min(shown.evaluate(GAPS)) >= 6
