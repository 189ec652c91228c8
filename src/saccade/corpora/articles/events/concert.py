"""A singer gives a concert."""

from __future__ import annotations

from saccade.corpora.articles.facts import Facts, Notes
from saccade.corpora.articles.kind import kind

__all__ = ["CONCERT"]


def _facts(notes: Notes) -> Facts:
    return {
        "singer": notes.person("singer", "rock star", "songwriter", ""),
        "place": notes.place(),
        "day": notes.day(),
        "cause": notes.pick(("heavy rain", "a power failure", "a false alarm", "strong wind", "a broken speaker")),
        "years": f"{notes.number(15, 48)} years",
        "sum": f"{notes.number(20, 950, 1000)} dollars",
        "goal": notes.pick(("the local hospital", "an animal shelter", "a new school", "the flood victims")),
        "fans": f"{notes.number(40, 890, 100)} fans",
        "songs": notes.number(14, 36),
        "fan": notes.person("student", "nurse", "bus driver"),
    }


CONCERT = kind(
    _facts,
    """
{singer} gave a concert in {place} on {day} .
On {day} {singer} sang on the main square of {place} .
The people of {place} danced to the songs of {singer} on {day} .
{singer} played in the old theater of {place} on {day} .
""",
    {
        "{singer.last} stops concert in {place} because of {cause}": """
The show was stopped early because of {cause} .
After a few songs {cause} brought the show to an end .
The evening ended early because of {cause} .
""",
        "{singer.last} says farewell in {place} after {years} on stage": """
For {singer} it was the last show after {years} on stage .
" After {years} on stage I want to sleep , " said {singer} .
The career of {singer} ends after {years} .
""",
        "{singer.last} raises {sum} for {goal} in {place}": """
The tickets brought in {sum} for {goal} .
The money , {sum} in all , goes to {goal} .
At the end of the show {singer} gave {sum} to {goal} .
""",
        "{fans} hear {singer.last} in {place}": """
About {fans} had bought a ticket .
The organizers counted {fans} , more than ever before .
The police spoke of {fans} .
""",
    },
    """
The show had {songs} songs and lasted until midnight .
All {songs} songs of the new album were played .

" I cried from the first song on , " said {fan} .
{fan} had waited in front of the gate since the morning .

The evening began with {new.person} , a young guitar player from {new.place} .

In {new.year} {new.person} had filled the same place for {new.few} nights .

The cheapest tickets cost {new.number} dollars .

A concert in {new.place} had been moved to the summer .

The album was recorded in {new.place} with a small choir .

The neighbors complained about the noise , as they do every year .

The tour was paid for by {new.firm} .

Extra trains brought visitors back to {new.place} .

The lights could be seen from the hills around the town .

The musicians wore the blue coats that made them famous .
""",
)
