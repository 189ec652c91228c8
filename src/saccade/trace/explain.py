"""Explain each decoding step of a prediction in text, with the model's own numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ConfigError, unknown_name
from saccade.look.text_width import pad_left, visible, width
from saccade.prediction import check_head
from saccade.trace.format import Site, Step, Trace

__all__ = ["explain"]

Numbers = NDArray[np.float32]
CELLS, WORDS, NEXT, BAR = 32, 14, 5, 24
"""How much is printed: entries of a vector, attended tokens, candidate tokens, and cells of a full bar."""
LETTERS, RECENT = 1200, 30
"""Maximum letters of a text in the introduction, and of the tokens written so far the last ones that are shown."""
_HEIGHTS = "▁▂▃▄▅▆▇█"
_SCALED = " / √D"
_VECTORS = ("state", "context", "vector")


def explain(trace: Trace, *, step: int | None = None, site: str | None = None, head: int = 0) -> Iterator[str]:
    """Yield an introduction, then a paragraph for each decoding step, or for one `step` (counted from 1).

    The attention shown is that of one site and head; `head` counts from 0, and the text from 1, as figures do.
    """
    if step is not None and not 1 <= step <= len(trace.steps):
        raise ConfigError(f"step {step} was asked for, but there are steps 1 to {len(trace.steps)}.")
    chosen = _choose_site(trace, site)
    if chosen is not None:
        check_head(head, chosen.heads, chosen.name)
    yield _introduction(trace, chosen, head)
    for number in range(len(trace.steps)) if step is None else [step - 1]:
        yield "\n".join(_step(trace, number, chosen, head))


def _choose_site(trace: Trace, name: str | None) -> Site | None:
    """Return the named site; by default the trace's, or the last cross-attention site, or the last of target rows."""
    by_name = {site.name: site for site in trace.sites}
    if name is not None:
        if name not in by_name:
            raise unknown_name("attention site", name, by_name)
        if by_name[name].rows != "target":
            raise ConfigError(f"{name} attends while the source is encoded, so it has no part in the decoding steps.")
        return by_name[name]
    decoding = [site for site in trace.sites if site.rows == "target"]
    if trace.default_site is not None and (first := by_name[trace.default_site]) in decoding:
        return first
    return next((site for site in reversed(decoding) if site.columns == "source"), decoding[-1] if decoding else None)


def _introduction(trace: Trace, site: Site | None, head: int) -> str:
    about = trace.model
    lines = [f"{about.name}: {about.preset}, {about.parameters:,} parameters"]
    if "source" in trace.sides:
        lines.append(f"reads   {_bounded(trace.sides['source'].text)}")
    lines.append(f"answers {_bounded(trace.text)}")
    if site is None:
        lines.append("The model has no attention: each step depends on the decoder state alone.")
    else:
        others = len([other for other in trace.sites if other.rows == "target"]) - 1
        which = f"head {head + 1} of {site.heads} at {site.name}" if site.heads > 1 else site.name
        lines.append(f"Shown is {which}" + (f"; {others} other sites: see --site." if others else "."))
    return "\n".join(lines)


