"""Scores: one idea a file, one line each in `SCORES`. A new entry is tested by being listed."""

from saccade.attention.scores.additive import Additive, Concat, Coverage
from saccade.attention.scores.base import Dot, Past, Score
from saccade.attention.scores.cosine import Cosine
from saccade.attention.scores.dot import DotScore, ScaledDot
from saccade.attention.scores.general import General
from saccade.attention.scores.location import Location, LocationAware
from saccade.attention.scores.projected import ProjectedDot

__all__ = [
    "SCORES",
    "Additive",
    "Concat",
    "Cosine",
    "Coverage",
    "Dot",
    "DotScore",
    "General",
    "Location",
    "LocationAware",
    "Past",
    "ProjectedDot",
    "ScaledDot",
    "Score",
]

SCORES: dict[str, type[Score]] = {
    "dot": DotScore,
    "scaled-dot": ScaledDot,
    "general": General,
    "concat": Concat,
    "additive": Additive,
    "cosine": Cosine,
    "location": Location,
    "location-aware": LocationAware,
    "projected-dot": ProjectedDot,
    "coverage": Coverage,
}
