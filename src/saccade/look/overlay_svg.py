"""An overlay as SVG, with its images inside the file and its words as text."""

from __future__ import annotations

import textwrap
import zlib
from html import escape
from pathlib import Path

from saccade.files import write_atomically
from saccade.look import text_width
from saccade.look.design import GOLD, MUTED, TEXT
from saccade.look.heatmap import heatmap
from saccade.look.output import Format, described
from saccade.look.overlay import BOXES, DOT, Overlay, Panel, Tiles, key_notes
from saccade.look.picture import data_address

__all__ = ["OverlayDrawing", "write_svg"]

FONT, NOTES = 14, 10.5
TYPICAL = 0.6
"""Assumed letter width per font size. It is generous, because the viewer's font is not known."""
MARGIN = 14.0
HEATMAP = 132
"""Pixel width of a heatmap; the viewer smooths it."""
PAPER = "#ffffff"


def write_svg(overlay: Overlay, path: Path, format: Format) -> None:
    """Write the overlay as an SVG file with a white background."""
    drawing = OverlayDrawing(overlay, title=format.title, caption=format.caption, paper=True)
    write_atomically(path, described(f"{drawing}\n", format))


class OverlayDrawing:
    """The SVG element, as `str()`. With `paper` it has a white background; else text has the color of the page."""

    def __init__(self, overlay: Overlay, *, title: str | None = None, caption: str = "", paper: bool = False) -> None:
        self.overlay, self.title, self.paper = overlay, title, paper
        self.tiles = Tiles(overlay.picture, len(overlay.panels), FONT)
        self.margin = MARGIN if paper else 0.0
        self.top = self.margin + (34 if title else 0)
        self.width = round(max(self.tiles.right, TYPICAL * NOTES * len(key_notes(overlay))) + 2 * self.margin)
        letters = int((self.width - 2 * self.margin) / (0.52 * NOTES))
        self.lines = textwrap.wrap(text_width.visible(caption), letters) if caption else []
        notes = 18 * (len(self.lines) + overlay.knows_boxes)
        self.height = round(self.top + self.tiles.bottom + 26 + notes + self.margin)
        self._pixels, self.tiled = overlay.picture.address, overlay.picture.tiled
        # the id depends on the pixels, since a page may contain several drawings
        self._name = f"saccade-picture-{zlib.crc32(self._pixels.encode()):08x}"

    def __str__(self) -> str:
        about = " ".join(text_width.visible(panel.name) for panel in self.overlay.panels[1:])
        kind = "region" if self.overlay.of_regions else "word"
        label = f"Attention over the image for each {kind}: {about}"
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" '
            f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}" '
            f'font-family="system-ui, sans-serif" fill="{TEXT if self.paper else "currentColor"}">',
            f'<defs><image id="{self._name}" width="{_n(self.tiles.width)}" height="{_n(self.tiles.height)}" '
            f'preserveAspectRatio="none" href="{self._pixels}"/></defs>',
        ]
        if self.paper:
            parts.append(f'<rect width="{self.width}" height="{self.height}" fill="{PAPER}"/>')
        if self.title:
            name = text_width.clip(text_width.visible(self.title), int(self.tiles.right / (TYPICAL * 17)))
            place = f'x="{_n(self.margin)}" y="{_n(self.margin + 17)}"'
            parts.append(f'<text {place} font-size="17" font-weight="600">{escape(name)}</text>')
        parts += [self._panel(number, panel) for number, panel in enumerate(self.overlay.panels)]
        return "\n".join([*parts, *self._key(), "</svg>"])

    def _muted(self) -> str:
        return f'fill="{MUTED}"' if self.paper else 'fill-opacity="0.7"'

    def _panel(self, number: int, panel: Panel) -> str:
        left, top = self.tiles.place(number)
        left, top = left + self.margin, top + self.top
        width, height = self.tiles.width, self.tiles.height
        place = f'x="{_n(left)}" y="{_n(top)}" width="{_n(width)}" height="{_n(height)}"'
        parts = [f'<use href="#{self._name}" x="{_n(left)}" y="{_n(top)}"/>']
        if panel.weights is not None:
            pixels = heatmap(panel.weights, max(1, round(HEATMAP * height / width)), HEATMAP, flat=self.tiled)
            parts.append(f'<image {place} preserveAspectRatio="none" href="{data_address(pixels)}"/>')
        parts.append(f'<rect {place} fill="none" stroke="#808894" stroke-opacity="0.4"/>')
        for x0, y0, x1, y1 in panel.boxes:
            corner = f'x="{_n(left + x0 * width)}" y="{_n(top + y0 * height)}"'
            size = f'width="{_n((x1 - x0) * width)}" height="{_n((y1 - y0) * height)}"'
            parts.append(f'<rect {corner} {size} fill="none" stroke="{PAPER}" stroke-width="3.4"/>')
            parts.append(f'<rect {corner} {size} fill="none" stroke="{GOLD}" stroke-width="1.8"/>')
        for (x0, y0, x1, y1), color in panel.marks:
            middle = f'cx="{_n(left + (x0 + x1) / 2 * width)}" cy="{_n(top + (y0 + y1) / 2 * height)}"'
            parts.append(f'<circle {middle} r="{_n(DOT * width / 2)}" fill="{color}" stroke="{PAPER}"/>')
        return "<g>" + self._words(panel, left, top - 0.36 * self.tiles.label) + "".join(parts) + "</g>"

    def _words(self, panel: Panel, left: float, line: float) -> str:
        place = f'x="{_n(left)}" y="{_n(line)}"'
        if panel.weights is None:
            return f'<text {place} font-size="{NOTES + 0.5}" {self._muted()}>{panel.name}</text>'
        room = self.tiles.width - len(panel.share) * TYPICAL * NOTES - 6
        name = text_width.clip(text_width.visible(panel.name), max(1, int(room / (TYPICAL * FONT))))
        tooltip = f"{text_width.visible(panel.name)}: {panel.strongest}"
        quiet = f" {self._muted()}" if panel.quiet else ""
        end = f'x="{_n(left + self.tiles.width)}" y="{_n(line)}" text-anchor="end"'
        return (
            f'<title>{escape(tooltip)}</title><text {place} font-size="{FONT}"{quiet}>{escape(name)}</text>'
            f'<text {end} font-size="{NOTES}" {self._muted()}>{panel.share}</text>'
        )

    def _key(self) -> list[str]:
        line = self.top + self.tiles.bottom + 20
        text = f'x="{_n(self.margin)}" y="{_n(line)}" font-size="{NOTES}" {self._muted()}'
        parts = [f"<text {text}>{escape(key_notes(self.overlay))}</text>"]
        if self.overlay.knows_boxes:
            line += 18
            box = f'x="{_n(self.margin + 1)}" y="{_n(line - 8.5)}" width="9" height="9"'
            place = f'x="{_n(self.margin + 16)}" y="{_n(line)}" font-size="{NOTES}" {self._muted()}'
            parts.append(f'<rect {box} fill="none" stroke="{GOLD}" stroke-width="1.8"/>')
            parts.append(f"<text {place}>{BOXES}</text>")
        for told in self.lines:
            line += 18
            place = f'x="{_n(self.margin)}" y="{_n(line)}" font-size="{NOTES}" {self._muted()}'
            parts.append(f"<text {place}>{escape(told)}</text>")
        return parts


def _n(value: float) -> str:
    """Format a number with at most two decimals and no trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
