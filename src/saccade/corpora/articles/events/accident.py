"""An accident on the road."""

from __future__ import annotations

from saccade.corpora.articles.facts import Facts, Notes
from saccade.corpora.articles.kind import kind

__all__ = ["ACCIDENT"]


def _facts(notes: Notes) -> Facts:
    return {
        "what": notes.pick(("bus", "coach", "minibus", "tour bus", "school bus")),
        "place": notes.place(),
        "other": notes.place(),
        "day": notes.day(),
        "dead": f"{notes.number(2, 9)} people",
        "hero": notes.person("nurse", "firefighter", "student", "carpenter"),
        "hurt": f"{notes.number(3, 29)} passengers",
        "hours": f"{notes.number(2, 22)} hours",
        "witness": notes.person("baker", "neighbor", "cyclist"),
        "officer": notes.person("police officer", "Inspector"),
        "speed": notes.number(6, 14, 10),
    }


ACCIDENT = kind(
    _facts,
    """
A {what} and a car collided near {place} on {day} .
On {day} a {what} left the road near {place} and hit a wall .
A {what} turned over near {place} on {day} .
There was a serious accident with a {what} near {place} on {day} .
""",
    {
        "{dead} die in {what} accident near {place}": """
The police said that {dead} had died .
For {dead} all help came too late .
The doctors could not save {dead} .
""",
        "{hero.last} saves driver from burning {what} near {place}": """
{hero} pulled the driver out of the flames .
The driver was pulled out of the flames by {hero} .
The {what} caught fire , but {hero} broke a window and saved the driver .
""",
        "{hurt} injured in {what} accident near {place}": """
Ambulances brought {hurt} to the hospital .
In all {hurt} were injured , most of them slightly .
The hospital treated {hurt} .
""",
        "Road from {place} to {other} closed for {hours} after accident": """
The road to {other} was closed for {hours} .
The police closed the road to {other} for {hours} .
It took {hours} to open the road to {other} again .
""",
    },
    """
" There was a loud bang , and then it was very quiet , " said {witness} .
{witness} heard the crash and called for help .

" We still do not know the cause , " said {officer} .
According to {officer} the road was icy .

Drivers may go no faster than {speed} kilometers an hour there .

At the same place {new.number} people were injured in {new.year} .

A train accident near {new.place} cost the lives of {new.number} people last year .

The owner , {new.firm} , promised to help the police .

A helicopter from {new.place} landed on a field .

Fog had covered the valley since the morning .

The driver , {new.person} , had been on the road since midnight .

People in the area have asked for a traffic light for years .

A crane was brought from {new.place} .

Traffic jams could be seen as far as {new.place} .
""",
)
