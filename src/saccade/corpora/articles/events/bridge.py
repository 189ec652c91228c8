"""A bridge is opened."""

from __future__ import annotations

from saccade.corpora.articles.facts import Facts, Notes
from saccade.corpora.articles.kind import kind

__all__ = ["BRIDGE"]


def _facts(notes: Notes) -> Facts:
    return {
        "what": notes.pick(("bridge", "footbridge", "road bridge", "steel bridge")),
        "river": notes.thing(),
        "place": notes.place(),
        "other": notes.place(),
        "day": notes.day(),
        "years": f"{notes.number(2, 19)} years",
        "cost": f"{notes.number(12, 380)} million dollars",
        "minutes": f"{notes.number(5, 55)} minutes",
        "who": notes.person("Mayor", "Minister", "Governor"),
        "builder": notes.firm(),
        "length": notes.number(12, 160, 5),
        "engineer": notes.person("engineer", "architect"),
    }


BRIDGE = kind(
    _facts,
    """
The new {what} over the {river} in {place} was opened on {day} .
On {day} the first people crossed the new {what} over the {river} in {place} .
{place} celebrated the opening of a new {what} over the {river} on {day} .
Hundreds of people came to the {river} in {place} on {day} to see the opening of a new {what} .
""",
    {
        "{place} opens {what} over the {river} {years} late": """
The work on the {what} ended {years} later than planned .
The {what} was finished {years} later than the town had promised .
After many delays the builders finished {years} later than expected .
""",
        "New {what} over the {river} costs {cost}": """
The final cost of the {what} was {cost} , far more than expected .
In the end the town paid {cost} , twice the first estimate .
The {what} cost {cost} , most of it borrowed .
""",
        "New {what} brings {place} {minutes} closer to {other}": """
The trip to {other} is now {minutes} shorter .
People on their way to {other} will save {minutes} .
The {what} shortens the way to {other} by {minutes} .
""",
        "{who.last} opens new {what} over the {river}": """
{who} cut the ribbon shortly before noon .
The ribbon was cut by {who} .
{who} was the first to walk to the other side .
""",
    },
    """
The {what} was built by {builder} , which also repairs roads in the region .
{builder} won the contract against {new.few} other firms .

The {what} is {length} meters long and stands on concrete pillars .
With a length of {length} meters the {what} is one of the longest in the region .

" It is safe and it will last a hundred years , " said {engineer} .
" We tested every bolt , " said {engineer} , " and then we tested them again . "

A brass band from {new.place} played while children waved small flags .

The old bridge was closed in {new.year} after cracks were found .
The old bridge was damaged by a flood in {new.year} and never repaired .

A similar bridge over the {new.thing} near {new.place} cost {new.number} million dollars .

In {new.place} the same kind of work took {new.number} months .

Boats on the river had to wait for most of the day .

Fishermen had fought against the plan for years .

Among the first on the other side was {new.person} , a retired baker .

The lamps on both sides were designed by students from {new.place} .
""",
)
