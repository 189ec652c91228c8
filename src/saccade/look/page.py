"""The explorer: one page to see where a model looks, served beside a model or saved with its traces inside.

The same sources make both. Their modules know each other by names such as "saccade/matrix"; a map in the page says
where they are: below /static, or inside the file itself. A saved page is one file that loads nothing and may not.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib import resources
from string import Template

from saccade.errors import DataError
from saccade.look import words

__all__ = ["assets", "index", "page", "policy"]

_NAME = "saccade"
_BOOT = 'import "saccade/main";'


def page(traces: Sequence[str], *, title: str) -> str:
    """One HTML file of trace files' texts, to be opened from disk. Equal traces give equal bytes."""
    if not traces:
        raise DataError("there are 0 traces to show. Pass the text of one at least, as Trace.dump() gives it.")
    inside = {name: f"data:text/javascript;base64,{b64encode(code).decode()}" for name, code in _modules().items()}
    data = "".join(f'<script type="application/json" class="trace">{_harmless(text)}</script>\n' for text in traces)
    # Only what is in the file when it is made can carry the nonce: none of it could know its own hash
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
        style=f'<style nonce="{nonce}">{_files()["style.css"].decode()}</style>',
        data=data,
    )


def index() -> str:
    """The page for a server that has `assets` below static/; it must be sent with `policy`."""
    return _fill(
        mode="served",
        title=_NAME,
        imports=_addresses(),
        policy="",
        nonce="",
        style='<link rel="stylesheet" href="./static/style.css">',
        data="",
    )


def policy() -> str:
    """The Content-Security-Policy header that `index` needs: its own files and server, and nothing else."""
    scripts = " ".join(_hash(inline) for inline in (_map(_addresses()), _BOOT))
    return (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self'; img-src data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def assets() -> dict[str, bytes]:
    """The page's files for a server, by name: modules and the style sheet."""
    return {name: content for name, content in _files().items() if name != "index.html"}


@cache
def _files() -> dict[str, bytes]:
    folder = resources.files("saccade.look").joinpath("page")
    return {
        entry.name: entry.read_bytes()
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith((".js", ".css", ".html"))
    }


def _modules() -> dict[str, bytes]:
    """By the names they import each other by."""
    return {f"saccade/{name[:-3]}": content for name, content in _files().items() if name.endswith(".js")}


def _addresses() -> dict[str, str]:
    return {name: f"./static/{name.removeprefix('saccade/')}.js" for name in _modules()}


def _map(imports: Mapping[str, str]) -> str:
    return _harmless(json.dumps({"imports": imports}))


def _fill(*, title: str, imports: Mapping[str, str], **parts: str) -> str:
    text = escape(words.visible(title))
    return Template(_files()["index.html"].decode()).substitute(title=text, imports=_map(imports), **parts)


def _harmless(text: str) -> str:
    """JSON that can stand in a script element: nothing in it can end the element or begin a comment."""
    without_markup = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return without_markup.encode("utf-8", "replace").decode()


def _hash(inline: str) -> str:
    """How a policy names the one inline script it allows."""
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"
