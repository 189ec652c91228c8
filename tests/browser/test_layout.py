"""The explorer on small screens, at 200 %, on paper, without motion, and by keyboard alone."""

import re
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from helpers.pages import (
    AUDIT,
    CHANGED,
    LENSES,
    SHOWN,
    TEXT,
    expect_answer,
    hide,
    lens,
    open_more,
    read,
    ribbons,
    wrote,
)
from helpers.traces import FRENCH, fixed, long, side, transformer, translation
from saccade.attention import SCORES
from saccade.tasks.tracing import _formula

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
ZOOMED = {"viewport": {"width": 640, "height": 360}, "device_scale_factor": 2}
"""A window of 1280 × 720 at 200 %."""


def box(locator):
    return locator.bounding_box()


def bottom(locator):
    found = box(locator)
    return found["y"] + found["height"]


def sideways(shown):
    return shown.evaluate("document.documentElement.scrollWidth - innerWidth")


@pytest.mark.parametrize("size", [PHONE, ZOOMED], ids=["phone", "zoomed"])
def test_the_sheet_hides_neither_the_selected_word_nor_what_changed(size, explorer):
    shown, _ = explorer(page=size)
    expect_answer(shown)
    wrote(shown).nth(12).click()
    sheet = shown.locator("#inspector")
    high = size["viewport"]["height"]
    assert box(sheet)["height"] <= 0.4 * high + 1
    assert 0 <= box(wrote(shown).nth(12))["y"] < bottom(wrote(shown).nth(12)) <= box(sheet)["y"]
    hide(shown, 6)
    expect_answer(shown, CHANGED)
    expect(wrote(shown).nth(12)).to_have_attribute("aria-pressed", "true")
    found = sheet.locator(".what-happened > span").first  # the sheet says what changed
    assert box(sheet)["y"] <= box(found)["y"] < bottom(found) <= high


@pytest.mark.parametrize("size", [PHONE, ZOOMED, {"viewport": {"width": 1280, "height": 720}}])
def test_sixty_words_can_be_used(size, explorer):
    shown, _ = explorer(f"text={TEXT}", traces={"one": long(60)}, page=size)
    expect(wrote(shown)).to_have_count(60)
    assert sideways(shown) <= 0
    wrote(shown).nth(40).click()
    assert {width for opacity, width in ribbons(shown) if opacity > 0} == {
        width for opacity, width in ribbons(shown) if opacity > 0.15
    }, "of the selected word, and visible"
    expect(shown.locator(".readout")).to_contain_text("WORD40 → word40")
    read(shown).nth(40).click()
    shown.get_by_role("button", name="Hide from all words").click()
    expect(shown.locator(".what-happened")).to_contain_text("“word40” is hidden")


def test_where_lanes_wrap_one_word_has_ribbons_and_all_words_stay_legible(explorer):
    shown, _ = explorer(page=PHONE)
    expect_answer(shown)
    assert len(set(wrote(shown).evaluate_all("all => all.map(one => one.offsetTop)"))) > 1
    visible = [opacity for opacity, _ in ribbons(shown) if opacity > 0]
    assert 1 <= len(visible) <= 3, "those of the first word"
    assert box(shown.locator(".ribbons"))["width"] <= box(shown.locator(".lanes"))["width"] + 1
    for name in shown.locator(".lane-name").all():
        assert name.evaluate("one => getComputedStyle(one).backgroundColor") != "rgba(0, 0, 0, 0)"


def test_targets_are_large_enough_for_a_thumb(explorer):
    shown, _ = explorer(page=PHONE)
    expect_answer(shown)
    open_more(shown)
    wrote(shown).nth(4).click()
    small = shown.evaluate(
        """() => [...document.querySelectorAll("button, select, summary, input, .as-button")]
            .filter((one) => one.checkVisibility() && one.getClientRects().length && !one.closest(".skip, label"))
            .map((one) => [one.getBoundingClientRect().height, one.outerHTML.slice(0, 80)])
            .filter(([height]) => height < 44)"""
    )
    assert small == []


