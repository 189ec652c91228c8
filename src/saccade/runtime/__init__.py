"""Decoding engines: fast paths that compute what a model's own `step` does; property tests compare the two.

    engine_of(model).read(batch, width, max_length).step(tokens)    decode with the fastest exact engine

Models do not import this package. A model with a part that no engine computes exactly is decoded by its own `step`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from saccade.kernels.packed import Precision
from saccade.models.base import Seq2Seq
from saccade.models.pointer import Pointer
from saccade.models.recurrent import RecurrentSeq2Seq
from saccade.models.transformer import Transformer
from saccade.runtime.engine import (
    DecodingEngine,
    DecodingState,
    Places,
    StepEngine,
    check_finite,
    fast_engine,
    places,
    step_engine,
)
from saccade.runtime.exactness import Inexact, Structure, checksum, structure
from saccade.runtime.pointer import pack_pointer
from saccade.runtime.recurrent import pack_recurrent
from saccade.runtime.transformer import pack_transformer

__all__ = [
    "ENGINES",
    "DecodingEngine",
    "DecodingState",
    "Inexact",
    "Places",
    "StepEngine",
    "Structure",
    "check_finite",
    "checksum",
    "engine_of",
    "places",
    "step_engine",
    "structure",
]

ENGINES: dict[type[Seq2Seq], Callable[[Any, Precision], DecodingEngine]] = {
    RecurrentSeq2Seq: pack_recurrent,
    Transformer: pack_transformer,
    Pointer: lambda model, precision: pack_pointer(model, precision, engine_of),
}
"""Model families, and the function that packs a model of the family or a subclass; it raises Inexact if it cannot."""


def engine_of(model: Seq2Seq, precision: Precision = "full") -> DecodingEngine:
    """Return the engine for decoding a model: a fast path where that is exact, else the model's own `step`.

    With precision "int8" an engine may use int8 matmuls; one without them computes in full precision.
    """
    make = next((ENGINES[kind] for kind in type(model).__mro__ if kind in ENGINES), None)
    fast = None if make is None else fast_engine(model, precision, lambda: make(model, precision))
    return fast or step_engine(model, precision)
