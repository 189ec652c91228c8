"""Attention: score → align → context."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from saccade import pytree
from saccade.attention.aligns import Align, Softmax
from saccade.attention.scores import AttentionState, Score
from saccade.attention.tape import DISTRIBUTION, Tape
from saccade.attention.windows import Global, Window
from saccade.attention.windows.base import joined
from saccade.errors import ConfigError, ShapeError
from saccade.kernels.dot import Sight, fused_attention
from saccade.kernels.dropout import dropout

__all__ = [
    "Attention",
    "AttentionOutput",
    "Bank",
    "check_floats",
    "check_pairs",
    "name_sites",
    "next_state",
    "spread_mask",
]


@pytree.node
class Bank:
    """Keys and values to attend to, prepared once per source, with their mask.

    keys (B, [H,] S, P), P the width that the score prepares. values (B, [H,] S, Dv). mask: broadcastable to
    (B, [H,] T, S), or None.
    """

    keys: Tensor
    values: Tensor
    mask: Tensor | None = None


@pytree.node
class AttentionOutput:
    """Result of an attention call.

    context (N, [H,] T, Dv), N = B·K rows. weights (N, [H,] T, S), None if a fused kernel skipped them: to get them,
    pass a tape, as in attention(query, bank, tape=Tape()), or call inside `saccade.kernels.disable_fused()`.
    distribution: the probabilities that a hard align sampled its weights from. past: the state for the next step, if
    the attention keeps one. scores: shaped like the weights, -inf where masked; None unless a
    detailed tape records them.
    """

    context: Tensor
    weights: Tensor | None = None
    distribution: Tensor | None = None
    past: AttentionState | None = None
    scores: Tensor | None = None


class Attention(nn.Module):
    """Score every key against the query, turn the scores into weights, sum the values by these weights.

        scores = score(query, keys)        weights = align(scores, mask)        context = weights @ values

    One class serves a recurrent decoder (one query per step), an RNN attending to its own past states, an image
    grid and a Transformer (heads are one more axis, see MultiHead). It keeps no tensors between calls.
    Parts that depend on earlier steps read an `AttentionState`, which the caller keeps like any state:

        bank = attention.bank(keys, values, mask)        # once per source
        past = attention.start(bank)                     # None for most attentions
        attended = attention(query, bank, past=past)     # pass attended.past to the next step

    Without `past`, the queries start a new sequence. A bank of B sentences also serves N = B·K rows, K consecutive
    hypotheses per sentence; keys and values are not copied.
    `itself=False` is for self-attention: the query at position t does not see key t. If the attention is also causal,
    the first query sees no key. A query that sees no key gets a context of zeros.
    """

    def __init__(
        self,
        score: Score,
        align: Align | None = None,
        window: Window | None = None,
        *,
        dropout: float = 0.0,
        itself: bool = True,
        site: str = "attention",
    ) -> None:
        super().__init__()
        _check_parts(score, align, window)
        if not 0 <= dropout < 1:
            raise ConfigError(f"dropout is {dropout}, but the share of weights to drop is at least 0 and below 1.")
        self.score = score
        self.align = align if align is not None else Softmax()
        self.window = window if window is not None else Global(score.query_width)
        self.dropout, self.itself = dropout, itself
        self.site = site

    @property
    def sequential(self) -> bool:
        """Whether a step depends on the weights of the previous step."""
        return self.score.sequential or self.align.sequential or self.window.sequential

    def bank(self, keys: Tensor, values: Tensor | None = None, mask: Tensor | None = None) -> Bank:
        """Prepare keys (B, [H,] S, Dk) and values (default: the keys) once; mask as in `spread_mask`."""
        prepared, values = self.project(keys, values)
        return Bank(*self.score.collect(prepared, values), spread_mask(mask, keys))

    def project(self, keys: Tensor, values: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return prepared keys and values, in the form that a Bank or a Cache stores."""
        values = keys if values is None else values
        _check_keys(self.score, keys, values)
        return self.score.prepare(keys), values

    def cache_shapes(self, value_width: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the shapes of one prepared key and of one value."""
        return (self.score.prepared_width,), (value_width,)

    def start(self, bank: Bank, rows: int | None = None) -> AttentionState | None:
        """Return the state before the first step of `rows` hypotheses, by default one per sentence.

        None if the attention keeps no state.
        """
        if not self.sequential:
            return None
        *lead, size = bank.keys.shape[:-1]  # (B, [H,] S)
        even = torch.ones(*lead, 1, size, dtype=bank.values.dtype, device=bank.values.device)
        if bank.mask is not None:
            even = even * bank.mask[..., :1, :]  # visible to the first query
        even = even / even.sum(-1, keepdim=True).clamp_min(1)
        past = AttentionState(even, torch.zeros_like(even))
        if rows is None:
            return past
        _check_rows(rows, lead[0])
        return pytree.repeat_rows(past, rows // lead[0])

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
        """Attend with queries (N, [H,] T, Dq) to the bank.

        positions (N, T): the position of each query in its sequence, by default 0..T-1. `sight` tells
        `fused_attention` what the caller knows about the bank's mask, to save work.
        """
        _check_query(self.score, query, bank)
        tape = None if tape is None else tape.at(self.site)
        rows, length = query.shape[0], query.shape[-2]
        if positions is None:
            positions = torch.arange(length, device=query.device)[None]
        elif positions.shape not in ((1, length), (rows, length)):
            raise ShapeError(
                f"positions are {tuple(positions.shape)}, but there are {rows} rows of {length} queries: pass ({rows}, "
                f"{length}), or (1, {length}) for all rows alike."
            )
        positions = positions.view(-1, *([1] * (query.dim() - 3)), length, 1)  # (N, [1,] T, 1)
        positions = positions.expand(rows, *positions.shape[1:])
        if self.sequential and past is None:
            past = self.start(bank, rows)
        if self.sequential and length > 1:
            attended = self._unroll(query, bank, positions, past, tape)
        else:
            attended = self._attend(query, bank, positions, past, tape, sight=sight)
        if tape is not None:
            self._record(attended, tape)
        return attended

    def _unroll(
        self, query: Tensor, bank: Bank, positions: Tensor, past: AttentionState | None, tape: Tape | None
    ) -> AttentionOutput:
        """Attend with a sequence of queries one at a time, passing the state from each to the next."""
        steps = []
        for t in range(query.shape[-2]):
            mask = bank.mask
            if mask is not None and mask.shape[-2] > 1:
                mask = mask[..., t : t + 1, :]
            here = replace(bank, mask=mask)
            now = slice(t, t + 1)
            steps.append(self._attend(query[..., now, :], here, positions[..., now, :], past, tape, t))
            past = steps[-1].past
        context = torch.cat([step.context for step in steps], -2)
        weights, scores = _join(step.weights for step in steps), _join(step.scores for step in steps)
        return AttentionOutput(context, weights, _join(step.distribution for step in steps), past, scores)

    def _attend(
        self,
        query: Tensor,
        bank: Bank,
        positions: Tensor,
        past: AttentionState | None,
        tape: Tape | None,
        first: int = 0,
        sight: Sight = "any",
    ) -> AttentionOutput:
        """Attend at once: the T queries of each of K hypotheses become K·T queries of their sentence."""
        rows = bank.keys.shape[0]
        beams = query.shape[0] // rows
        visible, pull = self._steer(tape, bank, first, query.shape[-2])
        if visible is not None and past is not None:
            past = _restrict_start(past, visible)
        detailed = tape is not None and tape.detailed
        compute = partial(self._compute, recorded=tape is not None, detailed=detailed, visible=visible, pull=pull)
        if beams == 1:
            return compute(query, bank, positions, past, sight=sight)
        query, positions, past = pytree.map_tensors(lambda x: _fold(x, rows), (query, positions, past))
        if bank.mask is not None and bank.mask.shape[-2] > 1:
            repeats = [1] * (bank.mask.dim() - 2) + [beams, 1]
            bank = replace(bank, mask=bank.mask.repeat(repeats))
        attended = compute(query, bank, positions, past)
        return pytree.map_tensors(lambda x: _unfold(x, beams), attended)

    def _steer(
        self, tape: Tape | None, bank: Bank, first: int, length: int
    ) -> tuple[Tensor | None, Callable[[Tensor], Tensor] | None]:
        """Return the tape's interventions: a mask of visible keys, a function that changes weights (..., K·T, S).

        The weights belong to T steps of K hypotheses, starting at step `first` of this call.
        """
        if tape is None or tape.steering is None:
            return None, None
        steering, step = tape.steering, tape.steps(self.site) + first
        visible = steering.visible(self.site, bank.keys.shape[-2], bank.keys.device)
        if visible is not None:
            visible = visible.view(*[1] * (bank.keys.dim() - 1), -1)  # the rank of the scores

        def pull(weights: Tensor) -> Tensor:
            return steering.pull(self.site, step, weights.unflatten(-2, (-1, length))).flatten(-3, -2)

        return visible, pull if steering.pulls(self.site) else None

    def _compute(
        self,
        query: Tensor,
        bank: Bank,
        positions: Tensor,
        past: AttentionState | None,
        *,
        recorded: bool,
        detailed: bool,
        visible: Tensor | None,
        pull: Callable[[Tensor], Tensor] | None,
        sight: Sight = "any",
    ) -> AttentionOutput:
        """Compute score → align → context. A fused kernel does it if the weights or scores it skips are not needed."""
        mask, gain = self.window(query, bank.keys.shape[-2], bank.mask, positions, past)
        if visible is not None:  # after the window, so that hidden keys do not move it
            mask = joined(mask, visible)
        if not self.itself:
            mask = joined(mask, torch.arange(bank.keys.shape[-2], device=positions.device) != positions)
        hidden = sight == "any" or mask is not bank.mask  # a window may hide every key that the mask shows
        share = self.dropout if self.training else 0.0
        if not recorded and past is None and gain is None and self.align.fusable:
            dot = self.score.as_dot(query, bank.keys)
            if dot is not None:
                known: Sight = "any" if hidden else sight
                return AttentionOutput(fused_attention(dot.query, dot.keys, bank.values, mask, dot.scale, share, known))
        if gain is None and self.align.fusable and share == 0 and pull is None and not detailed:
            found = self.score.attend(query, bank.keys, bank.values, mask, past)
            if found is not None:
                context, weights = found
                return AttentionOutput(context, weights, None, next_state(past, weights, mask if hidden else None))
        scores = self.score(query, bank.keys, past)  # (B, [H,] T, S)
        distribution = self.align(scores, mask, past)
        weights = self.align.choose(distribution)
        if gain is not None:
            weights = weights * gain
            if mask is not None:  # no gradient to masked weights: infinite values there would make it NaN
                weights = weights.masked_fill(~mask, 0.0)
        if pull is not None:
            weights = pull(weights)
        if detailed and mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return AttentionOutput(
            dropout(weights, share) @ bank.values,
            weights,
            distribution if self.align.samples else None,
            next_state(past, weights, mask if hidden else None),
            scores if detailed else None,
        )

    def _record(self, attended: AttentionOutput, tape: Tape) -> None:
        assert attended.weights is not None, "a recorded step keeps its weights"
        tape.write(self.site, _with_heads(attended.weights), owner=self)
        if attended.distribution is not None:
            tape.write(self.site + DISTRIBUTION, _with_heads(attended.distribution), owner=self)
        if attended.scores is not None:
            tape.note(f"{self.site}.scores", _with_heads(attended.scores))

    def extra_repr(self) -> str:
        return (
            f"site={self.site!r}"
            + (f", dropout={self.dropout}" if self.dropout else "")
            + ("" if self.itself else ", itself=False")
        )


def spread_mask(mask: Tensor | None, keys: Tensor) -> Tensor | None:
    """Reshape a mask to broadcast with scores: (B, S) -> (B, [1,] 1, S), (B, T, S) -> (B, [1,] T, S).

    A mask that already has the rank of the scores is not changed. For a single sentence, (T, S) is accepted too.
    """
    if mask is None:
        return None
    size, rank = keys.shape[-2], keys.dim()
    if mask.dtype != torch.bool:
        raise ShapeError(
            f"mask is {mask.dtype}, but masks are torch.bool, True = keep. A mask of 0 and -inf, to be added, becomes "
            "one with mask == 0, and a mask of 1 and 0 with .bool(). The key_padding_mask of torch has True where keys "
            "are left out: negate it with ~."
        )
    if mask.dim() == 2 and keys.shape[0] == 1:
        mask = mask[None]  # for one sentence, a padding mask (1, S) and a mask (T, S) need no distinction
    fits = 2 <= mask.dim() <= rank and mask.shape[-1] == size and mask.shape[0] in (1, keys.shape[0])
    if not fits or (mask.dim() == 4 and mask.shape[1] not in (1, keys.shape[1])):
        raise ShapeError(
            f"mask is {tuple(mask.shape)}, but keys are {tuple(keys.shape)}: B={keys.shape[0]}, S={size}. "
            "A mask is (B, S), or (B, T, S) for one that differs by query. Build it with masks.padding(lengths)."
        )
    if mask.dim() == 2:
        mask = mask[:, None, :]
    return mask if mask.dim() == rank else mask[:, None]


def name_sites(model: nn.Module) -> None:
    """Name every attention by its module path in the model, so that a Tape can tell them apart."""
    for name, module in model.named_modules():
        if isinstance(module, Attention):
            module.site = f".{name}".removesuffix(".inner").removeprefix(".") or "attention"


def check_floats(name: str, tensor: Tensor) -> None:
    """Raise if a tensor, such as token ids, is not floating-point."""
    if not tensor.is_floating_point():
        raise ShapeError(f"{name}: dtype {tensor.dtype}, but attention works on floats. Embed tokens first.")


def check_dtype(module: nn.Module, **tensors: Tensor) -> None:
    """Raise unless tensors and the module's parameters have one dtype; autocast may mix dtypes."""
    first = next(iter(tensors.values()))
    if torch.is_autocast_enabled(first.device.type):
        return
    own = next((parameter.dtype for parameter in module.parameters()), first.dtype)
    for name, tensor in tensors.items():
        if tensor.dtype != own:
            raise ShapeError(f"{name} are {tensor.dtype}, but this attention is {own}. Convert one of them with .to().")


def check_pairs(keys: Tensor, values: Tensor) -> None:
    """Raise unless there is at least one key and each key has one value."""
    if 0 in keys.shape[:-1]:
        raise ShapeError(f"keys are {tuple(keys.shape)}: there is nothing to attend to. Pass at least one key.")
    if values.shape[:-1] != keys.shape[:-1]:
        raise ShapeError(
            f"values are {tuple(values.shape)} and keys {tuple(keys.shape)}: each key needs one value, so they "
            "may differ in the last axis only."
        )


def next_state(past: AttentionState | None, weights: Tensor | None, mask: Tensor | None) -> AttentionState | None:
    """Return the state for the next query, or None if none is kept; pass `mask` if it may hide all keys."""
    if past is None or weights is None:
        return None
    # a query without visible keys leaves `previous` unchanged
    previous = weights if mask is None else torch.where(mask.any(-1, keepdim=True), weights, past.previous)
    return AttentionState(previous, past.total + weights)


def _restrict_start(past: AttentionState, visible: Tensor) -> AttentionState:
    """Restrict the uniform weights before the first step to visible keys; later states stay unchanged."""
    spread = past.previous * visible
    spread = spread / spread.sum(-1, keepdim=True).clamp_min(torch.finfo(spread.dtype).tiny)
    begun = past.total.sum(-1, keepdim=True) > 0
    return AttentionState(torch.where(begun, past.previous, spread), past.total)


def _join(parts: Iterable[Tensor | None]) -> Tensor | None:
    present = [part for part in parts if part is not None]
    return torch.cat(present, -2) if present else None


def _with_heads(weights: Tensor) -> Tensor:
    return weights.unsqueeze(1) if weights.dim() == 3 else weights


def _fold(x: Tensor, rows: int) -> Tensor:
    """(B·K, [H,] T, D) -> (B, [H,] K·T, D)."""
    x = x.unflatten(0, (rows, -1)).movedim(1, -3)  # (B, [H,] K, T, D)
    return x.flatten(-3, -2)


def _unfold(x: Tensor, beams: int) -> Tensor:
    """(B, [H,] K·T, D) -> (B·K, [H,] T, D)."""
    x = x.unflatten(-2, (beams, -1)).movedim(-3, 1)  # (B, K, [H,] T, D)
    return x.flatten(0, 1)


def _check_keys(score: Score, keys: Tensor, values: Tensor) -> None:
    rank = 3 if score.heads is None else 4
    form = "(B, S, D)" if rank == 3 else f"(B, {score.heads}, S, D)"
    for name, tensor in (("keys", keys), ("values", values)):
        if tensor.dim() != rank:
            raise ShapeError(f"{name} are {tuple(tensor.shape)}, but this attention takes {form}.")
        check_floats(name, tensor)
    if keys.shape[-1] != score.key_width:
        raise ShapeError(
            f"keys are {keys.shape[-1]} wide, but {type(score).__name__} was built for key_width={score.key_width}. "
            "Build it with the width of the keys."
        )
    check_pairs(keys, values)
    check_dtype(score, keys=keys, values=values)


def _check_parts(score: Score, align: Align | None, window: Window | None) -> None:
    for part, kind in ((score, Score), (align, Align), (window, Window)):
        if part is None:
            continue
        if not isinstance(part, kind):
            raise ConfigError(
                f"an Attention is made of a Score, an Align and a Window, but was given {part!r} for the "
                f"{kind.__name__.lower()}. For names, use build_attention."
            )
        if part.heads not in (None, score.heads):
            raise ConfigError(f"the score has heads={score.heads}, but {type(part).__name__} heads={part.heads}.")
    if window is not None and window.query_width != score.query_width:
        raise ConfigError(
            f"the score's queries are {score.query_width} wide, but the window's {window.query_width}. Make them equal."
        )


def _check_rows(rows: int, sentences: int) -> None:
    if 0 in (rows, sentences) or rows % sentences:
        raise ShapeError(
            f"query has {rows} rows, but the bank has {sentences} sentences: the rows must be a multiple of the "
            "sentences, at least one for each."
        )


def _check_query(score: Score, query: Tensor, bank: Bank) -> None:
    if not isinstance(bank, Bank):
        raise ShapeError(f"attention reads a Bank, but was given a {type(bank).__name__}: make one with .bank(keys).")
    keys = bank.keys
    if query.dim() != keys.dim() or query.shape[1:-2] != keys.shape[1:-2]:
        raise ShapeError(
            f"query is {tuple(query.shape)}, but the bank's keys are {tuple(keys.shape)}: they must agree in rank "
            "and heads. A single query has T=1, so (B, D) becomes (B, 1, D)."
        )
    if query.shape[-1] != score.query_width:
        raise ShapeError(
            f"query is {query.shape[-1]} wide, but {type(score).__name__} was built for "
            f"query_width={score.query_width}. Build it with the width of the queries."
        )
    check_floats("query", query)
    _check_rows(query.shape[0], keys.shape[0])
    if query.shape[-2] == 0:
        raise ShapeError(f"query is {tuple(query.shape)}: T=0. Pass at least one query.")
    if query.dtype != bank.values.dtype and not torch.is_autocast_enabled(query.device.type):
        raise ShapeError(
            f"query is {query.dtype}, but the bank is {bank.values.dtype}. Convert one of them with .to()."
        )
    if bank.mask is not None and bank.mask.shape[-2] not in (1, query.shape[-2]):
        raise ShapeError(
            f"mask is {tuple(bank.mask.shape)}, made for {bank.mask.shape[-2]} queries, but there are "
            f"T={query.shape[-2]}. Make the bank with a mask for these, or with a padding mask (B, S)."
        )
