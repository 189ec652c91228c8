"""The explorer with a server: a first answer without input, lanes of words, interventions and undo."""

import re

import pytest
from playwright.sync_api import expect

from helpers.page_server import expect_asked
from helpers.pages import (
    CHANGED,
    TEXT,
    expect_answer,
    hide,
    inspector,
    lane_names,
    lens,
    looks,
    open_more,
    read,
    ribbons,
    wrote,
)
from helpers.traces import hostile, translation


def field(shown):
    return shown.get_by_label("Sentence to translate")


def edit(shown, text):
    shown.get_by_role("button", name="Edit the text").click()
    field(shown).fill(text)


def test_the_first_answer_is_drawn_without_a_click(explorer):
    shown, server = explorer()
    expect_answer(shown)
    assert server.asked == [{"model": "one", "input": TEXT, "options": {}}]
    expect(shown.get_by_role("button", name=TEXT, exact=True)).to_have_attribute("aria-pressed", "true")
    shown.get_by_role("button", name="another law").click()
    expect_asked(shown, server, "input", "another law")


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_the_first_ribbon_is_above_the_fold(size, explorer):
    shown, _ = explorer(page={"viewport": {"width": size[0], "height": size[1]}})
    expect_answer(shown)
    box = shown.locator(".ribbon").first.bounding_box()
    assert box["y"] + box["height"] < size[1]
    assert max(opacity for opacity, _ in ribbons(shown)) > (0.5 if size[0] > 600 else 0.2)


def test_hiding_a_word_takes_two_clicks_and_shows_before_and_after_together(explorer):
    shown, server = explorer()
    hide(shown, 6)
    expect_asked(shown, server, "block", [6])
    expect_answer(shown, CHANGED)
    expect(shown.locator(".was .words")).to_contain_text("zone économique")
    expect(shown.locator(".was del")).to_have_text(["zone"])
    expect(shown.locator(".word.changed")).to_have_text(["autre"])
    expect(read(shown).nth(6)).to_have_class(re.compile("hidden-word"))
    expect(shown.locator(".what-happened")).to_contain_text("“Area” is hidden: the model now writes “… sur la autre")
    expect(shown.locator(".what-happened")).to_contain_text("“zone” became “autre”")


def test_undo_works_ten_deep_and_by_the_back_button(explorer):
    shown, _ = explorer()
    expect_answer(shown)
    for place in range(10):
        read(shown).nth(place).click()
        shown.keyboard.press("h")  # a late answer could redraw a button while it is clicked
        expect(shown.locator(".hidden-word")).to_have_count(place + 1)
    for left in range(9, 4, -1):
        shown.get_by_role("button", name="Undo").click()
        expect(shown.locator(".hidden-word")).to_have_count(left)
    for left in range(4, -1, -1):
        shown.go_back()
        expect(shown.locator(".hidden-word")).to_have_count(left)
    expect_answer(shown)
    expect(shown.locator(".changes")).to_have_count(0)


def test_start_over_takes_everything_back_and_can_be_undone(explorer):
    shown, _ = explorer()
    hide(shown, 6)
    expect_answer(shown, CHANGED)
    shown.get_by_role("button", name="Start over").click()
    expect_answer(shown)
    shown.keyboard.press("z")
    expect_answer(shown, CHANGED)


def test_undoing_asks_nothing_again(explorer):
    shown, server = explorer()
    hide(shown, 6)
    expect_answer(shown, CHANGED)
    asked = len(server.asked)
    shown.get_by_role("button", name="Undo").click()
    expect_answer(shown)
    assert len(server.asked) == asked


def test_another_word_is_written_instead(explorer):
    shown, server = explorer()
    wrote(shown).nth(2).click()
    expect(inspector(shown).get_by_role("heading", name="sur")).to_be_visible()
    expect(inspector(shown)).to_contain_text("90 % sure")
    inspector(shown).get_by_role("button", name="autre 5.0 %").click()
    expect_asked(shown, server, "force", [5, 6, 100])
    expect(shown.locator(".word.yours")).to_have_text(["autre"])
    expect(shown.locator(".what-happened")).to_contain_text("You wrote “autre”")
    assert "force=5&force=6&force=100" in shown.url


