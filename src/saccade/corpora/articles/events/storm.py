"""A storm hits a town."""

from __future__ import annotations

from saccade.corpora.articles.facts import Facts, Notes
from saccade.corpora.articles.kind import kind

__all__ = ["STORM"]


def _facts(notes: Notes) -> Facts:
    return {
        "storm": f"Storm {notes.thing()}",
        "place": notes.place(),
        "day": notes.day(),
        "dead": f"{notes.number(2, 39)} people",
        "homes": f"{notes.number(11, 990, 100)} homes",
        "moved": f"{notes.number(9, 99, 10)} families",
        "flights": f"{notes.number(6, 85)} flights",
        "wind": notes.number(20, 49, 5),
        "chief": notes.person("Mayor", "fire chief"),
        "neighbor": notes.person("farmer", "shop owner", "teacher"),
    }


STORM = kind(
    _facts,
    """
{storm} reached {place} early on {day} .
On {day} {storm} swept over {place} and the villages around it .
The people of {place} woke up to the noise of {storm} on {day} .
{storm} hit the town of {place} with full force on {day} .
""",
    {
        "{storm} kills {dead} in {place}": """
The police said that {dead} had died .
At least {dead} lost their lives .
In the evening the hospital confirmed the death of {dead} .
""",
        "{storm} leaves {homes} without power in {place}": """
Some {homes} had no electricity on the following day .
Falling trees cut the power lines to {homes} .
The lights went out in {homes} .
""",
        "{storm} drives {moved} from their houses in {place}": """
The rising water drove {moved} from their houses .
Firefighters brought {moved} to a school on higher ground .
After the river broke its banks {moved} had to leave .
""",
        "{flights} canceled as {storm} hits {place}": """
At the airport {flights} were canceled .
The airport was closed , and {flights} were canceled .
Travelers had to wait , since {flights} were canceled .
""",
    },
    """
The wind reached {wind} kilometers an hour .
Gusts of {wind} kilometers an hour were measured on the hills .

" We have never seen anything like it , " said {chief} .
" The worst is over , " said {chief} , " but the work is only beginning . "

" The roof was gone in a second , " said {neighbor} .
{neighbor} spent the night in the cellar with two dogs .

In {new.year} a storm in {new.place} killed {new.number} people .

Storm {new.thing} had destroyed {new.number} houses in {new.place} last winter .

Schools will stay closed until the end of the week .

The road to {new.place} was blocked by fallen trees .

{new.firm} , the largest employer in the area , sent its workers home .

Volunteers from {new.place} brought blankets and hot soup .

Boats were thrown against the walls of the harbor .

The storm is expected to move toward {new.place} and to lose its strength there .

Insurance experts said that it was too early to estimate the damage .
""",
)
