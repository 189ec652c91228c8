"""Attention: score → align → context, and the Tape that records attention weights."""

from saccade.attention.aligns import (
    ALIGNS,
    Align,
    AlphaEntmax,
    Entmax15,
    Hard,
    Monotonic,
    MovingBaseline,
    SigmoidSmoothing,
    Softmax,
    Sparsemax,
    reinforce_loss,
)
from saccade.attention.attentional import AttentionalVector
from saccade.attention.build import build_attention
from saccade.attention.cache import Cache
from saccade.attention.core import Attention, AttentionOutput, Bank, name_sites
from saccade.attention.losses import coverage_loss
from saccade.attention.multihead import MultiHead, Project, site_of
from saccade.attention.scores import (
    SCORES,
    Additive,
    AttentionState,
    Concat,
    Cosine,
    Coverage,
    DotScore,
    General,
    Location,
    LocationAware,
    ProjectedDot,
    ScaledDot,
    Score,
)
from saccade.attention.steering import Steering
from saccade.attention.tape import Tape
from saccade.attention.windows import (
    WINDOWS,
    AroundMedian,
    ForwardOnly,
    Global,
    KeyMask,
    LocalMonotonic,
    LocalPredictive,
    Window,
)
from saccade.deprecated import renamed

__all__ = [
    "ALIGNS",
    "SCORES",
    "WINDOWS",
    "Additive",
    "Align",
    "AlphaEntmax",
    "AroundMedian",
    "Attention",
    "AttentionOutput",
    "AttentionState",
    "AttentionalVector",
    "Bank",
    "Cache",
    "Concat",
    "Cosine",
    "Coverage",
    "DotScore",
    "Entmax15",
    "ForwardOnly",
    "General",
    "Global",
    "Hard",
    "KeyMask",
    "LocalMonotonic",
    "LocalPredictive",
    "Location",
    "LocationAware",
    "Monotonic",
    "MovingBaseline",
    "MultiHead",
    "Project",
    "ProjectedDot",
    "ScaledDot",
    "Score",
    "SigmoidSmoothing",
    "Softmax",
    "Sparsemax",
    "Steering",
    "Tape",
    "Window",
    "build_attention",
    "coverage_loss",
    "name_sites",
    "reinforce_loss",
    "site_of",
]

__getattr__ = renamed(
    __name__,
    {
        "Attended": ("saccade.attention", "AttentionOutput"),
        "Past": ("saccade.attention", "AttentionState"),
        "View": ("saccade.attention", "KeyMask"),
    },
)
