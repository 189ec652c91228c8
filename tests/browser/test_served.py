"""The explorer page on the real server, with a real model behind it."""

import re
import subprocess
import sys
import time
import urllib.parse

import pytest
from playwright.sync_api import expect

from helpers.pages import expect_answer, inspector, lens, looks, read, wrote
from helpers.recipes import untrained, write_folder

TEXT = "ant bee cat dog"


@pytest.fixture(scope="module")
def address(translator, tmp_path_factory):
    """A server with a model that writes capitals, and an untrained one without attention."""
    plain = {"preset": "sutskever", "embedding": 8, "encoder": {"width": 8}, "decoder": {"width": 8}}
    fixed = write_folder(untrained("translation", plain), tmp_path_factory.mktemp("models") / "fixed")
    yield from serving(translator, fixed)


@pytest.fixture(scope="module")
def looking(tmp_path_factory):
    """A server with an untrained captioner."""
    pytest.importorskip("PIL", reason="needs Pillow")
    from helpers.captioning import captioner

    folder = tmp_path_factory.mktemp("models") / "captioner"
    yield from serving(write_folder(captioner("transformer-captioner").task, folder))


def serving(*folders):
    command = [sys.executable, "-m", "saccade", "serve", *map(str, folders), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        (found,) = re.findall(r"http://\S+", next(line for line in server.stderr if "http://" in line))
        yield found
        server.terminate()
        assert server.wait(20) == 0


@pytest.fixture
def explorer(address, visit):
    """explorer(text, **state) is the page with an answer to it."""

    def open_it(text=TEXT, **state):
        shown = visit(f"{address}#{urllib.parse.urlencode({'text': text, **state}, doseq=True)}")
        wrote(shown).first.wait_for()
        return shown

    return open_it


CAPITALS = ["ANT", "BEE", "CAT", "DOG", "end"]


def test_typing_translates_and_pointing_lights_up(explorer):
    shown = explorer("ant")
    expect_answer(shown, ["ANT", "end"])
    shown.get_by_role("button", name="Edit the text").click()
    shown.get_by_label("Sentence to translate").fill(TEXT)
    expect_answer(shown, CAPITALS)
    read(shown).nth(1).hover()
    lit = looks(wrote(shown))
    assert lit.index(max(lit)) == 1, "its own counterpart"


def test_another_word_is_written_and_decoding_goes_on_from_there(explorer):
    shown = explorer()
    wrote(shown).nth(0).click()
    inspector(shown).get_by_text("less likely").click()
    inspector(shown).get_by_role("button", name=re.compile("^BEE ")).first.click()
    expect(wrote(shown).first).to_have_text("BEE")
    expect(shown.locator(".was .words")).to_contain_text("ANT BEE CAT DOG")
    shown.get_by_role("button", name="Undo").click()
    expect_answer(shown, CAPITALS)


def test_a_hidden_word_is_not_attended_to(explorer):
    shown = explorer()
    read(shown).nth(0).click()
    shown.get_by_role("button", name="Hide from all words").click()
    expect(shown.locator(".what-happened")).to_contain_text("“ant” is hidden")
    expect(shown.locator(".word.changed").first).to_be_visible()


def test_a_weight_that_was_set_changes_the_word(explorer):
    shown = explorer(on="translator", pull="0:2:1")
    expect(wrote(shown).first).to_have_text("CAT")


def test_models_stand_below_each_other(explorer):
    shown = explorer()
    shown.get_by_text("+ Compare").click()
    shown.get_by_role("checkbox", name="fixed (no attention)").check()
    expect(shown.locator(".answer")).to_have_count(2)
    expect(shown.locator(".answer").nth(1)).to_contain_text("has no attention")


def test_steps_have_the_models_numbers(explorer):
    shown = explorer(lens="step")
    expect(shown.locator(".where").first).to_contain_text("Step 1")
    expect(shown.locator("canvas.strip")).to_have_count(3)
    shown.keyboard.press("ArrowRight")
    expect(shown.locator(".where").first).to_contain_text("Step 2")
    assert "step=1" in shown.evaluate("location.hash")


def test_what_is_typed_stays_text(explorer):
    shown = explorer("<img src=x onerror=alert(1)> </script><script>alert(2)</script>")
    expect(read(shown).first).to_have_text("<img")
    assert shown.locator("main img").count() == 0


def test_words_never_seen_in_training_are_marked(explorer):
    shown = explorer("ant zebra")
    expect(shown.locator(".word.unknown")).to_have_text(["zebra"])


def test_two_hundred_words_stay_responsive(explorer):
    shown = explorer("ant bee cat dog " * 50)
    for view in ("Words", "Heads", "Step", "Matrix"):
        began = time.perf_counter()
        lens(shown, view)
        shown.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert time.perf_counter() - began < 3, view


def test_the_tree_ends_with_the_end_of_the_answer(explorer):
    shown = explorer(lens="search", beam=3)
    best = shown.locator(".node.best text:not(.score)")
    expect(best).to_have_text(CAPITALS)
    expect(shown.locator(".node").last).to_have_attribute("aria-label", re.compile("Step 5: "))
    assert shown.locator(".node.alive").count() <= 2 * len(CAPITALS), "what was kept beside the answer"


def test_the_same_words_have_the_same_number_with_and_without_a_beam(explorer):
    facts = [explorer(**more).locator(".facts dl").text_content() for more in ({}, {"beam": 3})]
    assert "log-probability" in facts[0]
    assert facts[0] == facts[1]


def test_inputs_beyond_the_limits_are_told_in_a_sentence(address, visit):
    shown = visit(f"{address}#{urllib.parse.urlencode({'text': 'ant ' * 600})}")
    expect(shown.locator(".fault")).to_contain_text("The text has 601 tokens")
    assert all("422" in fault for fault in visit.faults), "which the browser writes down"
    visit.faults.clear()


@pytest.fixture
def picture(tmp_path):
    from helpers.images import put_picture, quarters

    return put_picture(tmp_path / "quarters.png", quarters(32, 32))


def test_an_image_is_described_and_a_region_hidden(looking, visit, picture):
    shown = visit(looking)
    shown.get_by_label("Choose an image").set_input_files(picture)
    shown.wait_for_selector(".image")
    assert shown.locator(".tile").count() == wrote(shown).count() > 0
    shown.locator(".image").click(position={"x": 4, "y": 4})
    shown.get_by_role("button", name="Hide from all words").click()
    expect(shown.locator(".what-happened")).to_contain_text("“row 1, column 1” is hidden")
    lens(shown, "Step")
    shown.get_by_label("Head", exact=True).select_option("1")
    expect(shown.locator(".vector b").first).to_have_text(re.compile("query|state|vector"))


def test_what_is_no_picture_is_told_in_a_sentence(looking, visit, tmp_path):
    (tmp_path / "text.png").write_text("hello")
    shown = visit(looking)
    shown.get_by_label("Choose an image").set_input_files(tmp_path / "text.png")
    expect(shown.locator(".fault")).to_contain_text("is not an image that can be opened")
    assert all("422" in fault for fault in visit.faults), "which the browser writes down"
    visit.faults.clear()
