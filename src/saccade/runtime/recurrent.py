"""The decoding engine of the recurrent encoder-decoder: its own step, with packed weights of cells and output layer.

Packed parts go through `exactly`: any other type raises Inexact, and the model is decoded by its own `step`. The
encoder, the gate, and attentions and read-outs of types that are not packed here are called unchanged.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade import pytree
from saccade.attention import Attention, AttentionalVector, AttentionState, Bank, MultiHead, Tape
from saccade.attention.aligns import Softmax
from saccade.attention.scores import Additive, Concat
from saccade.attention.turns import TurnAttention
from saccade.attention.windows import Global
from saccade.batch import Batch
from saccade.kernels.dropout import Dropout
from saccade.kernels.packed import Precision, Product, pack
from saccade.layers.cells import (
    GRU,
    LSTM,
    Advance,
    BahdanauGRU,
    Cell,
    CellStack,
    ChoGRU,
    Layered,
    Parts,
    ResetBeforeGRU,
    StackAdvance,
    Tanh,
)
from saccade.layers.readout import Maxout, Readout, TanhReadout, side_by_side
from saccade.layers.stack import Layers
from saccade.models.recurrent import Loop, Read, RecurrentSeq2Seq
from saccade.runtime.engine import DecodingEngine, DecodingState, StepState, rows_of
from saccade.runtime.exactness import Inexact, exactly, own_methods

__all__ = ["RecurrentEngine", "pack_recurrent"]


def pack_recurrent(model: RecurrentSeq2Seq, precision: Precision) -> DecodingEngine:
    """Return the engine of a recurrent encoder-decoder; raise Inexact if the model overrides its steps."""
    own_methods(model, RecurrentSeq2Seq, ("step", "_embed", "_loop"))  # the engine calls the other methods
    return RecurrentEngine(model, precision)


class RecurrentEngine(DecodingEngine):
    """Engine for recurrent encoder-decoders."""

    def __init__(self, model: RecurrentSeq2Seq, precision: Precision) -> None:
        first, words = model.cells.first, model.target_embedding.embedding_dim
        if exactly(model.target_embedding, nn.Embedding).max_norm is not None:
            raise Inexact("its embedding rescales vectors that are longer than max_norm")
        exactly(model.target_dropout, Dropout)
        for cell in exactly(exactly(model.cells, CellStack).cells, Layers):
            exactly(cell, GRU, LSTM, Tanh, ChoGRU, BahdanauGRU)
        weight = first.input_weight
        self._model = weakref.ref(model)  # weak: the cache of engines is keyed by the model
        self.words = pack(weight[:, :words].contiguous(), first.input_bias, precision=precision)
        late = weight[:, words:].contiguous()
        self.late = pack(late, None, precision=precision) if late.shape[1] else None
        on_cpu = weight.device.type == "cpu"  # on a GPU attention and cells have fused kernels
        attend = packed_attention(model.attention, precision) if on_cpu else None
        cells = packed_stack(model.cells, precision) if on_cpu else model.cells.recurrence()
        self.loop = Loop(self.add, cells, attend, packed_readout(model.readout, precision))
        self.output = pack(exactly(model.output, nn.Linear).weight, model.output.bias, precision=precision)

    @property
    def replaces(self) -> bool:  # type: ignore[override]
        # banks of turns cannot be padded to the shape of another batch
        return not isinstance(self.model.attention, TurnAttention)

    @property
    def model(self) -> RecurrentSeq2Seq:
        """The model whose weights are packed."""
        model = self._model()
        assert model is not None, "the engine outlived its model"
        return model

    def read(self, batch: Batch, width: int, max_length: int, *, tape: Tape | None = None) -> DecodingState:
        memory = self.model.encode(batch, tape=tape)
        state = pytree.repeat_rows(self.model.init_state(memory, max_length), width)
        return RecurrentDecodingState(self, memory, state, width)

    def add(self, gates: Tensor, late: Tensor) -> Tensor:
        """Add the contribution of inputs other than the word to the gates."""
        assert self.late is not None
        return self.late.added(late, gates)


class RecurrentDecodingState(StepState):
    """The model's memory and state. Each row has its own position, so sentences can be replaced at any time."""

    def __init__(self, engine: RecurrentEngine, memory: Any, state: Any, width: int) -> None:
        super().__init__(engine.model, memory, state, width)
        self._engine = engine

    def step(self, tokens: Tensor, *, tape: Tape | None = None) -> Tensor:
        engine = self._engine
        word = F.embedding(tokens, engine.model.target_embedding.weight)
        gates = engine.words(word)
        vector, self._state = engine.model.advance(self._memory, self._state, word, gates, engine.loop, tape)
        return engine.output(vector)

    def follow(self, rows: Tensor) -> None:
        # positions need no reordering: they are equal for all hypotheses of a sentence
        moved = pytree.take_rows(dataclasses.replace(self._state, position=None), rows)
        self._state = dataclasses.replace(moved, position=self._state.position)

    def replace(self, sentences: Tensor, others: DecodingState, which: Tensor) -> None:
        assert isinstance(others, RecurrentDecodingState)
        sizes = [0 if part._memory.bank is None else part._memory.bank.keys.shape[-2] for part in (self, others)]
        rows, theirs = rows_of(sentences, self._width), rows_of(which, self._width)
        longest = max(sizes)
        for name, mine, of_others in (("_memory", sentences, which), ("_state", rows, theirs)):
            old, new = (_padded(getattr(part, name), longest) for part in (self, others))
            pairs = zip(pytree.leaves(old), pytree.leaves(new), strict=True)
            made = iter([one.index_copy(0, mine, other.index_select(0, of_others)) for one, other in pairs])
            setattr(self, name, pytree.map_tensors(lambda _: next(made), old))  # noqa: B023 (used at once)


