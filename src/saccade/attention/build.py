"""Build an attention from names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from saccade.attention.aligns import ALIGNS, Align
from saccade.attention.core import Attention
from saccade.attention.multihead import MultiHead, Project, Rotate
from saccade.attention.scores import SCORES, Score
from saccade.attention.windows import WINDOWS, Window
from saccade.errors import ConfigError, unknown_name
from saccade.outside import find_part

__all__ = ["build_attention"]

Part = TypeVar("Part")
Options = Mapping[str, Any]


def build_attention(
    score: str | Score,
    query_width: int,
    key_width: int,
    value_width: int | None = None,
    *,
    align: str | Align = "softmax",
    window: str | Window = "global",
    heads: int | None = None,
    dropout: float = 0.0,
    bias: bool = True,
    rotate: Rotate | None = None,
    project: Project | None = None,
    itself: bool = True,
    score_options: Options | None = None,
    align_options: Options | None = None,
    window_options: Options | None = None,
) -> Attention | MultiHead:
    """Build an attention from any score, align and window, by name or as your own objects, with one head or many.

    build_attention("additive", 512, 1024, align="sparsemax")
    build_attention("scaled-dot", 512, 512, heads=8)

    With `heads`, queries, keys and values are projected to query_width and split. The result is a
    MultiHead whose context is as wide as a value (value_width, by default key_width).

    For self-attention: `project` "none", "qk" or "qkv" selects what is projected, see MultiHead. The default is "qkv"
    with `heads` and "none" without. `itself=False` hides the key at each query's own position.
    """
    if heads is None and project not in (None, "none"):
        heads = 1
    inner_query, inner_key = query_width, key_width
    if heads is not None:
        if heads < 1 or query_width % heads:
            raise ConfigError(
                f"width {query_width} cannot be split into {heads} heads. Choose a number that divides it."
            )
        inner_query = inner_key = query_width // heads
    parts = {"heads": heads}
    inner = Attention(
        _part("score", SCORES, score, (inner_query, inner_key), parts, score_options),
        _part("align", ALIGNS, align, (), parts, align_options),
        _part("window", WINDOWS, window, (inner_query,), parts, window_options),
        dropout=dropout,
        itself=itself,
    )
    if heads is None:
        return inner
    value_width = key_width if value_width is None else value_width
    return MultiHead(
        inner, query_width, key_width, value_width, value_width, bias=bias, rotate=rotate, project=project or "qkv"
    )


def _part(
    kind: str,
    table: Mapping[str, type[Part]],
    name: str | Part,
    widths: tuple[int, ...],
    common: dict[str, Any],
    options: Options | None,
) -> Part:
    if not isinstance(name, str):
        return name
    make = find_part(kind, name, table)
    known = inspect.signature(make).parameters
    choices = [n for n, p in known.items() if p.kind is p.KEYWORD_ONLY and n != "heads"]
    for option in options or {}:
        if option not in choices:
            raise unknown_name(f"option of {kind} {name!r}", option, choices)
    try:
        return make(*widths, **common, **(options or {}))
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        if not options:
            raise
        raise ConfigError(f"{kind} {name!r} cannot be made with the options {dict(options)}: {error}.") from error
