"""Search on a GPU with CUDA graphs, captured once for each shape of a search and replayed afterwards.

A step of a search is a few hundred small kernels, and Python takes longer to launch them than the GPU to run them. So
the steps are captured as CUDA graphs, STEPS at a time, including the strategy. A replay decodes that many words of
every hypothesis without the CPU, which only checks between graphs whether all sentences are done. The captured steps
are those of the plain search.
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

from saccade.batch import BOS, PAD, Batch, round_up
from saccade.errors import Interruption, NumericsError
from saccade.kernels.graph_capture import can_record, recording
from saccade.kernels.packed import Precision
from saccade.models.base import Seq2Seq
from saccade.runtime import DecodingState, Places, Structure, check_finite, checksum, engine_of, places, structure
from saccade.search.history import Hypothesis, walk
from saccade.search.limits import Stop
from saccade.search.loop import Strategy, check_numbers, check_search, evaluating
from saccade.search.step_scores import StepScores

__all__ = ["graphed_search"]

STEPS = 8
"""Steps in one CUDA graph; after each graph the CPU checks whether all sentences are done."""
MOST = 32
"""Maximum number of captured shapes per model."""
_NAME = "_graphed_searches"
"""The model attribute with its captured searches, so that they are freed together with the model."""


@torch.no_grad()
def graphed_search(
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
    """Search by the strategy that `make` returns; return None if CUDA graphs are unavailable or not worthwhile.

    `key` identifies the strategy's settings; `lengths`: the maximum words of each sentence, the end included. `stop` is
    called between replays and raises an Interruption to end the search. No attention is returned.
    """
    if batch.reads != ("source",) or batch.source is None:
        return None
    if not can_record(batch.source) or batch.source.dim() != 2:
        return None
    searches: _SearchCache | None = model.__dict__.get(_NAME)
    if searches is None:
        searches = model.__dict__[_NAME] = _SearchCache()
    with searches.lock:
        if torch.is_autocast_enabled("cuda"):
            searches.log_once("autocast casts the weights to copies that do not live as long as a graph")
            return None
        return searches.find(model, batch, make, key, lengths, room, precision, stop)


class _SearchCache:
    """The captured searches of one model."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._structure: Structure | None = None
        self._engines: dict[Precision, _PackedEngine] = {}
        self._captured: dict[Any, _CapturedSearch] = {}
        self._seen: set[Any] = set()
        self._failed = self._logged = False

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        """Copy and pickle as None, so that a copy of a model starts without captured searches."""
        return _nothing, ()

    def _expect(self, now: Structure) -> None:
        """Drop all captured searches if the modules or settings of the model have changed."""
        if now != self._structure:
            self._captured, self._engines, self._structure = {}, {}, now

    def log_once(self, reason: str) -> None:
        """Log, only once, why CUDA graphs are not used."""
        if not self._logged:
            logging.getLogger("saccade").info("CUDA graphs disabled for decoding: %s", reason)
        self._logged = True

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
        longest = max(lengths) if one_length else _rounded(max(lengths), room)
        size = _rounded(batch.source.shape[1], room)
        form = _BatchShape(round_up(batch.size), size, longest, not one_length, batch.copies is not None)
        shape = (precision, key, form)
        if not self._worth_it(shape):
            return None
        if shape not in self._captured:
            check_search(model, batch, make(), longest, ())
            check_finite(model)
            self._expect(now := structure(model))
            if now.hooked:
                self.log_once("the model has forward hooks")
                return None
        try:
            packed = self._packed_engine(model, precision)
            if packed is None:
                self.log_once("changes of the model's parameters cannot be detected")
                return None
            made = self._captured.get(shape)
            if made is None:
                made = self._captured[shape] = _CapturedSearch(model, packed, make(), form, batch.source.device)
            try:
                return made.run(batch, lengths, stop, lambda: structure(model) == self._structure)
            except _WeightsChanged:
                check_finite(model)
                packed.repack()
                return made.run(batch, lengths, stop)
        except _ModelChanged:
            self._captured, self._engines = {}, {}
            return self.find(model, batch, make, key, lengths, room, precision, stop)
        except _WeightsChanged:  # the weights change all the time: use the plain search
            return None
        except (NumericsError, Interruption):
            raise
        except (KeyboardInterrupt, SystemExit):
            self._captured.pop(shape, None)  # its capture may be incomplete
            raise
        except Exception as error:  # the plain search raises it again if it is a real error
            self._failed, self._captured, self._engines = True, {}, {}
            logging.getLogger("saccade").warning(
                "CUDA graphs failed; decoding continues without them: %s",
                str(error).splitlines()[0] if str(error) else error,
            )
            return None

    def _worth_it(self, shape: Any) -> bool:
        """Return whether to use CUDA graphs; not for the first search of a shape, which also compiles kernels."""
        if self._failed:
            return False
        if shape in self._captured:
            return True
        if shape not in self._seen:
            if len(self._seen) >= 8 * MOST:  # bound the set of seen shapes
                self._seen.clear()
            self._seen.add(shape)
            return False
        for oldest in list(self._captured)[: len(self._captured) + 1 - MOST]:
            del self._captured[oldest]
        return True

    def _packed_engine(self, model: Seq2Seq, precision: Precision) -> _PackedEngine | None:
        """Return the engine with the current weights; None if changes of the weights cannot be detected."""
        made = self._engines.get(precision)
        parameters = list(model.parameters()) if made is None else made.parameters
        now = places(parameters)
        if now is None:
            return None
        if made is None or made.places.where != now.where:
            self._engines.pop(precision, None)
            self._captured = {shape: made for shape, made in self._captured.items() if shape[0] != precision}
            made = self._engines[precision] = _PackedEngine(model, precision, parameters, now)
        elif made.places != now:
            check_finite(model)
            made.repack()
            made.places = now
        return made


