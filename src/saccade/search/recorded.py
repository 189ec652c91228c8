"""Searches on a GPU, recorded once for each shape and replayed from then on.

A step of a search is a few hundred small kernels, and Python takes longer to start them than the device to run them. So
the steps are recorded, a few at a time, as CUDA graphs with the search inside: a replay writes that many words of every
answer without the processor, which only asks between the pieces whether all sentences are done. Nothing about the steps
changes; what is recorded is what the plain search does.
"""

from __future__ import annotations

import copy
import logging
import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from saccade.batch import BOS, Batch, round_up
from saccade.errors import NumericsError
from saccade.kernels.recording import recording
from saccade.models.base import Draft, Precision, Seq2Seq, check_finite, fingerprint
from saccade.search.history import Hypothesis, walk
from saccade.search.loop import Strategy, check_numbers, check_search, evaluating
from saccade.search.view import View

__all__ = ["recorded"]

STEPS = 8
"""Words that a piece writes: after so many, the processor asks whether that was all."""
MOST = 32
"""Shapes of searches that are kept for a model."""
_NAME = "_recorded_searches"
"""What they are called there: they hold the model and go with it, as no table of models would let them."""


@torch.no_grad()
def recorded(
    model: Seq2Seq,
    batch: Batch,
    make: Callable[[], Strategy],
    key: object,
    *,
    lengths: list[int],
    room: int | None = None,
    precision: Precision = "full",
) -> list[list[Hypothesis]] | None:
    """What a search by the strategy that `make` makes finds; None where it is not worth it.

    `key` tells strategies apart; `lengths`: the most words of each sentence, the end included. Where the model looked
    is not recorded.
    """
    if batch.source is None or batch.source.device.type != "cuda" or batch.source.dim() != 2:
        return None
    searches: _Searches | None = model.__dict__.get(_NAME)
    if searches is None:
        searches = model.__dict__[_NAME] = _Searches(model)
    with searches.lock, nullcontext() if searches.ready() else evaluating(model):
        return searches.find(model, batch, make, key, lengths, room, precision)


class _Searches:
    """The recordings of one model, whose modules are expected to stay."""

    def __init__(self, model: Seq2Seq) -> None:
        self.lock = threading.Lock()
        self._parts, self._parameters = weakref.WeakSet(model.modules()), list(model.parameters())
        self._writers: dict[Precision, tuple[Any, Any]] = {}
        self._recordings: dict[Any, _Recording] = {}
        self._seen: set[Any] = set()
        self._refused = False

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        """A copy of a model has none yet."""
        return _nothing, ()

    def ready(self) -> bool:
        """Whether the model is in no part that learns, or that somebody hooked into."""
        return not any(part.training or part._forward_hooks or part._forward_pre_hooks for part in self._parts)

    def _writer(self, model: Seq2Seq, precision: Precision) -> Any:
        """The model's writer; to ask for it takes as long as some words do, so that is done when something changed."""
        now = fingerprint(self._parameters) if self.ready() else None
        if now is None or self._writers.get(precision, (None,))[0] != now:
            self._writers[precision] = (now, model.writer(precision))
            for shape in [shape for shape in self._recordings if shape[1] == precision]:
                del self._recordings[shape]  # they write with weights of the past
        return self._writers[precision][1]

    def find(
        self,
        model: Seq2Seq,
        batch: Batch,
        make: Callable[[], Strategy],
        key: object,
        lengths: list[int],
        room: int | None,
        precision: Precision,
    ) -> list[list[Hypothesis]] | None:
        assert batch.source is not None
        one_length = min(lengths) == max(lengths)
        longest = max(lengths) if one_length else _within(max(lengths), room)
        sentences, size = round_up(batch.size), _within(batch.source.shape[1], room)
        writer = self._writer(model, precision)
        shape = (key, precision, sentences, size, longest, one_length)
        made = self._recordings.get(shape)
        if made is None:
            # the first one of a shape goes without, which gets all kernels ready
            if self._refused or shape not in self._seen or len(self._recordings) >= MOST:
                self._seen.add(shape)
                return None
            check_search(model, batch, make(), longest, ())
            check_finite(model)
            limits = None if one_length else torch.zeros(sentences, dtype=torch.long, device=batch.source.device)
            made = _Recording(model, writer, make(), sentences, size, longest, limits, batch.source.device)
            self._recordings[shape] = made
        try:
            return made.run(batch, lengths)
        except NumericsError:
            raise
        except Exception as error:  # whatever it is, the same search without a recording will tell if it is serious
            self._refused, self._recordings = True, {}
            logging.getLogger("saccade").warning(
                "searches go on without CUDA graphs: %s", str(error).splitlines()[0] if str(error) else error
            )
            return None


def _within(length: int, room: int | None) -> int:
    """A length rounded up, but to none that a model has no places for."""
    return round_up(length) if room is None else max(min(round_up(length), room), length)


def _nothing() -> None:
    return None


@dataclass
class _Piece:
    """Some steps: their graph, the words (n, B, K) they write, the slots these come from, and the strategy after them.

    flags (2,): whether all sentences are done, and whether a prediction was no number.
    """

    graph: torch.cuda.CUDAGraph
    tokens: Tensor
    parents: Tensor | None
    strategy: Strategy
    flags: Tensor


