"""Prediction: what a model answers, and where it looked while it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.batch import BOS, SPECIALS
from saccade.errors import ConfigError, unknown_name
from saccade.look.drawn import DrawnAttention
from saccade.look.picture import Picture

__all__ = ["NOTHING", "Attention", "Prediction", "Side", "side"]

Weights = NDArray[Any]
_SEED = "<source>"


@dataclass(frozen=True)
class Side:
    """One side of an attention map: its tokens, the last of which may be the end, and the word each belongs to."""

    tokens: list[str]
    words: list[str]
    word_of: list[int]
    """For each token the number of its word; the end, which belongs to none, has one more than the last."""

    @property
    def names(self) -> list[str]:
        """The words, and where there are tokens that belong to none, the last of those, which is the end."""
        apart = [token for token, word in zip(self.tokens, self.word_of, strict=True) if word == len(self.words)]
        return [*self.words, *apart[-1:]]

    def shifted(self, seeds: int = 0) -> Side:
        """What a decoder was fed while it wrote this: the beginning, then all but the last.

        `seeds`: entries before the beginning, which some decoders take over from the source as a whole.
        """
        first = [*[_SEED] * seeds, SPECIALS[BOS]]
        before = self.word_of[:-1]
        words = [*first, *self.words[: max(before, default=-1) + 1]]
        places = [*range(len(first)), *(place + len(first) for place in before)]
        return Side([*first, *self.tokens[:-1]], words, places)

    def pieces_of(self, word: int) -> list[int]:
        """The places of the tokens that make up a word."""
        return [place for place, owner in enumerate(self.word_of) if owner == word]

    def fold(self) -> Weights:
        """(words, tokens): which tokens make up each word."""
        made = np.zeros((len(self.names), len(self.word_of)), np.float32)
        made[self.word_of, np.arange(len(self.word_of))] = 1
        return made


NOTHING = Side([], [], [])
"""What a model without a source looks at, and what is known of a text where nobody asked for attention."""


@dataclass(frozen=True)
class Attention(DrawnAttention):
    """Where a model looked, by site: (heads, tokens written, tokens read).

    `matrix()` folds tokens to words: what a word received is the sum over its tokens, what it looked at the mean over
    them. The end marks are kept and are the last row and column. By default it is the mean of all sites that look at
    the source, and of their heads.
    """

    source: Side
    target: Side
    weights: dict[str, Weights] = field(repr=False)
    source_sites: tuple[str, ...]
    between: Mapping[str, tuple[str, str]] = field(default_factory=dict, repr=False)
    """The names of what rows and columns of a site stand for: target, source, written, or one of `others`.

    Left out, a site is between target and source if it is one of `source_sites`, else between target and written.
    """
    others: Mapping[str, Side] = field(default_factory=dict, repr=False)
    """Further sides by name, for a model that reads several sources."""
    picture: Picture | None = field(default=None, repr=False)
    """What the source's regions are regions of, where it is a picture."""

    def __bool__(self) -> bool:
        return bool(self.weights)

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

    def _sides(self, site: str) -> tuple[Side, Side]:
        """What rows and columns of a site stand for."""
        usual = ("target", "source") if self._at_source(site) else ("target", "written")
        rows, columns = self.between.get(site, usual)
        return self._side(rows, site), self._side(columns, site)

    def _side(self, name: str, site: str) -> Side:
        if name in self.others:
            return self.others[name]
        if name == "written":
            return self.target.shifted(self.weights[site].shape[-1] - len(self.target.tokens))
        return self.source if name == "source" else self.target


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
            if self.attention.others:
                plain["attention"]["others"] = {name: part.tokens for name, part in self.attention.others.items()}
                plain["attention"]["between"] = {site: list(names) for site, names in self.attention.between.items()}
        if self.others:
            plain["others"] = [other.as_json() for other in self.others]
        return plain


def side(tokens: Sequence[str], words: Sequence[str], word_of: Sequence[int], end: str | None) -> Side:
    """A side with or without its end mark."""
    if end is None:
        return Side(list(tokens), list(words), list(word_of))
    return Side([*tokens, end], list(words), [*word_of, len(words)])
