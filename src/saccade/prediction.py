"""Prediction: a model's output and its attention weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.batch import BOS, SPECIALS
from saccade.deprecated import warn_renamed
from saccade.errors import ConfigError, unknown_name
from saccade.look.drawn import DrawnAttention
from saccade.look.glimpse_path import GlimpsePath
from saccade.look.picture import Picture
from saccade.look.sound import Spectrogram

__all__ = ["NOTHING", "AttentionMaps", "Prediction", "Side", "TimedWord", "check_head", "side"]

Weights = NDArray[Any]
_SEED = "<source>"


@dataclass(frozen=True)
class Side:
    """One axis of an attention map: its tokens, perhaps with an end token, and the word of each token."""

    tokens: list[str]
    words: list[str]
    word_of: list[int]
    """The word index of each token. A token that belongs to no word, such as the end, has `len(words)`."""
    turn_of: list[int] = field(default_factory=list)
    """For a dialogue: the turn of each token, from 0; the end has the number of turns."""

    @property
    def turn_of_word(self) -> list[int]:
        """For a dialogue: the turn of each word."""
        places = dict(zip(self.word_of, self.turn_of, strict=False))
        return [places[word] for word in range(len(self.words)) if self.turn_of]

    @property
    def names(self) -> list[str]:
        """The words, then the last token that belongs to no word (the end token), if there is one."""
        apart = [token for token, word in zip(self.tokens, self.word_of, strict=True) if word == len(self.words)]
        return [*self.words, *apart[-1:]]

    def shifted(self, seeds: int = 0) -> Side:
        """Return the decoder input for this output: the begin token, then all tokens but the last.

        `seeds`: the number of entries before the begin token, which some decoders derive from the whole source.
        """
        first = [*[_SEED] * seeds, SPECIALS[BOS]]
        before = self.word_of[:-1]
        words = [*first, *self.words[: max(before, default=-1) + 1]]
        places = [*range(len(first)), *(place + len(first) for place in before)]
        return Side([*first, *self.tokens[:-1]], words, places)

    def pieces_of(self, word: int) -> list[int]:
        """Return the positions of a word's tokens."""
        return [place for place, owner in enumerate(self.word_of) if owner == word]

    def fold(self) -> Weights:
        """Return the matrix (words, tokens) that is 1 where a token belongs to a word."""
        made = np.zeros((len(self.names), len(self.word_of)), np.float32)
        made[self.word_of, np.arange(len(self.word_of))] = 1
        return made


NOTHING = Side([], [], [])
"""An empty side, for a model without a source or a prediction without attention."""


@dataclass(frozen=True)
class TimedWord:
    """A word of a transcript, and when it begins and ends in seconds."""

    text: str
    begin: float
    end: float

    def moved(self, seconds: float) -> TimedWord:
        """Return the word some seconds later."""
        return TimedWord(self.text, round(self.begin + seconds, 3), round(self.end + seconds, 3))


@dataclass(frozen=True)
class AttentionMaps(DrawnAttention):
    """A model's attention weights by site: (heads, target tokens, source tokens).

    `matrix()` folds tokens to words: it sums over the tokens of an attended word, and averages over the tokens of an
    attending word. The end tokens are kept as the last row and column. By default it averages over all sites that
    attend to the source, and over their heads; figures show the `default_site`.
    """

    source: Side
    target: Side
    weights: dict[str, Weights] = field(repr=False)
    source_sites: tuple[str, ...]
    between: Mapping[str, tuple[str, str]] = field(default_factory=dict, repr=False)
    """For each site, the sides of its rows and columns: target, source, written, or one of `extra_sides`.

    A site that is missing here has the sides (target, source) if it is in `source_sites`, else (target, written).
    """
    extra_sides: Mapping[str, Side] = field(default_factory=dict, repr=False)
    """Further sides by name, for a model with several sources."""
    picture: Picture | None = field(default=None, repr=False)
    """The input image, if the source tokens are image regions."""
    sound: Spectrogram | None = field(default=None, repr=False)
    """The spectrogram of the input, if the source tokens are intervals of time."""
    model: str = ""
    """The name of the model, for captions of figures."""
    default_site: str | None = None
    """The site that figures show; None: the last one that attends to the source."""
    path: GlimpsePath | None = field(default=None, repr=False)
    """Where a model of glimpses looked, and what it saw."""

    def __bool__(self) -> bool:
        return bool(self.weights)

    def matrix(self, site: str | None = None, head: int | None = None, *, words: bool = True) -> Weights:
        """Return the weights (target, source) of one site and head; average over heads or sites that are None."""
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

    def links(self, site: str | None = None, head: int | None = None) -> list[tuple[int, int]]:
        """Return the links (source word, target word) of each target word to the source word of its largest weight."""
        matrix = self.matrix(site, head)[: len(self.target.words), : len(self.source.words)]
        peaks = matrix.argmax(1).tolist() if matrix.size else []
        return [(source, target) for target, source in enumerate(peaks) if matrix[target, source] > 0]

    def by_turn(self, site: str | None = None, head: int | None = None) -> Weights:
        """Return the weights (target words, turns) of a dialogue, summed over each turn; the last column is the end."""
        if not self.source.turn_of:
            raise ConfigError("this attention is not over a dialogue, so it has no turns. Use matrix().")
        weights = self.matrix(site, head, words=False)
        spread = self.target.fold()
        turns = np.eye(max(self.source.turn_of) + 1, dtype=np.float32)[self.source.turn_of]
        folded: Weights = (spread / np.maximum(spread.sum(1, keepdims=True), 1)) @ weights @ turns
        return folded

    def _sides(self, site: str) -> tuple[Side, Side]:
        """Return the sides of a site's rows and columns."""
        rows, columns = self._names(site)
        return self._side(rows, site), self._side(columns, site)

    def _is_self_attention(self, site: str) -> bool:
        rows, columns = self._names(site)
        return rows == columns or columns.startswith("written")

    def _names(self, site: str) -> tuple[str, str]:
        default = ("target", "source") if self._attends_to_source(site) else ("target", "written")
        return self.between.get(site, default)

    def _side(self, name: str, site: str) -> Side:
        if name in self.extra_sides:
            return self.extra_sides[name]
        if name == "written":
            return self.target.shifted(self.weights[site].shape[-1] - len(self.target.tokens))
        return self.source if name == "source" else self.target


