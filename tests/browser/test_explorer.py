"""The explorer beside a server: live answers, other words, blocked sources, pulled weights, models side by side."""

import pytest
from playwright.sync_api import expect

from helpers.page_server import expect_asked
from helpers.traces import FRENCH, fixed, hostile, transformer, translation

TEXT = "the law"


@pytest.fixture
def explorer(serve, visit):
    """explorer(hash) is a page and its server, with three models."""

    def start(hash="", **options):
        server = serve({"one": translation("one"), "two": transformer("two"), "fixed": fixed("fixed")})
        for name, value in options.items():
            setattr(server, name, value)
        return visit(f"{server.address}#{hash}"), server

    return start


def answer(shown, text=TEXT, place=0):
    expect(shown.locator(".answer").nth(place)).to_have_text(f"{' '.join(FRENCH)} ({text})")


def box(shown):
    return shown.get_by_label("Sentence to translate")


def chips(shown, side):
    return shown.get_by_role("group", name=f"Words {side}", exact=True).locator(".chip")


def test_the_answer_appears_while_typing(explorer):
    shown, server = explorer()
    box(shown).press_sequentially(TEXT, delay=20)
    answer(shown)
    assert [asked["input"] for asked in server.asked] == [TEXT]  # not once a letter
    assert server.asked[0] == {"model": "one", "input": TEXT, "options": {}}
    expect(shown.get_by_role("status")).to_have_text(f"one: {' '.join(FRENCH)} ({TEXT})")
    assert box(shown).evaluate("one => one === document.activeElement")


def test_late_answers_to_earlier_questions_are_dropped(explorer):
    shown, _ = explorer(delays={"slow": 1.0})
    box(shown).fill("slow")
    shown.wait_for_timeout(400)
    box(shown).fill("fast")
    answer(shown, "fast")
    shown.wait_for_timeout(900)
    answer(shown, "fast")


def test_no_text_no_question(explorer):
    shown, server = explorer()
    box(shown).fill(TEXT)
    answer(shown)
    box(shown).fill("  ")
    expect(shown.locator(".panel")).to_contain_text("Write something above")
    assert len(server.asked) == 1


@pytest.mark.parametrize("message", ["The queue is full. Ask again in 2 seconds.", "<img src=x onerror=alert(1)>"])
def test_errors_are_sentences(message, explorer, visit):
    shown, server = explorer(refuse=(429, message))
    box(shown).fill(TEXT)
    expect(shown.locator(".fault")).to_have_text(message)
    server.refuse = None
    box(shown).fill("again")
    answer(shown, "again")
    assert any("429" in fault for fault in visit.faults)
    visit.faults.clear()  # the browser itself complains of the status


def test_a_server_that_is_gone_is_said_to_be(explorer, visit):
    shown, server = explorer()
    server.close()
    box(shown).fill(TEXT)
    expect(shown.locator(".fault")).to_contain_text("The server does not answer")
    visit.faults.clear()


def test_search_options_are_asked_for(explorer):
    shown, server = explorer(f"text={TEXT}")
    answer(shown)
    shown.get_by_text("Search options").click()
    shown.get_by_label("Beam width").fill("5")
    expect(shown).to_have_url(f"{server.address}#text=the+law&model=one&beam=5")
    shown.get_by_label("Sample").check()
    expect_asked(shown, server, "options", {"beam": 5, "sample": True})
    shown.get_by_label("Beam width").fill("0")
    expect(shown.locator("#notices")).to_contain_text("Beam width cannot be “0”: it must be from 1 to 16.")


def test_another_word_is_forced_and_taken_back(explorer):
    shown, server = explorer(f"text={TEXT}")
    chips(shown, "written").nth(2).click()
    shown.get_by_role("button", name="autre 5.0 %").click()
    expect(shown.locator(".tag")).to_contain_text("begins with “la loi sur”")
    expect_asked(shown, server, "force", [5, 6, 100])
    assert "force=5&force=6&force=100" in shown.url
    shown.get_by_role("button", name="Take back: begins with “la loi sur”").click()
    expect(shown.locator(".tag")).to_have_count(0)
    assert "force" not in shown.url


def test_a_source_word_is_blocked_and_freed(explorer):
    shown, server = explorer(f"text={TEXT}")
    chips(shown, "read").nth(6).click()
    shown.get_by_role("button", name="Block: no attention may look at it").click()
    expect(chips(shown, "read").nth(6)).to_have_class("chip blocked")
    expect(shown.locator(".tag")).to_contain_text("“Area” blocked")
    expect_asked(shown, server, "block", [6])
    chips(shown, "read").nth(6).click()
    shown.get_by_role("button", name="Let the model look at it again").click()
    expect(shown.locator(".tag")).to_have_count(0)


