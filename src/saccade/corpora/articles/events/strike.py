"""Workers go on strike."""

from __future__ import annotations

from saccade.corpora.articles.facts import Facts, Notes
from saccade.corpora.articles.kind import kind

__all__ = ["STRIKE"]


def _facts(notes: Notes) -> Facts:
    return {
        "workers": notes.pick(("drivers", "cleaners", "mechanics", "pilots", "engineers", "cooks", "guards")),
        "firm": notes.firm(),
        "place": notes.place(),
        "day": notes.day(),
        "fired": f"{notes.number(3, 60)} employees",
        "jobs": f"{notes.number(7, 99, 10)} jobs",
        "days": f"{notes.number(2, 28)} days",
        "raise": f"{notes.number(3, 19)} percent",
        "leader": notes.person("union leader", "union speaker"),
        "boss": notes.person("director", "manager"),
        "share": notes.number(60, 97),
    }


STRIKE = kind(
    _facts,
    """
The {workers} of {firm} in {place} went on strike on {day} .
On {day} the {workers} of {firm} in {place} began a strike .
A strike of the {workers} at {firm} in {place} began on {day} .
Since {day} the {workers} of {firm} in {place} have been on strike .
""",
    {
        "{firm} dismisses {fired} during strike in {place}": """
The firm dismissed {fired} on the first evening .
In a letter the firm dismissed {fired} who had organized the protest .
On the second day {fired} were dismissed .
""",
        "Strike of {workers} puts {jobs} at {firm} at risk": """
The managers warned that {jobs} were at risk .
The firm may have to move , which would cost {jobs} .
According to the bank , {jobs} could be lost .
""",
        "Strike of {workers} at {firm} to last {days}": """
The union said that the strike would last {days} .
The strike is planned for {days} .
The protest is to end after {days} .
""",
        "Strike at {firm} : {workers} want {raise} more pay": """
The union wants {raise} more pay .
The strikers ask for {raise} more pay and shorter shifts .
Pay must rise by {raise} , the union said .
""",
    },
    """
" We have waited long enough , " said {leader} .
" We will not go back before they talk to us , " said {leader} .

" We have nothing more to offer , " said {boss} .
{boss} called the protest unfair to the customers .

About {share} percent of the union members had voted for it .
In the vote {share} percent of the members were in favor .

At {new.firm} in {new.place} a strike ended after {new.number} days .

In {new.year} the workers won {new.few} percent more pay .

Customers in {new.place} have to wait for their orders .

Neighbors brought coffee and cake to the gate .

{new.person} , the owner of a shop nearby , closed early .

The protest remained peaceful .

A march through the center is planned for the weekend .

The firm was founded by {new.person} in a garage .

Talks on the following morning ended without a result .

Workers from {new.place} came by bus to help .
""",
)
