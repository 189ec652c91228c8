"""Search: one entry point (`decode`), one loop for all models, and three strategies: greedy, sampling, beam."""

from saccade.search.beam import Beam
from saccade.search.constraints import (
    Banned,
    Constraint,
    MaximumLengths,
    MinimumLength,
    NoRepeat,
    Prefix,
    Required,
    Rule,
)
from saccade.search.decoding import decode
from saccade.search.greedy import Greedy, Sample
from saccade.search.history import Hypothesis
from saccade.search.limits import Limits, Stop
from saccade.search.loop import Strategy, run
from saccade.search.search_config import SearchConfig

__all__ = [
    "Banned",
    "Beam",
    "Constraint",
    "Greedy",
    "Hypothesis",
    "Limits",
    "MaximumLengths",
    "MinimumLength",
    "NoRepeat",
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
