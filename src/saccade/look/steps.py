"""One frame for each written word, for a lecture: a folder of SVG files, one animated SVG, or an animated GIF.

Each frame shows the words written so far and the ribbons of the newest one. An animation begins with the whole figure,
so that paper, and a viewer that does not move, show all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.errors import ConfigError
from saccade.files import write_atomically
from saccade.look.canvas import Sheet, drawing
from saccade.look.figure import check_content
from saccade.look.map import Map
from saccade.look.output import Format, crop, rendered
from saccade.look.ribbons import Lanes

if TYPE_CHECKING:
    from matplotlib.transforms import Bbox

__all__ = ["check_steps_suffix", "save_steps"]

SECONDS = 1.5
"""The time of a frame."""
_GROUP = re.compile(r'<g id="((?:at|from)-(\d+))"')
"""Parts of one frame, and parts of a frame, all later ones and the whole figure, which is frame 0."""


def check_steps_suffix(path: Path) -> str:
    """Return the suffix .svg or .gif, or "" for a folder; raise ConfigError for any other."""
    suffix = "" if path.is_dir() else path.suffix.lower()
    if suffix not in ("", ".svg", ".gif"):
        raise ConfigError(
            f"{path.name} ends in {path.suffix}, but steps are several frames. Choose a folder for an SVG file of each "
            "(a name without an ending), a name that ends in .svg for an animated SVG, or .gif."
        )
    return suffix


def save_steps(map: Map, path: Path | str, *, title: str | None = None, format: Format | None = None) -> None:
    """Write a frame for each row of the map, in the format of the suffix of `path`; without one, into a folder."""
    path, format = Path(path), format or Format(title)
    suffix = check_steps_suffix(path)
    check_content(map)
    count = len(map.target)
    with drawing(outline=format.outline):
        page = Sheet(suffix or ".svg", format)
        _draw(page, map)
        box = crop(page.figure, format.size)
        if suffix == ".gif":
            write_atomically(path, _gif([_frame(page, n, ".png", box) for n in range(count + 1)]))
        elif suffix == ".svg":
            svg = rendered(page.figure, ".svg", format, box).decode()
            write_atomically(path, _animated(svg, count).encode())
        else:
            for n in range(1, count + 1):
                name = f"step-{n:0{len(str(count))}}.svg"
                write_atomically(path / name, _frame(page, n, ".svg", box))


def _draw(page: Sheet, map: Map) -> None:
    """Draw all frames above each other, in groups that say when each part is shown."""
    lanes = Lanes(page, map)
    lanes.read()
    lanes.key()
    for t in range(len(map.target)):
        page.group = f"from-{t + 1}"
        lanes.wrote([t])
        page.group = f"at-{t + 1}"
        lanes.ribbons(only=t)
        lanes.point(t)
    page.group = "at-0"
    lanes.ribbons()
    page.group = None
    page.finish()


def _shown(group: str, frame: int) -> bool:
    kind, _, number = group.partition("-")
    return frame == int(number) if kind == "at" else frame == 0 or frame >= int(number)


def _frame(page: Sheet, frame: int, suffix: str, box: Bbox) -> bytes:
    """Return the file of one frame; all have the same size."""
    for artist in page.figure.get_children():
        group = artist.get_gid()
        artist.set_visible(group is None or _shown(group, frame))
    return rendered(page.figure, suffix, page.format, box)


def _gif(frames: list[bytes]) -> bytes:
    from PIL import Image

    images = [Image.open(BytesIO(frame)).convert("RGB").quantize(64, dither=Image.Dither.NONE) for frame in frames]
    file = BytesIO()
    time = int(1000 * SECONDS)
    images[0].save(file, "GIF", save_all=True, append_images=images[1:], duration=time, loop=0, disposal=1)
    return file.getvalue()


def _animated(svg: str, steps: int) -> str:
    """Return the SVG with its parts shown in turn, in a loop, unless it is printed or the reader wants no motion."""
    groups = dict.fromkeys(match[1] for match in _GROUP.finditer(svg))
    rules = "\n".join(_rules(groups, steps + 1))
    style = f"<style>\n@media screen and (prefers-reduced-motion: no-preference) {{\n{rules}\n}}\n</style>\n"
    hidden = {group: "" if _shown(group, 0) else ' visibility="hidden"' for group in groups}
    moving = _GROUP.sub(lambda match: f'<g class="{match[1]}"{hidden[match[1]]}', svg)
    return re.sub(r"(<defs>)", lambda match: style + match[1], moving, count=1)


def _rules(groups: dict[str, None], frames: int) -> Iterator[str]:
    """Yield the CSS animation of each group."""
    for group in groups:
        shown = [_shown(group, frame) for frame in range(frames)]
        turns = [n for n in range(frames) if n == 0 or shown[n] != shown[n - 1]]
        moments = "".join(
            f"{100 * n / frames:.3f}% {{visibility: {'visible' if shown[n] else 'hidden'}}} " for n in turns
        )
        yield f"@keyframes {group} {{{moments}}}"
        yield f".{group} {{animation: {group} {SECONDS * frames:g}s step-end infinite}}"
