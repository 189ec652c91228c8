"""The kinds of events, one in each module, and sentences for all of them."""

from saccade.corpora.articles.events.accident import ACCIDENT
from saccade.corpora.articles.events.award import AWARD
from saccade.corpora.articles.events.bridge import BRIDGE
from saccade.corpora.articles.events.concert import CONCERT
from saccade.corpora.articles.events.discovery import DISCOVERY
from saccade.corpora.articles.events.election import ELECTION
from saccade.corpora.articles.events.general import GENERAL, OPENINGS
from saccade.corpora.articles.events.match import DRAW, VICTORY
from saccade.corpora.articles.events.storm import STORM
from saccade.corpora.articles.events.strike import STRIKE
from saccade.corpora.articles.events.takeover import TAKEOVER
from saccade.corpora.articles.events.theft import THEFT

__all__ = ["EVENTS", "GENERAL", "OPENINGS"]

EVENTS = (
    ACCIDENT,
    AWARD,
    BRIDGE,
    CONCERT,
    DISCOVERY,
    DRAW,
    ELECTION,
    STORM,
    STRIKE,
    TAKEOVER,
    THEFT,
    VICTORY,
)
