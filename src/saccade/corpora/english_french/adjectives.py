"""The adjectives: their positions, and the nouns that they can describe.

English puts them before the noun, in the order of the groups below. French puts `ordinal` and `size` before the noun,
and the others after it in the opposite order: "important European economic reforms", "réformes économiques européennes
importantes".
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from saccade.corpora.english_french import french
from saccade.corpora.english_french.english import comparative

__all__ = ["BY_ENGLISH", "ORDINALS", "PLURAL_ORDINALS", "Adjective", "adjectives", "comparable"]


class Adjective(NamedTuple):
    """One adjective in both languages."""

    english: str
    french: french.FrenchAdjective
    group: str
    kinds: frozenset[str]
    rank: int  # English sorts adjectives by it


_COLOURS = ("red", "green", "blue", "white", "black", "brown", "grey", "round", "dry", "fresh", "ripe", "hot", "cold")
# group: {kinds of nouns: adjectives}
_TABLE = {
    "ordinal": {"": "first premier,second deuxième,third troisième,last dernier,other autre"},
    "size": {
        "person": "young jeune,old vieux,good bon",
        "youth": "small petit,good bon,pretty joli",
        "chief": "young jeune,good bon,new nouveau",
        "kin": "young jeune,old vieux",
        "group": "large grand,new nouveau,small petit",
        "animal": "young jeune,old vieux,beautiful beau,small petit,big gros",
        "text": "good bon,long long,new nouveau,beautiful beau,old vieux,bad mauvais",
        "legal": "new nouveau,good bon,bad mauvais,old vieux",
        "plan": "new nouveau,good bon,bad mauvais,great grand",
        "topic": "new nouveau,old vieux,great grand",
        "event talk": "long long,great grand,new nouveau",
        "object": "small petit,large grand,old vieux,new nouveau,beautiful beau,big gros,pretty joli",
        "clothes": "old vieux,new nouveau,beautiful beau,long long,pretty joli",
        "vehicle": "old vieux,new nouveau,beautiful beau,small petit,large grand",
        "room": "small petit,large grand,beautiful beau,old vieux",
        "building": "old vieux,new nouveau,beautiful beau,small petit,large grand",
        "place": "beautiful beau,small petit,large grand,old vieux",
        "fruit": "good bon,small petit,beautiful beau,big gros",
        "food drink": "good bon,bad mauvais",
        "music": "beautiful beau,old vieux,new nouveau,long long",
        "language": "beautiful beau,new nouveau",
    },
    "quality": {
        "person": (
            "rich riche,poor pauvre,intelligent intelligent,serious sérieux,curious curieux,generous généreux,"
            "patient patient,shy timide,honest honnête,famous célèbre,happy heureux,sad triste,brave courageux,"
            "jealous jaloux,strange étrange,kind gentil,proud fier"
        ),
        "youth": "intelligent intelligent,curious curieux,shy timide,happy heureux,sad triste",
        "kin": "rich riche,intelligent intelligent,generous généreux,patient patient,famous célèbre,kind gentil",
        "chief": "intelligent intelligent,serious sérieux,generous généreux,honest honnête",
        "group": "important important,powerful puissant,modern moderne,rich riche",
        "animal": "black noir,white blanc,brown marron,grey gris,hungry affamé,dangerous dangereux,curious curieux",
        "text": "interesting intéressant,secret secret,important important,official officiel,sad triste",
        "legal": "important important,secret secret,recent récent,official officiel,complex complexe,clear clair",
        "plan": "important important,dangerous dangereux,useful utile,expensive coûteux,clear clair",
        "topic": "important important,complex complexe,serious sérieux,simple simple,strange étrange,clear clair",
        "event talk": "important important,interesting intéressant,difficult difficile,recent récent",
        "object": (
            "red rouge,green vert,blue bleu,white blanc,black noir,round rond,heavy lourd,expensive cher,useful utile"
        ),
        "clothes": "red rouge,green vert,blue bleu,white blanc,black noir,grey gris,dirty sale,dry sec",
        "vehicle": "red rouge,green vert,blue bleu,white blanc,black noir,expensive cher,modern moderne",
        "building": "modern moderne,famous célèbre,white blanc,empty vide",
        "room": "cold froid,clean propre,empty vide,white blanc",
        "place": "quiet tranquille,famous célèbre,dangerous dangereux",
        "fruit": "fresh frais,green vert,red rouge,ripe mûr",
        "food": "fresh frais,hot chaud,cold froid,expensive cher",
        "drink": "fresh frais,hot chaud,cold froid,expensive cher",
        "music": "sad triste,famous célèbre,modern moderne",
        "language": "foreign étranger,difficult difficile",
    },
    "origin": {
        "person youth": (
            "French français,English anglais,German allemand,Italian italien,Spanish espagnol,American américain,"
            "Japanese japonais,European européen,foreign étranger"
        ),
        "group legal plan event talk": (
            "European européen,French français,German allemand,Italian italien,American américain,national national,"
            "international international,local local"
        ),
        "topic matter": (
            "European européen,French français,German allemand,national national,international international"
        ),
        "text building vehicle clothes": (
            "French français,English anglais,German allemand,Italian italien,Japanese japonais"
        ),
        "music": "French français,English anglais,Italian italien,Spanish espagnol",
        "food drink": "French français,Italian italien,Spanish espagnol",
    },
    "domain": {
        "group": ("economic économique,political politique,social social,military militaire,public public"),
        "legal": "economic économique,political politique,commercial commercial,military militaire,financial financier",
        "plan": ("economic économique,political politique,social social,financial financier,cultural culturel"),
        "topic": "economic économique,political politique,social social,financial financier",
        "talk": "political politique,economic économique,scientific scientifique,public public",
        "text": "scientific scientifique,political politique",
    },
    # After `be` only: permanent traits, and then states of the moment.
    "trait": {
        "youth": "intelligent intelligent,curious curieux,shy timide,small petit",
        "person": (
            "tall grand,young jeune,rich riche,strong fort,intelligent intelligent,serious sérieux,generous généreux,"
            "patient patient,kind gentil,old vieux,famous célèbre,honest honnête,shy timide"
        ),
        "group": "important important,powerful puissant,rich riche,large grand",
        "animal": "young jeune,small petit,dangerous dangereux,old vieux,black noir,white blanc,curious curieux",
        "text": (
            "long long,short court,interesting intéressant,secret secret,important important,clear clair,sad triste"
        ),
        "legal": "important important,complex complexe,clear clair,secret secret,long long,necessary nécessaire",
        "plan": "important important,useful utile,clear clair,dangerous dangereux,necessary nécessaire,simple simple",
        "topic": "important important,complex complexe,clear clair,interesting intéressant",
        "event": "long long,interesting intéressant,important important,short court,difficult difficile",
        "object": (
            "heavy lourd,expensive cher,new neuf,old vieux,round rond,red rouge,white blanc,useful utile,small petit"
        ),
        "clothes": "expensive cher,old vieux,white blanc,blue bleu,long long",
        "vehicle": "expensive cher,old vieux,red rouge,slow lent,black noir,modern moderne",
        "building": "old vieux,modern moderne,large grand,famous célèbre,small petit",
        "room": "small petit,large grand,cold froid",
        "place": "quiet tranquille,beautiful beau,large grand,dangerous dangereux",
        "fruit": "green vert,expensive cher,good bon,small petit",
        "food drink": "expensive cher,good bon,bad mauvais",
        "music": "sad triste,beautiful beau,long long,short court",
        "language": "difficult difficile,beautiful beau",
    },
    "state": {
        "person": (
            "tired fatigué,ill malade,ready prêt,happy heureux,sad triste,busy occupé,absent absent,alone seul,"
            "worried inquiet,surprised surpris,angry fâché"
        ),
        "youth": "tired fatigué,ill malade,happy heureux,sad triste,alone seul,worried inquiet",
        "group": "ready prêt,worried inquiet",
        "animal": "tired fatigué,ill malade,hungry affamé",
        "text legal plan": "ready prêt",
        "object": "dirty sale,clean propre",
        "clothes": "dirty sale,clean propre,dry sec",
        "vehicle": "dirty sale,clean propre,full plein,empty vide",
        "building": "empty vide,closed fermé,open ouvert,full plein",
        "fruit": "fresh frais,ripe mûr",
        "food drink": "hot chaud,cold froid,fresh frais",
    },
    "becoming": {
        "youth": "sad triste,ill malade,worried inquiet,serious sérieux",
        "person": (
            "rich riche,famous célèbre,ill malade,sad triste,worried inquiet,serious sérieux,patient patient,old vieux"
        ),
    },
    "seeming": {
        "person": (
            "tired fatigué,ill malade,happy heureux,sad triste,worried inquiet,intelligent intelligent,kind gentil,"
            "rich riche"
        ),
        "youth": "tired fatigué,happy heureux,sad triste,worried inquiet,intelligent intelligent",
        "group": "powerful puissant,worried inquiet",
        "text": "interesting intéressant,long long,important important",
        "plan": "important important,useful utile,clear clair,dangerous dangereux,necessary nécessaire",
    },
}
_NOT_COMPARED = {"new", "independent", "secret", "round", "necessary", "red", "white", "blue", "black", "green"}
# English order: size, opinion, age, color.
_RANK = {"young": 2, "old": 2, "new": 2} | dict.fromkeys(_COLOURS, 3)


def _rank(group: str, word: str) -> int:
    return _RANK.get(word, {"ordinal": -1, "size": 0, "quality": 1, "origin": 4, "domain": 5}.get(group, 0))


def _read() -> list[Adjective]:
    found: dict[tuple[str, str, str], set[str]] = {}
    for group, rows in _TABLE.items():
        for kinds, entries in rows.items():
            for entry in entries.split(","):
                word, translation = entry.split()
                found.setdefault((group, word, translation), set()).update(kinds.split())
    return [
        Adjective(word, french.adjective(translation), group, frozenset(kinds), _rank(group, word))
        for (group, word, translation), kinds in found.items()
    ]


_ALL = _read()
ORDINALS = [adjective for adjective in _ALL if adjective.group == "ordinal"]
PLURAL_ORDINALS = [adjective for adjective in ORDINALS if adjective.english not in ("second", "third")]
BY_ENGLISH = {adjective.english: adjective for adjective in reversed(_ALL)}


@cache
def adjectives(group: str, kinds: frozenset[str]) -> list[Adjective]:
    """Return the adjectives of a group that describe nouns of these kinds."""
    return [adjective for adjective in _ALL if adjective.group == group and adjective.kinds & kinds]


@cache
def comparable(kinds: frozenset[str]) -> list[Adjective]:
    """Return the adjectives with a comparative, for nouns of these kinds."""
    return [
        adjective
        for adjective in adjectives("trait", kinds)
        if adjective.english not in _NOT_COMPARED and (comparative(adjective.english) or len(adjective.english) > 5)
    ]
