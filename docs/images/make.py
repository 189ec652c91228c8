"""Take the pictures of the explorer page: contact sheets of its states, and the one that the README shows.

    python docs/images/make.py [MODEL]

The sheets show answers made by hand, as the tests do. The picture of the README is taken only with a MODEL, from
English to French. Needs Chromium.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1] / "tests"))

from helpers.page_states import VARIANTS, sheet, take  # noqa: E402
from helpers.pages import wrote  # noqa: E402

TEXT = "the European Economic Area"
FOLLOWED = 3
"""The written word that is selected in the picture of the README; what it attends to most is hidden."""
WIDE = 800
QUALITY = 18
"""WebP quality: the lowest with which the words of a tile stay readable, to keep the files small."""


def picture(browser: Browser, model: str) -> Image.Image:
    """Return a screenshot of the page of a model's server, after a word was hidden."""
    command = [sys.executable, "-m", "saccade", "serve", model, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        (address,) = re.findall(r"http://\S+", next(line for line in server.stderr if "http://" in line))
        page = browser.new_page(viewport={"width": 1180, "height": 640}, reduced_motion="reduce")
        page.goto(f"{address}#text={TEXT.replace(' ', '+')}")
        page.locator(".word").first.wait_for()
        wrote(page).nth(FOLLOWED).click()
        page.locator(".hide").first.click()
        page.locator(".changes").wait_for()
        page.wait_for_timeout(2000)  # until it is known what would happen if others were hidden
        taken = Image.open(BytesIO(page.screenshot())).convert("RGB")
        page.close()
        server.terminate()
    return taken.resize((WIDE, round(WIDE * taken.height / taken.width)), Image.Resampling.LANCZOS)


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for variant in VARIANTS:
            made = sheet(take(browser, variant), variant)
            made.save(FOLDER / f"explorer-{variant}.webp", quality=QUALITY, method=6)
        for model in sys.argv[1:2]:
            picture(browser, model).save(FOLDER / "explorer.webp", quality=2 * QUALITY, method=6)
        browser.close()


if __name__ == "__main__":
    main()
