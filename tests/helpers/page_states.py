"""Twelve states of the explorer page, and their contact sheets in docs/images.

python tests/helpers/page_states.py    take the pictures again and write the sheets
"""

import sys
from contextlib import closing
from io import BytesIO
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.page_server import Answers
from helpers.pages import lens, read, wrote
from helpers.traces import ENGLISH, fixed, transformer, translation

SHEETS = Path(__file__).parents[2] / "docs" / "images"
VARIANTS = {
    "light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
TILE = {"light": (320, 200), "dark": (320, 200), "phone": (156, 338)}
ACROSS = {"light": 4, "dark": 4, "phone": 6}
GAP = 10
TEXT = " ".join(ENGLISH)


def in_doubt():
    """A translation with a word never seen in training and one that the model was unsure of."""
    trace = translation("one")
    source = trace.sides["source"]
    unknown = source.model_copy(update={"tokens": ["<unk>" if word == "law" else word for word in source.tokens]})
    doubt = trace.steps[1].model_copy(update={"log_probability": -1.2})
    steps = [doubt if number == 1 else step for number, step in enumerate(trace.steps)]
    return trace.model_copy(update={"sides": trace.sides | {"source": unknown}, "steps": steps})


def click_word(shown):
    wrote(shown).nth(4).click()


def hide_word(shown):
    read(shown).nth(6).click()
    shown.get_by_role("button", name="Hide", exact=True).click()
    shown.locator(".changes").first.wait_for()


def refuse(shown, server):
    server.refuse = (422, "That cannot be done: the step does not exist.")
    hide = shown.get_by_role("button", name="Hide", exact=True)
    read(shown).nth(6).click()
    hide.click()
    shown.locator(".fault").wait_for()
    server.refuse = None


STATES = {
    "start": ("", None),
    "a word pointed at": ("", lambda shown, _: wrote(shown).nth(4).hover()),
    "a word selected": ("", lambda shown, _: click_word(shown)),
    "a word hidden": ("", lambda shown, _: hide_word(shown)),
    "unknown and unsure words": ("model=doubt", None),
    "two models": ("model=one&model=two", lambda shown, _: read(shown).nth(5).hover()),
    "no attention": ("model=fixed", None),
    "matrix": ("lens=matrix", lambda shown, _: shown.locator(".cells").hover(position={"x": 150, "y": 150})),
    "heads": ("model=two&lens=heads", lambda shown, _: lens(shown, "Heads")),
    "search": ("lens=search", lambda shown, _: shown.locator(".node.dead").nth(1).click()),
    "step": ("lens=step&step=4", None),
    "refused": ("", refuse),
}


def take(browser, variant):
    """Pictures of all states, by name."""
    traces = {"one": translation("one"), "two": transformer("two"), "fixed": fixed("fixed"), "doubt": in_doubt()}
    found = {}
    with closing(Answers(traces)) as server:
        server.examples = {"one": [{"input": TEXT}, {"input": "the European Economic Area"}]}
        for name, (hash, act) in STATES.items():
            context = browser.new_context(**VARIANTS[variant], reduced_motion="reduce")
            shown = context.new_page()
            text = f"&text={TEXT.replace(' ', '+')}" if hash else ""
            shown.goto(f"{server.address}#{hash}{text}")
            wrote(shown).first.wait_for()
            if act:
                act(shown, server)
            shown.wait_for_timeout(250)
            picture = Image.open(BytesIO(shown.screenshot())).convert("RGB")
            found[name] = picture.resize(TILE[variant], Image.Resampling.LANCZOS)
            context.close()
    return found


def places(variant):
    """The upper left corner of each state's tile in the sheet."""
    wide, high = TILE[variant]
    return {
        name: (GAP + (number % ACROSS[variant]) * (wide + GAP), GAP + (number // ACROSS[variant]) * (high + GAP))
        for number, name in enumerate(STATES)
    }


def sheet(tiles, variant):
    corners = places(variant)
    wide, high = TILE[variant]
    size = max(x for x, _ in corners.values()) + wide + GAP, max(y for _, y in corners.values()) + high + GAP
    made = Image.new("RGB", size, (120, 126, 138))
    for name, tile in tiles.items():
        made.paste(tile, corners[name])
    return made


def golden(variant):
    """The tiles of the sheet that is kept."""
    kept = Image.open(SHEETS / f"explorer-{variant}.webp").convert("RGB")
    wide, high = TILE[variant]
    return {name: kept.crop((x, y, x + wide, y + high)) for name, (x, y) in places(variant).items()}


def main():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=sys.argv[1] if sys.argv[1:] else None, args=["--no-sandbox"]
        )
        for variant in VARIANTS:
            sheet(take(browser, variant), variant).save(SHEETS / f"explorer-{variant}.webp", quality=64, method=6)
        browser.close()


if __name__ == "__main__":
    main()
