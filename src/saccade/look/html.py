"""One HTML page of an evaluation: numbers, translations with where the model looked, figures and facts.

The page is a single file. It loads nothing and may not: its policy allows its own style and script, by their hashes,
and pictures inside the file; whatever stands in a sentence stays text.
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
from saccade.files import explain
from saccade.look import terminal, words
from saccade.look.map import Map
from saccade.look.svg import FAINTEST, Drawing

__all__ = ["Sample", "Table", "report"]

KINDS = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".svg": "image/svg+xml"}
SHRINK = 0.75
"""On a narrow screen a map becomes this much smaller at most; then it scrolls, since its words must stay readable."""
LARGE = 620
"""Pixels: a wider map stands below its sentences, not beside them."""
NUMBER = re.compile(r"[-+−±]?[\d.,\s]+( ?%)?")


class Sample(NamedTuple):
    """A translation to show; the reference is what a person wrote, where there is one."""

    caption: str
    map: Map
    reference: str | None = None


@dataclass(frozen=True)
class Table:
    """Facts in rows, the first cell of each naming the row. `head` may be left empty."""

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
    """The whole page as text. `summary` holds the headline numbers; `figures` are captions and image files."""
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
        samples=_section("Where it looked", map(_sample, range(len(samples)), samples, drawings), _hint(samples)),
        figures="\n".join(_figure(caption, Path(path)) for caption, path in figures),
        tables="\n".join(map(_table, tables)),
    )


def _text(text: str) -> str:
    return escape(words.visible(text))


def _resource(name: str) -> str:
    return resources.files("saccade.look").joinpath(name).read_text(encoding="utf-8")


def _hash(inline: str) -> str:
    """How a policy names the one script or style it allows."""
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"


def _limits(drawings: list[Drawing]) -> str:
    """How far each map may shrink. A style on the element itself is what the policy forbids."""
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
    """How to read the maps. What only the script can do is said by the script."""
    gold = " Outlined cells are gold links." if any(sample.map.gold for sample in samples) else ""
    return (
        '<p class="hint">Rows are the words written, columns the words read; the stronger the colour, the more the '
        f'model looked there.{gold} <span id="pointing" hidden>Point at a word that was written, or reach it with the '
        "Tab key, to see what it looked at.</span></p>"
    )


def _described(sample: Sample) -> str:
    """The map in a sentence, for those who cannot see it; the text below it has the numbers."""
    size = f"{len(sample.map.target)} words written in rows, {len(sample.map.source)} words read in columns"
    return words.visible(f"Attention of {sample.caption}: {size}")


def _sample(number: int, sample: Sample, drawing: Drawing) -> str:
    lines = [("Read", _read(sample.map)), ("Written", _written(sample.map) or "(nothing)")]
    if sample.reference is not None:
        lines.append(("Reference", _text(sample.reference)))
    told = "".join(f'<dt>{name}</dt><dd dir="auto">{line}</dd>' for name, line in lines)
    scroll = f'<div class="scroll" id="map-{number}" role="region" aria-label="{escape(drawing.label)}" tabindex="0">'
    picture = f"{scroll}{drawing}</div>" if sample.map.target else ""
    large = " large" if drawing.width > LARGE else ""
    as_text = escape("\n".join(terminal.strongest(sample.map)))
    return (
        f'<article class="sample">\n<h3>{_text(sample.caption)}</h3>\n<div class="sides{large}">\n'
        f'<div><dl class="lines">{told}</dl>\n'
        f"<details><summary>As text</summary><pre>{as_text}</pre></details></div>\n{picture}\n</div>\n</article>"
    )


def _read(map: Map) -> str:
    return " ".join(f'<span data-s="{s}">{_text(word)}</span>' for s, word in enumerate(map.source))


def _written(map: Map) -> str:
    """Each word with what it looked at: `data-look` is for the script, the title for everybody."""
    names = words.numbered(map.source)
    spans = []
    for t, (word, row) in enumerate(zip(map.target, map.weights, strict=True)):
        look = " ".join(f"{s}:{100 * min(1.0, weight):.0f}" for s, weight in enumerate(row) if weight >= FAINTEST)
        title = ", ".join(f"{names[s]} {words.percent(row[s])}" for s in map.strongest(t, 2) if row[s] >= FAINTEST)
        spans.append(f'<span data-t="{t}" data-look="{look}" tabindex="0" title="{_text(title)}">{_text(word)}</span>')
    return " ".join(spans)


def _figure(caption: str, path: Path) -> str:
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise ConfigError(f"{path.name} cannot stand in a page. Pass a file that ends in {', '.join(KINDS)}.")
    try:
        data = b64encode(path.read_bytes()).decode()
    except OSError as error:
        raise explain(error, path) from error
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
