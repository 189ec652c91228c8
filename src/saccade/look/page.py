"""The explorer: a web page of attention weights, served with a model or saved as a file with traces inside.

Both are built from the same JavaScript modules, which import each other by names such as "saccade/matrix". An import
map in the page resolves the names to files below /static or to data: URLs. A saved page is one file that loads nothing.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib import resources
from importlib.resources.abc import Traversable
from string import Template

from saccade.errors import DataError
from saccade.look import text_width

__all__ = ["assets", "index", "page", "policy"]

_NAME = "saccade"
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
_COMMENT = re.compile(r"^(//[^\n]*|/\*.*?\*/)\n", re.MULTILINE | re.DOTALL)
_BOOT = 'import "saccade/main";'
_STYLES = ("style/base.css", "style/stage.css", "style/lanes.css", "style/lenses.css")


def page(traces: Sequence[str], *, title: str) -> str:
    """Return one HTML file with the given trace texts inside, to open from disk. Equal traces give equal bytes."""
    if not traces:
        raise DataError("there are 0 traces to show. Pass the text of one at least, as Trace.dump() gives it.")
    inside = {name: f"data:text/javascript;base64,{b64encode(code).decode()}" for name, code in _modules().items()}
    data = "".join(f'<script type="application/json" class="trace">{_harmless(text)}</script>\n' for text in traces)
    # The nonce is a hash of the whole content, so text inside the content cannot predict and carry it.
    nonce = sha256("".join([title, data, *inside.values()]).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    allowed = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return _fill(
        mode="saved",
        title=title,
        imports=inside,
        policy=f'\n<meta http-equiv="Content-Security-Policy" content="{allowed}">',
        nonce=f' nonce="{nonce}"',
        style="\n".join(f'<style nonce="{nonce}">{_files()[name].decode()}</style>' for name in _STYLES),
        data=data,
    )


def index() -> str:
    """Return the page for a server that serves `assets` below static/ and sends the page with `policy`."""
    return _fill(
        mode="served",
        title=_NAME,
        imports=_addresses(),
        policy="",
        nonce="",
        style="\n".join(f'<link rel="stylesheet" href="./static/{name}">' for name in _STYLES),
        data="",
    )


def policy() -> str:
    """Return the Content-Security-Policy header for `index`: it allows only its own files and server."""
    scripts = " ".join(_hash(inline) for inline in (_map(_addresses()), _BOOT))
    return (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self'; img-src data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def assets() -> dict[str, bytes]:
    """Return the page's files for a server, by name: modules and the style sheet."""
    return {name: content for name, content in _files().items() if name != "index.html"}


@cache
def _files() -> dict[str, bytes]:
    """Return the files of the page by their path in its folder."""
    folder = resources.files("saccade.look").joinpath("page")
    return dict(sorted(_walk(folder, "")))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith((".js", ".css", ".html")):
            yield prefix + entry.name, _without_comments(entry.read_text(encoding="utf-8")).encode()


def _without_comments(code: str) -> str:
    """Return JavaScript, CSS or HTML without indentation and lines of comment: a fifth smaller, with the same lines.

    Strings and template literals of the page do not span lines; a test checks it.
    """
    return _COMMENT.sub("", _INDENT.sub("", code))


def _modules() -> dict[str, bytes]:
    """Return the JavaScript modules by the names under which they import each other."""
    return {f"saccade/{name[:-3]}": content for name, content in _files().items() if name.endswith(".js")}


def _addresses() -> dict[str, str]:
    return {name: f"./static/{name.removeprefix('saccade/')}.js" for name in _modules()}


def _map(imports: Mapping[str, str]) -> str:
    return _harmless(json.dumps({"imports": imports}))


def _fill(*, title: str, imports: Mapping[str, str], **parts: str) -> str:
    text = escape(text_width.visible(title))
    return Template(_files()["index.html"].decode()).substitute(title=text, imports=_map(imports), **parts)


def _harmless(text: str) -> str:
    """Escape JSON for a script element, so that it cannot end the element or begin a comment."""
    without_markup = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return without_markup.encode("utf-8", "replace").decode()


def _hash(inline: str) -> str:
    """Return the hash source by which a Content-Security-Policy allows one inline script."""
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"