@dataclass
class _Steps:
    """What the recorded steps work on, at the end of what was recorded so far."""

    draft: Draft
    tokens: Tensor
    written: Tensor
    done: int = 0
    pieces: list[_Piece] = field(default_factory=list)


class _Recording:
    """A search for batches of one shape."""

    def __init__(
        self,
        model: Seq2Seq,
        writer: Any,
        strategy: Strategy,
        sentences: int,
        size: int,
        longest: int,
        limits: Tensor | None,
        device: torch.device,
    ) -> None:
        self._model, self._writer, self._strategy, self._longest = weakref.ref(model), writer, strategy, longest
        self._limits, self._device = limits, device
        source = torch.full((sentences, size), BOS, device=device)
        self._batch = Batch(source, torch.ones_like(source, dtype=torch.bool))
        self._stream, self._pool = torch.cuda.Stream(device), torch.cuda.graph_pool_handle()
        self._steps: _Steps | None = None

    def run(self, batch: Batch, lengths: list[int]) -> list[list[Hypothesis]]:
        self._fill(batch, lengths)
        model = self._model()
        assert model is not None
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        pieces = []
        with torch.cuda.stream(self._stream):
            number = 0
            while True:
                if self._steps is None or number == len(self._steps.pieces):
                    self._record()
                assert self._steps is not None
                piece = self._steps.pieces[number]
                piece.graph.replay()
                pieces.append(piece)
                number += 1
                done, broken = piece.flags.tolist()
                if broken:
                    check_numbers(model, torch.tensor(True))
                if done or number * STEPS >= self._longest:
                    break
            found = self._answers(pieces)
        torch.cuda.current_stream(self._device).wait_stream(self._stream)
        return found[: batch.size]

    def _fill(self, batch: Batch, lengths: list[int]) -> None:
        """The batch in the place of the recorded one; what is more there repeats its first sentence."""
        source, mask = self._batch.source, self._batch.source_mask
        assert batch.source is not None
        assert batch.source_mask is not None
        assert source is not None
        assert mask is not None
        (rows, size), more = batch.source.shape, len(source) - len(batch.source)
        mask.fill_(False)
        for own, new in ((source, batch.source), (mask, batch.source_mask)):
            own[:rows, :size].copy_(new)
            if more:
                own[rows:, :size].copy_(new[:1].expand(more, -1))
        if self._limits is not None:
            self._limits.copy_(torch.tensor([*lengths, *[lengths[0]] * more]))

    def _record(self) -> None:
        """The next few steps."""
        graph = torch.cuda.CUDAGraph()
        with recording(graph, self._pool, self._stream):
            piece = self._write(graph)
        assert self._steps is not None
        self._steps.pieces.append(piece)

    def _write(self, graph: torch.cuda.CUDAGraph) -> _Piece:
        strategy = self._strategy
        if self._steps is None:
            draft = self._writer.read(self._batch, strategy.width, self._longest)
            strategy.begin(self._batch, self._longest, (), self._device)
            start = torch.full((self._batch.size, strategy.width), BOS, device=self._device)
            self._steps = _Steps(draft, start, start.new_empty(*start.shape, 0))
        steps = self._steps
        tokens, parents = [], []
        broken = torch.zeros((), dtype=torch.bool, device=self._device)
        for t in range(steps.done, min(steps.done + STEPS, self._longest)):
            logits = steps.draft.step(steps.tokens.flatten())
            stopped = None if self._limits is None else self._limits <= t
            view = View(logits, steps.written, self._longest - t, stopped=stopped)
            chosen, steps.tokens, _ = strategy.choose(view)
            broken = broken | view.broken
            tokens.append(steps.tokens)
            if chosen is not None:
                parents.append(chosen)
                rows = torch.arange(len(chosen), device=self._device)[:, None] * strategy.width + chosen
                steps.draft.follow(rows.flatten())
            steps.written = steps.tokens.new_empty(*steps.tokens.shape, t + 1)  # nobody reads but its size
        steps.done += len(tokens)
        flags = torch.stack([strategy.done().all(), broken]).to(torch.uint8)
        slots = torch.stack(parents) if parents else None
        return _Piece(graph, torch.stack(tokens), slots, copy.copy(strategy), flags)

    def _answers(self, pieces: list[_Piece]) -> list[list[Hypothesis]]:
        tokens = torch.cat([piece.tokens for piece in pieces]).cpu().numpy()
        parents = [piece.parents for piece in pieces if piece.parents is not None]
        endings = _on_host(pieces[-1].strategy).endings()
        return walk(tokens, torch.cat(parents).cpu().numpy() if parents else None, endings)


def _on_host(strategy: Strategy) -> Strategy:
    """A copy of it with all its numbers where the processor can read them one by one."""
    there = copy.copy(strategy)
    for name, value in vars(strategy).items():
        if isinstance(value, Tensor):
            setattr(there, name, value.cpu())
        elif isinstance(value, tuple) and all(isinstance(part, Tensor) for part in value):
            setattr(there, name, type(value)(*(part.cpu() for part in value)))
    return there
