"""Small trained models that ship with the package; `tools/pretrain.py` makes them, each in minutes on a laptop.

Each is a model folder beside this file, with a card, `README.md`. `demo` and its siblings translate the built-in
English-French corpus; the others caption, answer questions, listen and look.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

__all__ = ["DEFAULT", "find_model", "missing_extra", "pretrained"]

DEFAULT = "demo"
"""The model that commands use when none is named."""
_IMAGES = ("images", "PIL")
_NEEDS: dict[str, tuple[str, str] | None] = {
    "demo": None,
    "demo-fixed": None,
    "demo-transformer": None,
    "demo-questions": None,
    "demo-digits": None,
    "demo-captions": _IMAGES,
    "demo-glimpses": _IMAGES,
}
"""The shipped models in the order of lists, with the extra that each needs for its inputs and a module of it."""


def pretrained() -> dict[str, Path]:
    """Return the folders of the shipped models by name; the default comes first."""
    return {name: Path(__file__).parent / name for name in _NEEDS}


def missing_extra(name: str) -> str | None:
    """Return the extra that a shipped model needs, unless it is installed."""
    needed = _NEEDS.get(name)
    return needed[0] if needed is not None and find_spec(needed[1]) is None else None


def find_model(name: str | Path) -> Path:
    """Return the folder of a model: a path that exists, or the name of a shipped model."""
    path = Path(name)
    return path if path.exists() else pretrained().get(str(name), path)