def test_nothing_is_cut_off_at_two_hundred_percent(explorer):
    for name in LENSES:
        shown, _ = explorer(f"text={TEXT}&model={'two' if name == 'Heads' else 'one'}", page=ZOOMED)
        lens(shown, name)
        expect(shown.locator(SHOWN[name]).first).to_be_attached()
        assert sideways(shown) <= 0, name


def test_nothing_moves_for_those_who_asked_for_rest(explorer):
    shown, _ = explorer(page={"reduced_motion": "reduce"}, delays={"slow": 0.6})
    expect_answer(shown)
    moving = """() => [...document.querySelectorAll("*")].flatMap((one) => ["", "::before", "::after"].map((part) =>
        getComputedStyle(one, part || null))).filter((style) => style.animationName !== "none"
            || style.transitionDuration.split(", ").some((time) => parseFloat(time) > 0)).length"""
    hide(shown, 6)
    assert shown.evaluate(moving) == 0
    shown, _ = explorer()
    expect_answer(shown)
    assert shown.evaluate(moving) > 0


def test_paper_shows_words_and_lens_without_controls(explorer):
    shown, _ = explorer(f"text={TEXT}&hide=6&lens=matrix", page={"color_scheme": "dark"})
    expect_answer(shown, CHANGED)
    shown.emulate_media(media="print")
    for part in (".top", ".ask", ".lens-bar", ".what-happened button", "footer"):
        expect(shown.locator(part).first).to_be_hidden()
    for part in (".word.changed", ".was", ".what-happened", ".matrix"):
        expect(shown.locator(part).first).to_be_visible()
    assert shown.evaluate("getComputedStyle(document.querySelector('#stage')).backgroundColor") == "rgb(255, 255, 255)"
    matrix = shown.locator(".matrix")
    assert matrix.evaluate("one => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight + 1")


def labelled(words):
    trace = translation("one")
    return trace.model_copy(update={"sides": trace.sides | {"source": side(words[:13]), "target": side(words)}})


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("long", [False, True])
def test_labels_of_the_matrix_are_never_cut(width, long, explorer):
    words = [word * 3 if long and number in (0, 12, 13) else word for number, word in enumerate(FRENCH)]
    shown, _ = explorer(
        f"text={TEXT}&lens=matrix", traces={"one": labelled(words)}, page={"viewport": {"width": width, "height": 800}}
    )
    expect(shown.locator(".matrix")).to_be_visible()
    for kind, last in (("row", wrote(shown).last), ("column", read(shown).last)):
        for word in (last, (wrote if kind == "row" else read)(shown).first):
            word.focus()  # its label is bold then
            over = shown.evaluate(
                """kind => { const frame = document.querySelector(`.${kind}-labels`).getBoundingClientRect();
                    return [...document.querySelectorAll(`.${kind}-labels text`)].filter((one) => {
                        const box = one.getBoundingClientRect();
                        return box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1
                            || box.bottom > frame.bottom + 1; }).map((one) => one.textContent); }""",
                kind,
            )
            assert over == [], kind


def test_the_matrix_uses_the_width(explorer):
    shown, _ = explorer(f"text={TEXT}&lens=matrix")
    expect(shown.locator(".matrix")).to_be_visible()
    assert box(shown.locator(".matrix"))["width"] > 0.85 * box(shown.locator("#lens"))["width"]


def test_short_sentences_use_the_width(explorer):
    words = FRENCH[:5]
    shown, _ = explorer(f"text={TEXT}", traces={"one": long(6)})
    expect(wrote(shown)).to_have_count(len(words) + 1)
    last = box(wrote(shown).last)
    assert last["x"] + last["width"] > 0.7 * bottom_right(shown.locator(".lane .words").first)
    assert float(wrote(shown).first.evaluate("one => parseFloat(getComputedStyle(one).fontSize)")) > 34


def bottom_right(locator):
    found = box(locator)
    return found["x"] + found["width"]


def test_cells_of_self_attention_select_their_word(explorer):
    shown, _ = explorer(f"text={TEXT}&model=two&site=encoder.0&lens=matrix")
    cells = shown.locator(".cells")
    cells.click(position={"x": 5, "y": 5})
    expect(shown.locator(".picked")).to_have_count(1)
    expect(shown.locator("#inspector").get_by_role("heading", name="the", exact=True)).to_be_visible()
    expect(shown.locator("#inspector")).to_contain_text("Attends to")


