"""Two teams play, and one of them wins; or neither does."""

from __future__ import annotations

from saccade.corpora.articles.facts import Facts, Notes
from saccade.corpora.articles.kind import kind

__all__ = ["DRAW", "VICTORY"]


def _both(notes: Notes) -> Facts:
    return {
        "place": notes.place(),
        "day": notes.day(),
        "one": notes.team(),
        "two": notes.team(),
        "sent": notes.person("defender", "midfielder", ""),
        "minute": notes.number(12, 88),
        "crowd": f"{notes.number(30, 790, 100)} fans",
        "coach": notes.person("coach"),
    }


def _victory(notes: Notes) -> Facts:
    scorer = notes.person("striker", "captain", "newcomer")
    return _both(notes) | {"score": notes.score(3, 5), "scorer": scorer, "cup": f"{notes.thing()} Cup"}


def _draw(notes: Notes) -> Facts:
    return _both(notes) | {"score": notes.level(), "keeper": notes.person("goalkeeper")}


_MORE = """
" I am proud of every player , " said {coach} .
" We have to learn from this evening , " said {coach} .

In {new.year} the two teams met in {new.place} , and the result was {new.score} .

On the same day {new.team} beat {new.team} {new.score} .
In the other match of the day {new.team} lost {new.score} to {new.team} .

The grass was wet after a day of rain .

{new.person} , the former coach , watched from the stand .

A young fan from {new.place} won the shirt of the captain .

The referee , {new.person} , showed {new.number} yellow cards in the last season .

Several players were injured in training last week .

The fans sang for most of the second half .

The next match is against {new.team} .

Before the match the players stood in silence for {new.person} , who trained the team in {new.year} .

The match began late because of traffic around the stadium .
"""

VICTORY = kind(
    _victory,
    """
{one} beat {two} {score} in {place} on {day} .
{one} won {score} against {two} in {place} on {day} .
On {day} {two} lost {score} to {one} in {place} .
{two} were beaten {score} by {one} in {place} on {day} .
""",
    {
        "{one} beat {two} {score} to win the {cup}": """
The match was the final of the {cup} .
With this result the team takes home the {cup} .
The winners were given the {cup} by {new.person} .
""",
        "{scorer.last} scores three as {one} beat {two}": """
{scorer} scored three of the goals .
Three goals came from {scorer} .
For the third time this season {scorer} scored three goals .
""",
        "{one} beat {two} {score} after red card for {sent.last}": """
The losers played with ten men after a red card for {sent} .
{sent} of the losing team was shown a red card in minute {minute} .
A red card for {sent} decided the match .
""",
        "{crowd} see {one} beat {two} {score}": """
The stadium was sold out , with {crowd} in the stands .
A crowd of {crowd} watched the match .
The {crowd} in the stadium had much to cheer about .
""",
    },
    _MORE
    + """
The winners are now second in the table , behind {new.team} .

The losers have not won since the start of the season .
""",
)

DRAW = kind(
    _draw,
    """
{one} and {two} drew {score} in {place} on {day} .
The match between {one} and {two} in {place} ended {score} on {day} .
On {day} there was no winner between {one} and {two} in {place} , and the match ended {score} .
""",
    {
        "{keeper.last} saves penalty as {one} and {two} draw {score}": """
{keeper} saved a penalty in minute {minute} .
A penalty in minute {minute} was saved by {keeper} .
The hero of the evening was {keeper} , who saved a penalty .
""",
        "{one} and {two} draw {score} after red card for {sent.last}": """
{sent} was shown a red card in the first half .
After a red card for {sent} one of the teams played with ten men .
There was a red card for {sent} in minute {minute} .
""",
        "{one} and {two} draw {score} before {crowd}": """
The stadium was sold out , with {crowd} in the stands .
A crowd of {crowd} watched the match .
The {crowd} in the stadium went home disappointed .
""",
    },
    _MORE,
)
