"""Multi-head attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from torch import Tensor, nn

from saccade.attention.core import Attention, AttentionOutput, Bank, check_dtype, check_floats, check_pairs, spread_mask
from saccade.attention.scores import AttentionState
from saccade.attention.tape import Tape
from saccade.errors import ConfigError, ShapeError, unknown_name
from saccade.kernels.dot import Sight
from saccade.kernels.linear import learns, linear, together

__all__ = ["MultiHead", "Project", "Rotate", "site_of"]

Rotate = Callable[[Tensor, Tensor | None], Tensor]
"""Rotates (B, H, T, D) by positions (B, T), by default 0..T-1: a positional encoding applied inside attention."""
Project = Literal["none", "qk", "qkv"]
"""What a self-attention projects: nothing, queries and keys, or queries, keys and values."""


class MultiHead(nn.Module):
    """Multi-head attention: project query, key and value, attend in every head, join the heads, project back.

        head_i = attention(W_Q q, W_K k, W_V v)_i        out = W_O [head_1 ; … ; head_H]

    query (N, T, Dq), keys (B, S, Dk), values (B, S, Dv) -> context (N, T, output_width), weights (N, H, T, S).
    A query without visible keys gets zero from every head, so its context is the bias of W_O.
    `project` can omit projections, as lectures do when they build up self-attention step by step:
        qk       head_i = attention(W_Q q, W_K k, W_K k)_i: the projected keys (before any rotation) are the values
        none     head_i = attention(q, k, v)_i, each head on its slice of the vectors; W_O is omitted too
    Omitted projections are None.
    Can replace an Attention anywhere: the same `bank`, `start` and call. `inner` is the attention of all
    heads, with any score, align and window, built for width // heads and with `heads`.
    Paper: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2.
    """

    def __init__(
        self,
        inner: Attention,
        query_width: int,
        key_width: int | None = None,
        value_width: int | None = None,
        output_width: int | None = None,
        *,
        bias: bool = True,
        rotate: Rotate | None = None,
        project: Project = "qkv",
    ) -> None:
        super().__init__()
        if project not in get_args(Project):
            raise unknown_name("projection", project, get_args(Project))
        heads, head_width = inner.score.heads, inner.score.query_width
        if heads is None or head_width != inner.score.key_width:
            raise ConfigError(
                f"MultiHead needs a score built with heads and one width for queries and keys, but this one has "
                f"heads={heads}, query_width={head_width}, key_width={inner.score.key_width}. "
                "build_attention(..., heads=…) makes a fitting one."
            )
        key_width = query_width if key_width is None else key_width
        value_width = key_width if value_width is None else value_width
        self.inner, self.heads, self.width = inner, heads, heads * head_width
        output_width = output_width or query_width
        self.query_width, self.key_width, self.value_width = query_width, key_width, value_width
        if project == "none" and {query_width, key_width, value_width, output_width} != {self.width}:
            raise ConfigError(
                f"without projections queries, keys, values and output have one width, but these are {query_width}, "
                f"{key_width}, {value_width} and {output_width} wide, and the heads {self.width}. Project them."
            )
        self.query = nn.Linear(query_width, self.width, bias) if project != "none" else None
        self.key = nn.Linear(key_width, self.width, bias) if project != "none" else None
        self.value = nn.Linear(value_width, self.width, bias) if project == "qkv" else None
        self.output = nn.Linear(self.width, output_width, bias) if project != "none" else None
        self.project_what, self.rotate = project, rotate
        for layer in (self.query, self.key, self.value, self.output):
            if layer is not None:
                nn.init.xavier_uniform_(layer.weight)
                if bias:
                    nn.init.zeros_(layer.bias)
        if self.key is not None and self.value is not None:
            # DistributedDataParallel rejects parameters without a gradient: this one, if the score reads no keys
            self.key.requires_grad_(inner.score.prepared_width > 0)

    @property
    def sequential(self) -> bool:
        """Whether a step depends on the weights of the previous step."""
        return self.inner.sequential

    def cache_shapes(self, value_width: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the shapes of one prepared key and of one value, per head."""
        return (self.heads, self.inner.score.prepared_width), (self.heads, self.width // self.heads)

    def project(
        self, keys: Tensor, values: Tensor | None = None, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return prepared keys and values (B, H, S, D) per head, in the form that a Cache stores."""
        values = keys if values is None else values
        self._check_bank(keys, values)
        if self.key is not None and self.value is not None and values is keys:
            key, value = together([self.key, self.value], keys)
        else:
            key = _projected(self.key, keys)
            value = key if self.project_what == "qk" else _projected(self.value, values)
        return self._prepare(key, positions), self._split(value)

    def bank(self, keys: Tensor, values: Tensor | None = None, mask: Tensor | None = None) -> Bank:
        """Project and prepare keys and values once per source; mask (B, S), (B, T, S) or (B, H, T, S)."""
        prepared, split = self.project(keys, values)
        return Bank(*self.inner.score.collect(prepared, split), spread_mask(mask, split))

    def over(
        self, x: Tensor, mask: Tensor | None = None, *, sight: Sight = "any", tape: Tape | None = None
    ) -> AttentionOutput:
        """Compute self-attention self(x, self.bank(x, mask=mask)); in GPU training, one matmul projects all three."""
        layers = [layer for layer in (self.query, self.key, self.value) if layer is not None]
        if len(layers) < 3 or self.query_width != self.key_width or not learns(x, *layers):
            return self.forward(x, self.bank(x, mask=mask), sight=sight, tape=tape)
        self._check_query(x)
        self._check_bank(x, x)
        query, key, value = together(layers, x)
        values = self._split(value)
        bank = Bank(self._prepare(key, None), values, spread_mask(mask, values))
        return self._attend(query, bank, None, None, sight, tape)

    def start(self, bank: Bank, rows: int | None = None) -> AttentionState | None:
        """Return the state before the first step, or None if the heads keep none."""
        return self.inner.start(bank, rows)

    def forward(
        self,
        query: Tensor,
        bank: Bank,
        *,
        positions: Tensor | None = None,
        past: AttentionState | None = None,
        sight: Sight = "any",
        tape: Tape | None = None,
    ) -> AttentionOutput:
        """Attend with queries (N, T, Dq) to the bank; the other arguments are those of Attention."""
        self._check_query(query)
        return self._attend(_projected(self.query, query), bank, positions, past, sight, tape)

    def _attend(
        self,
        query: Tensor,
        bank: Bank,
        positions: Tensor | None,
        past: AttentionState | None,
        sight: Sight,
        tape: Tape | None,
    ) -> AttentionOutput:
        """Attend with projected queries: (N, T, width) -> (N, T, output_width)."""
        split = self._split(query)
        if self.rotate is not None:
            split = self.rotate(split, positions)
        if tape is not None:
            tape.note(f"{self.inner.site}.query", split)
            tape.note(f"{self.inner.site}.key", bank.keys, once=True)
            tape.note(f"{self.inner.site}.value", bank.values, once=True)
        attended = self.inner(split, bank, positions=positions, past=past, sight=sight, tape=tape)
        context = _projected(self.output, attended.context.transpose(1, 2).flatten(2))  # (N, T, output_width)
        return AttentionOutput(context, attended.weights, attended.distribution, attended.past)

    def _prepare(self, key: Tensor, positions: Tensor | None) -> Tensor:
        split = self._split(key)
        if self.rotate is not None:
            split = self.rotate(split, positions)
        return self.inner.score.prepare(split)

    def _check_bank(self, keys: Tensor, values: Tensor) -> None:
        for name, tensor, width in (("keys", keys, self.key_width), ("values", values, self.value_width)):
            if tensor.dim() != 3 or tensor.shape[-1] != width:
                raise ShapeError(
                    f"{name} are {tuple(tensor.shape)}, but this attention takes (B, S, {width}). "
                    "Build it with the width of the keys."
                )
            check_floats(name, tensor)
        check_pairs(keys, values)
        check_dtype(self, keys=keys, values=values)

    def _check_query(self, query: Tensor) -> None:
        if query.dim() != 3 or query.shape[-1] != self.query_width:
            raise ShapeError(
                f"query is {tuple(query.shape)}, but this attention takes (N, T, {self.query_width}). "
                "A single query has T=1."
            )
        check_floats("query", query)

    def _split(self, x: Tensor) -> Tensor:
        out: Tensor = x.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, H, T, D)
        return out


def _projected(layer: nn.Linear | None, x: Tensor) -> Tensor:
    return x if layer is None else linear(layer, x)


def site_of(attention: Attention | MultiHead) -> str:
    """Return the name under which an attention writes to a Tape."""
    return attention.site if isinstance(attention, Attention) else attention.inner.site
