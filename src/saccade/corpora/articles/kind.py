"""Kinds of events: their facts, the wordings of each, and what makes the headline."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from saccade.corpora.articles.facts import Facts, Notes
from saccade.corpora.articles.script import Line, Statement, line, script

__all__ = ["Kind", "News", "kind"]


class News(NamedTuple):
    """One thing that may have happened at an event: its statement, and the headline if it is the most important."""

    headline: Line
    statement: Statement


class Kind(NamedTuple):
    """A kind of event. An article reports some of the news; the headline names the first of these.

    So the headline follows from the article. lead: the statement of what happened. more: statements that a headline
    never needs, many of them about other events.
    """

    facts: Callable[[Notes], Facts]
    lead: Statement
    news: tuple[News, ...]
    more: tuple[Statement, ...]


def kind(facts: Callable[[Notes], Facts], lead: str, news: dict[str, str], more: str) -> Kind:
    """Return a kind of event from its scripts; `news` are statements by headline, the most important first."""
    found = tuple(News(line(headline), script(text)[0]) for headline, text in news.items())
    return Kind(facts, script(lead)[0], found, script(more))
