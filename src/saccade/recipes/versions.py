"""Upgrades recipes of older versions when they are read.

Version 1 kept the settings of objective terms in `train`. Model folders and user files still have them there. Versions
1 and 2 had other names for some settings (`recipes/renamed.py`).
"""

from __future__ import annotations

from typing import Any

from saccade.recipes import RecipeText
from saccade.recipes.renamed import with_new_names

__all__ = ["VERSION", "upgraded"]

VERSION = 3
_MOVED: dict[str, tuple[str, str, Any]] = {
    "guided_alignment": ("guided_alignment", "weight", 0.0),
    "guided_site": ("guided_alignment", "site", None),
    "guided_head": ("guided_alignment", "head", None),
    "doubly_stochastic": ("doubly_stochastic", "weight", 0.0),
    "reinforce": ("reinforce", "weight", 0.1),
    "reinforce_entropy": ("reinforce", "entropy", 0.002),
    "reinforce_expected": ("reinforce", "expected", 0.5),
}
"""A setting of `train` in version 1: its term, its name in the term, and its default in version 1."""


def upgraded(text: RecipeText) -> RecipeText:
    """Return a recipe in the current form; a current recipe is unchanged."""
    text = with_new_names(text)
    settings, lines = dict(text.settings), dict(text.lines)
    version = settings.get("version")
    if version in range(1, VERSION) and version is not True:
        settings["version"] = VERSION
    train, terms = settings.get("train"), settings.get("objective", {})
    if not isinstance(train, dict) or not isinstance(terms, dict) or not train.keys() & _MOVED.keys():
        return RecipeText(settings, text.where, lines)
    settings["train"] = {name: value for name, value in train.items() if name not in _MOVED}
    settings["objective"] = _with_terms(terms, train)
    for name, (term, inside, _) in _MOVED.items():
        if ("train", name) in lines:
            lines["objective", term, inside] = lines["train", name]
            lines.setdefault(("objective", term), lines["train", name])
    return RecipeText(settings, text.where, lines)


def _with_terms(terms: dict[str, Any], train: dict[str, Any]) -> dict[str, Any]:
    """Add the terms that version 1 set in `train`; skip those left at the defaults."""
    found = dict(terms)
    for term in dict.fromkeys(term for term, _, _ in _MOVED.values()):
        old = {inside: train.get(name, usual) for name, (owner, inside, usual) in _MOVED.items() if owner == term}
        named = any(owner == term and name in train for name, (owner, _, _) in _MOVED.items())
        usual = {inside: default for owner, inside, default in _MOVED.values() if owner == term}
        if named and old != usual:
            found[term] = old
        elif named and term in found and old["weight"] == 0:  # switched off by its old name
            found[term] = None
    return found
