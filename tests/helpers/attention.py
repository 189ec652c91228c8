"""What the tests of attention share: combinations of parts, inputs of any shape, gradients by name."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from helpers.pairwise import pairwise
from saccade import masks
from saccade.attention import (
    ALIGNS,
    SCORES,
    WINDOWS,
    Attention,
    AttentionOutput,
    Bank,
    MultiHead,
    Tape,
    build_attention,
)
from saccade.errors import ShapeError

RADIUS = 2
OPTIONS = {
    ("score", "location"): {"max_length": 16},
    ("score", "location-aware"): {"filters": 2, "kernel": 3},
    ("window", "local-m"): {"radius": RADIUS},
    ("window", "local-p"): {"radius": RADIUS},
}
"""Small sizes for entries whose defaults are large; an entry that is not here gets its defaults."""


@dataclass(frozen=True)
class Parts:
    """One combination of entries of the tables."""

    score: str = "scaled-dot"
    align: str = "softmax"
    window: str = "global"
    heads: int | None = None

    def __str__(self) -> str:
        return f"{self.score}-{self.align}-{self.window}-{self.heads or 1}"

    @property
    def positional(self) -> bool:
        """Whether some part depends on the order of the keys."""
        return any(part.positional for part in (SCORES[self.score], ALIGNS[self.align], WINDOWS[self.window]))

    @property
    def spends_all(self) -> bool:
        """Whether weights sum to one wherever a key is visible."""
        return ALIGNS[self.align].sums_to_one and WINDOWS[self.window].keeps_sum

    def build(self, **options: object) -> Attention | MultiHead:
        """An attention in evaluation mode, with queries and keys of different width where the score can."""
        settings = {
            "align": self.align,
            "window": self.window,
            "heads": self.heads,
            **{f"{kind}_options": OPTIONS.get((kind, getattr(self, kind))) for kind in ("score", "align", "window")},
            **options,
        }
        try:
            attention = build_attention(self.score, 4, 6, 5, **settings)
        except ShapeError:  # compares entry by entry
            attention = build_attention(self.score, 4, 4, 5, **settings)
        with torch.no_grad():
            for parameter in attention.parameters():  # a parameter of zero would hide errors
                parameter.add_(0.3 * torch.randn_like(parameter))
        return attention.eval()


TABLES = {"score": SCORES, "align": ALIGNS, "window": WINDOWS}

ENTRIES = list(
    dict.fromkeys(
        Parts(**{kind: name}, heads=heads) for kind, table in TABLES.items() for name in table for heads in (None, 2)
    )
)
"""Every entry of every table once, the other parts plain, in one head and in two."""


def some_pairs(seed: int) -> list[Parts]:
    """Few combinations in which any two entries of two tables meet, in one head and in two; others for each seed."""
    axes = {kind: list(table) for kind, table in TABLES.items()}
    return [Parts(**row) for row in pairwise(axes | {"heads": [None, 2]}, seed)]


@dataclass(frozen=True)
class Shape:
    """B sentences, T queries, S keys."""

    B: int = 2
    T: int = 3
    S: int = 7


@dataclass(frozen=True)
class Case:
    """An attention and something to attend to."""

    attention: Attention | MultiHead
    query: Tensor
    keys: Tensor
    values: Tensor
    mask: Tensor | None = None

    def bank(self) -> Bank:
        return self.attention.bank(self.keys, self.values, self.mask)

    def run(self, tape: Tape | None = None) -> AttentionOutput:
        return self.attention(self.query, self.bank(), tape=tape)

    def recorded(self) -> tuple[Tensor, Tensor]:
        """Context and weights (B, H, T, S), by the path that records the weights."""
        tape = Tape()
        context = self.run(tape).context
        return context, tape["attention"]

    def with_gradients(self) -> "Case":
        """The same numbers, with requires_grad."""
        fresh = {name: getattr(self, name).detach().clone().requires_grad_() for name in ("query", "keys", "values")}
        return replace(self, **fresh)


def make_case(
    parts: Parts,
    shape: Shape,
    *,
    mask: str | None = "padding",
    dtype: torch.dtype = torch.float64,
    attention: Attention | MultiHead | None = None,
) -> Case:
    """Random inputs; the mask is "padding" (B, S), "queries" (B, T, S) of random holes, or None."""
    attention = (parts.build() if attention is None else attention).to(dtype)
    inner = inner_of(attention)
    query_width, key_width = 4, 6 if parts.heads else inner.score.key_width
    made = None
    if mask == "padding":
        lengths = torch.randint(1, shape.S + 1, (shape.B,))
        lengths[-1] = shape.S
        made = masks.padding(lengths, shape.S)
    elif mask == "queries":
        made = torch.rand(shape.B, shape.T, shape.S) < 0.7
    return Case(
        attention,
        torch.randn(shape.B, shape.T, query_width, dtype=dtype),
        torch.randn(shape.B, shape.S, key_width, dtype=dtype),
        torch.randn(shape.B, shape.S, 5, dtype=dtype),
        made,
    )


def inner_of(attention: Attention | MultiHead) -> Attention:
    """The attention itself, or that of the heads."""
    return attention.inner if isinstance(attention, MultiHead) else attention


def outcome(case: Case, tape: Tape | None = None, *, run: Callable[[Case], Tensor] | None = None) -> dict[str, Tensor]:
    """The context, and by name the gradients of a fixed mix of its entries."""
    case = case.with_gradients()
    context = case.run(tape).context if run is None else run(case)
    mix = torch.linspace(-1, 1, context.numel(), dtype=context.dtype).view_as(context)
    inputs = {"query": case.query, "keys": case.keys, "values": case.values}
    inputs |= {name: p for name, p in case.attention.named_parameters() if p.requires_grad}
    grads = torch.autograd.grad((context * mix).sum(), inputs.values(), materialize_grads=True)
    return {"context": context.detach(), **dict(zip(inputs, grads, strict=True))}


def assert_same(got: dict[str, Tensor], wanted: dict[str, Tensor]) -> None:
    """The same names and, up to rounding, the same numbers."""
    assert got.keys() == wanted.keys()
    for name in got:
        torch.testing.assert_close(got[name], wanted[name], msg=lambda message, name=name: f"{name}: {message}")


@contextmanager
def what_is_shown(attention: Attention | MultiHead) -> Iterator[list[Tensor | None]]:
    """Collects the mask that the window returns in each call."""
    shown: list[Tensor | None] = []
    handle = inner_of(attention).window.register_forward_hook(lambda module, inputs, view: shown.append(view.mask))
    try:
        yield shown
    finally:
        handle.remove()