def _rounded(length: int, room: int | None) -> int:
    """Round a length up, but not above `room`, the maximum that the model supports."""
    return round_up(length) if room is None else max(min(round_up(length), room), length)


def _nothing() -> None:
    return None


class _BatchShape(NamedTuple):
    """The shape of the batches of a captured search.

    own_lengths: whether maximum lengths differ by sentence. copies: whether answers copy words of their source.
    """

    sentences: int
    size: int
    longest: int
    own_lengths: bool
    copies: bool


class _PackedEngine:
    """A decoding engine made during CUDA graph capture: a replay packs the weights again, into the same memory.

    places, checksum: those of the parameters when they were packed last.
    """

    def __init__(self, model: Seq2Seq, precision: Precision, parameters: Sequence[Tensor], now: Places) -> None:
        self.parameters, self.places, self._graph = parameters, now, torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream(parameters[0].device)
        with evaluating(model), recording(self._graph, torch.cuda.graph_pool_handle(), stream):
            self.engine = engine_of(model, precision)
            self.checksum = checksum(parameters)
        self.repack()

    def repack(self) -> None:
        """Pack the current weights."""
        self._graph.replay()


class _WeightsChanged(Exception):
    """The weights differ from the packed ones, although their version counters do not show it."""


class _ModelChanged(Exception):
    """The model's modules, settings or hooks have changed since the capture."""


@dataclass
class _Graph:
    """The CUDA graph of some steps, the words (n, B, K) and parent slots it writes, and the strategy after it.

    flags (3,): how many sentences are done, whether a prediction was NaN, and whether the weights differ from the
    packed ones. The CPU can read the flags after the event `ready`.
    """

    graph: torch.cuda.CUDAGraph
    tokens: Tensor
    parents: Tensor | None
    strategy: Strategy
    flags: Tensor
    ready: torch.cuda.Event


@dataclass
class _Steps:
    """The tensors of a search after the steps captured so far; firsts (B, 1): the first row of each sentence."""

    state: DecodingState
    tokens: Tensor
    written: Tensor
    firsts: Tensor
    done: int = 0
    graphs: list[_Graph] = field(default_factory=list)


