"""From hypotheses to predictions: tokens to text, and attention to words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from saccade.batch import EOS, SPECIALS
from saccade.data.example import Example
from saccade.data.tokenizer import Encoded, Spelling, words_of
from saccade.look.picture import Picture
from saccade.models.base import Seq2Seq
from saccade.prediction import Attention, Prediction, Side, side
from saccade.search import Hypothesis

__all__ = ["answers", "read_side", "texts_of", "written_side"]


def texts_of(examples: Iterable[Example], *sides: str) -> Iterator[str]:
    """Yield the texts of some sides, in the order of the examples; a missing one is empty."""
    for example in examples:
        for name in sides:
            yield getattr(example, name) or ""


def read_side(tokenizer: Spelling, text: str, encoded: Encoded) -> Side:
    """A source as it was read, with its end."""
    return side(tokenizer.pieces(encoded.tokens), words_of(text), encoded.words, SPECIALS[EOS])


def written_side(tokenizer: Spelling, tokens: list[int], *, ends: bool) -> Side:
    """A target as it was written; `ends`: whether it has its end."""
    return _written(tokenizer, tokens, ends)[1]


def _written(tokenizer: Spelling, tokens: list[int], ends: bool, *, words: bool = True) -> tuple[str, Side]:
    """The text and its side, which has pieces alone where nobody asks for the words they belong to."""
    text, encoded = tokenizer.spelled(tokens, words=words)
    pieces = tokenizer.pieces(encoded.tokens)
    end = SPECIALS[EOS] if ends else None
    if not words:
        return text, Side(pieces if end is None else [*pieces, end], [], [])
    return text, side(pieces, words_of(text), encoded.words, end)


def answers(
    model: Seq2Seq,
    tokenizer: Spelling,
    found: list[Hypothesis],
    source: Side,
    text: str | None,
    picture: Picture | None = None,
    *,
    words: bool = True,
) -> Prediction:
    """The best hypothesis as a prediction, the others behind it; `words`: whether it is asked where they look."""
    made = [_answer(model, tokenizer, hypothesis, source, text, picture, words) for hypothesis in found]
    best = made[0]
    return Prediction(best.text, best.score, best.tokens, best.attention, text, made[1:])


def _answer(
    model: Seq2Seq,
    tokenizer: Spelling,
    found: Hypothesis,
    source: Side,
    text: str | None,
    picture: Picture | None,
    words: bool,
) -> Prediction:
    written, target = _written(tokenizer, found.tokens, found.finished, words=words)
    weights = {name: part.float().cpu().numpy().astype(np.float32) for name, part in found.attention.items()}
    sites = tuple(site for site in model.source_sites if site in weights) if weights else ()
    attention = Attention(source, target, weights, sites, picture=picture)
    return Prediction(written, found.score, target.tokens, attention, text)