def _padded(part: Any, size: int) -> Any:
    """Pad a memory or a state to `size` source words; the padding is masked."""
    changes: dict[str, Any] = {}
    bank = getattr(part, "bank", None)
    if isinstance(bank, Bank) and bank.mask is not None:
        more = size - bank.keys.shape[-2]
        mask = F.pad(bank.mask, (0, more), value=False)
        keys, values = (_longer(part, more) for part in (bank.keys, bank.values))
        changes["bank"] = Bank(keys, values, mask)
    past = getattr(part, "past", None)
    if isinstance(past, AttentionState):
        more = size - past.previous.shape[-1]
        changes["past"] = AttentionState(F.pad(past.previous, (0, more)), F.pad(past.total, (0, more)))
    fields = {name: getattr(part, name) for name in part.__dataclass_fields__}
    return type(part)(**{**fields, **changes})


def _longer(part: Tensor, more: int) -> Tensor:
    """Append `more` rows of zeros to keys or values, whose width may be 0: older versions of `F.pad` refuse that."""
    return torch.cat((part, part.new_zeros(*part.shape[:-2], more, part.shape[-1])), -2)


def packed_attention(
    attention: Attention | MultiHead | None, precision: Precision
) -> Callable[[Tensor, Bank, Tape | None], Tensor] | None:
    """Pack a step of additive attention with softmax over all keys; return None for any other attention.

        tanh(q + k) = 1 - 2 / (e^2q e^2k + 1)

    e^2k depends only on the source, so a step computes exponentials of the query alone.
    """
    try:
        attention = exactly(attention, Attention)
        score = exactly(attention.score, Additive, Concat)
        exactly(attention.window, Global)
        if not exactly(attention.align, Softmax).fusable or not attention.itself:
            return None
    except Inexact:
        return None
    project = pack(score.query_weight, None, precision=precision)
    v = score.v.detach().squeeze(0)
    if v.dtype not in _MAX_QUERY:
        return None
    limit = _MAX_QUERY[v.dtype]
    exponentials = _KeyExponentials()

    def attend(query: Tensor, bank: Bank, tape: Tape | None) -> Tensor:
        (sentences, size, width), rows = bank.keys.shape, query.shape[0]
        powers = exponentials.of(bank.keys)
        if powers is None:
            context: Tensor = attention(query[:, None], bank, tape=tape).context
            return context[:, 0]
        asked = project(query.contiguous()).clamp_(-limit, limit).mul_(2).exp_().view(sentences, -1, 1, width)
        inner = (powers[:, None] * asked).add_(1).reciprocal_()  # (B, K, S, A)
        scores = (
            torch.mv(inner.view(-1, width), v).mul_(-2).view(sentences, -1, size)
        )  # the term v · 1 is equal for all keys
        if bank.mask is not None:
            scores.masked_fill_(~bank.mask, -torch.inf)
        weights = torch.softmax(scores, -1)
        if tape is not None:
            tape.write(attention.site, weights.view(rows, 1, 1, size), owner=attention)
        return torch.bmm(weights, bank.values).view(rows, -1)

    return attend


_MAX_KEY = 20.0
"""If the magnitude of a key is greater, the model's own attention is called."""
_MAX_QUERY = {torch.float32: _MAX_KEY + 10.0, torch.float64: _MAX_KEY + 20.0}
"""Queries are clamped to this magnitude; with any key up to _MAX_KEY, tanh is ±1 there to the last bit."""


class _KeyExponentials:
    """A cache of e^2k for the last keys."""

    def __init__(self) -> None:
        self._last: tuple[weakref.ref[Tensor], Tensor | None] | None = None

    def of(self, keys: Tensor) -> Tensor | None:
        """Return e^2k, cached for the last keys tensor (banks are immutable); None if a key exceeds _MAX_KEY."""
        last = self._last  # read once: another thread may write it
        if last is not None and last[0]() is keys:
            return last[1]
        exponentials = (keys * 2).exp_() if float(keys.abs().amax()) <= _MAX_KEY else None
        self._last = (weakref.ref(keys), exponentials)
        return exponentials


