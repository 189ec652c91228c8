"""Small trained models that ship with the package; `tools/pretrain.py` makes them, each in minutes on a laptop.

Each is a model folder beside this file: `demo` and its siblings translate the built-in English-French corpus.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["DEFAULT", "find_model", "pretrained"]

DEFAULT = "demo"
"""The model that commands use when none is named."""


def pretrained() -> dict[str, Path]:
    """Return the folders of the shipped models by name; the default comes first."""
    found = {path.parent.name: path.parent for path in sorted(Path(__file__).parent.glob("*/model.safetensors"))}
    return {name: found[name] for name in sorted(found, key=lambda name: name != DEFAULT)}


def find_model(name: str | Path) -> Path:
    """Return the folder of a model: a path that exists, or the name of a shipped model."""
    path = Path(name)
    return path if path.exists() else pretrained().get(str(name), path)
