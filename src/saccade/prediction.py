"""Prediction: what a model answers, and where it looked while it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.batch import BOS, SPECIALS
from saccade.errors import ConfigError, unknown_name
from saccade.look import Map, draw, save
from saccade.look.svg import Drawing

__all__ = ["Attention", "Prediction", "Side", "side"]

Weights = NDArray[Any]
_SEED = "<source>"
_STYLE = """<style>
.saccade text { fill: currentColor; font: 13px sans-serif }
.saccade .written { text-anchor: end; dominant-baseline: central }
.saccade .grid { fill: none; stroke: #8885 }
.saccade .band { fill: none }
.saccade .cell { fill: #3f74b5 }
</style>
"""
"""A notebook knows nothing of the style sheet that our own pages have."""


@dataclass(frozen=True)
class Side:
    """One side of an attention map: its tokens, the last of which may be the end, and the word each belongs to."""

    tokens: list[str]
    words: list[str]
    word_of: list[int]
    """For each token the number of its word; the end, which belongs to none, has one more than the last."""

    @property
    def names(self) -> list[str]:
        """The words, and the end by its token."""
        return [*self.words, *self.tokens[-1:]] if self.ends else self.words

    @property
    def ends(self) -> bool:
        """Whether the last token is the end mark."""
        return bool(self.word_of) and self.word_of[-1] == len(self.words)

    def shifted(self, seeds: int = 0) -> Side:
        """What a decoder was fed while it wrote this: the beginning, then all but the last.

        `seeds`: entries before the beginning, which some decoders take over from the source as a whole.
        """
        first = [*[_SEED] * seeds, SPECIALS[BOS]]
        before = self.word_of[:-1]
        words = [*first, *self.words[: max(before, default=-1) + 1]]
        places = [*range(len(first)), *(place + len(first) for place in before)]
        return Side([*first, *self.tokens[:-1]], words, places)

    def fold(self) -> Weights:
        """(words, tokens): which tokens make up each word."""
        return np.eye(len(self.names), dtype=np.float32)[:, self.word_of]


@dataclass(frozen=True)
class Attention:
    """Where a model looked, by site: (heads, tokens written, tokens read).

    `matrix()` folds tokens to words: what a word received is the sum over its tokens, what it looked at the mean over
    them. The end marks are kept and are the last row and column. By default it is the mean of all sites that look at
    the source, and of their heads.
    """

    source: Side
    target: Side
    weights: dict[str, Weights] = field(repr=False)
    source_sites: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.weights)

    @property
    def sites(self) -> list[str]:
        """The places in the model that look at something."""
        return list(self.weights)

    def matrix(self, site: str | None = None, head: int | None = None, *, words: bool = True) -> Weights:
        """(written, read): one site and head, or the mean over those that are not named."""
        if not self.weights:
            raise ConfigError("this model has no attention, so there is nothing to show. Train one that has.")
        if site is not None and site not in self.weights:
            raise unknown_name("attention site", site, self.weights)
        chosen = [site] if site is not None else list(self.source_sites) or list(self.weights)[:1]
        weights: Weights = np.stack([_of_head(self.weights[name], head, name) for name in chosen]).mean(0)
        if not words:
            return weights
        rows, columns = self._sides(chosen[0])
        spread = rows.fold()
        folded: Weights = (spread / np.maximum(spread.sum(1, keepdims=True), 1)) @ weights @ columns.fold().T
        return folded

    def map(self, site: str | None = None, head: int | None = None, gold: Any = ()) -> Map:
        """The same as a picture's content."""
        weights = self.matrix(site, head)
        rows, columns = self._sides(site or (self.source_sites or (next(iter(self.weights)),))[0])
        return Map(columns.names, rows.names, weights, gold)

    def draw(self, width: int | None = None, *, colour: bool = False) -> str:
        """The picture for a terminal."""
        return draw(self.map(), width=width, colour=colour)

    def save(self, path: str | Path, *, title: str | None = None) -> None:
        """The picture as a file: .png, .svg or .pdf."""
        save(self.map(), Path(path), title=title)

    def _repr_html_(self) -> str:
        if not self:
            return "no attention"
        return f'<div class="saccade">{_STYLE}{Drawing(self.map(), "where the model looked")}</div>'

    def _sides(self, site: str) -> tuple[Side, Side]:
        """Who looks and what is looked at: the target at the source, or a side at itself."""
        if site in self.source_sites:
            return self.target, self.source
        if site.startswith("encoder"):
            return self.source, self.source
        return self.target, self.target.shifted(self.weights[site].shape[-1] - len(self.target.tokens))


def _of_head(weights: Weights, head: int | None, site: str) -> Weights:
    if head is None:
        mean: Weights = weights.mean(0)
        return mean
    if not 0 <= head < len(weights):
        raise ConfigError(f"head {head} was asked for, but {site} has heads 0 to {len(weights) - 1}.")
    chosen: Weights = weights[head]
    return chosen


@dataclass(frozen=True)
class Prediction:
    """One answer: its text, the score it was chosen by, its tokens, and its attention.

    `others` are the next best answers, where more than one was asked for. In a notebook it shows itself.
    """

    text: str
    score: float
    tokens: list[str]
    attention: Attention
    source: str | None = None
    others: list[Prediction] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        import html

        picture = self.attention._repr_html_() if self.attention else ""
        return f"<p>{html.escape(self.text)}</p>{picture}"

    def as_json(self) -> dict[str, Any]:
        """Plain data: text, score, tokens, and the attention of every site with the words it is between."""
        plain: dict[str, Any] = {"text": self.text, "score": self.score, "tokens": self.tokens}
        if self.source is not None:
            plain = {"source": self.source, **plain}
        if self.attention:
            plain["attention"] = {
                "source": self.attention.source.tokens,
                "target": self.attention.target.tokens,
                "sites": {
                    name: np.round(part.astype(np.float64), 5).tolist() for name, part in self.attention.weights.items()
                },
            }
        if self.others:
            plain["others"] = [other.as_json() for other in self.others]
        return plain


def side(tokens: Sequence[str], words: Sequence[str], word_of: Sequence[int], end: str | None) -> Side:
    """A side with or without its end mark."""
    if end is None:
        return Side(list(tokens), list(words), list(word_of))
    return Side([*tokens, end], list(words), [*word_of, len(words)])
