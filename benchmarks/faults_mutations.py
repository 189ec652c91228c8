"""Random damage to files, as by disks, networks, manual edits and attackers; see faults_files.py."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

__all__ = ["damage_bytes", "damage_tree", "plain"]

NUMBERS: list[Any] = [0, -1, 1, 255, 2**31, 2**32, 2**53, 2**63, 2**64, 10**30, -(2**63), 0.5, 1e308, -1e308, 1e-320]
TEXTS = [
    "",
    " ",
    "\0",
    "\ud800",
    "a" * 5000,
    "../../etc/passwd",
    "/dev/zero",
    "nan",
    "1" * 3000,
    "é\u202e\x1b[2J",
    "<eos>",
]
OTHERS: list[Any] = [None, True, False, [], {}, [[]], [None], {"": None}, float("nan"), float("inf")]


def damage_bytes(data: bytes, chance: random.Random) -> bytes:
    """Flip bits; cut, repeat, move or overwrite parts; or insert random or repeated bytes."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 5, 20))):
        size = len(made)
        a, b = sorted(chance.randrange(size + 1) for _ in range(2))
        b = min(b, a + chance.choice((1, 4, 64, 10**6)))
        kind = chance.randrange(8)
        if kind == 0 and size:
            made[chance.randrange(size)] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del made[a:]
        elif kind == 2:
            del made[a:b]
        elif kind == 3:
            made[a:a] = made[a:b] * chance.choice((1, 3, 50))
        elif kind == 4:
            made[a:a] = chance.randbytes(chance.choice((1, 8, 500)))
        elif kind == 5:
            made[a:a] = chance.choice((b"\0", b"[", b"{", b"9", b"\n", b"\xff", b"- ", b'"')) * chance.choice(
                (1, 50, 20000)
            )
        elif kind == 6:
            part = made[a:b]
            del made[a:b]
            place = chance.randrange(len(made) + 1)
            made[place:place] = part
        else:
            made[a:b] = str(chance.choice(NUMBERS)).encode()
        del made[1 << 22 :]
    return bytes(made)


def damage_tree(tree: Any, chance: random.Random) -> Any:
    """Replace, delete, repeat or deeply nest some entries of settings or JSON."""
    made = [copy.deepcopy(tree)]
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        holder, key = _place(made, chance)
        kind = chance.randrange(10)
        if kind < 5:
            holder[key] = _alike(holder[key], chance)
        elif kind == 5:
            holder[key] = copy.deepcopy(chance.choice([*NUMBERS, *TEXTS, *OTHERS]))
        elif kind == 6 and holder is not made:
            del holder[key]
        elif kind == 7:
            other, name = _place(made, chance)
            holder[key] = copy.deepcopy(other[name])
        elif kind == 8 and isinstance(holder, list):
            holder[key:key] = [copy.deepcopy(holder[key])] * chance.choice((1, 3, 1000))
        else:
            holder[key] = _nested(chance.choice((5, 40, 90)), chance.random() < 0.5)
    return made[0]


def _place(holder: Any, chance: random.Random) -> tuple[Any, Any]:
    """Choose a random entry of a tree: every branch is equally likely, whatever its size."""
    while True:
        key = chance.choice([*holder] if isinstance(holder, dict) else range(len(holder)))
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or chance.random() < 0.1:
            return holder, key
        holder = inner


def _alike(value: Any, chance: random.Random) -> Any:
    """Return another value of the same type, which only a semantic check can detect."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        near = [value + 1, value - 1, 2 * value, 10 * value + 3, -value]
        return chance.choice([*near, *(number for number in NUMBERS if isinstance(number, int))])
    if isinstance(value, float):
        return chance.choice([0.0, -1.0, 1.0, 1e-320, 1e30, 1e308, -1e308, 3 * value, -value])
    if isinstance(value, str):
        cut = value[: chance.randrange(len(value) + 1)]
        return chance.choice([*TEXTS, cut, value + value, value[::-1], value.swapcase()])
    if isinstance(value, list):
        return chance.choice([[], value[:1], value[::-1], value + value, value[1:]])
    return chance.choice([{}, {**value, "more": 1}]) if isinstance(value, dict) else 1


def plain(tree: Any) -> str:
    """Return lenient JSON, with NaN, infinity and lone surrogates."""
    return json.dumps(tree, ensure_ascii=True)


def _nested(depth: int, listed: bool) -> Any:
    made: Any = 1
    for _ in range(depth):
        made = [made] if listed else {"a": made}
    return made
