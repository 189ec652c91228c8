"""A prize is given."""

from __future__ import annotations

from saccade.corpora.articles.facts import Facts, Notes
from saccade.corpora.articles.kind import kind

__all__ = ["AWARD"]

_WORKS = (
    ("writer", "a novel about the sea"),
    ("writer", "a novel about twin sisters"),
    ("poet", "a book of short poems"),
    ("biologist", "a study of bees"),
    ("doctor", "a study of sleep"),
    ("architect", "a school made of wood"),
    ("director", "a film about a lighthouse"),
    ("photographer", "pictures of empty streets"),
    ("chemist", "a new kind of battery"),
)


def _facts(notes: Notes) -> Facts:
    role, work = notes.pick(_WORKS)
    return {
        "winner": notes.person(role),
        "work": work,
        "prize": f"{notes.thing()} Prize",
        "place": notes.place(),
        "day": notes.day(),
        "sum": f"{notes.number(15, 490, 1000)} dollars",
        "age": notes.number(17, 34),
        "rival": notes.person(role),
        "jury": notes.person("Professor", "critic", ""),
        "entries": notes.number(40, 900),
    }


AWARD = kind(
    _facts,
    """
{winner} has won the {prize} , the jury in {place} announced on {day} .
The {prize} goes to {winner} this year , the jury in {place} said on {day} .
On {day} {winner} received the {prize} in {place} .
The winner of the {prize} was named in {place} on {day} : it is {winner} .
""",
    {
        "{winner.last} wins {prize} but refuses {sum}": """
{winner} refused to take the money , {sum} in all .
The prize money of {sum} was refused by {winner} .
" I do not need the {sum} , " said {winner} and gave it back .
""",
        "{winner.last} wins {prize} at the age of {age}": """
No winner before has been as young as {winner} , who is {age} years old .
At the age of {age} {winner} is the youngest winner so far .
{winner} is only {age} years old , younger than all winners before .
""",
        "{winner.last} wins {prize} ahead of {rival.last}": """
{rival} had been the favorite and came second .
The second place went to {rival} .
Most experts had expected a success of {rival} , who came second .
""",
        "{winner.last} wins {prize} for {work}": """
The jury praised {winner} for {work} .
The prize was given for {work} .
The jury was convinced by {work} .
""",
    },
    """
The jury had to choose from {entries} entries .
There were {entries} entries from all over the country .

" It was an easy choice , " said {jury} , the head of the jury .
" We discussed all night , " said {jury} , the head of the jury .

" My first teacher must hear this , " said {winner} .
" I thought it was a joke when the phone rang , " said {winner} .

In {new.year} the winner was {new.person} from {new.place} .

The {new.thing} Prize , which is worth {new.number} thousand dollars , will be given next week .

The prize goes back to an idea of {new.person} , a shy collector of clocks .

A string quartet from {new.place} played after the speeches .

The ceremony was shown live on television .

The dinner for {new.number} guests was paid for by {new.firm} .

Last year no prize was given because the jury could not agree .

{new.person} , the oldest guest , left early .
""",
)