def packed_readout(readout: Readout, precision: Precision) -> Read | None:
    """Pack the layer of a read-out; return None for types that are not packed here."""
    if type(readout) is Maxout:
        exactly(exactly(readout, Maxout).layer, nn.Linear)
        # regroup the pairs of maxout into two halves: comparing halves is faster than comparing neighbors
        weight, bias = (
            None if part is None else part.unflatten(0, (-1, 2)).transpose(0, 1).flatten(0, 1).contiguous()
            for part in (readout.layer.weight, readout.layer.bias)
        )
        assert weight is not None
        layer = pack(weight, bias, precision=precision)

        def maxout(state: Tensor, context: Tensor | None, word: Tensor | None) -> Tensor:
            return torch.maximum(*layer(side_by_side(state, context, word)).chunk(2, -1))

        return maxout
    if type(readout) is TanhReadout:
        joining = exactly(exactly(exactly(readout, TanhReadout).vector, AttentionalVector).join, nn.Linear)
        join = pack(joining.weight, joining.bias, precision=precision)

        def attentional(state: Tensor, context: Tensor | None, word: Tensor | None) -> Tensor:
            parts = [part for part in (context, state, word) if part is not None]
            return join(torch.cat(parts, -1)).tanh_()

        return attentional
    return None


def packed_stack(stack: CellStack, precision: Precision) -> StackAdvance:
    """Pack the weights of `stack.recurrence()`, without dropout."""
    exactly(stack.dropout, Dropout)
    steps = [packed_recurrence(cell, precision) for cell in stack.cells]
    inputs: list[Product] = [
        pack(cell.input_weight, cell.input_bias, precision=precision) for cell in list(stack.cells)[1:]
    ]

    adds = [stack.adds(layer) for layer in range(1, stack.layers)]

    def advance(gates: Tensor, layered: Layered, beside: Tensor | None = None) -> tuple[Tensor, Layered]:
        after = steps[0](gates, layered[0])
        output, states = after[0], [after]
        for project, step, before, residual in zip(inputs, steps[1:], layered[1:], adds, strict=True):
            after = step(project(stack.widened(output, beside)), before)
            output = after[0] + output if residual else after[0]
            states.append(after)
        return output, tuple(states)

    return advance


def packed_recurrence(cell: Cell, precision: Precision) -> Advance:
    """Pack the recurrent weights of `cell.recurrence()`."""
    makers: dict[type[Cell], Callable[[Product, int], Advance]] = {GRU: _gru, LSTM: _lstm, Tanh: _tanh}
    if type(cell) in makers:
        own = dict(cell.named_parameters())
        recur = pack(own["rnn.weight_hh_l0"], own["rnn.bias_hh_l0"], precision=precision)
        return makers[type(cell)](recur, cell.width)
    assert isinstance(cell, ResetBeforeGRU)
    return _reset_before(cell, precision)


def _gru(recur: Product, width: int) -> Advance:
    sizes = [2 * width, width]

    def advance(gates: Tensor, parts: Parts) -> Parts:
        (state,) = parts
        gates, proposal = gates.split(sizes, -1)
        of_gates, of_proposal = recur(state.contiguous()).split(sizes, -1)
        reset, update = (gates + of_gates).sigmoid_().chunk(2, -1)
        return (torch.lerp(torch.addcmul(proposal, reset, of_proposal).tanh_(), state, update),)

    return advance


def _lstm(recur: Product, width: int) -> Advance:
    def advance(gates: Tensor, parts: Parts) -> Parts:
        hidden, memory = parts
        i, f, g, o = recur.added(hidden.contiguous(), gates).chunk(4, -1)
        memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(memory), memory

    return advance


def _tanh(recur: Product, width: int) -> Advance:
    return lambda gates, parts: (recur.added(parts[0].contiguous(), gates).tanh_(),)


def _reset_before(cell: ResetBeforeGRU, precision: Precision) -> Advance:
    sizes = [2 * cell.width, cell.width]
    of_gates, of_candidate = (
        pack(part.contiguous(), None, precision=precision) for part in cell.weight_hh.split(sizes)
    )
    takes_new = cell.update_takes_new

    def advance(gates: Tensor, parts: Parts) -> Parts:
        state = parts[0].contiguous()
        gates, proposal = gates.split(sizes, -1)
        reset, update = of_gates.added(state, gates).sigmoid_().chunk(2, -1)
        candidate = of_candidate.added(reset * state, proposal).tanh_()
        return (torch.lerp(state, candidate, update) if takes_new else torch.lerp(candidate, state, update),)

    return advance
