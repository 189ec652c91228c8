"""Take the pictures of the explorer page that the documents show.

    python docs/images/make.py runs/demo runs/demo-fixed runs/transformer

Models: one with additive attention, one without attention, one Transformer, all from English to French. Needs Chromium.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

TEXT = "the law on the European Economic Area was signed in August 1992 ."
WIDEST, COLORS = 1280, 32
DESK, PHONE = {"width": 1180, "height": 820}, {"width": 390, "height": 844}


def states(additive: str, fixed: str, transformer: str) -> dict[str, tuple[dict[str, object], dict[str, int], bool]]:
    """By name: what the address says, the size of the window, and whether it is dark."""
    return {
        "explorer": ({"model": additive, "text": TEXT}, DESK, False),
        "step": ({"model": additive, "text": TEXT, "view": "step", "step": 4}, DESK, False),
        "beam": ({"model": additive, "text": TEXT, "view": "beam", "beam": 4}, DESK, True),
        "heads": ({"model": transformer, "text": TEXT, "view": "heads"}, DESK, False),
        "blocked": ({"model": additive, "text": TEXT, "on": additive, "block": 4}, DESK, False),
        "compare": ({"model": [additive, fixed, transformer], "text": TEXT}, {"width": 2040, "height": 820}, False),
        "phone": ({"model": additive, "text": "the European Economic Area"}, PHONE, True),
    }


def take(browser: Browser, address: str, name: str, size: dict[str, int], dark: bool, folder: Path) -> None:
    context = browser.new_context(viewport=size, color_scheme="dark" if dark else "light", device_scale_factor=1.5)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#results article, #results section", timeout=20_000)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)
    path = folder / f"{name}.png"
    page.screenshot(path=path, full_page=True)
    context.close()
    shrink(path)


def shrink(path: Path) -> None:
    """Store a screenshot in as few pixels and colors as its text stays readable in."""
    image = Image.open(path).convert("RGB")
    image.thumbnail((WIDEST, 4 * WIDEST), Image.Resampling.LANCZOS)
    image.quantize(COLORS, kmeans=3, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    folders = sys.argv[1:]
    if len(folders) != 3:
        raise SystemExit(__doc__)
    names = [Path(folder).name for folder in folders]
    command = [sys.executable, "-m", "saccade", "serve", *folders, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
        assert server.stderr is not None
        (address,) = re.findall(r"http://\S+", next(line for line in server.stderr if "http://" in line))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (state, size, dark) in states(*names).items():
            take(browser, f"{address}#{urlencode(state, doseq=True)}", name, size, dark, Path(__file__).parent)
        browser.close()
        server.terminate()


if __name__ == "__main__":
    main()
