"""The explorer of models that read sound: words at their times, playing, hiding a stretch, and recording."""

import base64

import pytest
from playwright.sync_api import expect

from helpers.page_server import expect_asked
from helpers.traces import SAID, heard, translation
from saccade.data.sound_files import open_sound
from saccade.look.page import page


@pytest.fixture
def explorer(serve, visit):
    server = serve({"listener": heard()})
    shown = visit(server.address, permissions=["microphone"])
    return shown, server


def give(shown, tmp_path):
    """Choose a file, so that the canned answer arrives."""
    path = tmp_path / "clip.wav"
    path.write_bytes(base64.b64decode(heard().sides["source"].sound.partition(",")[2]))
    shown.locator("#sound").set_input_files(path)
    expect(shown.locator(".heard-word")).to_have_text(SAID)
    return path


def moment(shown, seconds):
    """A position in the sound."""
    box = shown.locator(".sound").bounding_box()
    return {"x": box["width"] * seconds / 2.0, "y": box["height"] / 2}


def test_a_file_is_sent_and_its_words_stand_at_their_times(explorer, tmp_path):
    shown, server = explorer
    path = give(shown, tmp_path)
    assert base64.b64decode(server.asked[-1]["sound"]) == path.read_bytes()
    for word, time in zip(SAID, (0.3, 0.9, 1.5), strict=True):
        left = shown.locator(".heard-word", has_text=word).evaluate("word => parseFloat(word.style.left)")
        assert left == pytest.approx(100 * time / 2, abs=3)
    shown.locator(".sound").hover(position=moment(shown, 0.925))
    expect(shown.locator(".listening .readout")).to_contain_text("0.90 s: two 2")


def test_a_sound_to_try_is_asked_about_at_once_and_can_be_chosen_again(serve, visit):
    server = serve({"listener": heard()})
    address = heard().sides["source"].sound
    server.examples = {"listener": [{"name": "example 1", "sound": address}, {"name": "example 2", "sound": address}]}
    shown = visit(server.address)
    expect(shown.locator(".heard-word")).to_have_text(SAID)
    assert server.asked[-1]["sound"] == address.partition(",")[2]
    first, second = (shown.get_by_role("button", name=f"example {number}") for number in (1, 2))
    expect(first).to_have_attribute("aria-pressed", "true")
    second.click()
    expect(second).to_have_attribute("aria-pressed", "true")


def test_a_model_that_reads_something_else_shows_its_first_example(serve, visit):
    server = serve({"writer": translation(), "listener": heard()})
    server.examples = {
        "writer": [{"input": "the law"}, {"input": "another law"}],
        "listener": [{"name": "example 1", "sound": heard().sides["source"].sound}],
    }
    shown = visit(server.address)
    shown.get_by_role("button", name="another law").click()
    shown.get_by_label("Model").select_option("listener")
    expect(shown.locator(".heard-word")).to_have_text(SAID)
    shown.get_by_label("Model").select_option("writer")
    expect(shown.get_by_role("button", name="another law")).to_have_attribute("aria-pressed", "true")


def test_a_stretch_of_sound_is_hidden_in_one_step(explorer, tmp_path):
    shown, server = explorer
    give(shown, tmp_path)
    box = shown.locator(".sound").bounding_box()
    shown.mouse.move(box["x"] + moment(shown, 0.525)["x"], box["y"] + 60)
    shown.mouse.down()
    for time in (0.8, 1.175):
        shown.mouse.move(box["x"] + moment(shown, time)["x"], box["y"] + 60)
    shown.mouse.up()
    shown.get_by_role("button", name="Hide 0.50 to 1.20 s").click()
    expect_asked(shown, server, "block", list(range(10, 24)))
    expect(shown.locator(".sound .closed")).to_have_count(14)


def test_a_saved_page_plays_offline_from_a_word(visit, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(page([heard().dump()], title="A page"), encoding="utf-8")
    shown = visit(file.as_uri(), online=False)
    loud = "canvas => canvas.getContext('2d').getImageData(0, 22, 800, 1).data.some(value => value > 0)"
    shown.wait_for_function(f"() => ({loud})(document.querySelector('.wave'))")
    shown.locator(".heard-word", has_text="two").click()
    expect(shown.locator('[data-key="play-sound"]')).to_have_text("■ Stop")
    place = shown.locator(".playhead").evaluate("head => parseFloat(head.style.left)")
    assert 30 < place < 60, "it plays from the word"
    shown.locator('[data-key="play-sound"]').click()
    expect(shown.locator('[data-key="play-sound"]')).to_have_text("▶ Play")


def test_the_microphone_is_recorded_to_a_wav_file(explorer):
    shown, server = explorer
    shown.get_by_role("button", name="Record").click()
    expect(shown.locator('[data-key="record"]')).to_have_text("■ Stop recording")
    shown.wait_for_timeout(300)
    shown.locator('[data-key="record"]').click()
    expect(shown.locator(".heard-word")).to_have_text(SAID)
    sound = open_sound(base64.b64decode(server.asked[-1]["sound"]))
    assert sound.seconds > 0.1
    assert sound.rate >= 8000
