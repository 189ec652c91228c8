"""A business buys another."""

from __future__ import annotations

from saccade.corpora.articles.facts import Facts, Notes
from saccade.corpora.articles.kind import kind

__all__ = ["TAKEOVER"]


def _facts(notes: Notes) -> Facts:
    return {
        "buyer": notes.firm(),
        "target": notes.firm(),
        "goods": notes.pick(("bicycles", "medicines", "furniture", "engines", "shoes", "cameras", "toys", "glass")),
        "place": notes.place(),
        "day": notes.day(),
        "jobs": f"{notes.number(11, 140, 10)} jobs",
        "sum": f"{notes.number(12, 980)} million dollars",
        "boss": notes.person("director", "founder", "owner"),
        "rise": f"{notes.number(6, 48)} percent",
        "expert": notes.person("analyst", "banker"),
        "chief": notes.person("president", "chairman"),
    }


TAKEOVER = kind(
    _facts,
    """
{buyer} will take over {target} , a maker of {goods} in {place} , it was announced on {day} .
On {day} {buyer} announced that it would buy {target} , a maker of {goods} in {place} .
{target} , which makes {goods} in {place} , is to be sold to {buyer} , the owners said on {day} .
The owners of {target} , a maker of {goods} in {place} , agreed on {day} to sell it to {buyer} .
""",
    {
        "{buyer} to cut {jobs} after buying {target}": """
The unions expect that {jobs} will be cut .
In the next two years {jobs} will disappear .
A plan that became known later speaks of {jobs} to be cut .
""",
        "{buyer} buys maker of {goods} for {sum}": """
The price is {sum} .
The deal is worth {sum} .
The buyer pays {sum} , as both sides confirmed .
""",
        "{boss.last} leaves {target} after sale to {buyer}": """
{boss} will leave after the sale .
For {boss} there is no room in the new firm .
As a first step {boss} has to leave .
""",
        "Shares of {target} rise {rise} on offer from {buyer}": """
The shares rose {rise} within an hour .
On the stock market the shares were up {rise} .
Investors were pleased , and the shares gained {rise} .
""",
    },
    """
" It is a good day for both of us , " said {chief} .
" Together we are stronger , " said {chief} .

" The price is rather high , " said {expert} .
{expert} called the deal a risk .

The authorities still have to agree .

In {new.year} {new.firm} had tried to buy the business , without success .

{new.firm} in {new.place} was sold for {new.number} million dollars last year .

The business was founded by {new.person} in a former stable .

The old name will be kept .

A second factory in {new.place} is not part of the deal .

About {new.number} percent of the goods are sold abroad .

Talks had been held in secret since the summer .

Workers learned the news from the radio .

{new.person} , a former manager , now runs a small shop in {new.place} .
""",
)
