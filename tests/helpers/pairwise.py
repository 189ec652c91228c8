"""Few settings in which any two values of two options meet."""

import itertools
import random
from typing import Any


def pairwise(axes: dict[str, list[Any]], seed: int = 0) -> list[dict[str, Any]]:
    """Few choices of one value for each axis, in which any two values of two axes meet."""
    draw = random.Random(seed)
    names = list(axes)
    numbered = {name: range(len(axes[name])) for name in names}
    left = {
        ((a, i), (b, j))
        for a, b in itertools.combinations(names, 2)
        for i, j in itertools.product(numbered[a], numbered[b])
    }
    rows = []
    while left:
        fixed = min(left)
        candidates = [{name: draw.choice(numbered[name]) for name in names} | dict(fixed) for _ in range(25)]
        pairs = [set(itertools.combinations(candidate.items(), 2)) & left for candidate in candidates]
        best = max(range(len(candidates)), key=lambda number: len(pairs[number]))
        left -= pairs[best]
        rows.append({name: axes[name][index] for name, index in candidates[best].items()})
    return rows
