"""Twelve states of the explorer page, and their contact sheets; docs/images/make.py takes them again."""

from contextlib import closing
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from helpers.page_server import Answers
from helpers.pages import lens, read, wrote
from helpers.traces import ENGLISH, fixed, transformer, translation

SHEETS = Path(__file__).parents[2] / "docs" / "images"
VARIANTS = {
    "light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
TILE = {"light": (480, 300), "dark": (480, 300), "phone": (156, 338)}
ACROSS = {"light": 3, "dark": 3, "phone": 6}
GAP, TITLE = 8, 24
"""Pixels between tiles, and those of the title below each."""
TEXT = " ".join(ENGLISH)
KNOWN = "() => [...document.querySelectorAll('.effect')].every((one) => !one.textContent.endsWith('…'))"
"""What would happen if words were hidden is known."""


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
    shown.get_by_role("button", name="Hide from all words").click()
    shown.locator(".changes").first.wait_for()


def refuse(shown, server):
    server.refuse = (422, "That cannot be done: the step does not exist.")
    hide = shown.get_by_role("button", name="Hide from all words")
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
    """Pictures of the states of a variant, by name."""
    traces = {"one": translation("one"), "two": transformer("two"), "fixed": fixed("fixed"), "doubt": in_doubt()}
    found = {}
    with closing(Answers(traces)) as server:
        server.examples = {"one": [{"input": TEXT}, {"input": "the European Economic Area"}]}
        for name in STATES:
            hash, act = STATES[name]
            context = browser.new_context(**VARIANTS[variant], reduced_motion="reduce")
            shown = context.new_page()
            text = f"&text={TEXT.replace(' ', '+')}" if hash else ""
            shown.goto(f"{server.address}#{hash}{text}")
            wrote(shown).first.wait_for()
            if act:
                act(shown, server)
            shown.wait_for_timeout(250)
            shown.wait_for_function(KNOWN)
            picture = Image.open(BytesIO(shown.screenshot())).convert("RGB")
            found[name] = picture.resize(TILE[variant], Image.Resampling.LANCZOS)
            context.close()
    return found


def places(variant):
    """The upper left corner of each state's tile in the sheet."""
    wide, high = TILE[variant]
    return {
        name: (GAP + (number % ACROSS[variant]) * (wide + GAP), GAP + (number // ACROSS[variant]) * (high + TITLE))
        for number, name in enumerate(STATES)
    }


def sheet(tiles, variant):
    corners = places(variant)
    wide, high = TILE[variant]
    size = max(x for x, _ in corners.values()) + wide + GAP, max(y for _, y in corners.values()) + high + TITLE
    made = Image.new("RGB", size, (120, 126, 138))
    pen, font = ImageDraw.Draw(made), ImageFont.load_default(14)
    for name, tile in tiles.items():
        made.paste(tile, corners[name])
        x, y = corners[name]
        pen.text((x + 2, y + high + 3), name, fill=(255, 255, 255), font=font)
    return made


def golden(variant):
    """The tiles of the committed sheet."""
    kept = Image.open(SHEETS / f"explorer-{variant}.webp").convert("RGB")
    wide, high = TILE[variant]
    return {name: kept.crop((x, y, x + wide, y + high)) for name, (x, y) in places(variant).items()}