def test_the_end_is_never_offered_as_another_word(explorer):
    trace = translation("one")
    ending = trace.steps[3].model_copy(update={"candidates": [*trace.steps[3].candidates[:2], (3, "<eos>", -2.0)]})
    steps = [ending if number == 3 else step for number, step in enumerate(trace.steps)]
    shown, _ = explorer(traces={"one": trace.model_copy(update={"steps": steps})})
    wrote(shown).nth(3).click()
    expect(inspector(shown).get_by_role("button", name="autre 5.0 %")).to_be_visible()
    assert "eos" not in inspector(shown).inner_text()
    assert "13 %" not in shown.locator("#instead").inner_text()


def test_unlikely_words_wait_under_more(explorer):
    trace = translation("one")
    rare = trace.steps[0].model_copy(
        update={"candidates": [(5, "la", -0.1), (100, "autre", -3.0), (101, "rare", -9.0)]}
    )
    shown, _ = explorer(traces={"one": trace.model_copy(update={"steps": [rare, *trace.steps[1:]]})})
    wrote(shown).first.click()
    expect(shown.locator("#instead").get_by_role("button", name="rare")).to_be_hidden()
    shown.get_by_text("less likely").click()
    expect(shown.locator("#instead").get_by_role("button", name="rare")).to_be_visible()


def test_one_word_has_to_stay_visible(explorer):
    shown, server = explorer("text=x&" + "&".join(f"hide={place}" for place in range(13)))
    expect(shown.locator(".hidden-word")).to_have_count(13)
    hide(shown, 13)
    expect(shown.locator("#toast")).to_contain_text("One word has to stay visible")
    assert all(len(asked.get("block", [])) < 14 for asked in server.asked)


def test_a_weight_is_set_by_a_slider_while_it_moves(explorer):
    shown, server = explorer()
    wrote(shown).nth(4).click()
    slider = shown.get_by_role("slider", name="Attention of zone to Area")
    slider.evaluate("one => { one.value = 0.3; one.dispatchEvent(new Event('input', { bubbles: true })); }")
    expect_asked(shown, server, "pull", [[4, 6, 0.3]])
    slider.evaluate("one => { one.value = 0.2; one.dispatchEvent(new Event('input', { bubbles: true })); }")
    expect_asked(shown, server, "pull", [[4, 6, 0.2]])
    slider.evaluate("one => one.dispatchEvent(new Event('change', { bubbles: true }))")
    expect(shown.locator(".what-happened")).to_contain_text("You set attention weights")
    shown.get_by_role("button", name="Undo").click()  # one movement of the slider is one step
    expect(shown.locator(".changes")).to_have_count(0)


def test_weights_of_one_step_never_add_up_to_more_than_all(explorer):
    shown, server = explorer(f"text={TEXT}&on=one&pull=4:2:0.75")
    wrote(shown).nth(4).click()
    slider = shown.get_by_role("slider", name="Attention of zone to on")
    expect(slider).to_have_value("0.75")
    other = shown.locator("#inspector input[type=range]").nth(1)
    other.evaluate("one => { one.value = 0.9; one.dispatchEvent(new Event('input', { bubbles: true })); }")
    shown.wait_for_timeout(300)
    assert sum(weight for _, _, weight in server.asked[-1]["pull"]) <= 1


def test_typing_asks_once_and_late_answers_are_dropped(explorer):
    shown, server = explorer(delays={"slow": 1.0})
    expect_answer(shown)
    shown.get_by_role("button", name="Edit the text").click()
    field(shown).press_sequentially(" on", delay=20)
    expect_asked(shown, server, "input", " on")
    assert [asked["input"] for asked in server.asked] == [TEXT, " on"]  # not one request per letter
    field(shown).fill("slow")
    shown.wait_for_timeout(400)
    field(shown).fill("fast")
    expect(shown.get_by_role("status").last).to_contain_text("(fast)")
    shown.wait_for_timeout(900)
    expect(shown.get_by_role("status").last).to_contain_text("(fast)")
    assert field(shown).evaluate("one => one === document.activeElement")


