"""English forms: plurals, verbs, comparatives. Rules and exceptions."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EnglishVerb", "comparative", "number", "plural", "verb"]

_PLURALS = {
    "man": "men",
    "woman": "women",
    "child": "children",
    "knife": "knives",
    "wolf": "wolves",
    "scarf": "scarves",
    "crisis": "crises",
    "wife": "wives",
    "hero": "heroes",
    "tomato": "tomatoes",
}
# base, past, participle
_IRREGULAR_ROWS = (
    "be was been,have had had,go went gone,come came come,see saw seen,read read read,write wrote written,"
    "buy bought bought,sell sold sold,find found found,lose lost lost,eat ate eaten,drink drank drunk,"
    "break broke broken,build built built,know knew known,meet met met,wear wore worn,choose chose chosen,"
    "draw drew drawn,take took taken,forget forgot forgotten,steal stole stolen,drive drove driven,"
    "understand understood understood,hear heard heard,send sent sent,win won won,sing sang sung,speak spoke spoken,"
    "think thought thought,say said said,give gave given,show showed shown,lend lent lent,bring brought brought,"
    "tell told told,leave left left,sleep slept slept,swim swam swum,run ran run,fall fell fallen,begin began begun,"
    "become became become,get got got,hold held held"
)
_IRREGULAR = {row.split()[0]: row.split()[1:] for row in _IRREGULAR_ROWS.split(",")}
_DOUBLED = {"stop", "swim", "run", "forget", "get", "begin", "win", "travel"}
_VOWELS = "aeiou"

_COMPARATIVES = {"good": "better", "bad": "worse", "big": "bigger", "sad": "sadder", "hot": "hotter"}
_SHORT_ROWS = (
    "old young small large tall rich poor long heavy dirty clean cold fresh strong proud kind happy clear pretty "
    "simple quiet shy short brave dry strange slow"
)
_SHORT = frozenset(_SHORT_ROWS.split())

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_ONES = _UNITS.split()
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


class EnglishVerb(NamedTuple):
    """The forms of a verb, and the words that always follow it (`for` in "look for")."""

    base: str
    third: str
    past: str
    participle: str
    doing: str
    particles: tuple[str, ...] = ()


def plural(noun: str) -> str:
    """Return the plural: letter -> letters, city -> cities, man -> men."""
    return _PLURALS.get(noun) or _with_s(noun)


def verb(text: str) -> EnglishVerb:
    """Return the forms of "write" or of "look for"."""
    base, *particles = text.split()
    past, participle = _IRREGULAR.get(base) or (_past(base), _past(base))
    third = {"be": "is", "have": "has", "go": "goes"}.get(base) or _with_s(base)
    return EnglishVerb(base, third, past, participle, _doing(base), tuple(particles))


def comparative(adjective: str) -> str | None:
    """Return older, larger, heavier, better; None for long adjectives, which take `more`."""
    if adjective in _COMPARATIVES:
        return _COMPARATIVES[adjective]
    if adjective not in _SHORT:
        return None
    if adjective.endswith("y") and adjective != "shy":
        return adjective[:-1] + "ier"
    return adjective + ("r" if adjective.endswith("e") else "er")


def number(value: int) -> str:
    """Write 0 to 99 in words."""
    if value < 20:
        return _ONES[value]
    ten, one = divmod(value, 10)
    return _TENS[ten] if one == 0 else f"{_TENS[ten]}-{_ONES[one]}"


def _with_s(word: str) -> str:
    if word.endswith(("s", "x", "ch", "sh", "z")):
        return word + "es"
    if word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def _past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ied"
    return (base + base[-1] if base in _DOUBLED else base) + "ed"


def _doing(base: str) -> str:
    if base == "die":
        return "dying"
    if base.endswith("e") and not base.endswith("ee") and base != "be":
        return base[:-1] + "ing"
    return (base + base[-1] if base in _DOUBLED else base) + "ing"
