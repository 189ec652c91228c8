"""Sequence-to-sequence models with attention: train them, run them, and see where they look.

    model = saccade.load("runs/demo")
    out = model("the European Economic Area")
    out.text, out.score, out.attention

Importing this package loads no torch; `saccade.load` and the packages inside do.
"""

from typing import TYPE_CHECKING, Any

from saccade._cpu import keep_onednn_off_amx

if TYPE_CHECKING:
    from saccade.front import Model, load
    from saccade.prediction import Attention, Prediction

__all__ = ["Attention", "Model", "Prediction", "__version__", "load"]
__version__ = "0.1.0"

keep_onednn_off_amx()

_LATE = {
    "Attention": "saccade.prediction",
    "Model": "saccade.front",
    "Prediction": "saccade.prediction",
    "load": "saccade.front",
}
"""Names that are looked up when they are first used, since their modules load torch."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        from importlib import import_module

        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module 'saccade' has no attribute {name!r}")