def test_a_weight_is_pulled_in_the_matrix_and_in_a_step(explorer):
    shown, server = explorer(f"text={TEXT}")
    shown.locator(".cells").click(position={"x": 34 * 2 + 10, "y": 34 * 4 + 10})
    slider = shown.get_by_role("slider", name="Weight of on for zone")
    slider.fill("0.75")
    shown.get_by_role("button", name="Pull the weight there").click()
    expect(shown.locator(".tag")).to_contain_text("step 5: “on” pulled to 75 %")
    shown.get_by_role("button", name="Step by step").click()
    shown.get_by_role("button", name="Pull the weight of law").click()
    shown.get_by_role("slider").fill("1")
    shown.get_by_role("button", name="Pull the weight there").click()
    expect(shown.locator(".tag")).to_have_count(2)
    expect_asked(shown, server, "pull", [[4, 2, 0.75], [0, 1, 1]])
    shown.get_by_role("button", name="Reset all").click()
    expect(shown.locator(".tag")).to_have_count(0)


def test_another_sentence_begins_without_interference(explorer):
    shown, server = explorer(f"text={TEXT}&model=one&on=one&block=2")
    expect(shown.locator(".tag")).to_have_count(1)
    box(shown).fill("another")
    answer(shown, "another")
    expect_asked(shown, server, "block", None)


def test_dead_ends_can_be_followed(explorer):
    shown, server = explorer(f"text={TEXT}&view=beam")
    shown.locator(".node.dead").first.click()
    shown.get_by_role("button", name="Go on from here").click()
    expect(shown.locator(".tag")).to_contain_text("begins with")
    expect_asked(shown, server, "force", [100])


def test_vectors_are_asked_for_when_they_are_looked_at(explorer):
    shown, server = explorer(f"text={TEXT}")
    answer(shown)
    assert "detail" not in server.asked[-1]
    shown.get_by_role("button", name="Step by step").click()
    expect(shown.locator("canvas.strip")).to_have_count(3)
    expect_asked(shown, server, "detail", True)
    shown.get_by_role("button", name="Matrix").click()
    shown.wait_for_timeout(100)
    assert len(server.asked) == 2


def test_models_stand_side_by_side(explorer):
    shown, server = explorer(f"text={TEXT}")
    shown.get_by_role("checkbox", name="two").check()
    shown.get_by_role("checkbox", name="fixed (no attention)").check()
    answer(shown, place=2)
    assert shown.locator(".panel h3").all_inner_texts() == ["one", "two", "fixed"]
    expect(shown.locator(".panel").nth(2)).to_contain_text("has no attention")
    chips(shown.locator(".panel").nth(0), "read").nth(6).click()
    shown.get_by_role("button", name="Block").click()
    expect(shown.locator(".tag")).to_have_count(1)
    expect_asked(shown, server, "block", [6])
    assert [asked["model"] for asked in server.asked if "block" in asked] == ["one"]  # the others have other tokens


def test_a_link_opens_text_models_options_interference_and_view(explorer, visit):
    link = "text=the+law&model=two&model=one&beam=3&on=one&force=5&block=1&block=2&pull=0%3A1%3A0.5&view=step&step=3"
    shown, server = explorer(link)
    expect(shown.locator(".panel h3")).to_have_text(["two", "one"])
    expect(shown.locator(".where").first).to_contain_text("Step 4")
    asked = next(asked for asked in server.asked if asked["model"] == "one")
    assert asked == {
        "model": "one",
        "input": TEXT,
        "options": {"beam": 3},
        "force": [5],
        "block": [1, 2],
        "pull": [[0, 1, 0.5]],
        "detail": True,
    }
    assert box(shown).input_value() == TEXT
    shown.keyboard.press("ArrowRight")
    assert shown.url == f"{server.address}#{link[:-1]}4"


def test_links_to_models_that_are_not_here_say_so(explorer):
    shown, _ = explorer(f"text={TEXT}&model=gone")
    expect(shown.locator("#notices")).to_contain_text("“gone”, which is not served here")
    answer(shown)


def test_a_server_may_ask_for_a_token(serve, visit, browser):
    server = serve({"one": translation("one")})
    server.token = "secret"
    context = browser.new_context()
    shown = context.new_page()
    shown.goto(server.address)
    shown.get_by_label("This server asks for a token").fill("wrong")
    shown.get_by_role("button", name="Use it").click()
    shown.get_by_label("This server asks for a token").fill("secret")
    shown.get_by_role("button", name="Use it").click()
    expect(box(shown)).to_be_enabled()
    context.close()


def test_what_the_server_showed_is_saved_as_a_page_of_its_own(explorer, visit, tmp_path):
    shown, server = explorer(f"text={TEXT}&model=one&model=two")
    answer(shown, place=1)
    with shown.expect_download() as waiting:
        shown.get_by_role("button", name="HTML").click()
    file = tmp_path / "saved.html"
    waiting.value.save_as(file)
    server.close()
    again = visit(file.as_uri(), online=False)
    expect(again.locator(".panel")).to_have_count(2)
    answer(again, place=1)
    expect(again.locator("#no-model")).to_be_visible()


def test_hostile_models_stay_text(serve, visit):
    trace = hostile()
    server = serve({trace.model.name: trace})
    shown = visit(f"{server.address}#text=x")
    expect(shown.locator(".panel")).to_contain_text("onerror")
    chips(shown, "written").first.click()
    assert shown.evaluate("window.pwned") is None
    assert shown.locator("main img").count() == 0
