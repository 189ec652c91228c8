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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.batch import BOS, Batch, round_up
from saccade.errors import Interruption, NumericsError
from saccade.kernels.packed import Precision
from saccade.kernels.recording import can_record, recording
from saccade.models.base import Seq2Seq
from saccade.runtime import Draft, Places, Structure, check_finite, checksum, places, structure, writer_of
from saccade.search.history import Hypothesis, walk
from saccade.search.limits import Stop
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
    stop: Stop | None = None,
) -> list[list[Hypothesis]] | None:
    """What a search by the strategy that `make` makes finds; None where it is not worth it.

    `key` tells strategies apart; `lengths`: the most words of each sentence, the end included. `stop` is called between
    replays and raises an Interruption to end the search. Where the model looked is not recorded.
    """
    if batch.reads != ("source",) or batch.source is None:
        return None
    if not can_record(batch.source) or batch.source.dim() != 2:
        return None
    searches: _Searches | None = model.__dict__.get(_NAME)
    if searches is None:
        searches = model.__dict__[_NAME] = _Searches()
    with searches.lock:
        if torch.is_autocast_enabled("cuda"):
            searches.tell("autocast has copies of the weights, and not for as long as a recording would need them")
            return None
        return searches.find(model, batch, make, key, lengths, room, precision, stop)


class _Searches:
    """The recordings of one model."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._structure: Structure | None = None
        self._packings: dict[Precision, _Packing] = {}
        self._recordings: dict[Any, _Recording] = {}
        self._seen: set[Any] = set()
        self._refused = self._told = False

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        """A copy of a model has none yet."""
        return _nothing, ()

    def _expect(self, now: Structure) -> None:
        """Give up all recordings of a model whose modules or settings are others now."""
        if now != self._structure:
            self._recordings, self._packings, self._structure = {}, {}, now

    def tell(self, reason: str) -> None:
        """Say once why nothing is recorded."""
        if not self._told:
            logging.getLogger("saccade").info("searches go without CUDA graphs: %s", reason)
        self._told = True

    def find(
        self,
        model: Seq2Seq,
        batch: Batch,
        make: Callable[[], Strategy],
        key: object,
        lengths: list[int],
        room: int | None,
        precision: Precision,
        stop: Stop | None = None,
    ) -> list[list[Hypothesis]] | None:
        assert batch.source is not None
        one_length = min(lengths) == max(lengths)
        longest = max(lengths) if one_length else _within(max(lengths), room)
        form = _Form(round_up(batch.size), _within(batch.source.shape[1], room), longest, not one_length)
        shape = (precision, key, form)
        if not self._worth_it(shape):
            return None
        if shape not in self._recordings:
            check_search(model, batch, make(), longest, ())
            check_finite(model)
            self._expect(now := structure(model))
            if now.hooked:
                self.tell("the model has forward hooks")
                return None
        try:
            packing = self._packing(model, precision)
            if packing is None:
                self.tell("its parameters are none that tell when they change")
                return None
            made = self._recordings.get(shape)
            if made is None:
                made = self._recordings[shape] = _Recording(model, packing, make(), form, batch.source.device)
            try:
                return made.run(batch, lengths, stop, lambda: structure(model) == self._structure)
            except _Changed:
                check_finite(model)
                packing.again()
                return made.run(batch, lengths, stop)
        except _Restructured:
            self._recordings, self._packings = {}, {}
            return self.find(model, batch, make, key, lengths, room, precision, stop)
        except _Changed:  # somebody changes them all the time: the usual search packs them itself
            return None
        except (NumericsError, Interruption):
            raise
        except (KeyboardInterrupt, SystemExit):
            self._recordings.pop(shape, None)  # it may be half done
            raise
        except Exception as error:  # whatever it is, the same search without a recording will tell if it is serious
            self._refused, self._recordings, self._packings = True, {}, {}
            logging.getLogger("saccade").warning(
                "searches go on without CUDA graphs: %s", str(error).splitlines()[0] if str(error) else error
            )
            return None

    def _worth_it(self, shape: Any) -> bool:
        """Whether a search is replayed or recorded; the first one of a shape goes without, which gets kernels ready."""
        if self._refused:
            return False
        if shape in self._recordings:
            return True
        if shape not in self._seen:
            if len(self._seen) >= 8 * MOST:  # who asks with ever new settings shall not fill the memory
                self._seen.clear()
            self._seen.add(shape)
            return False
        for oldest in list(self._recordings)[: len(self._recordings) + 1 - MOST]:
            del self._recordings[oldest]
        return True

    def _packing(self, model: Seq2Seq, precision: Precision) -> _Packing | None:
        """The model's writer, of weights as they are now; None where nobody can tell when these change."""
        made = self._packings.get(precision)
        parameters = list(model.parameters()) if made is None else made.parameters
        now = places(parameters)
        if now is None:
            return None
        if made is None or made.places.where != now.where:
            self._packings.pop(precision, None)
            self._recordings = {shape: made for shape, made in self._recordings.items() if shape[0] != precision}
            made = self._packings[precision] = _Packing(model, precision, parameters, now)
        elif made.places != now:
            check_finite(model)
            made.again()
            made.places = now
        return made


