"""articles: generated reports of events, each with a headline that names the most important facts.

    A bus and a car collided near Tremaford on Friday . In all 14 passengers were injured , most of them slightly . ...
    14 passengers injured in bus accident near Tremaford

All names are invented, and validation and test have names that training never shows: they can only be copied. An
article reports one or more pieces of news; the headline names the most important one, wherever it is in the article.
The other sentences give details, or mention other events with names and numbers of their own. Words are separated by
spaces, and punctuation marks are words.

Read `names` and `facts` first, then `script` and `kind` (how events are described), an event, and `draft`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from saccade.corpora.articles.draft import Article, ArticleWriter
from saccade.corpora.stream import Dice, stream
from saccade.data.example import Example

__all__ = ["BOUNDS", "articles"]

BOUNDS = 60, 300
"""Least and most words of an article."""


def articles(
    split: str, size: int | None, seed: int = 1, *, min_length: int = 60, max_length: int = 160
) -> Iterator[Example]:
    """Generate articles: source the article, target its headline, links gold. `size` None never ends.

    A sure link joins a word of the headline to the same word where the article states that fact, a possible link joins
    it to another mention of the fact. Words that belong to the wording of the headline have no link.

    Lengths count words of the article and are uniformly distributed. The same arguments give the same articles, and a
    larger size only appends to them. Splits share no headline and no invented name, whatever the seeds and lengths.
    """
    return stream(
        "articles", partial(_writer, split), split, size, seed, min_length, max_length, bounds=BOUNDS, slack=_SLACK
    )


_SLACK = 6


def _writer(split: str, dice: Dice) -> Callable[[int], Article | None]:
    return ArticleWriter(split, dice)
