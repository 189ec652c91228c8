"""Windows: one idea a file, one line each in `WINDOWS`. A new entry is tested by being listed."""

from saccade.attention.windows.base import Global, View, Window
from saccade.attention.windows.forward import ForwardOnly
from saccade.attention.windows.local import LocalMonotonic, LocalPredictive

__all__ = ["WINDOWS", "ForwardOnly", "Global", "LocalMonotonic", "LocalPredictive", "View", "Window"]

WINDOWS: dict[str, type[Window]] = {
    "global": Global,
    "local-m": LocalMonotonic,
    "local-p": LocalPredictive,
    "monotonic": ForwardOnly,
}