def check_head(head: int, heads: int, site: str) -> None:
    """Raise ConfigError if a site has no head of this number; errors count heads from 1, as figures do."""
    if not 0 <= head < heads:
        raise ConfigError(
            f"there is no head {head + 1} (in Python: head={head}): {site} has {heads} head{'s' if heads > 1 else ''}."
        )


def _of_head(weights: Weights, head: int | None, site: str) -> Weights:
    if head is None:
        mean: Weights = weights.mean(0)
        return mean
    check_head(head, len(weights), site)
    chosen: Weights = weights[head]
    return chosen


@dataclass(frozen=True)
class Prediction:
    """One output: its text, its search score, its tokens, and its attention.

    `alternatives` are the next best outputs, if the caller asked for more than one. A notebook draws the attention.
    """

    text: str
    score: float
    tokens: list[str]
    attention: AttentionMaps
    source: str | None = None
    alternatives: list[Prediction] = field(default_factory=list, repr=False)
    copies: Weights | None = field(default=None, repr=False)
    """For models that copy: the probability (target tokens, source tokens) that a token is a copy of a source token."""

    span: tuple[int, int] | None = None
    """For answers from a passage: the characters [begin, end) of the passage; None if it has no answer."""

    words: list[TimedWord] = field(default_factory=list, repr=False)
    """For speech: the words with their times."""

    image: NDArray[np.uint8] | None = field(default=None, repr=False)
    """For models that generate images: the image, (height, width, 3)."""

    notes: list[str] = field(default_factory=list)
    """What the model did not read of its input, such as words that it does not know."""

    error: str = ""
    """Why there is no answer, for an input that could not be read."""

    @property
    def links(self) -> list[tuple[int, int]]:
        """The links (source word, written word) of each word to the source word that it attends to most."""
        return self.attention.links() if self.attention else []

    @property
    def copied(self) -> list[float] | None:
        """The probability that each token was copied; None for models that do not copy."""
        return None if self.copies is None else self.copies.sum(1).tolist()

    @property
    def path(self) -> GlimpsePath | None:
        """Where a model of glimpses looked, what it saw and what it believed; None for other models."""
        return self.attention.path

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        import html

        figure = self.attention._repr_html_() if self.attention else ""
        return f"<p>{html.escape(self.text)}</p>{figure}"

    @property
    def others(self) -> list[Prediction]:
        """Deprecated alias of `alternatives`."""
        warn_renamed("Prediction.others", "Prediction.alternatives")
        return self.alternatives

    def as_json(self) -> dict[str, Any]:
        """Return `to_dict()`; deprecated alias."""
        warn_renamed("Prediction.as_json", "Prediction.to_dict")
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: text, score, tokens, and the attention weights of every site."""
        plain: dict[str, Any] = {"text": self.text, "score": self.score, "tokens": self.tokens}
        if self.source is not None:
            plain = {"source": self.source, **plain}
        if self.span is not None:
            plain["span"] = list(self.span)
        if self.words:
            plain["words"] = [{"text": word.text, "begin": word.begin, "end": word.end} for word in self.words]
        if self.notes:
            plain["notes"] = self.notes
        if self.error:
            plain["error"] = self.error
        if self.copied is not None:
            plain["copied"] = [round(share, 4) for share in self.copied]
        if self.attention:
            plain["attention"] = {
                "source": self.attention.source.tokens,
                "target": self.attention.target.tokens,
                "sites": {
                    name: np.round(part.astype(np.float64), 5).tolist() for name, part in self.attention.weights.items()
                },
            }
            if self.attention.source.turn_of:
                plain["attention"]["turn_of"] = self.attention.source.turn_of
            if self.attention.extra_sides:
                extra = {name: part.tokens for name, part in self.attention.extra_sides.items()}
                plain["attention"]["extra_sides"] = extra
                plain["attention"]["between"] = {site: list(names) for site, names in self.attention.between.items()}
        if self.alternatives:
            plain["others"] = [other.to_dict() for other in self.alternatives]
        return plain


def side(tokens: Sequence[str], words: Sequence[str], word_of: Sequence[int], end: str | None) -> Side:
    """Return a side, with the end token appended if `end` is given."""
    if end is None:
        return Side(list(tokens), list(words), list(word_of))
    return Side([*tokens, end], list(words), [*word_of, len(words)])
