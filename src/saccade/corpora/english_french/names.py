"""Proper names: people, cities, countries, institutions."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CITIES", "COUNTRIES", "INSTITUTIONS", "PEOPLE", "SURNAMES", "Country", "Institution"]


class Country(NamedTuple):
    """A country; English may need two words, French needs an article."""

    english: str
    french: str
    feminine: bool
    plural: bool


class Institution(NamedTuple):
    """An institution, with the links between the words of its names."""

    english: str
    french: str
    links: str
    feminine: bool


_WOMEN = "Marie Anne Claire Sophie Julie Alice Jeanne Hélène"
_MEN = "Paul Pierre Jean Antoine Marc Thomas Olivier Éric"
_SURNAMES = "Martin Dubois Moreau Laurent Girard Lambert"
_CITIES = (
    "Paris London:Londres Berlin Rome Madrid Brussels:Bruxelles Geneva:Genève Vienna:Vienne Lyon Athens:Athènes "
    "Amsterdam Oslo Hamburg:Hambourg Venice:Venise"
)
_COUNTRIES = (
    "France France f,Germany Allemagne f,Italy Italie f,Spain Espagne f,Belgium Belgique f,Switzerland Suisse f,"
    "Greece Grèce f,India Inde f,England Angleterre f,Hungary Hongrie f,Egypt Égypte f,Portugal Portugal m,"
    "Japan Japon m,Canada Canada m,Brazil Brésil m,the_Netherlands Pays-Bas p,the_United_States États-Unis p"
)

# name, feminine
PEOPLE = [(name, True) for name in _WOMEN.split()] + [(name, False) for name in _MEN.split()]
SURNAMES = _SURNAMES.split()
# English, French
CITIES = [(city.split(":")[0], city.split(":")[-1]) for city in _CITIES.split()]
COUNTRIES = [
    Country(english.replace("_", " "), french, kind == "f", kind == "p")
    for english, french, kind in (row.split() for row in _COUNTRIES.split(","))
]

# Each word is in several names, so that the sentences show which words translate each other.
INSTITUTIONS = [
    Institution("the European Economic Area", "LA zone économique européenne", "0-0 1-3 2-2 3-1", True),
    Institution("the European Economic Community", "LA Communauté économique européenne", "0-0 1-3 2-2 3-1", True),
    Institution("the Economic Committee", "LE Comité économique", "0-0 1-2 2-1", False),
    Institution("the Euro Area", "LA zone euro", "0-0 1-2 2-1", True),
    Institution("the European Council", "LE Conseil européen", "0-0 1-2 2-1", False),
    Institution("the Central Committee", "LE Comité central", "0-0 1-2 2-1", False),
    Institution("the National Bank", "LA Banque nationale", "0-0 1-2 2-1", True),
    Institution("the Supreme Council", "LE Conseil suprême", "0-0 1-2 2-1", False),
    Institution("the European Union", "LA Union européenne", "0-0 1-2 2-1", True),
    Institution("the European Parliament", "LE Parlement européen", "0-0 1-2 2-1", False),
    Institution("the European Commission", "LA Commission européenne", "0-0 1-2 2-1", True),
    Institution("the Security Council", "LE Conseil de sécurité", "0-0 1-3 1-2P 2-1", False),
    Institution("the Central Bank", "LA Banque centrale", "0-0 1-2 2-1", True),
    Institution("the National Assembly", "LA Assemblée nationale", "0-0 1-2 2-1", True),
    Institution("the World Bank", "LA Banque mondiale", "0-0 1-2 2-1", True),
    Institution("the Red Cross", "LA Croix-Rouge", "0-0 1-1 2-1", True),
    Institution("the Supreme Court", "LA Cour suprême", "0-0 1-2 2-1", True),
    Institution("the European Court of Justice", "LA Cour européenne de justice", "0-0 1-2 2-1 3-3 4-4", True),
    Institution(
        "the World Health Organisation", "LA Organisation mondiale de LA santé", "0-0 1-2 2-5 2-4P 2-3P 3-1", True
    ),
]
