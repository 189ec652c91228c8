"""The parts of the explorer page, as a reader finds them."""

from pathlib import Path

from playwright.sync_api import expect

from helpers.traces import FRENCH

AUDIT = (Path(__file__).parents[1] / "browser" / "audit.js").read_text(encoding="utf-8")
LENSES = ["Words", "Matrix", "Heads", "Search", "Step"]
SHOWN = {
    "Words": ".word-lines, .reading, .tiles",
    "Matrix": ".matrix",
    "Heads": ".thumbnail",
    "Search": ".beam",
    "Step": ".step-view",
}
"""What each lens consists of."""


TEXT = "the law"
CHANGED = ["autre" if word == "zone" else word for word in [*FRENCH, "end"]]
"""The answer of the small server if Area (word 6) is hidden."""


def hide(shown, place):
    read(shown).nth(place).click()
    shown.get_by_role("button", name="Hide from all words").click()


def drag(slider, *values):
    """Move a slider through these values, without letting it go."""
    for value in values:
        slider.evaluate(
            "(one, to) => { one.value = to; one.dispatchEvent(new Event('input', { bubbles: true })); }", value
        )


def let_go(slider):
    slider.evaluate("one => one.dispatchEvent(new Event('change', { bubbles: true }))")


def lens(shown, name):
    shown.locator(".tabs").get_by_role("button", name=name, exact=True).click()


def read(shown):
    """The source words."""
    return shown.locator(".lane[data-lane=read] .word")


def lane_names(shown):
    """What names the lanes, without the question mark beside it."""
    return shown.locator(".lane-name").evaluate_all("all => all.map(one => one.firstChild.textContent)")


def wrote(shown, of=0):
    """The words of an answer."""
    return shown.locator(f".lane[data-lane=wrote-{of}] .word")


def expect_answer(shown, words=(*FRENCH, "end"), of=0):
    expect(wrote(shown, of)).to_have_text(list(words))


def inspector(shown):
    return shown.locator("#inspector")


def looks(words):
    """The weights by which words are shaded."""
    return [
        float(style or 0) for style in words.evaluate_all("all => all.map(one => one.style.getPropertyValue('--look'))")
    ]


def ribbons(shown):
    """(opacity, width) of every ribbon."""
    found = shown.locator(".ribbon").evaluate_all(
        "all => all.map(one => [one.getAttribute('stroke-opacity'), one.getAttribute('stroke-width')])"
    )
    return [(float(opacity), float(width)) for opacity, width in found]


def open_share(shown):
    if not shown.locator(".popup[open]").count():
        shown.get_by_text("Share", exact=True).click()


def downloaded(shown, kind):
    """The bytes of a download: SVG, PNG, HTML or JSON."""
    open_share(shown)
    with shown.expect_download() as waiting:
        shown.locator(".popup-box").get_by_role("button", name=kind).click()
    return Path(waiting.value.path()).read_bytes()


def open_more(shown):
    """Open the settings that are seldom changed."""
    if not shown.locator(".more[open]").count():
        shown.locator(".more > summary").click()
