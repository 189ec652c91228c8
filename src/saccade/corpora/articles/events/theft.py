"""Something is stolen from a museum."""

from __future__ import annotations

from saccade.corpora.articles.facts import Facts, Notes
from saccade.corpora.articles.kind import kind

__all__ = ["THEFT"]


def _facts(notes: Notes) -> Facts:
    return {
        "thing": notes.pick(
            ("painting", "bronze statue", "violin", "golden crown", "silver cup", "diamond ring", "rare map")
        ),
        "museum": f"{notes.thing()} Museum",
        "place": notes.place(),
        "day": notes.day(),
        "gang": f"{notes.number(2, 9)} {notes.pick(('men', 'women', 'suspects'))}",
        "finder": notes.person("fisherman", "hiker", "gardener", "postman"),
        "sum": f"{notes.number(2, 95)} million dollars",
        "guard": notes.person("guard", "night guard"),
        "head": notes.person("director"),
        "officer": notes.person("Inspector", "police officer"),
        "minutes": notes.number(2, 15),
    }


THEFT = kind(
    _facts,
    """
Thieves stole a {thing} from the {museum} in {place} on {day} .
A {thing} was stolen from the {museum} in {place} on {day} .
On {day} a {thing} disappeared from the {museum} in {place} .
The {museum} in {place} lost a {thing} in a break-in on {day} .
""",
    {
        "{gang} arrested after theft of {thing} in {place}": """
A day later {gang} were arrested .
The police arrested {gang} at a gas station .
At the border {gang} were arrested .
""",
        "{finder.last} finds stolen {thing} of {museum}": """
The {thing} was found in the forest by {finder} .
{finder} found the {thing} under an old boat .
Only hours later {finder} found the {thing} next to a road .
""",
        "{guard.last} injured in theft at {museum}": """
{guard} was injured but is out of danger .
The thieves injured {guard} .
One of the thieves hit {guard} , who is still in the hospital .
""",
        "Thieves take {thing} worth {sum} in {place}": """
The {thing} is worth {sum} .
Experts say that the {thing} is worth {sum} .
The loss is put at {sum} , which no insurance will pay .
""",
    },
    """
" It is the heart of our collection , " said {head} .
" We feel as if a friend had been taken from us , " said {head} .

" They knew exactly what they wanted , " said {officer} .
{officer} asked all witnesses to call the police .

The thieves needed only {minutes} minutes to get in and out .
The alarm rang for {minutes} minutes before help arrived .

In {new.year} thieves took {new.number} pictures from the {new.thing} Museum in {new.place} .

{new.person} bought the {thing} in {new.place} in {new.year} .

A gray car was seen on the road to {new.place} .

The cameras had been out of order for weeks .

The museum was closed for the rest of the week .

A reward of {new.number} thousand dollars is offered .

The glass doors had been made by {new.firm} .

A child had drawn the {thing} on the day before .

Dogs followed a trail as far as the river .
""",
)
