"""Sequence-to-sequence models with attention: train them, decode with them, and see what they attend to.

    model = saccade.load("runs/demo")
    out = model("the European Economic Area")
    out.text, out.score, out.attention

`import saccade` does not import torch; `saccade.load` and the subpackages do.
"""

from typing import TYPE_CHECKING, Any

from saccade._cpu import keep_onednn_off_amx
from saccade._distribution import warn_of_namesake

if TYPE_CHECKING:
    from saccade.api import Model, load
    from saccade.prediction import AttentionMaps, Prediction

__all__ = ["AttentionMaps", "Model", "Prediction", "__version__", "load"]
__version__ = "0.1.0"

keep_onednn_off_amx()
warn_of_namesake()

_LATE = {
    "AttentionMaps": "saccade.prediction",
    "Model": "saccade.api",
    "Prediction": "saccade.prediction",
    "load": "saccade.api",
}
"""Names imported on first use, since their modules import torch."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        from importlib import import_module

        return getattr(import_module(_LATE[name]), name)
    if name == "Attention":  # until the next release
        from saccade.deprecated import warn_renamed
        from saccade.prediction import AttentionMaps

        warn_renamed("saccade.Attention", "saccade.AttentionMaps")
        return AttentionMaps
    raise AttributeError(f"module 'saccade' has no attribute {name!r}")
