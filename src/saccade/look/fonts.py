"""Fonts: the installed fonts that together cover most scripts."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path

__all__ = ["draws_joined_letters", "families", "knows"]

# DejaVu comes with matplotlib and covers Latin, Greek, Cyrillic, Arabic, Hebrew, Armenian, Georgian and some emoji; the
# others cover further scripts
FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans CJK KR",
    "Noto Sans JP",
    "Noto Sans SC",
    "Noto Sans KR",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "WenQuanYi Zen Hei",
    "Noto Sans Devanagari",
    "Noto Sans Bengali",
    "Noto Sans Tamil",
    "Noto Sans Thai",
    "Noto Sans Ethiopic",
    "Nirmala UI",
    "Noto Emoji",
    "Segoe UI Emoji",
    "Segoe UI Symbol",
    "Noto Sans Symbols",
    "Noto Sans Symbols 2",
    "Apple Symbols",
    "Symbola",
    "Arial Unicode MS",
)


@cache
def families() -> list[str]:
    """Return the names of `FONTS` that are installed, in that order."""
    from matplotlib.font_manager import fontManager

    known = set(fontManager.get_font_names())
    if not any("CJK" in name for name in known):  # matplotlib caches its font list, so newer fonts may be missing
        _add_new()
        known = set(fontManager.get_font_names())
    return [name for name in FONTS if name in known]


def _add_new() -> None:
    from matplotlib.font_manager import findSystemFonts, fontManager

    listed = {entry.fname for entry in fontManager.ttflist}
    beginnings = tuple({name.replace(" ", "") for name in FONTS} | {"NotoSansCJK"})
    for path in sorted(findSystemFonts()):
        if path not in listed and Path(path).name.startswith(beginnings) and "Color" not in path:
            with suppress(RuntimeError, OSError):  # skip unreadable fonts
                fontManager.addfont(path)


@cache
def knows(character: str) -> bool:
    """Return True if an installed font has a glyph for the character."""
    return any(ord(character) in letters for letters in _letters())


@cache
def _letters() -> list[frozenset[int]]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    found = (get_font(findfont(FontProperties(family=name))) for name in families())
    return [frozenset(font.get_charmap()) for font in found]


@cache
def draws_joined_letters() -> bool:
    """Return True if this matplotlib joins Arabic letters and orders right-to-left text itself."""
    from matplotlib import ft2font

    return hasattr(ft2font, "__libraqm_version__")