def _within(length: int, room: int | None) -> int:
    """A length rounded up, but to none that a model has no places for."""
    return round_up(length) if room is None else max(min(round_up(length), room), length)


def _nothing() -> None:
    return None


class _Form(NamedTuple):
    """The batches that a recording is for; own_lengths: whether each sentence may have its own most words."""

    sentences: int
    size: int
    longest: int
    own_lengths: bool


class _Packing:
    """A writer made while a graph was recorded: a replay packs the weights again, into the same places.

    places, checksum: those of the parameters when that was done last.
    """

    def __init__(self, model: Seq2Seq, precision: Precision, parameters: Sequence[Tensor], now: Places) -> None:
        self.parameters, self.places, self._graph = parameters, now, torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream(parameters[0].device)
        with evaluating(model), recording(self._graph, torch.cuda.graph_pool_handle(), stream):
            self.writer = writer_of(model, precision)
            self.checksum = checksum(parameters)
        self.again()

    def again(self) -> None:
        """Pack the weights as they are now."""
        self._graph.replay()


class _Changed(Exception):
    """Parameters are others than those that were recorded, though nothing about their tensors says so."""


class _Restructured(Exception):
    """The model has other modules, settings or hooks than when it was recorded."""


@dataclass
class _Piece:
    """Some steps: their graph, the words (n, B, K) they write, the slots these come from, and the strategy after them.

    flags (3,): how many sentences are done, whether a prediction was no number, and whether the parameters are others
    than those that were recorded; the processor can read them when the piece is `ready`.
    """

    graph: torch.cuda.CUDAGraph
    tokens: Tensor
    parents: Tensor | None
    strategy: Strategy
    flags: Tensor
    ready: torch.cuda.Event


@dataclass
class _Steps:
    """What the recorded steps work on, at the end of what was recorded so far; firsts (B, 1): each sentence's row."""

    draft: Draft
    tokens: Tensor
    written: Tensor
    firsts: Tensor
    done: int = 0
    pieces: list[_Piece] = field(default_factory=list)


