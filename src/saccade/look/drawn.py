"""Pictures of an attention record: which maps a view shows, and who draws them."""

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
    Heads,
    Link,
    Map,
    Overlay,
    Picture,
    View,
    draw,
    draw_arcs,
    draw_heads,
    draw_overlay,
    draw_overlay_heads,
    draw_reading,
    save,
    save_arcs,
    save_heads,
    save_overlay,
    save_overlay_heads,
    save_reading,
)
from saccade.look.map import check_cells
from saccade.look.overlay_svg import OverlayDrawing
from saccade.look.svg import Drawing

__all__ = ["DrawnAttention"]

Weights = NDArray[Any]


class DrawnSide(Protocol):
    """One side of a map: its tokens, the words they make up, and the word that each belongs to."""

    @property
    def tokens(self) -> list[str]:
        """The tokens."""

    @property
    def word_of(self) -> list[int]:
        """For each token the number of its word."""

    @property
    def names(self) -> list[str]:
        """The words, and the end."""

    def pieces_of(self, word: int) -> list[int]:
        """The places of the tokens that make up a word."""

    def fold(self) -> Weights:
        """(words, tokens): which tokens make up each word."""


class DrawnAttention(ABC):
    """What can be drawn of attention weights, by site: (heads, tokens written, tokens read).

    A subclass has the weights and says by `matrix` and `_sides` what they are between.
    """

    source: DrawnSide
    target: DrawnSide
    weights: Mapping[str, Weights]
    source_sites: tuple[str, ...]
    picture: Picture | None

    @abstractmethod
    def matrix(self, site: str | None = None, head: int | None = None, *, words: bool = True) -> Weights:
        """(written, read): one site and head, or the mean over those that are not named."""

    @abstractmethod
    def _sides(self, site: str) -> tuple[DrawnSide, DrawnSide]:
        """Who looks and what is looked at."""

    @property
    def sites(self) -> list[str]:
        """The places in the model that look at something."""
        return list(self.weights)

    def map(
        self, site: str | None = None, head: int | None = None, gold: Iterable[Link] = (), *, words: bool = True
    ) -> Map:
        """The same as a picture's content. Gold links are of words; of pieces, all of two linked words are."""
        weights = self.matrix(site, head, words=False)
        check_cells(weights.size)  # before they are folded, which takes longer than to count them
        weights = self.matrix(site, head) if words else weights
        rows, columns = self._sides(site or (self.source_sites or (next(iter(self.weights)),))[0])
        if words:
            return Map(columns.names, rows.names, weights, gold)
        pieces = [(s, t) for read, written in gold for s in columns.pieces_of(read) for t in rows.pieces_of(written)]
        return Map(columns.tokens, rows.tokens, weights, pieces)

    def reading(self, site: str | None = None, head: int | None = None, *, words: bool = True) -> Map:
        """A text that looks at itself: the rows are what the model had just read, the columns what it had read so far.

        Left out, the site is the last that does so.
        """
        site = self._one(site, [name for name in self.weights if not self._at_source(name)], "reading")
        weights = self.matrix(site, head, words=False)
        columns = self._sides(site)[1]
        first = len(columns.tokens) - len(weights)  # a decoder may have been given something before the beginning
        if not words:
            return Map(columns.tokens, columns.tokens[first:], weights)
        spread = columns.fold()
        rows = spread[first:, first:]
        folded = (rows / np.maximum(rows.sum(1, keepdims=True), 1)) @ weights @ spread.T
        return Map(columns.names, columns.names[first:], folded)

    def heads(self, site: str | None = None, *, words: bool = True) -> list[Heads]:
        """Every head by itself; left out, of all sites that look at the source, or of all that look at the same."""
        if site is None and self.weights:
            first = (self.source_sites or (next(iter(self.weights)),))[0]
            chosen = [name for name in self.weights if self._sides(name) == self._sides(first)]
        else:
            self.matrix(site)  # which knows all that can be wrong with it
            chosen = [site] if site is not None else []
        check_cells(sum(self.weights[name].size for name in chosen))
        return [
            Heads(name, [self.map(name, head, words=words) for head in range(len(self.weights[name]))])
            for name in chosen
        ]

    def overlay(self, view: View | None = None) -> Overlay:
        """The picture that was looked at, with a panel for each word written."""
        view = view or View()
        view = replace(view, gold=tuple(view.gold))  # which is asked for more than once
        self.matrix(view.site)  # which knows all that can be wrong with it
        picture = self._looked_at(view.site)
        map = self.map(view.site, view.head, view.gold, words=view.words)
        return Overlay.of(picture, map, word_of=None if view.words else self.target.word_of, sinks=view.sinks)

    def draw(self, width: int | None = None, *, colour: bool = False, view: View | None = None) -> str:
        """The picture for a terminal."""
        view = self._styled(view)
        if view.style == "overlay":
            return draw_overlay(self.overlay(view), width=width, colour=colour)
        sites = self._seen(view)
        first = sites[0].maps
        if view.style == "matrix":
            return draw(first[0], width=width, colour=colour)
        if view.style == "reading":
            return draw_reading(first[0], width=width, colour=colour)
        if view.style == "arcs":
            return draw_arcs(first, width=width, names=_names(view))
        if self._sees(view.site):
            return draw_overlay_heads(self._looked_at(view.site), sites[0], width=width, colour=colour)
        return draw_heads(sites, width=width, colour=colour)

    def save(self, path: str | Path, *, title: str | None = None, view: View | None = None) -> None:
        """The picture as a file: .png, .svg or .pdf."""
        view = self._styled(view)
        if view.style == "overlay":
            save_overlay(self.overlay(view), Path(path), title=title)
            return
        sites = self._seen(view)
        first = sites[0].maps
        if view.style == "matrix":
            save(first[0], Path(path), title=title)
        elif view.style == "reading":
            save_reading(first[0], Path(path), title=title)
        elif view.style == "arcs":
            save_arcs(first, Path(path), title=title or sites[0].name, names=_names(view))
        elif self._sees(view.site):
            save_overlay_heads(self._looked_at(view.site), sites[0], Path(path), title=title)
        else:
            save_heads(sites, Path(path), title=title)

    def _styled(self, view: View | None) -> View:
        """The view with its style, checked against what is looked at and what is outlined."""
        view = view or View()
        self.matrix(view.site)  # which knows all that can be wrong with it
        style = view.style or ("overlay" if self._sees(view.site) else "matrix")
        if view.gold and (style not in ("matrix", "overlay") or not self._at_source(view.site)):
            where = "a matrix" if self.picture is None else "an overlay"
            raise ConfigError(
                f"gold links join source and target and are outlined in {where} of a site that looks at the source: "
                f"{', '.join(self.source_sites) or 'this model has none'}. Leave them out here."
            )
        if style in ("matrix", "arcs") and self._sees(view.site):
            regions = len(self.source.tokens)
            raise ConfigError(
                f"{style} cannot show this: what is looked at are {regions} regions of a picture, which have no words. "
                "Draw an overlay, which is what is drawn if nothing is chosen, or heads."
            )
        if style == "heads" and self._sees(view.site):  # of one site: they are panels, and there are many
            return replace(view, style=style, site=view.site or self.source_sites[-1])
        return replace(view, style=style)

    def _sees(self, site: str | None) -> bool:
        """Whether a site looks at the regions of a picture; None stands for those that are shown if none is named."""
        if self.picture is None or not self.weights:
            return False
        return self._sides(site or (self.source_sites or tuple(self.weights))[0])[1] == self.source

    def _looked_at(self, site: str | None) -> Picture:
        """The picture, if words look at it."""
        if self.picture is None or not self._sees(site):
            who = "this model" if self.picture is None or site is None else site
            raise ConfigError(
                f"an overlay shows where words looked in a picture, but {who} looks at words. Draw a matrix."
            )
        if site is not None and not self._at_source(site):
            raise ConfigError(
                f"{site} looks from region to region, which would be a picture for each of {self.picture.regions}. "
                f"Explore it in a page (.html), or choose a site that words look from: {', '.join(self.source_sites)}."
            )
        return self.picture

    def _seen(self, view: View) -> list[Heads]:
        """What a view shows; a matrix or a reading is a site of one head."""
        if view.style == "heads":
            if view.head is not None:
                raise ConfigError(f"heads are drawn side by side, but head {view.head} was asked for. Draw a matrix.")
            sites = self.heads(view.site, words=view.words)
        elif view.style == "arcs":
            site = self._one(view.site, list(self.source_sites) or list(self.weights), "arcs")
            of = range(len(self.weights[site])) if view.head is None else [view.head]
            sites = [Heads(site, [self.map(site, head, words=view.words) for head in of])]
        elif view.style == "reading":
            sites = [Heads("", [self.reading(view.site, view.head, words=view.words)])]
        else:
            sites = [Heads("", [self.map(view.site, view.head, view.gold, words=view.words)])]
        if view.sinks:
            return sites
        return [Heads(site.name, [map.without_marks() for map in site.maps]) for site in sites]

    def _one(self, site: str | None, fitting: list[str], style: str) -> str:
        """The site for a picture that shows one: the one named, if it fits, or the last that does."""
        self.matrix(site)  # which knows all that can be wrong with it
        if style == "reading" and (not fitting or (site is not None and site not in fitting)):
            found = f"Those that do: {', '.join(fitting)}." if fitting else "None in this model does; draw a matrix."
            raise ConfigError(
                f"a reading picture shows words that look at words of their own text, but {site or 'every site'} looks "
                f"at the source. {found}"
            )
        return site if site is not None else fitting[-1]

    def _at_source(self, site: str | None) -> bool:
        """Whether a site looks at the source; None stands for those that do."""
        return bool(self.source_sites) if site is None else site.removesuffix(".distribution") in self.source_sites

    def _repr_html_(self) -> str:
        if not self:
            return "no attention"
        drawing = (
            OverlayDrawing(self.overlay())
            if self._sees(None)
            else Drawing(self.map(), "where the model looked", alone=True)
        )
        # scrolled, not shrunk: the words of a long sentence must stay readable
        return f'<div style="overflow-x: auto">{drawing}</div>'


def _names(view: View) -> list[str] | None:
    return None if view.head is None else [f"head {view.head}"]
