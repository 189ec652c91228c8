"""saccade look."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saccade.cli.terminal import echo, say

if TYPE_CHECKING:
    from saccade.look import View
    from saccade.trace import Trace

__all__ = ["look"]

_PICTURES = (".png", ".svg", ".pdf")
_WHOLE = (".html", ".json")


def look(
    model: Annotated[Path, typer.Argument(help="A model folder, or a trace file.")],
    text: Annotated[
        str | None,
        typer.Argument(help="What the model is to answer: a text, or the path of a picture. A trace file needs none."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A .png, .svg, .pdf, .html or .json (a trace); left out, the terminal."),
    ] = None,
    style: Annotated[
        str | None,
        typer.Option(help="matrix, overlay, reading, arcs or heads; left out, overlay for pictures and else matrix."),
    ] = None,
    site: Annotated[
        str | None, typer.Option(help="One place in the model that looks; left out, those at the source.")
    ] = None,
    head: Annotated[int | None, typer.Option(min=0, help="One head; left out, their mean, or all.")] = None,
    pieces: Annotated[bool, typer.Option("--pieces", help="Show the pieces of words by themselves.")] = False,
    gold: Annotated[
        str | None, typer.Option(help='Links to outline, such as "0-0 1-2": source word, or region, and word written.')
    ] = None,
    no_sinks: Annotated[
        bool, typer.Option("--no-sinks", help="Leave out the beginning, the end and punctuation.")
    ] = False,
    title: Annotated[str | None, typer.Option(help="What stands above the picture.")] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy search.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    trust_code: Annotated[
        bool, typer.Option("--trust-code", help="Let the model's recipe import outside code.")
    ] = False,
) -> None:
    """Draw where the model looked while it answered.

    The pictures are a matrix; for models that look at pictures, the picture with what each word looked at (overlay); a
    reader at work (reading), for what looks at its own text; the heads of a site as lines between words (arcs); or all
    heads side by side (heads). A .html is a page to explore all of it, a .json the trace it is made from, which can
    stand for the model later.

    Example: saccade look runs/demo "the European Economic Area" -o area.png
    """
    from saccade.data.example import Links
    from saccade.look import View

    _check_ending(out)
    links = sorted(Links.parse(gold, "--gold").possible) if gold is not None else None
    view = View(style, site, head, not pieces, links or (), not no_sinks)
    _check_options(out, view, title)
    trace = _trace(model, text, {"device": device, "trust_code": trust_code}, beam, links)
    if out is not None and out.suffix.lower() in _WHOLE:
        _write_whole(trace, out, title)
    else:
        _draw(trace, _with_gold(view, trace), out, title)
    if out is not None:
        say(f"Wrote {out}")


def _check_ending(out: Path | None) -> None:
    from saccade.errors import ConfigError

    if out is not None and out.suffix.lower() not in (*_PICTURES, *_WHOLE):
        raise ConfigError(
            f"{out.name} ends in {out.suffix or 'nothing'}. Choose a name that ends in .png, .svg or .pdf for a "
            "picture, .html for a page to explore, or .json for the trace."
        )


def _check_options(out: Path | None, view: View, title: str | None) -> None:
    """Refuse what would be ignored: a page and a trace hold everything."""
    from saccade.errors import ConfigError
    from saccade.look import View

    ending = out.suffix.lower() if out is not None else ""
    plain = View(gold=view.gold)
    chosen = [
        name
        for name, given in (
            ("--style", view.style != plain.style),
            ("--site", view.site is not None),
            ("--head", view.head is not None),
            ("--pieces", not view.words),
            ("--no-sinks", not view.sinks),
            ("--title", title is not None and ending == ".json"),
        )
        if given
    ]
    if ending in _WHOLE and chosen:
        whole = "a page shows every site, head and piece" if ending == ".html" else "a trace holds everything"
        raise ConfigError(f"{', '.join(chosen)}: {whole}, so there is nothing to choose. These are for pictures.")
    if out is None and title is not None:
        raise ConfigError("--title is for files. Name one with -o.")


def _trace(
    model: Path, text: str | None, loading: dict[str, Any], beam: int | None, gold: list[tuple[int, int]] | None
) -> Trace:
    from saccade.errors import ConfigError, DataError
    from saccade.trace import Trace

    if model.is_file() or model.suffix.lower() == ".json":
        if text is not None or beam is not None:
            raise ConfigError(f"{model} is a trace, which has its answer already: leave the text and --beam out.")
        found = Trace.open(model)
        return found if gold is None else found.model_copy(update={"gold": _inside(gold, found)})
    if text is None or not text.strip():
        raise DataError("the input is empty, so there is nothing to look at. Give a text, or a picture's path.")
    from saccade.front import load

    options: dict[str, Any] = {"beam": beam} if beam else {}
    made = load(model, **loading).trace(text, gold=gold, detail=True, **options)
    _inside(gold or [], made)
    return made


def _inside(gold: list[tuple[int, int]], trace: Trace) -> list[tuple[int, int]]:
    """The links, if all of them join words or regions of the source and words of the answer."""
    from saccade.errors import DataError

    source, target = (len(trace.sides[name].words) if name in trace.sides else 0 for name in ("source", "target"))
    seen = source and trace.sides["source"].kind == "grid"
    read = f"{source} regions and {target} words" if seen else f"{source} words read and {target}"
    for s, t in gold:
        if s >= source or t >= target:
            raise DataError(
                f"--gold: {s}-{t} lies outside {read} written ({trace.text!r}). Links are source-target, both counted "
                "from 0."
            )
    return gold


def _with_gold(view: View, trace: Trace) -> View:
    """Gold links that a trace has are shown where they can be."""
    from dataclasses import replace

    sites = [site.name for site in trace.sites if (site.rows, site.columns) == ("target", "source")]
    drawn = view.style in (None, "matrix", "overlay")
    fits = drawn and bool(sites) and (view.site is None or view.site in sites)
    return replace(view, gold=trace.gold) if trace.gold and not view.gold and fits else view


def _write_whole(trace: Trace, out: Path, title: str | None) -> None:
    from saccade.files import write_atomically
    from saccade.look.page import page

    if out.suffix.lower() == ".html":
        write_atomically(out, page([trace.dump()], title=title or trace.text or trace.model.name))
    else:
        trace.save(out)


def _draw(trace: Trace, view: View, out: Path | None, title: str | None) -> None:
    if out is not None:
        trace.attention.save(out, title=title, view=view)
        return
    width = shutil.get_terminal_size().columns
    echo(trace.attention.draw(width, colour=sys.stdout.isatty(), view=view))