class _CapturedSearch:
    """A captured search for batches of one shape."""

    def __init__(
        self, model: Seq2Seq, packed: _PackedEngine, strategy: Strategy, form: _BatchShape, device: torch.device
    ) -> None:
        self._model, self._packed, self._strategy, self._device = weakref.ref(model), packed, strategy, device
        self._longest = form.longest
        self._limits = torch.zeros(form.sentences, dtype=torch.long, device=device) if form.own_lengths else None
        source = torch.full((form.sentences, form.size), BOS, device=device)
        copies = torch.full_like(source, PAD) if form.copies else None
        self._batch = Batch(source, torch.ones_like(source, dtype=torch.bool), copies=copies)
        self._stream, self._copy_stream = torch.cuda.Stream(device), torch.cuda.Stream(device)
        self._pool = torch.cuda.graph_pool_handle()
        self._steps: _Steps | None = None

    def run(
        self,
        batch: Batch,
        lengths: list[int],
        stop: Stop | None = None,
        same_model: Callable[[], bool] | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses; raise _ModelChanged if `same_model` returns False."""
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            self._fill(batch, lengths)
            count = self._replay(stop, same_model)
        self._copy_stream.wait_event(self._graphs[count - 1].ready)
        with torch.cuda.stream(self._copy_stream):
            return self._answers(self._graphs[:count])[: batch.size]

    def _replay(self, stop: Stop | None, same_model: Callable[[], bool] | None) -> int:
        """Replay graphs until all sentences are done; return how many it took.

        While no sentence is done, the next graph is launched before the flags of the current one are read, so that the
        GPU need not wait for the CPU. Words beyond the end are ignored.
        """
        most, started = -(-self._longest // STEPS), 0
        for number in range(most):
            if stop is not None:
                stop()
            if started == number:
                started = self._start(number)
            early = number == 0 or not self._graphs[number - 1].flags[0]
            if early and started < min(most, len(self._graphs)):
                started = self._start(started)
            if number == 0 and same_model is not None and not same_model():  # checked while the GPU works
                raise _ModelChanged
            part = self._graphs[number]
            part.ready.synchronize()
            done, broken, changed = part.flags.tolist()
            if changed:
                raise _WeightsChanged
            if broken:
                model = self._model()
                assert model is not None
                check_numbers(model, torch.tensor(True))
            if done == self._batch.size:
                return number + 1
        return most

    def _start(self, number: int) -> int:
        if number == len(self._graphs):
            self._capture()
        part = self._graphs[number]
        part.graph.replay()
        part.ready.record()
        return number + 1

    @property
    def _graphs(self) -> list[_Graph]:
        return [] if self._steps is None else self._steps.graphs

    def _fill(self, batch: Batch, lengths: list[int]) -> None:
        """Copy the batch into the input of the graphs; extra rows there repeat its first sentence."""
        for name, padding in (("source_mask", False), ("copies", PAD), ("source", None)):
            own, new = getattr(self._batch, name), getattr(batch, name)
            if own is None:
                continue
            if padding is not None:
                own.fill_(padding)
            rows, size = new.shape
            own[:rows, :size].copy_(new)
            own[rows:, :size].copy_(new[:1].expand(len(own) - rows, -1))
        if self._limits is not None:
            more = self._batch.size - batch.size
            self._limits.copy_(torch.tensor([*lengths, *[lengths[0]] * more]))

    def _capture(self) -> None:
        """Capture the next steps."""
        model = self._model()
        assert model is not None
        graph, flags = torch.cuda.CUDAGraph(), torch.zeros(3, dtype=torch.long, pin_memory=True)
        with evaluating(model), recording(graph, self._pool, self._stream):
            part = self._run_steps(graph, flags)
        assert self._steps is not None
        self._steps.graphs.append(part)

    def _run_steps(self, graph: torch.cuda.CUDAGraph, flags: Tensor) -> _Graph:
        strategy = self._strategy
        changed = torch.zeros((), dtype=torch.bool, device=self._device)
        if self._steps is None:
            # detects changes without a new version: by a fused optimizer or by another CUDA graph
            changed = (checksum(self._packed.parameters) != self._packed.checksum).any()
            state = self._packed.engine.read(self._batch, strategy.width, self._longest)
            strategy.begin(self._batch.size, self._longest, (), self._device)
            start = torch.full((self._batch.size, strategy.width), BOS, device=self._device)
            firsts = torch.arange(self._batch.size, device=self._device)[:, None] * strategy.width
            self._steps = _Steps(state, start, start.new_empty(*start.shape, 0), firsts)
        steps = self._steps
        tokens, parents, questionable = [], [], []
        for t in range(steps.done, min(steps.done + STEPS, self._longest)):
            logits = steps.state.step(steps.tokens.flatten())
            stopped = None if self._limits is None else self._limits <= t
            view = StepScores(logits, steps.written, self._longest - t, stopped=stopped)
            chosen, steps.tokens, _ = strategy.choose(view)
            questionable.append(view.questionable.flatten())
            tokens.append(steps.tokens)
            if chosen is not None:
                parents.append(chosen)
                steps.state.follow((steps.firsts + chosen).flatten())
            steps.written = steps.tokens.new_empty(*steps.tokens.shape, t + 1)  # only its size is used
        steps.done += len(tokens)
        broken = torch.cat(questionable).isnan().any()
        flags.copy_(torch.stack([strategy.done().sum(), broken, changed]), non_blocking=True)
        slots = torch.stack(parents) if parents else None
        return _Graph(graph, torch.stack(tokens), slots, copy.copy(strategy), flags, torch.cuda.Event())

    def _answers(self, parts: list[_Graph]) -> list[list[Hypothesis]]:
        tokens = _on_host(torch.cat([part.tokens for part in parts]))
        slots = [part.parents for part in parts if part.parents is not None]
        parents = _on_host(torch.cat(slots)) if slots else None
        strategy = copy.copy(parts[-1].strategy)
        for name, value in vars(strategy).items():
            if isinstance(value, Tensor):
                setattr(strategy, name, _on_host(value))
            elif isinstance(value, tuple) and all(isinstance(part, Tensor) for part in value):
                setattr(strategy, name, type(value)(*map(_on_host, value)))
        self._copy_stream.synchronize()
        return walk(tokens.numpy(), None if parents is None else parents.numpy(), strategy.endings())


def _on_host(values: Tensor) -> Tensor:
    """Copy values to the CPU; they can be read after the current stream is synchronized."""
    return values.to("cpu", non_blocking=True)