@pytest.mark.parametrize(
    "hash", ["", "lens=step&step=2", "model=one&model=two&lens=step", "model=two&lens=heads", "lens=search"]
)
def test_headings_never_jump(hash, explorer):
    shown, _ = explorer(f"text={TEXT}&{hash}")
    wrote(shown).nth(2).click()
    levels = shown.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((one) => Number(one.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


def focused(shown):
    return shown.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent")


def tab_to(shown, name, key="Tab"):
    """Press Tab until something with this name has the focus."""
    for _ in range(60):
        shown.keyboard.press(key)
        if (focused(shown) or "").strip().startswith(name):
            return
    raise AssertionError(f"Tab does not lead to {name}")


def test_every_lens_lack_and_failure_is_reached_by_keyboard(explorer, visit):
    shown, server = explorer(
        traces={"one": translation("one", beams=None), "two": transformer("two"), "fixed": fixed("fixed")}
    )
    expect_answer(shown)
    for name in LENSES:
        tab_to(shown, name)
        shown.keyboard.press("Enter")
        expect(shown.locator(".tabs").get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
        shown.keyboard.press("Shift+Tab")
    tab_to(shown, "Search")
    shown.keyboard.press("Enter")
    tab_to(shown, "Search with beam 5")  # the missing part, and the remedy
    tab_to(shown, "the", "Shift+Tab")  # the words that were read
    server.refuse = (422, "That cannot be done.")
    shown.keyboard.press("h")
    expect(shown.locator(".fault")).to_be_visible()
    tab_to(shown, "Undo")
    shown.keyboard.press("Enter")
    expect(shown.locator(".fault")).to_have_count(0)
    server.refuse = None
    tab_to(shown, "Model", "Shift+Tab")
    shown.keyboard.press("f")  # chooses the model without attention
    shown.keyboard.press("Tab")
    expect(shown.locator(".answer")).to_contain_text("has no attention")
    assert shown.evaluate(AUDIT)["nameless"] == []
    visit.faults.clear()


def test_every_letter_of_the_equations_is_explained(explorer):
    shown, _ = explorer(f"text={TEXT}&lens=step")
    shown.get_by_text("The letters", exact=True).click()
    explained = {part for text in shown.locator(".symbols dt").all_inner_texts() for part in text.split(", ")}
    formulas = [_formula(score.__new__(score)) for score in SCORES.values()] + ["c α e h s"]
    used = {letter for formula in formulas for letter in re.findall(r"[A-Za-zα-ω]+", formula)}
    names = {"divided", "by", "if", "scaled", "tanh", "t", "weights", "Q", "K"}  # subscripts and plain words
    assert used - names <= explained


def test_a_letter_shows_where_it_stands_in_the_equations(explorer):
    shown, _ = explorer(f"text={TEXT}&lens=step")
    letters = shown.locator(".cards abbr")
    assert "attention weight" in (letters.filter(has_text="α").first.get_attribute("title") or "")
    shown.get_by_text("The letters", exact=True).click()
    shown.locator(".symbols").get_by_role("button", name="α", exact=True).click()
    marked = shown.locator(".cards abbr.on")
    assert set(marked.all_inner_texts()) == {"α"}
    expect(marked.first).to_be_in_viewport()


def test_examples_stay_in_one_line(explorer):
    shown, _ = explorer(examples={"one": [{"input": f"{TEXT} {'and more ' * 8}{place}"} for place in range(5)]})
    expect_answer(shown)
    tops = shown.locator(".ask > button, .example").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().top)"
    )
    assert max(tops) - min(tops) < 8
    assert sideways(shown) <= 0


def test_the_words_lens_leaves_out_what_hardly_counts(explorer):
    shown, _ = explorer(f"text={TEXT}")
    expect_answer(shown)
    shares = shown.locator(".shares-of .number").all_inner_texts()
    assert len(shares) > 15
    assert min(float(share.rstrip(" %")) for share in shares) >= 1


def test_words_look_as_if_they_could_be_chosen(explorer):
    shown, _ = explorer(f"text={TEXT}")
    expect_answer(shown)
    assert "underline" in wrote(shown).first.evaluate("one => getComputedStyle(one).textDecorationLine")