def _bounded(text: str) -> str:
    """Return a text for the terminal; of a long one, its beginning and its end."""
    if len(text) <= LETTERS:
        return visible(text)
    first, last = text[: LETTERS * 3 // 4].rsplit(" ", 1)[0], text[-LETTERS // 4 :].split(" ", 1)[-1]
    return f"{visible(first)} […] {visible(last)} ({len(text):,} characters)"


def _step(trace: Trace, number: int, site: Site | None, head: int) -> Iterator[str]:
    step = trace.steps[number]
    if trace.glimpses is not None:
        yield from _glimpse(trace, number)
        return
    written = trace.sides["target"].tokens[:number]
    kept = written[-RECENT:]
    before = " ".join([*(["…"] if len(kept) < len(written) else []), *map(visible, kept)])
    so_far = f"after {before!r}" if before else "the beginning"
    yield f"\nStep {number + 1} of {len(trace.steps)}, {so_far}"
    for count, (title, lines) in enumerate(_parts(trace, number, step, site, head), 1):
        yield f"  {count}  {title}"
        yield from (f"     {line}".rstrip() for line in lines)


def _glimpse(trace: Trace, number: int) -> Iterator[str]:
    """Say where a glimpse looked, what it saw, and what the model believes after it."""
    glimpses = trace.glimpses
    assert glimpses is not None
    yield f"\nGlimpse {number + 1} of {len(trace.steps)}"
    left, top, right, bottom = glimpses.boxes[number][0]
    yield f"  1  It is at {(left + right) / 2:.0%} of the width and {(top + bottom) / 2:.0%} of the height"
    yield "  2  What it sees, from fine to coarse"
    patches = glimpses.patches.unpack()[number]
    for row in range(patches.shape[1]):
        yield "     " + "   ".join("".join(_ink(value) * 2 for value in patch[row]) for patch in patches)
    yield "  3  What it believes now"
    likely = trace.steps[number].candidates[:NEXT]
    names = _aligned([text for _, text, _ in likely])
    for name, (*_, log) in zip(names, likely, strict=True):
        yield f"     {name}  {math.exp(log):6.3f}  {_bar(math.exp(log))}".rstrip()


def _ink(value: float) -> str:
    return " ░▒▓█"[min(4, int(5 * max(0.0, float(value))))]


def _parts(trace: Trace, number: int, step: Step, site: Site | None, head: int) -> Iterator[tuple[str, Sequence[str]]]:
    vectors = {name: trace.vectors[name].unpack()[number] for name in _VECTORS if name in trace.vectors}
    if "state" in vectors:
        yield "The state of the decoder", [_strip(vectors["state"])]
    if site is not None:
        yield from _attention(trace, number, site, head)
    if "context" in vectors:
        what = "one fixed vector, the same in every step" if site is None else "the sum of the values by these weights"
        yield f"The context: {what}", [_strip(vectors["context"])]
    if "vector" in vectors:
        combined = "State and context, combined: the" if "context" in vectors else "The"
        yield f"{combined} vector that predicts the next token", [_strip(vectors["vector"])]
    likely = step.candidates[:NEXT]
    names = _aligned([text for _, text, _ in likely])
    drawn = trace.task == "drawing"
    yield (
        f"The {len(likely)} words that the judge of the picture expects here"
        if drawn
        else f"The {len(likely)} most likely next tokens",
        [f"{name}  {math.exp(log):6.3f}  {_bar(math.exp(log))}" for name, (*_, log) in zip(names, likely, strict=True)],
    )
    rank = next((place for place, (token, *_) in enumerate(step.candidates) if token == step.token), None)
    why = {0: "the likeliest"}.get(
        rank if rank is not None else -1, f"with probability {math.exp(step.log_probability):.3f}"
    )
    yield f"{'It is asked for' if drawn else 'It writes'} {visible(step.text)!r}, {why}.", _copies(trace, step)


def _copies(trace: Trace, step: Step) -> list[str]:
    """Say whether a token was copied, and from where."""
    if not step.copies:
        return [] if step.copies is None else ["Generated: it was not copied from the source."]
    tokens = trace.sides["source"].tokens
    best = sorted(step.copies, key=lambda one: -one[1])[:NEXT]
    names = _aligned([f"{visible(tokens[place])} ({place + 1})" for place, _ in best])
    lines = [f"{name}  {share:6.3f}  {_bar(share)}" for name, (_, share) in zip(names, best, strict=True)]
    total = sum(share for _, share in step.copies)
    return [f"Copied with probability {min(total, 1.0):.3f}, from the source tokens", *lines]


def _attention(trace: Trace, number: int, site: Site, head: int) -> Iterator[tuple[str, Sequence[str]]]:
    weights = site.weights.unpack()[head, number]
    scores = None if site.scores is None else site.scores.unpack()[head, number]
    tokens = trace.sides[site.columns].tokens
    best = int(np.nanargmax(weights))
    parts = {name: trace.vectors.get(f"{site.name}.{name}") for name in ("query", "key", "value")}
    if parts["query"] is not None:
        yield f"The query of head {head + 1} at this position", [_strip(parts["query"].unpack()[head, number])]
    strongest = f"{visible(tokens[best])!r}, which has the highest weight"
    attends = float(np.nan_to_num(weights).max()) > 0  # every position may be masked, as for a first token
    if parts["key"] is not None and attends:
        yield f"The key of {strongest}", [_strip(parts["key"].unpack()[head, best])]
    shown = sorted(np.argsort(-np.nan_to_num(weights), kind="stable")[:WORDS].tolist())
    names = _aligned([tokens[place] for place in shown])
    formula, divisor = site.formula, 1.0
    if parts["query"] is not None and formula.endswith(_SCALED):
        divisor = math.sqrt(parts["query"].unpack().shape[-1])
        formula = f"{formula.removesuffix(_SCALED)}, divided by √D = {divisor:.3g}"
    lines = []
    for name, place in zip(names, shown, strict=True):
        score = "" if scores is None else "   hidden" if np.isnan(scores[place]) else f"{scores[place]:9.3f}"
        if scores is not None and divisor != 1 and not np.isnan(scores[place]):
            score = f"{scores[place] * divisor:9.3f}{score}"
        elif scores is not None and divisor != 1:
            score = f"{'':9}{score}"
        lines.append(f"{name}{score}  {weights[place]:6.3f}  {_bar(float(weights[place]))}")
    if len(tokens) > len(shown):
        rest = float(np.nansum(weights) - np.nansum(weights[shown]))
        lines.append(f"and {len(tokens) - len(shown)} others with a total weight of {rest:.3f}")
    if trace.task == "drawing":
        yield f"The weight of this word in each region (row,column), {formula}, by {site.align} over words", lines
        return
    what = "region (row,column)" if trace.sides[site.columns].kind == "grid" else "token"
    yield f"The score of each {what}, {formula}, and its weight by {site.align}", lines
    if parts["value"] is not None and attends:  # in the order of the computation: scores, weights, weighted sum
        yield f"The value of {strongest}", [_strip(parts["value"].unpack()[head, best])]


def _strip(values: Numbers) -> str:
    """Draw a vector's first entries as bars between -m and m, m its largest magnitude; add its size, range and norm."""
    reach = float(np.abs(values).max(initial=0)) or 1.0
    cells = "".join(_HEIGHTS[min(7, int((value / reach + 1) * 4))] for value in values[:CELLS])
    more = "…" if len(values) > CELLS else ""
    bounds = f"{values.min():.2f} to {values.max():.2f}"
    return f"{cells}{more}  {len(values)} numbers, {bounds}, length {np.linalg.norm(values):.2f}"


def _bar(share: float) -> str:
    return "█" * round(max(0.0, min(1.0, share)) * BAR)


def _aligned(texts: Sequence[str]) -> list[str]:
    shown = [visible(text) for text in texts]
    widest = max((width(text) for text in shown), default=0)
    return [pad_left(text, widest) for text in shown]
