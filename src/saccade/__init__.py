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
    from saccade.experiments import Recipe, compare, evaluate, train
    from saccade.prediction import AttentionMaps, Prediction
    from saccade.train.log import TrainingCallback

__all__ = [
    "AttentionMaps",
    "Model",
    "Prediction",
    "Recipe",
    "TrainingCallback",
    "__version__",
    "compare",
    "evaluate",
    "load",
    "train",
]
__version__ = "0.1.0"

keep_onednn_off_amx()
warn_of_namesake()

_LATE = {
    "AttentionMaps": "saccade.prediction",
    "Model": "saccade.api",
    "Prediction": "saccade.prediction",
    "Recipe": "saccade.experiments",
    "TrainingCallback": "saccade.train.log",
    "compare": "saccade.experiments",
    "evaluate": "saccade.experiments",
    "load": "saccade.api",
    "train": "saccade.train",
}
"""Names imported on first use, since their modules import torch. `train` is a package that can be called."""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _LATE:
        from importlib import import_module

        return import_module("saccade.train") if name == "train" else getattr(import_module(_LATE[name]), name)
    if name == "Attention":  # until the next release
        from saccade.deprecated import warn_renamed
        from saccade.prediction import AttentionMaps

        warn_renamed("saccade.Attention", "saccade.AttentionMaps")
        return AttentionMaps
    raise AttributeError(f"module 'saccade' has no attribute {name!r}")
