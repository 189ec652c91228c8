"""Rewrite matplotlib's SVG files in a third of their bytes: short numbers and names, and each style written once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import count
from string import ascii_lowercase
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
FONTS = "'DejaVu Sans',Verdana,sans-serif"
"""Verdana has letters of nearly the same width, for computers without matplotlib's font."""
DEFAULT = {"stroke-dashoffset:0", "text-anchor:start", "stroke-linejoin:miter"}
"""Parts of a style that change nothing; corners of markers are too small for their join to be seen."""
KEPT = {f"{SVG}{name}" for name in ("text", "title", "desc")}
"""Elements whose text is shown or read aloud."""
NUMBERS = ("x", "y", "width", "height", "viewBox", "transform")


def smaller(text: str) -> str:
    """Return the same drawing with coordinates rounded to a tenth of a point."""
    root = ElementTree.fromstring(text)
    for metadata in root.findall(f"{SVG}metadata"):
        root.remove(metadata)
    for element in root.iter():
        _tidy(element)
    _unwrap(root)
    _join(root)
    used = {name for element in root.iter() for value in element.attrib.values() for name in _named(value)}
    short = dict(zip(sorted(used), _names(), strict=False))
    styles = Counter(element.attrib["style"] for element in root.iter() if "style" in element.attrib)
    classes = dict(zip((style for style, _ in styles.most_common()), _names(), strict=False))
    for element in root.iter():
        _rename(element, short, classes)
    rules = [f".{name}{{{_renamed(style, short)}}}" for style, name in classes.items()]
    next(root.iter(f"{SVG}style")).text = "".join([f"*{{stroke-linejoin:round;font-family:{FONTS}}}", *rules])
    ElementTree.register_namespace("", SVG[1:-1])
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>") + "\n"


def _names() -> Iterator[str]:
    """Yield a, b, …, z, aa, ab, …"""
    for number in count():
        yield (ascii_lowercase[number // 26 - 1] if number >= 26 else "") + ascii_lowercase[number % 26]


def _tidy(element: Element) -> None:
    """Shorten an element's numbers, and drop the parts of its style that all elements share."""
    parts = [part.strip().replace(": ", ":") for part in element.attrib.pop("style", "").split(";")]
    kept = [part for part in parts if part and part not in DEFAULT and not part.startswith("font-family")]
    if element.tag == f"{SVG}path" and kept and kept[0].startswith("fill:#"):  # almost every cell has its own color
        element.set("fill", kept.pop(0).removeprefix("fill:"))
    clips = [f"clip-path:{clip}" for clip in [element.attrib.pop("clip-path", None)] if clip]
    if kept or clips:
        element.set("style", ";".join([*kept, *clips]))
    if element.tag not in KEPT:
        element.text = None
    element.tail = None
    if LINK in element.attrib:
        element.set("href", element.attrib.pop(LINK))
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    if "d" in element.attrib:
        element.set("d", _path(element.attrib["d"]))
    for name in NUMBERS:
        if name in element.attrib:
            element.set(name, _numbers(element.attrib[name]))


def _numbers(text: str) -> str:
    """Round numbers to a tenth."""
    return re.sub(r"-?\d+\.\d+", lambda found: _number(float(found[0])), text)


def _number(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")


def _path(text: str) -> str:
    """Write each point of a path relative to the last one, with the letter of a command only where it changes."""
    made, before, here = "", "", (0.0, 0.0)
    for command, numbers in re.findall(r"([MLQCz])([^MLQCz]*)", text):
        values = [round(float(number), 1) for number in numbers.split()]
        points = list(zip(values[::2], values[1::2], strict=True))
        parts = [value - start for point in points for value, start in zip(point, here, strict=True)]
        name = command if command in "Mz" else command.lower()
        if command == "M":
            parts = values
        elif command == "L" and abs(parts[0]) < 0.05:
            name, parts = "v", parts[1:]
        elif command == "L" and abs(parts[1]) < 0.05:
            name, parts = "h", parts[:1]
        said = [_number(part) for part in parts]
        joined = "".join(part if part.startswith("-") or not place else f" {part}" for place, part in enumerate(said))
        again = name == before and name not in "Mz"
        made += (("" if joined.startswith("-") else " ") if again else name) + joined
        before, here = name, points[-1] if points else here
    return made


def _unwrap(parent: Element) -> None:
    """Replace groups without attributes by their content, and move a style that all markers share to their group."""
    for place, child in reversed(list(enumerate(parent))):
        _unwrap(child)
        if child.tag == f"{SVG}g" and set(child.attrib) <= {"id"}:
            parent[place : place + 1] = list(child)
        elif child.tag == f"{SVG}defs" and not len(child):
            del parent[place]
        elif child.tag == f"{SVG}g" and len({mark.get("style") for mark in child}) == 1:
            child.set("style", ";".join(filter(None, (child.get("style"), child[0].get("style")))))
            for mark in child:
                mark.attrib.pop("style", None)


def _join(parent: Element) -> None:
    """Join consecutive closed paths of the same style."""
    last: Element | None = None
    for child in list(parent):
        _join(child)
        closed = child.tag == f"{SVG}path" and "id" not in child.attrib and child.attrib["d"].endswith("z")
        if closed and last is not None and {**last.attrib, "d": ""} == {**child.attrib, "d": ""}:
            last.set("d", last.attrib["d"] + child.attrib["d"])
            parent.remove(child)
        else:
            last = child if closed else None


def _named(text: str) -> list[str]:
    """Return the ids that an attribute refers to: `#name` alone, or `url(#name)`."""
    return re.findall(r"(?:^|url\()#(\w+)", text)


def _renamed(text: str, short: dict[str, str]) -> str:
    return re.sub(r"(?<=url\(#)\w+", lambda found: short[found[0]], text)


def _rename(element: Element, short: dict[str, str], classes: dict[str, str]) -> None:
    if (style := element.attrib.pop("style", "")) in classes:
        element.set("class", classes[style])
    if (name := element.attrib.pop("id", "")) in short:
        element.set("id", short[name])
    if link := element.get("href"):
        element.set("href", f"#{short[link[1:]]}")
