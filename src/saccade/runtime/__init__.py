"""Fast twins of models for decoding. Each computes what the model's own `step` does, and a law holds the two equal.

    writer_of(model).read(batch, width, max_length).step(tokens)    the fastest way to the model's own words

Models know nothing of this package: a model whose parts a twin does not compute exactly is decoded by its own `step`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from saccade.kernels.packed import Precision
from saccade.models.base import Seq2Seq
from saccade.models.recurrent import RecurrentSeq2Seq
from saccade.models.transformer import Transformer
from saccade.runtime.exact import Inexact, Structure, checksum, structure
from saccade.runtime.recurrent import pack_recurrent
from saccade.runtime.transformer import pack_transformer
from saccade.runtime.writer import Draft, Places, StepWriter, Writer, check_finite, fast_writer, places, step_writer

__all__ = [
    "WRITERS",
    "Draft",
    "Inexact",
    "Places",
    "StepWriter",
    "Structure",
    "Writer",
    "check_finite",
    "checksum",
    "places",
    "step_writer",
    "structure",
    "writer_of",
]

WRITERS: dict[type[Seq2Seq], Callable[[Any, Precision], Writer]] = {
    RecurrentSeq2Seq: pack_recurrent,
    Transformer: pack_transformer,
}
"""Families and what packs a model of theirs, or of a subclass; it raises Inexact for a model that it does not know."""


def writer_of(model: Seq2Seq, precision: Precision = "full") -> Writer:
    """Return what a search writes with: a fast twin where that is exact, else the model's own `step`.

    With precision "int8" a writer may compute in eight bits; one that cannot writes as it always does.
    """
    make = next((WRITERS[kind] for kind in type(model).__mro__ if kind in WRITERS), None)
    fast = None if make is None else fast_writer(model, precision, lambda: make(model, precision))
    return fast or step_writer(model, precision)
