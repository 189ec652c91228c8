"""Scores, each registered in `SCORES`; the tests cover every registered entry."""

from saccade.attention.scores.additive import Additive, Concat, Coverage
from saccade.attention.scores.base import AttentionState, Dot, Score
from saccade.attention.scores.cosine import Cosine
from saccade.attention.scores.dot import DotScore, ScaledDot
from saccade.attention.scores.general import General
from saccade.attention.scores.location import Location, LocationAware
from saccade.attention.scores.projected import ProjectedDot

__all__ = [
    "SCORES",
    "Additive",
    "AttentionState",
    "Concat",
    "Cosine",
    "Coverage",
    "Dot",
    "DotScore",
    "General",
    "Location",
    "LocationAware",
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
