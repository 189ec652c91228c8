"""A town elects its mayor."""

from __future__ import annotations

from saccade.corpora.articles.facts import Facts, Notes
from saccade.corpora.articles.kind import kind

__all__ = ["ELECTION"]


def _facts(notes: Notes) -> Facts:
    return {
        "place": notes.place(),
        "day": notes.day(),
        "office": notes.pick(("mayor", "sheriff")),
        "winner": notes.person("lawyer", "doctor", "teacher", "farmer", "journalist", ""),
        "loser": notes.person(""),
        "margin": f"{notes.number(3, 95)} votes",
        "years": f"{notes.number(8, 28)} years",
        "party": f"{notes.thing()} {notes.pick(('League', 'Alliance', 'Movement'))}",
        "share": f"{notes.number(51, 88)} percent",
        "turnout": notes.number(38, 91),
    }


ELECTION = kind(
    _facts,
    """
{winner} was elected {office} of {place} on {day} .
The voters of {place} chose {winner} as their next {office} on {day} .
{winner} will be the next {office} of {place} after the election on {day} .
On {day} the people of {place} elected {winner} as {office} .
""",
    {
        "{winner.last} wins election in {place} by {margin}": """
The difference was only {margin} .
In the last hour of counting the lead shrank to {margin} .
Just {margin} decided the election .
""",
        "{winner.last} ends {years} of {loser.last} in {place}": """
{loser} was defeated after {years} in office .
After {years} in office {loser} has to go .
The result ends the rule of {loser} , which lasted {years} .
""",
        "{winner.last} wins {place} for the {party}": """
The election is the first success for the {party} in the region .
Never before had the {party} won an election there .
The {party} , which was founded only recently , celebrated all night .
""",
        "{winner.last} elected {office} of {place} with {share}": """
The new {office} received {share} of the votes .
When all votes were counted , the result stood at {share} .
With {share} of the votes the result was clear .
""",
    },
    """
About {turnout} percent of the voters took part .
The turnout was {turnout} percent , a little less than expected .

" I will work for all of you , " said {winner} .
" This is your victory , " {winner} told a cheering crowd .

{new.person} , who was a candidate in {new.year} , had asked for more police in the streets .

In {new.place} the election was decided by {new.number} votes .

The {new.thing} Party won only {new.few} percent and may not survive .

The new council will meet for the first time next month .

Rents and buses had been the main topics of the campaign .

A recount in {new.place} took {new.number} days .

Long lines formed in front of the schools where people voted .

{new.firm} had paid for many of the posters .

Observers from {new.place} found no mistakes in the count .

The oldest voter , {new.person} , is over a hundred and has never missed an election .
""",
)
