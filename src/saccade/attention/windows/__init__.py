"""Windows, each registered in `WINDOWS`; the tests cover every registered entry."""

from saccade.attention.windows.base import Global, KeyMask, Window
from saccade.attention.windows.forward import ForwardOnly
from saccade.attention.windows.local import LocalMonotonic, LocalPredictive
from saccade.attention.windows.median import AroundMedian

__all__ = ["WINDOWS", "AroundMedian", "ForwardOnly", "Global", "KeyMask", "LocalMonotonic", "LocalPredictive", "Window"]

WINDOWS: dict[str, type[Window]] = {
    "global": Global,
    "local-m": LocalMonotonic,
    "local-p": LocalPredictive,
    "median": AroundMedian,
    "monotonic": ForwardOnly,
}