def test_editing_the_text_says_that_changes_are_gone_and_undo_brings_them_back(explorer):
    shown, server = explorer()
    hide(shown, 6)
    expect_answer(shown, CHANGED)
    edit(shown, "other text")
    expect(shown.locator("#toast")).to_contain_text("Undo brings them back")
    expect_asked(shown, server, "input", "other text")
    field(shown).press("Escape")
    shown.keyboard.press("z")
    expect_answer(shown, CHANGED)


def test_no_text_no_question(explorer):
    shown, server = explorer()
    expect_answer(shown)
    edit(shown, "  ")
    expect(shown.locator("#stage")).to_contain_text("Write something")
    assert len(server.asked) == 1


def test_unknown_and_unsure_words_are_marked(explorer):
    trace = translation("one")
    source = trace.sides["source"]
    unknown = source.model_copy(update={"tokens": ["<unk>" if word == "law" else word for word in source.tokens]})
    doubt = trace.steps[1].model_copy(update={"log_probability": -1.0})
    steps = [doubt if number == 1 else step for number, step in enumerate(trace.steps)]
    changed = trace.model_copy(update={"sides": trace.sides | {"source": unknown}, "steps": steps})
    shown, _ = explorer(traces={"one": changed})
    expect(shown.locator(".word.unknown")).to_have_text(["law"])
    expect(shown.locator(".word.unsure")).to_have_text(["loi"])
    read(shown).nth(1).click()
    expect(inspector(shown)).to_contain_text("not in the model's vocabulary")


def test_an_answer_that_was_cut_says_so(explorer):
    trace = translation("one")
    target = trace.sides["target"]
    short = target.model_copy(update={"tokens": target.tokens[:-1], "word_of": target.word_of[:-1], "marks": []})
    site = trace.sites[0]
    from saccade.trace import pack

    weights = pack(site.weights.unpack()[:, :-1], 65535, low=0, high=1)
    cut = trace.model_copy(
        update={
            "sides": trace.sides | {"target": short},
            "sites": [site.model_copy(update={"weights": weights, "scores": None})],
            "steps": trace.steps[:-1],
            "beams": None,
            "vectors": {},
        }
    )
    shown, _ = explorer(traces={"one": cut})
    expect(shown.locator(".cut")).to_have_text("… cut at 14 tokens")


@pytest.mark.parametrize("message", ["The queue is full. Ask again in 2 seconds.", "<img src=x onerror=alert(1)>"])
def test_a_failure_keeps_the_answer_and_says_what_to_do(message, explorer, visit):
    shown, server = explorer()
    expect_answer(shown)
    server.refuse = (422, message)
    hide(shown, 6)
    expect(shown.locator(".fault p")).to_contain_text(message)
    expect_answer(shown)  # the last answer is still there
    expect(shown.locator(".changes")).to_have_count(0)  # no sentence about a change whose answer is missing
    server.refuse = None
    shown.locator(".fault").get_by_role("button", name="Try again").click()
    expect_answer(shown, CHANGED)
    expect(shown.locator(".fault")).to_have_count(0)
    visit.faults.clear()  # the browser itself logs the status as an error


def test_what_is_refused_can_be_undone(explorer, visit):
    shown, server = explorer()
    expect_answer(shown)
    server.refuse = (422, "That cannot be done.")
    hide(shown, 6)
    shown.locator(".fault").get_by_role("button", name="Undo").click()
    expect(shown.locator(".fault")).to_have_count(0)
    expect_answer(shown)
    visit.faults.clear()


def test_a_server_that_comes_back_is_asked_again_by_itself(explorer, visit, serve):
    shown, _ = explorer()
    expect_answer(shown)
    shown.context.set_offline(True)
    hide(shown, 6)
    expect(shown.locator(".fault")).to_contain_text("The server does not answer")
    expect(shown.locator(".fault")).to_contain_text("tries again by itself")
    shown.context.set_offline(False)
    expect_answer(shown, CHANGED)
    expect(shown.locator(".fault")).to_have_count(0)
    visit.faults.clear()


