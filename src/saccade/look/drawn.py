"""Drawing of attention maps: select the maps that a figure needs, and call the functions that draw them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ConfigError
from saccade.look import (
    FigureSpec,
    GlimpsePath,
    Heads,
    Link,
    Map,
    Overlay,
    Picture,
    Spectrogram,
    draw_arcs,
    draw_glimpses,
    draw_heads,
    draw_overlay,
    draw_overlay_heads,
    draw_passage,
    draw_points,
    draw_reading,
    draw_sound,
    save,
    save_arcs,
    save_glimpses,
    save_heads,
    save_overlay,
    save_overlay_heads,
    save_passage,
    save_points,
    save_reading,
    save_ribbons,
    save_sound,
    save_steps,
)
from saccade.look.caption import Shown, formatted, headed, layer_of
from saccade.look.design import way_of
from saccade.look.map import check_cells
from saccade.look.overlay_svg import OverlayDrawing
from saccade.look.passage import draw_long, runs_on
from saccade.look.queries import region_overlay
from saccade.look.svg import Drawing

__all__ = ["DrawnAttention"]

Weights = NDArray[Any]
_SAVE = {
    "matrix": save,
    "passage": save_passage,
    "points": save_points,
    "reading": save_reading,
    "ribbons": save_ribbons,
    "steps": save_steps,
}
"""Styles of one map."""


class DrawnSide(Protocol):
    """One axis of a map: its tokens, its words, and the word of each token; see `saccade.prediction.Side`."""

    @property
    def tokens(self) -> list[str]:
        """The tokens."""

    @property
    def word_of(self) -> list[int]:
        """The word index of each token."""

    @property
    def words(self) -> list[str]:
        """The words."""

    @property
    def names(self) -> list[str]:
        """The words, and the end token."""

    def pieces_of(self, word: int) -> list[int]:
        """Return the positions of a word's tokens."""

    def fold(self) -> Weights:
        """Return the matrix (words, tokens) that is 1 where a token belongs to a word."""


