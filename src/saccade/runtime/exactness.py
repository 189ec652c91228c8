"""When a fast path may stand in for a model's own modules, and when what it packed is out of date.

A decoding engine packs weights once and then computes without calling the modules. That is exact only for modules whose
code the engine knows, so each part is packed through `exactly`, which raises Inexact for any other. What was packed
stays valid while `structure` and `checksum` of the model stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

from saccade.kernels.native.checksum import COLUMNS, native_checksum

__all__ = ["Inexact", "Structure", "checksum", "exactly", "own_methods", "structure"]

Part = TypeVar("Part", bound=nn.Module)


class Inexact(Exception):
    """A fast path would not compute the same as the model's own modules; the message gives the reason."""


def exactly(part: object, *kinds: type[Part]) -> Part:
    """Return `part`; raise Inexact unless its type is exactly one of `kinds`, without hooks or replaced methods."""
    if type(part) not in kinds:
        raise Inexact(
            f"it has a {type(part).__name__} where {' or '.join(kind.__name__ for kind in kinds)} is expected"
        )
    assert isinstance(part, kinds)
    if _hooks(part) or torch_module._global_forward_hooks or torch_module._global_forward_pre_hooks:
        raise Inexact(f"its {type(part).__name__} has forward hooks")
    if (name := _replaced_method(part)) is not None:
        raise Inexact(f"its {type(part).__name__} has a {name} of its own")
    return part


def own_methods(model: nn.Module, family: type[nn.Module], names: Iterable[str]) -> None:
    """Raise Inexact unless these methods of a model are the ones that its family defines."""
    for name in names:
        if getattr(model, name) != getattr(family, name).__get__(model):
            raise Inexact(f"it has a {name} of its own")


def _replaced_method(module: nn.Module) -> str | None:
    """Return the first method of the module's class that an instance attribute overrides."""
    hidden = (name for name, value in vars(module).items() if callable(value) and hasattr(type(module), name))
    return next(hidden, None)


def _hooks(module: nn.Module) -> int:
    return len(module._forward_hooks) + len(module._forward_pre_hooks)


class Structure(NamedTuple):
    """A model apart from its weights; equal as long as no module, setting or hook changes."""

    parts: tuple[Any, ...]
    hooked: bool
    """Whether any module has forward hooks."""


_STANDARD = frozenset(vars(nn.Module()))
"""Attributes of every module: `structure` visits children itself, checksums cover weights, the mode is ignored."""


def structure(model: nn.Module) -> Structure:
    """Describe the modules of a model with their types, hooks, settings and which tensors their parameters are."""
    parts, hooked = [], bool(torch_module._global_forward_hooks or torch_module._global_forward_pre_hooks)
    for module in model.modules():
        hooks = _hooks(module)
        hooked = hooked or hooks > 0
        own = [(name, _comparable(value)) for name, value in vars(module).items() if name not in _STANDARD]
        parts.append((id(module), type(module), hooks, tuple(map(id, module._parameters.values())), tuple(own)))
    return Structure(tuple(parts), hooked)


def _comparable(value: Any) -> Any:
    """Return a setting in a form to compare later: plain values as they are, others by identity."""
    return value if type(value) in (bool, int, float, str, tuple, type(None)) else id(value)


_SMALL = 1 << 13
"""Tensors of fewer words are concatenated first: many small sums take longer than one copy."""


def checksum(tensors: Sequence[Tensor]) -> Tensor:
    """Sum the bits of tensors into integers on their device, which differ after a change of any single number.

    Changes through `tensor.data` or by a fused optimizer do not raise the version counter, so only this detects them.
    The sum is taken in columns, which also detects numbers that swap places. It reads each weight once.
    """
    if (native := native_checksum(tensors)) is not None:
        return native
    words = [_words(part.detach()) for part in tensors if part.numel()]
    on_cpu = not words or words[0].device.type == "cpu"  # on a GPU launches cost more than copies
    large = [part for part in words if on_cpu and len(part) >= _SMALL]
    small = [part for part in words if not on_cpu or len(part) < _SMALL]
    sums = [_columns(part) for part in ([torch.cat(small)] if small else []) + large]
    return torch.stack(sums) if sums else torch.zeros(0, COLUMNS, dtype=torch.long)


def _words(tensor: Tensor) -> Tensor:
    """Return the bits of a tensor as int64, padded with zeros."""
    flat = tensor.contiguous().view(-1)
    flat, offset = flat.view(torch.uint8), flat.storage_offset() * flat.itemsize
    missing = -len(flat) % 8
    return (F.pad(flat, (0, missing)) if missing or offset % 8 else flat).view(torch.long)


def _columns(words: Tensor) -> Tensor:
    """Return the sums (columns,) of every COLUMNS-th word."""
    whole = len(words) // COLUMNS * COLUMNS
    rest = F.pad(words[whole:], (0, COLUMNS - (len(words) - whole)))
    return words[:whole].view(-1, COLUMNS).sum(0) + rest
