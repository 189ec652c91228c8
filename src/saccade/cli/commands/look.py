"""saccade look."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saccade.cli.options import Beam, Device, TrustCode
from saccade.cli.terminal import echo, input_or_sample, model_and_inputs, print_notes, print_status

if TYPE_CHECKING:
    from saccade.look import FigureSpec
    from saccade.trace import Trace

__all__ = ["look"]

_FIGURES = (".png", ".svg", ".pdf")
_WHOLE = (".html", ".json")


def look(
    model: Annotated[
        Path | None,
        typer.Argument(help="A model folder, a shipped model, or a trace file; may be left out before a text."),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="The input: a text or its .txt file, the path of an image or a sound, or a question and passage. A "
            "trace file needs none. Default: one to try."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Output file: .png, .svg, .pdf, .html or .json (a trace); for steps, a folder, .svg or .gif; default: "
            "the terminal.",
        ),
    ] = None,
    style: Annotated[
        str | None,
        typer.Option(
            help="Figure: matrix, overlay, ribbons, steps, reading, arcs, heads, points, passage, sound or glimpses; "
            "default: glimpses or overlay for images, sound for sounds, else matrix."
        ),
    ] = None,
    site: Annotated[
        str | None,
        typer.Option(
            help="One attention site; default: the last that attends to the source, or the first of a few-shot model."
        ),
    ] = None,
    head: Annotated[
        int | None, typer.Option(min=1, help="One attention head, counted from 1; default: the mean, or all.")
    ] = None,
    subwords: Annotated[bool, typer.Option("--subwords", help="Show subwords instead of words.")] = False,
    gold: Annotated[
        str | None,
        typer.Option(help='Gold links to outline, such as "0-0 1-2": source word or region, then target word.'),
    ] = None,
    no_sinks: Annotated[
        bool, typer.Option("--no-sinks", help="Leave out sentence start, sentence end and punctuation.")
    ] = False,
    size: Annotated[
        str, typer.Option(help="Type and page: screen, paper (width of a column) or slide (16:9, large type).")
    ] = "screen",
    outline: Annotated[
        bool, typer.Option("--outline", help="Draw the letters of an SVG as shapes, so that it needs no font.")
    ] = False,
    title: Annotated[str | None, typer.Option(help="Title of the figure.")] = None,
    beam: Beam = None,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Draw the attention of a model while it answers one input.

    The figures: an attention matrix (matrix); for image inputs, the image with the attention of each word (overlay);
    two lanes of words joined by ribbons (ribbons), also as frames for a lecture (steps); self-attention step by step
    (reading); the heads of a site as curves between words (arcs); all heads side by side (heads); points in the plane
    with the answer drawn through them (points); a long source as running text (passage); a spectrogram above the
    attention over time (sound); the places of glimpses, and the beliefs after them (glimpses). A .html file
    is a page to explore everything. A .json file is the trace, which can replace the model later.

    Example: saccade look "the European Economic Area" -o area.png
    """
    from saccade.data.example import Links
    from saccade.look import FigureSpec

    _check_ending(out, style)
    links = sorted(Links.parse(gold, "--gold").possible) if gold is not None else None
    chosen = None if head is None else head - 1
    view = FigureSpec(style, site, chosen, not subwords, links or (), not no_sinks, size, outline)
    _check_options(out, view, title)
    place, words = model_and_inputs(model, inputs)
    trace = _trace(place, words, {"device": device, "trust_code": trust_code}, beam, links)
    if out is not None and out.suffix.lower() in _WHOLE:
        _write_whole(trace, out, title)
    else:
        _draw(trace, _with_gold(view, trace), out, title)
    print_notes(trace.left_out)
    if out is not None:
        print_status(f"Wrote {out}")