class DrawnAttention(ABC):
    """Attention weights by site, (heads, target tokens, source tokens), and the figures of them.

    A subclass holds the weights; its `matrix` averages them, and its `_sides` gives the words of rows and columns.
    """

    source: DrawnSide
    target: DrawnSide
    weights: Mapping[str, Weights]
    source_sites: tuple[str, ...]
    picture: Picture | None
    sound: Spectrogram | None
    model: str
    default_site: str | None
    path: GlimpsePath | None

    @abstractmethod
    def matrix(self, site: str | None = None, head: int | None = None, *, words: bool = True) -> Weights:
        """Return the weights (target, source) of one site and head; average over heads or sites that are None."""

    @abstractmethod
    def _sides(self, site: str) -> tuple[DrawnSide, DrawnSide]:
        """Return the attending side (rows) and the attended side (columns) of a site."""

    @abstractmethod
    def _names(self, site: str) -> tuple[str, str]:
        """Return the names of the sides of a site's rows and columns."""

    @abstractmethod
    def _is_self_attention(self, site: str) -> bool:
        """Return whether a text attends to itself at a site."""

    @property
    def sites(self) -> list[str]:
        """The names of the attention sites."""
        return list(self.weights)

    def map(
        self, site: str | None = None, head: int | None = None, gold: Iterable[Link] = (), *, words: bool = True
    ) -> Map:
        """Return the weights of a site as a Map to draw; by default, of the site that `default_site` tells.

        Gold links join words; without `words`, all subwords of linked words.
        """
        site = self._default(site)
        weights = self.matrix(site, head, words=False)
        check_cells(weights.size)  # before folding, which is slow for many cells
        weights = self.matrix(site, head) if words else weights
        rows, columns = self._sides(site)
        if words:
            return Map(columns.names, rows.names, weights, gold)
        links = [(s, t) for read, written in gold for s in columns.pieces_of(read) for t in rows.pieces_of(written)]
        return Map(columns.tokens, rows.tokens, weights, links)

    def reading(self, site: str | None = None, head: int | None = None, *, words: bool = True) -> Map:
        """Return a self-attention map: each row is the word just read, the columns are the words of the same text.

        `site` defaults to the last self-attention site.
        """
        site = self._single_site(site, [name for name in self.weights if self._is_self_attention(name)], "reading")
        weights = self.matrix(site, head, words=False)
        columns = self._sides(site)[1]
        first = len(columns.tokens) - len(weights)  # a decoder may have entries before the begin token
        if not words:
            return Map(columns.tokens, columns.tokens[first:], weights)
        spread = columns.fold()
        rows = spread[first:, first:]
        folded = (rows / np.maximum(rows.sum(1, keepdims=True), 1)) @ weights @ spread.T
        return Map(columns.names, columns.names[first:], folded)

    def heads(self, site: str | None = None, *, words: bool = True) -> list[Heads]:
        """Return the maps of each head of a site; by default, of all sites with the sides of the first one shown."""
        if site is None and self.weights:
            chosen = self._like(self._default(None))
        else:
            self.matrix(site)  # raises for a site that does not exist, or if there is no attention
            chosen = [site] if site is not None else []
        check_cells(sum(self.weights[name].size for name in chosen))
        return [
            Heads(self._title(name), [self.map(name, head, words=words) for head in range(len(self.weights[name]))])
            for name in chosen
        ]

    def overlay(self, view: FigureSpec | None = None) -> Overlay:
        """Return the input image with a panel for each target word."""
        view = view or FigureSpec()
        view = replace(view, gold=tuple(view.gold))  # it may be an iterator, and is used more than once
        self.matrix(view.site)  # raises for a site that does not exist, or if there is no attention
        if self.picture is not None and self._between_regions(view.site):
            return region_overlay(self.picture, self.matrix(self._default(view.site), view.head, words=False))
        image = self._attended_image(view.site)
        map = self.map(view.site, view.head, view.gold, words=view.words)
        return Overlay.of(image, map, word_of=None if view.words else self.target.word_of, sinks=view.sinks)

    def draw(self, width: int | None = None, *, colour: bool = False, view: FigureSpec | None = None) -> str:
        """Return the figure as text for a terminal of `width` cells, between what was read and what it shows."""
        view = self._with_style(view)
        shown = self._shown(view)
        rows, columns = self._sides(shown.site)
        texts = [() if self._reads_source(view, shown, width) else columns.words, () if rows is columns else rows.words]
        return headed(self._drawn(view, width, colour), shown, texts, width, painted=colour)

    def _reads_source(self, view: FigureSpec, shown: Shown, width: int | None) -> bool:
        """Return whether the drawing itself shows the source: as an image, a sound, or running text."""
        long = view.style in ("matrix", "ribbons", "steps") and runs_on(self._selected(view)[0].maps[0], width)
        heard = self.sound is not None and self._attends_to_source(shown.site)
        return shown.pictured or heard or long or view.style == "passage"

    def _drawn(self, view: FigureSpec, width: int | None, colour: bool) -> str:
        if view.style == "glimpses":
            return draw_glimpses(*self._glimpsed(), width=width)
        if view.style == "overlay":
            return draw_overlay(self.overlay(view), width=width, colour=colour)
        sites = self._selected(view)
        first = sites[0].maps
        if view.style in ("matrix", "ribbons", "steps"):
            return draw_long(first[0], width=width, colour=colour)
        if view.style == "passage":
            return draw_passage(first[0], width=width, colour=colour)
        if view.style == "sound":
            return draw_sound(first[0], width=width)
        if view.style == "points":
            return draw_points(first[0], width=width)
        if view.style == "reading":
            return draw_reading(first[0], width=width, colour=colour)
        if view.style == "arcs":
            return draw_arcs(first, width=width, names=_names(view))
        if self._attends_to_image(view.site):
            return draw_overlay_heads(self._attended_image(view.site), sites[0], width=width, colour=colour)
        return draw_heads(sites, width=width, colour=colour)

    def save(self, path: str | Path, *, title: str | None = None, view: FigureSpec | None = None) -> None:
        """Write the figure as a .png, .svg or .pdf file; steps as a folder, .svg or .gif."""
        path, view = Path(path), self._with_style(view)
        shown = self._shown(view)
        if view.style == "overlay":
            overlay = self.overlay(view)
            save_overlay(overlay, path, format=formatted(shown, view, title, overlay=overlay))
            return
        if view.style == "glimpses":
            save_glimpses(*self._glimpsed(), path, format=formatted(shown, view, title, overlay=self.overlay(view)))
            return
        sites = self._selected(view)
        first = sites[0].maps
        format = formatted(shown, view, title, maps=first)
        if view.style == "sound":
            if self.sound is None:
                raise ConfigError("this figure needs the spectrogram of a sound, which is missing. Draw a matrix.")
            save_sound(first[0], self.sound, path, format=format)
        elif view.style == "arcs":
            save_arcs(first, path, names=_names(view), format=format)
        elif view.style != "heads":
            _SAVE[view.style or "matrix"](first[0], path, format=format)
        elif self._attends_to_image(view.site):
            save_overlay_heads(self._attended_image(view.site), sites[0], path, format=format)
        else:
            save_heads(sites, path, format=format)

    def _glimpsed(self) -> tuple[Picture, GlimpsePath]:
        """Return the image and its glimpses; raise ConfigError if the model sees whole inputs."""
        if self.path is None or self.picture is None:
            raise ConfigError(
                "this figure shows where a model looked, but this one has no glimpses. Leave --style out."
            )
        return self.picture, self.path

    def _default(self, site: str | None) -> str:
        """Return the named site; by default the model's, or the last one that attends to the source, or the last."""
        return site or self.default_site or (self.source_sites or tuple(self.weights) or ("",))[-1]

    def _like(self, site: str) -> list[str]:
        """Return the sites with the same sides, which are layers of one kind of attention."""
        return [name for name in self.weights if self._sides(name) == self._sides(site)]

    def _title(self, site: str) -> str:
        """Return "Layer 2 of 6" for one of several layers, else what the site does."""
        name = layer_of(site, self._like(site)) or way_of(*self._names(site))
        return name[:1].upper() + name[1:]

    def _shown(self, view: FigureSpec) -> Shown:
        """Return what the figure shows, in words."""
        own = [name for name in self.weights if self._is_self_attention(name)]
        site = view.site or (own[-1] if view.style == "reading" and own else self._default(None))
        return Shown(
            self.model,
            self._names(site),
            site,
            self._like(site),
            len(self.weights[site]),
            self._attends_to_image(site),
            view,
            self._names(site)[0] == "target" and self._answers_a_label(),
            self.picture is not None and self.picture.drawn,
        )

    def _answers_a_label(self) -> bool:
        """Return whether the answer is a label: one word without an end token, unlike an answer that was generated."""
        return self.target.word_of == [0] and self.target.tokens == self.target.words

    def _with_style(self, view: FigureSpec | None) -> FigureSpec:
        """Fill in the default style, and raise ConfigError if the style or the gold links do not fit the site."""
        view = view or FigureSpec()
        self.matrix(view.site)  # raises for a site that does not exist, or if there is no attention
        style = view.style or self._usual_style(view)
        if view.gold and (style not in ("matrix", "overlay") or not self._attends_to_source(view.site)):
            where = "a matrix" if self.picture is None else "an overlay"
            raise ConfigError(
                f"gold links join source and target and are outlined in {where} of a site that attends to the source: "
                f"{', '.join(self.source_sites) or 'this model has none'}. Leave them out here."
            )
        if style in ("matrix", "arcs", "passage", "ribbons", "steps") and self._attends_to_image(view.site):
            regions = len(self.source.tokens)
            raise ConfigError(
                f"{style} cannot show this: the model attends to {regions} regions of an image, which have no words. "
                "Draw an overlay (the default) or heads."
            )
        if style == "heads" and self._attends_to_image(view.site):  # each head has many panels: draw one site only
            return replace(view, style=style, site=self._default(view.site))
        return replace(view, style=style)

    def _usual_style(self, view: FigureSpec) -> str:
        """Return the style of a figure that names none."""
        if self.path is not None and not view.gold:
            return "glimpses"
        if self._attends_to_image(view.site):
            return "overlay"
        return "sound" if self.sound is not None and self._attends_to_source(view.site) and not view.gold else "matrix"

    def _attends_to_image(self, site: str | None) -> bool:
        """Return True if a site attends to image regions; None stands for the sites shown by default."""
        if self.picture is None or not self.weights:
            return False
        return self._sides(self._default(site))[1] == self.source

    def _between_regions(self, site: str | None) -> bool:
        """Return whether regions of the image attend to regions."""
        rows, columns = self._sides(self._default(site))
        return self.picture is not None and rows == columns == self.source

    def _attended_image(self, site: str | None) -> Picture:
        """Return the input image; raise ConfigError if the site's rows are not words or its columns not regions."""
        if self.picture is None or not self._attends_to_image(site):
            name = "this model" if self.picture is None or site is None else site
            raise ConfigError(
                f"an overlay shows the image regions that words attend to, but {name} attends to words. Draw a matrix."
            )
        if site is not None and not self._attends_to_source(site):
            words = (
                f", or choose a site with words as rows: {', '.join(self.source_sites)}" if self.source_sites else ""
            )
            raise ConfigError(
                f"{site} attends from region to region, which needs a figure for each of {self.picture.regions}. "
                f"Draw an overlay, which has three of them{words}."
            )
        return self.picture

    def _selected(self, view: FigureSpec) -> list[Heads]:
        """Return the maps that a figure shows; a matrix or a reading figure is a site with one head."""
        if view.style == "heads":
            if view.head is not None:
                raise ConfigError(
                    f"heads are drawn side by side, but head {view.head + 1} was asked for. Draw a matrix."
                )
            sites = self.heads(view.site, words=view.words)
        elif view.style == "arcs":
            site = self._default(view.site)
            heads = range(len(self.weights[site])) if view.head is None else [view.head]
            sites = [Heads(site, [self.map(site, head, words=view.words) for head in heads])]
        elif view.style == "reading":
            sites = [Heads("", [self.reading(view.site, view.head, words=view.words)])]
        else:
            sites = [Heads("", [self.map(view.site, view.head, view.gold, words=view.words)])]
        if view.sinks:
            return sites
        return [Heads(site.name, [map.without_marks() for map in site.maps]) for site in sites]

    def _single_site(self, site: str | None, fitting: list[str], style: str) -> str:
        """Return the site for a figure of one site: the named one if it fits, by default the last that fits."""
        self.matrix(site)  # raises for a site that does not exist, or if there is no attention
        if style == "reading" and (not fitting or (site is not None and site not in fitting)):
            found = (
                f"Sites with self-attention: {', '.join(fitting)}."
                if fitting
                else "This model has no self-attention; draw a matrix."
            )
            raise ConfigError(
                f"a reading figure shows words that attend to words of their own text, but {site or 'every site'} "
                f"attends to the source. {found}"
            )
        return site if site is not None else fitting[-1]

    def _attends_to_source(self, site: str | None) -> bool:
        """Return True if a site attends to the source; None stands for the sites shown by default."""
        return bool(self.source_sites) if site is None else site.removesuffix(".distribution") in self.source_sites

    def _repr_html_(self) -> str:
        if not self:
            return "no attention"
        drawing = (
            OverlayDrawing(self.overlay())
            if self._attends_to_image(None)
            else Drawing(self.map(), "attention weights", alone=True)
        )
        # scroll instead of shrinking, so that the words of a long sentence stay readable
        return f'<div style="overflow-x: auto">{drawing}</div>'


def _names(view: FigureSpec) -> list[str] | None:
    return None if view.head is None else [f"head {view.head + 1}"]