class _Recording:
    """A search for batches of one shape."""

    def __init__(
        self, model: Seq2Seq, packing: _Packing, strategy: Strategy, form: _Form, device: torch.device
    ) -> None:
        self._model, self._packing, self._strategy, self._device = weakref.ref(model), packing, strategy, device
        self._longest = form.longest
        self._limits = torch.zeros(form.sentences, dtype=torch.long, device=device) if form.own_lengths else None
        source = torch.full((form.sentences, form.size), BOS, device=device)
        self._batch = Batch(source, torch.ones_like(source, dtype=torch.bool))
        self._stream, self._reader = torch.cuda.Stream(device), torch.cuda.Stream(device)
        self._pool = torch.cuda.graph_pool_handle()
        self._steps: _Steps | None = None

    def run(
        self,
        batch: Batch,
        lengths: list[int],
        stop: Stop | None = None,
        same_model: Callable[[], bool] | None = None,
    ) -> list[list[Hypothesis]]:
        """Find answers; raises _Restructured where `same_model` denies that this is what was recorded."""
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            self._fill(batch, lengths)
            count = self._replay(stop, same_model)
        self._reader.wait_event(self._pieces[count - 1].ready)
        with torch.cuda.stream(self._reader):
            return self._answers(self._pieces[:count])[: batch.size]

    def _replay(self, stop: Stop | None, same_model: Callable[[], bool] | None) -> int:
        """Write until all sentences are done; the pieces it took.

        While no sentence is, a piece is started before the one before it has told, so that the device need not wait for
        the processor. What a piece writes beyond the end is not looked at.
        """
        most, started = -(-self._longest // STEPS), 0
        for number in range(most):
            if stop is not None:
                stop()
            if started == number:
                started = self._start(number)
            early = number == 0 or not self._pieces[number - 1].flags[0]
            if early and started < min(most, len(self._pieces)):
                started = self._start(started)
            if number == 0 and same_model is not None and not same_model():  # asked while the device works
                raise _Restructured
            piece = self._pieces[number]
            piece.ready.synchronize()
            done, broken, changed = piece.flags.tolist()
            if changed:
                raise _Changed
            if broken:
                model = self._model()
                assert model is not None
                check_numbers(model, torch.tensor(True))
            if done == self._batch.size:
                return number + 1
        return most

    def _start(self, number: int) -> int:
        if number == len(self._pieces):
            self._record()
        piece = self._pieces[number]
        piece.graph.replay()
        piece.ready.record()
        return number + 1

    @property
    def _pieces(self) -> list[_Piece]:
        return [] if self._steps is None else self._steps.pieces

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
        model = self._model()
        assert model is not None
        graph, flags = torch.cuda.CUDAGraph(), torch.zeros(3, dtype=torch.long, pin_memory=True)
        with evaluating(model), recording(graph, self._pool, self._stream):
            piece = self._write(graph, flags)
        assert self._steps is not None
        self._steps.pieces.append(piece)

    def _write(self, graph: torch.cuda.CUDAGraph, flags: Tensor) -> _Piece:
        strategy = self._strategy
        changed = torch.zeros((), dtype=torch.bool, device=self._device)
        if self._steps is None:
            # what changes weights without a trace, a fused optimiser or a graph of somebody else's, is seen by this
            changed = (checksum(self._packing.parameters) != self._packing.checksum).any()
            draft = self._packing.writer.read(self._batch, strategy.width, self._longest)
            strategy.begin(self._batch.size, self._longest, (), self._device)
            start = torch.full((self._batch.size, strategy.width), BOS, device=self._device)
            firsts = torch.arange(self._batch.size, device=self._device)[:, None] * strategy.width
            self._steps = _Steps(draft, start, start.new_empty(*start.shape, 0), firsts)
        steps = self._steps
        tokens, parents, questionable = [], [], []
        for t in range(steps.done, min(steps.done + STEPS, self._longest)):
            logits = steps.draft.step(steps.tokens.flatten())
            stopped = None if self._limits is None else self._limits <= t
            view = View(logits, steps.written, self._longest - t, stopped=stopped)
            chosen, steps.tokens, _ = strategy.choose(view)
            questionable.append(view.questionable.flatten())
            tokens.append(steps.tokens)
            if chosen is not None:
                parents.append(chosen)
                steps.draft.follow((steps.firsts + chosen).flatten())
            steps.written = steps.tokens.new_empty(*steps.tokens.shape, t + 1)  # nobody reads but its size
        steps.done += len(tokens)
        broken = torch.cat(questionable).isnan().any()
        flags.copy_(torch.stack([strategy.done().sum(), broken, changed]), non_blocking=True)
        slots = torch.stack(parents) if parents else None
        return _Piece(graph, torch.stack(tokens), slots, copy.copy(strategy), flags, torch.cuda.Event())

    def _answers(self, pieces: list[_Piece]) -> list[list[Hypothesis]]:
        tokens = _on_host(torch.cat([piece.tokens for piece in pieces]))
        slots = [piece.parents for piece in pieces if piece.parents is not None]
        parents = _on_host(torch.cat(slots)) if slots else None
        strategy = copy.copy(pieces[-1].strategy)
        for name, value in vars(strategy).items():
            if isinstance(value, Tensor):
                setattr(strategy, name, _on_host(value))
            elif isinstance(value, tuple) and all(isinstance(part, Tensor) for part in value):
                setattr(strategy, name, type(value)(*map(_on_host, value)))
        self._reader.synchronize()
        return walk(tokens.numpy(), None if parents is None else parents.numpy(), strategy.endings())


def _on_host(values: Tensor) -> Tensor:
    """Where the processor can read them one by one, once the stream has come so far."""
    return values.to("cpu", non_blocking=True)
