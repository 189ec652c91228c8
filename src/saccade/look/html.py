"""An HTML report of an evaluation: numbers, translations with their attention, figures and tables.

The page is a single file that loads nothing. Its Content-Security-Policy allows only its own style and script, by hash,
and images inside the file. All text is escaped.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import NamedTuple

from saccade.errors import ConfigError, ShapeError
from saccade.files import file_error
from saccade.look import terminal, text_width
from saccade.look.map import Map
from saccade.look.svg import FAINTEST, Drawing

__all__ = ["Sample", "Table", "report"]

KINDS = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".svg": "image/svg+xml"}
SHRINK = 0.75
"""On a narrow screen a map shrinks to this scale at least, so that its words stay readable; beyond that it scrolls."""
LARGE = 620
"""Pixels: a wider map is placed below its sentences, not beside them."""
NUMBER = re.compile(r"[-+−±]?[\d.,\s]+( ?%)?")


class Sample(NamedTuple):
    """A translation to show, with its reference translation if there is one."""

    caption: str
    map: Map
    reference: str | None = None


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows; `head` may be empty."""

    caption: str
    rows: Sequence[Sequence[str]]
    head: Sequence[str] = ()


def report(
    title: str,
    summary: Mapping[str, str],
    maps: Iterable[Sample | tuple[str, Map, str | None]] = (),
    tables: Iterable[Table] = (),
    figures: Iterable[tuple[str, Path]] = (),
) -> str:
    """Return the page as HTML. `summary` holds the headline numbers; `figures` are captions and image files."""
    samples = [Sample(*entry) for entry in maps]
    drawings = [Drawing(sample.map, _described(sample)) for sample in samples]
    style, script = _resource("report.css") + _limits(drawings), _resource("report.js")
    return Template(_resource("report.html")).substitute(
        policy=f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'",
        style=style,
        script=script,
        title=_text(title),
        summary=_summary(summary),
        samples=_section("Attention", map(_sample, range(len(samples)), samples, drawings), _hint(samples)),
        figures="\n".join(_figure(caption, Path(path)) for caption, path in figures),
        tables="\n".join(map(_table, tables)),
    )


def _text(text: str) -> str:
    return escape(text_width.visible(text))


def _resource(name: str) -> str:
    return resources.files("saccade.look").joinpath(name).read_text(encoding="utf-8")


def _hash(inline: str) -> str:
    """Return the hash source by which a Content-Security-Policy allows one inline script or style."""
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"


def _limits(drawings: list[Drawing]) -> str:
    """Return CSS with the minimum and maximum width of each map; the policy forbids style attributes."""
    return "".join(
        f"#map-{number} svg {{ max-width: {drawing.width}px; min-width: {round(SHRINK * drawing.width)}px }}\n"
        for number, drawing in enumerate(drawings)
    )


def _section(heading: str, parts: Iterable[str], introduction: str = "") -> str:
    content = "\n".join(parts)
    return f"<section>\n<h2>{_text(heading)}</h2>\n{introduction}\n{content}\n</section>" if content else ""


def _summary(numbers: Mapping[str, str]) -> str:
    tiles = (f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in numbers.items())
    return f'<dl class="numbers">{"".join(tiles)}</dl>' if numbers else ""


def _hint(samples: list[Sample]) -> str:
    """Return a paragraph on how to read the maps; the script reveals the part about pointing."""
    gold = " Outlined cells are gold links." if any(sample.map.gold for sample in samples) else ""
    return (
        '<p class="hint">Rows are target words, columns source words; the stronger the color, the higher the attention '
        f'weight.{gold} <span id="pointing" hidden>Point at a target word, or reach it with the Tab key, to see which '
        "words it attended to.</span></p>"
    )


def _described(sample: Sample) -> str:
    """Describe the map in a sentence for screen readers; the text version below it has the numbers."""
    size = f"{len(sample.map.target)} target words in rows, {len(sample.map.source)} source words in columns"
    return text_width.visible(f"Attention of {sample.caption}: {size}")


def _sample(number: int, sample: Sample, drawing: Drawing) -> str:
    lines = [("Source", _source(sample.map)), ("Output", _target(sample.map) or "(nothing)")]
    if sample.reference is not None:
        lines.append(("Reference", _text(sample.reference)))
    texts = "".join(f'<dt>{name}</dt><dd dir="auto">{line}</dd>' for name, line in lines)
    scroll = f'<div class="scroll" id="map-{number}" role="region" aria-label="{escape(drawing.label)}" tabindex="0">'
    figure = f"{scroll}{drawing}</div>" if sample.map.target else ""
    large = " large" if drawing.width > LARGE else ""
    as_text = escape("\n".join(terminal.strongest(sample.map)))
    return (
        f'<article class="sample">\n<h3>{_text(sample.caption)}</h3>\n<div class="sides{large}">\n'
        f'<div><dl class="lines">{texts}</dl>\n'
        f"<details><summary>As text</summary><pre>{as_text}</pre></details></div>\n{figure}\n</div>\n</article>"
    )


def _source(map: Map) -> str:
    return " ".join(f'<span data-s="{s}">{_text(word)}</span>' for s, word in enumerate(map.source))


def _target(map: Map) -> str:
    """Return each target word with its weights: `data-look` for the script, the title for readers."""
    names = text_width.numbered(map.source)
    spans = []
    for t, (word, row) in enumerate(zip(map.target, map.weights, strict=True)):
        look = " ".join(f"{s}:{100 * min(1.0, weight):.0f}" for s, weight in enumerate(row) if weight >= FAINTEST)
        title = ", ".join(f"{names[s]} {text_width.percent(row[s])}" for s in map.strongest(t, 2) if row[s] >= FAINTEST)
        spans.append(f'<span data-t="{t}" data-look="{look}" tabindex="0" title="{_text(title)}">{_text(word)}</span>')
    return " ".join(spans)


def _figure(caption: str, path: Path) -> str:
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise ConfigError(f"{path.name} cannot be shown in a page. Pass a file that ends in {', '.join(KINDS)}.")
    try:
        data = b64encode(path.read_bytes()).decode()
    except OSError as error:
        raise file_error(error, path) from error
    image = f'<img src="data:{kind};base64,{data}" alt="{_text(caption)}">'
    return _section(caption, [f"<figure>{image}</figure>"])


def _table(table: Table) -> str:
    columns = len(table.head or (table.rows[0] if table.rows else ()))
    for number, row in enumerate(table.rows):
        if len(row) != columns:
            raise ShapeError(
                f"row {number} of the table {table.caption!r} has {len(row)} cells, but the table {columns} columns."
            )
    head = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in table.head)
    rows = "".join(f"<tr>{_row(row)}</tr>\n" for row in table.rows)
    body = f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}\n<tbody>{rows}</tbody></table>"
    return _section(
        table.caption,
        [f'<div class="scroll" role="region" aria-label="{_text(table.caption)}" tabindex="0">{body}</div>'],
    )


def _row(cells: Sequence[str]) -> str:
    name, *others = cells
    return f'<th scope="row">{_text(name)}</th>' + "".join(
        f'<td class="number">{_text(cell)}</td>' if NUMBER.fullmatch(cell) else f"<td>{_text(cell)}</td>"
        for cell in others
    )