def test_the_page_shows_that_it_waits_and_dims_the_old_answer(explorer):
    shown, _ = explorer(delays={"slow": 0.8})
    expect_answer(shown)
    edit(shown, "slow")
    expect(shown.locator(".answer.busy")).to_have_count(1)
    expect(shown.locator("body.waiting")).to_have_count(1)
    expect(shown.locator("body.waiting")).to_have_count(0)


def test_search_options_are_asked_for(explorer):
    shown, server = explorer(f"text={TEXT}")
    expect_answer(shown)
    open_more(shown)
    shown.get_by_label("Beam width").fill("5")
    expect(shown).to_have_url(f"{server.address}#text=the+law&model=one&beam=5")
    shown.get_by_label("Sample").check()
    expect_asked(shown, server, "options", {"beam": 5, "sample": True})
    shown.get_by_label("Beam width").fill("0")
    expect(shown.locator("#toast")).to_contain_text("Beam width cannot be “0”: it must be from 1 to 16.")


def test_a_search_with_beam_five_is_one_click_away(explorer):
    shown, server = explorer(f"text={TEXT}&lens=search", traces={"one": translation("one", beams=None)})
    shown.get_by_role("button", name="Search with beam 5").click()
    expect_asked(shown, server, "options", {"beam": 5})


def test_a_dropped_branch_tells_why_and_can_be_followed(explorer):
    shown, server = explorer(f"text={TEXT}&lens=search")
    shown.locator(".node.dead").nth(1).click()
    expect(shown.locator(".chosen-node")).to_contain_text("The 3 kept there had −2.10 or more")
    shown.locator(".node.dead").first.click()
    shown.get_by_role("button", name="Go on from here").click()
    expect_asked(shown, server, "force", [100])


def test_vectors_are_asked_for_when_they_are_shown(explorer):
    shown, server = explorer(f"text={TEXT}")
    expect_answer(shown)
    assert "detail" not in server.asked[-1]
    lens(shown, "Step")
    expect(shown.locator("canvas.strip")).to_have_count(3)
    expect_asked(shown, server, "detail", True)
    lens(shown, "Matrix")
    shown.wait_for_timeout(100)
    assert len(server.asked) == 2


def test_models_share_the_source_and_what_is_hidden(explorer):
    shown, server = explorer(f"text={TEXT}")
    shown.get_by_text("+ Compare").click()
    shown.get_by_role("checkbox", name="two").check()
    shown.get_by_role("checkbox", name="fixed (no attention)").check()
    shown.keyboard.press("Escape")
    for of in range(3):
        expect_answer(shown, of=of)
    assert lane_names(shown) == ["Read", "one", "two", "fixed"]
    expect(shown.locator(".answer").nth(2)).to_contain_text("has no attention")
    hide(shown, 6)
    expect(shown.locator(".changes")).to_have_count(2)
    expect(shown.locator(".was")).to_have_count(1)  # where words changed
    blocks = {asked["model"]: asked["block"] for asked in server.asked if "block" in asked}
    assert blocks["one"] == [6]
    assert blocks["two"] != [6], "the same word has other tokens there"
    assert "fixed" not in blocks, "which has no attention"
    expect(shown.locator(".answer").nth(2)).to_contain_text("Not changed: it has no attention")
    read(shown).nth(4).hover()
    assert max(looks(wrote(shown, 0))) > 0.7


def test_a_model_without_attention_takes_nothing_from_the_others(explorer):
    shown, _ = explorer(f"text={TEXT}&model=fixed&model=one&lens=matrix")
    expect(shown.locator(".reason")).to_have_count(1)
    expect(shown.locator(".matrix")).to_have_count(1)


