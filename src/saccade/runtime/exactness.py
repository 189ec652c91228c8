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
    """A fast path would compute something else than the model's own modules; the message says where."""


def exactly(part: object, *kinds: type[Part]) -> Part:
    """Return a part that is of one of these types, subclasses excluded, and that nothing was hooked into."""
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
    """The first method of a module's class that an attribute of the module itself hides."""
    hidden = (name for name, value in vars(module).items() if callable(value) and hasattr(type(module), name))
    return next(hidden, None)


def _hooks(module: nn.Module) -> int:
    return len(module._forward_hooks) + len(module._forward_pre_hooks)


class Structure(NamedTuple):
    """What a model is made of beside its weights; equal as long as no module, setting or hook changes."""

    parts: tuple[Any, ...]
    hooked: bool
    """Whether any module has forward hooks."""


_STANDARD = frozenset(vars(nn.Module()))
"""Attributes that every module has. Children are visited, weights have checksums, and the mode is the caller's."""


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
    """A setting that can be compared later: plain values as they are, everything else by identity."""
    return value if type(value) in (bool, int, float, str, tuple, type(None)) else id(value)


_SMALL = 1 << 13
"""Tensors of fewer words are joined first: many small sums take longer than one copy."""


def checksum(tensors: Sequence[Tensor]) -> Tensor:
    """Add up the bits of tensors: whole numbers on their device, different after any change of a single number.

    A change through `tensor.data` or by a fused optimizer leaves no other trace. The sum is taken in columns, so that
    numbers that trade places are noticed as well. It reads each weight once, as fast as memory allows.
    """
    if (native := native_checksum(tensors)) is not None:
        return native
    words = [_words(part.detach()) for part in tensors if part.numel()]
    on_cpu = not words or words[0].device.type == "cpu"  # elsewhere launches cost more than copies
    large = [part for part in words if on_cpu and len(part) >= _SMALL]
    small = [part for part in words if not on_cpu or len(part) < _SMALL]
    sums = [_columns(part) for part in ([torch.cat(small)] if small else []) + large]
    return torch.stack(sums) if sums else torch.zeros(0, COLUMNS, dtype=torch.long)


def _words(tensor: Tensor) -> Tensor:
    """The bits of a tensor as numbers of eight bytes."""
    flat = tensor.contiguous().view(-1)
    flat, offset = flat.view(torch.uint8), flat.storage_offset() * flat.itemsize
    missing = -len(flat) % 8
    return (F.pad(flat, (0, missing)) if missing or offset % 8 else flat).view(torch.long)


def _columns(words: Tensor) -> Tensor:
    """(words,) -> (columns,): the sums of every so many words."""
    whole = len(words) // COLUMNS * COLUMNS
    rest = F.pad(words[whole:], (0, COLUMNS - (len(words) - whole)))
    return words[:whole].view(-1, COLUMNS).sum(0) + rest
