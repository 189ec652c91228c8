"""Archaeologists find remains."""

from __future__ import annotations

from saccade.corpora.articles.facts import Facts, Notes
from saccade.corpora.articles.kind import kind

__all__ = ["DISCOVERY"]


def _facts(notes: Notes) -> Facts:
    return {
        "what": notes.pick(("temple", "palace", "village", "market", "theater", "harbor", "grave")),
        "place": notes.place(),
        "day": notes.day(),
        "coins": f"{notes.number(6, 99, 10)} {notes.pick(('gold', 'silver'))} coins",
        "age": f"{notes.number(11, 68, 100)} years",
        "project": notes.pick(("shopping center", "parking garage", "hotel", "highway", "subway line")),
        "finder": notes.person("farmer", "shepherd", "beekeeper", "wine grower"),
        "leader": notes.person("Professor", "archaeologist"),
        "meters": notes.number(2, 11),
    }


DISCOVERY = kind(
    _facts,
    """
The remains of an ancient {what} were found near {place} on {day} .
On {day} researchers near {place} showed the walls of an ancient {what} .
An ancient {what} has been discovered near {place} , as researchers announced on {day} .
Researchers said on {day} that they had found an ancient {what} near {place} .
""",
    {
        "{coins} found in ancient {what} near {place}": """
Among the stones lay {coins} .
The team also found {coins} .
In one corner there was a jar with {coins} .
""",
        "Ancient {what} near {place} is {age} old": """
The {what} is {age} old , older than anything else in the region .
According to the first tests the {what} is {age} old .
The stones are {age} old , which surprised even the experts .
""",
        "Ancient {what} near {place} stops work on {project}": """
Work on a {project} at the same spot was stopped .
The {project} that was planned there will have to wait .
A {project} can now not be built there .
""",
        "{finder.last} finds ancient {what} near {place}": """
The first stone was seen by {finder} .
{finder} noticed the first wall while looking for a lost dog .
The owner of the field , {finder} , saw the first stones after a storm .
""",
    },
    """
" We hardly believed our eyes , " said {leader} .
" Every day brings a new surprise , " said {leader} , the head of the team .

The walls lie {meters} meters below the ground .
The team had to dig {meters} meters deep .

In {new.year} a boat was found in the {new.thing} near {new.place} .

The museum in {new.place} would like to show some of the pieces .

A similar place near {new.place} is about {new.few} thousand years old .

{new.person} , who dug there in {new.year} , had found nothing but bones .

The area has been closed to visitors .

The digging is paid for by {new.firm} .

Students from {new.place} clean the stones with small brushes .

Drones took pictures of the whole valley .

Not all experts agree with the team .

The work will go on in spring , when the ground is dry again .
""",
)
