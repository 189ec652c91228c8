"""Search: one entry, one loop for all models, and three ways to choose words in it."""

from saccade.search.beam import Beam
from saccade.search.constraints import Banned, Constraint, MaximumLengths, MinimumLength, Prefix, Required, Rule
from saccade.search.decoding import decode
from saccade.search.history import Hypothesis
from saccade.search.limits import Limits, Stop
from saccade.search.loop import Strategy, run
from saccade.search.settings import SearchConfig
from saccade.search.walk import Greedy, Sample

__all__ = [
    "Banned",
    "Beam",
    "Constraint",
    "Greedy",
    "Hypothesis",
    "Limits",
    "MaximumLengths",
    "MinimumLength",
    "Prefix",
    "Required",
    "Rule",
    "Sample",
    "SearchConfig",
    "Stop",
    "Strategy",
    "decode",
    "run",
]