def test_a_link_opens_text_models_options_changes_and_lens(explorer):
    link = "text=the+law&model=two&model=one&beam=3&on=one&force=5&block=1&hide=2&pull=0%3A0%3A0.5&lens=step&step=3"
    shown, server = explorer(link)
    expect(shown.locator(".view h2")).to_contain_text(["two", "one"])
    expect(shown.locator(".where").first).to_contain_text("Step 4")
    asked = [asked for asked in server.asked if asked["model"] == "one"][-1]
    assert asked == {
        "model": "one",
        "input": TEXT,
        "options": {"beam": 3},
        "force": [5],
        "block": [1, 2],
        "pull": [[0, 0, 0.5]],
        "detail": True,
    }
    shown.keyboard.press("ArrowRight")
    assert shown.url == f"{server.address}#{link[:-1]}4"


@pytest.mark.parametrize(
    ("old", "new"), [("matrix", "Matrix"), ("beam", "Search"), ("arcs", "Words"), ("step", "Step")]
)
def test_links_of_the_page_before_still_open(old, new, explorer):
    shown, _ = explorer(f"text={TEXT}&view={old}")
    expect(shown.locator(".tabs").get_by_role("button", name=new)).to_have_attribute("aria-pressed", "true")


def test_links_to_models_that_are_not_here_say_so(explorer):
    shown, _ = explorer(f"text={TEXT}&model=gone")
    expect(shown.locator("#toast")).to_contain_text("“gone”, which is not served here")
    expect_answer(shown)


def test_keys_do_what_the_list_says(explorer):
    shown, server = explorer()
    expect_answer(shown)
    read(shown).first.focus()
    for _ in range(6):
        shown.keyboard.press("ArrowRight")
    shown.keyboard.press("ArrowDown")
    assert shown.evaluate("document.activeElement.textContent") == "zone"  # the word that attends to Area most
    shown.keyboard.press("ArrowUp")
    shown.keyboard.press("Enter")
    shown.keyboard.press("h")
    expect_asked(shown, server, "block", [6])
    expect_answer(shown, CHANGED)
    shown.keyboard.press("2")
    expect(shown.locator(".matrix")).to_be_visible()
    wrote(shown).first.click()
    shown.keyboard.press("i")
    assert "autre" in shown.evaluate("document.activeElement.textContent")
    shown.keyboard.press("?")
    expect(shown.get_by_role("dialog", name="Keys")).to_be_visible()
    shown.keyboard.press("Escape")
    shown.keyboard.press("/")
    assert field(shown).evaluate("one => one === document.activeElement")


def test_present_shows_words_without_controls(explorer):
    shown, _ = explorer()
    expect_answer(shown)
    before = wrote(shown).first.bounding_box()["height"]
    shown.get_by_role("button", name="Present").click()
    expect(shown.locator(".top")).to_be_hidden()
    assert wrote(shown).first.bounding_box()["height"] > before
    shown.keyboard.press("Escape")
    expect(shown.locator(".top")).to_be_visible()


def test_a_server_may_ask_for_a_token(serve, browser):
    server = serve({"one": translation("one")})
    server.token = "secret"
    context = browser.new_context()
    shown = context.new_page()
    shown.goto(server.address)
    shown.get_by_label("This server asks for a token").fill("wrong")
    shown.get_by_role("button", name="Use it").click()
    shown.get_by_label("This server asks for a token").fill("secret")
    shown.get_by_role("button", name="Use it").click()
    expect(field(shown)).to_be_visible()
    context.close()


def test_what_the_server_showed_is_saved_as_a_page_of_its_own(explorer, visit, tmp_path):
    from helpers.pages import downloaded

    shown, server = explorer(f"text={TEXT}&model=one&model=two")
    expect_answer(shown, of=1)
    file = tmp_path / "saved.html"
    file.write_bytes(downloaded(shown, "HTML"))
    server.close()
    again = visit(file.as_uri(), online=False)
    expect_answer(again, of=1)
    expect(again.locator("#no-model")).to_be_visible()


def test_hostile_models_stay_text(serve, visit):
    trace = hostile()
    server = serve({trace.model.name: trace})
    shown = visit(f"{server.address}#text=x")
    expect(wrote(shown).first).to_be_visible()
    wrote(shown).first.click()
    expect(shown.locator("main")).to_contain_text("onerror")
    assert shown.evaluate("window.pwned") is None
    assert shown.locator("main img").count() == 0