def _check_ending(out: Path | None, style: str | None) -> None:
    from saccade.errors import ConfigError
    from saccade.look.steps import check_steps_suffix

    if out is not None and style == "steps" and out.suffix.lower() not in _WHOLE:
        check_steps_suffix(out)
    elif out is not None and out.suffix.lower() not in (*_FIGURES, *_WHOLE):
        raise ConfigError(
            f"{out.name} ends in {out.suffix or 'nothing'}. Choose a name that ends in .png, .svg or .pdf for a "
            "figure, .html for a page to explore, or .json for the trace."
        )


def _check_options(out: Path | None, view: FigureSpec, title: str | None) -> None:
    """Raise a ConfigError for options that would be ignored: a page and a trace hold everything."""
    from saccade.errors import ConfigError
    from saccade.look import FigureSpec

    ending = out.suffix.lower() if out is not None else ""
    plain = FigureSpec(gold=view.gold)
    chosen = [
        name
        for name, given in (
            ("--style", view.style != plain.style),
            ("--site", view.site is not None),
            ("--head", view.head is not None),
            ("--subwords", not view.words),
            ("--no-sinks", not view.sinks),
            ("--size", view.size != plain.size),
            ("--outline", view.outline),
            ("--title", title is not None and ending == ".json"),
        )
        if given
    ]
    if ending in _WHOLE and chosen:
        whole = "a page shows every site, head and subword" if ending == ".html" else "a trace holds everything"
        raise ConfigError(
            f"{', '.join(chosen)}: {whole}, so there is nothing to choose. These options are for figures."
        )
    for name, given in (
        ("--title", title is not None),
        ("--size", view.size != plain.size),
        ("--outline", view.outline),
    ):
        if out is None and given:
            raise ConfigError(f"{name} is for files. Name one with -o.")
    if view.outline and ending not in ("", ".svg"):
        raise ConfigError(f"--outline is for SVG: {ending} contains its letters or its fonts anyway. Leave it out.")


def _trace(
    model: Path, inputs: list[str], loading: dict[str, Any], beam: int | None, gold: list[tuple[int, int]] | None
) -> Trace:
    from saccade.errors import ConfigError, DataError
    from saccade.trace import Trace

    if model.is_file() or model.suffix.lower() == ".json":
        if inputs or beam is not None:
            raise ConfigError(f"{model} is a trace, which has its answer already: leave the text and --beam out.")
        found = Trace.open(model)
        return found if gold is None else found.model_copy(update={"gold": _inside(gold, found)})
    if inputs and not "".join(inputs).strip():
        raise DataError("the input is empty, so there is nothing to draw. Give a text, or the path of an image.")
    from saccade.api import load

    options: dict[str, Any] = {"beam": beam} if beam else {}
    loaded = load(model, **loading)
    made = loaded.trace(input_or_sample(loaded, inputs), gold=gold, detail=True, **options)
    _inside(gold or [], made)
    return made


def _inside(gold: list[tuple[int, int]], trace: Trace) -> list[tuple[int, int]]:
    """Return the links; raise a DataError if one lies outside the source or the answer."""
    from saccade.errors import DataError

    source, target = (len(trace.sides[name].words) if name in trace.sides else 0 for name in ("source", "target"))
    is_image = source and trace.sides["source"].kind == "grid"
    inside = f"{source} {'regions' if is_image else 'source words'} and {target} target words"
    for s, t in gold:
        if s >= source or t >= target:
            raise DataError(
                f"--gold: {s}-{t} lies outside {inside} ({trace.text!r}). Links are source-target, both counted from 0."
            )
    return gold


def _with_gold(view: FigureSpec, trace: Trace) -> FigureSpec:
    """Add the trace's gold links to the figure if it can show them."""
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


def _draw(trace: Trace, view: FigureSpec, out: Path | None, title: str | None) -> None:
    if out is not None:
        trace.attention.save(out, title=title, view=view)
        return
    width = shutil.get_terminal_size().columns
    echo(trace.attention.draw(width, colour=sys.stdout.isatty(), view=view))
