"""Aligns, each registered in `ALIGNS`; the tests cover every registered entry."""

from saccade.attention.aligns.base import Align
from saccade.attention.aligns.entmax import AlphaEntmax, Entmax15, Sparsemax
from saccade.attention.aligns.hard import Hard, MovingBaseline, reinforce_loss
from saccade.attention.aligns.monotonic import Monotonic
from saccade.attention.aligns.softmax import SigmoidSmoothing, Softmax

__all__ = [
    "ALIGNS",
    "Align",
    "AlphaEntmax",
    "Entmax15",
    "Hard",
    "Monotonic",
    "MovingBaseline",
    "SigmoidSmoothing",
    "Softmax",
    "Sparsemax",
    "reinforce_loss",
]

ALIGNS: dict[str, type[Align]] = {
    "softmax": Softmax,
    "sparsemax": Sparsemax,
    "entmax-1.5": Entmax15,
    "entmax-alpha": AlphaEntmax,
    "sigmoid": SigmoidSmoothing,
    "hard": Hard,
    "monotonic": Monotonic,
}
