"""Generation: the base of tasks whose models generate an answer token by token."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.attention import Tape
from saccade.batch import COPY, EOS, Batch
from saccade.data.example import Example
from saccade.data.tokenizer import Spelling, Tokenizer
from saccade.errors import ConfigError
from saccade.models.base import Seq2Seq
from saccade.prediction import NOTHING, AttentionMaps, Prediction, Side
from saccade.search import Hypothesis, SearchConfig, Stop, decode
from saccade.tasks.base import Task
from saccade.tasks.fusion import searched
from saccade.tasks.inputs import name_of
from saccade.tasks.objectives import word_loss
from saccade.tasks.postprocess import read_side, spelled, written_side
from saccade.tasks.tracing import TraceOptions, begin, plain_side, trace_writing
from saccade.trace import Side as TraceSide
from saccade.trace import Trace
from saccade.train.objective import WordLoss
from saccade.train.terms import GuidedAlignment

__all__ = ["GenerationTask", "ModelInput", "Sides"]

Sides = Mapping[str, Side]
"""The side (tokens and words) of each source, by name; the first or only one is called "source"."""


@dataclass(frozen=True)
class ModelInput:
    """A batch of inputs as a model reads them.

    sizes: the tokens of each input. sides: the sources of each input; empty if not requested.
    prefixes: the first tokens of each answer, for tasks such as language modeling that continue their input.
    """

    batch: Batch
    sizes: list[int]
    sides: Sequence[Sides]
    prefixes: list[list[int]] | None = None


class GenerationTask(Task):
    """A task whose model generates its answer token by token.

    A subclass defines the model's input in `read` and the metrics in `evaluate`. If answers may contain words outside
    the target vocabulary, it overrides `spelling`.
    """

    model: Seq2Seq

    @cached_property
    def companions(self) -> dict[str, Task]:
        """Models that searches load beside this one, by the name of their folder."""
        return {}

    @property
    def target(self) -> Tokenizer:
        """The tokenizer of answers."""
        assert self.tokenizers.target is not None
        return self.tokenizers.target

    @abstractmethod
    def read(self, inputs: Sequence[Any], *, sides: bool = True) -> ModelInput:
        """Batch opened inputs; `sides`: whether to return their sides too, which attention needs."""

    def spelling(self, given: Any) -> Spelling:
        """Return the tokenizer that converts the answer's tokens to text."""
        return self.target

    def given(self, example: Example) -> Any:
        """Return the model's input of an example."""
        return example.source or ""

    def most(self, size: int, search: SearchConfig) -> int:
        """Return the maximum tokens of an answer to an input of `size` tokens."""
        return search.max_length or self.positions(size)[1]

    def seen(self, given: Any, sides: Sides) -> dict[str, TraceSide]:
        """Return the sources of an input in trace format."""
        alone = len(sides) == 1
        return {name: plain_side(side, given if alone else " ".join(side.words)) for name, side in sides.items()}

    def attention(
        self,
        given: Any,
        sides: Sides,
        target: Side,
        weights: Mapping[str, NDArray[Any]],
        example: Example | None = None,
    ) -> AttentionMaps:
        """Return the attention maps of an answer; `example`: the reference that was forced, if any."""
        found, model = dict(weights), self.model
        if not found:
            return AttentionMaps(sides.get("source", NOTHING), target, found, (), model=self.model_name)
        cross = tuple(site for site in model.source_sites if site in found)
        between = {site: model.sides(site) for site in found}
        others = {name: side for name, side in sides.items() if name != "source"}
        source = sides.get("source", NOTHING)
        return AttentionMaps(source, target, found, cross, between, others, model=self.model_name)

    @property
    def _guided(self) -> GuidedAlignment | None:
        """The guided alignment term, or None if its weight is 0."""
        found = (term for term in self.terms.values() if isinstance(term, GuidedAlignment) and term.weight)
        return next(found, None)

    def objective(self) -> WordLoss:
        return word_loss(self)

    def predict(
        self,
        inputs: Sequence[Any],
        search: SearchConfig,
        *,
        attention: bool = True,
        prefix: str | None = None,
        stop: Stop | None = None,
    ) -> list[Prediction]:
        inputs = [self.opened(given) for given in inputs]
        read = self.read(inputs, sides=attention)
        prefixes = read.prefixes
        if prefix is not None:
            if prefixes is not None:
                raise ConfigError("the input is already the prefix of its answer: leave the prefix out.")
            prefixes = [self.spelling(given).encode(prefix).tokens for given in inputs]
        limits: dict[str, Any] = {"attention": attention, "stop": stop}
        found = self._decode(read, search, **limits, **({} if prefixes is None else {"prefix": prefixes}))
        sides = read.sides or [{}] * len(inputs)
        return [self._answer(*parts, words=attention) for parts in zip(inputs, found, sides, strict=True)]

    def _decode(self, read: ModelInput, search: SearchConfig, **limits: Any) -> list[list[Hypothesis]]:
        lengths = [self.most(size, search) for size in read.sizes]
        model = searched(self, search)
        return decode(model, read.batch, search, lengths=lengths, room=self.room, **limits)

    def _answer(self, given: Any, found: list[Hypothesis], sides: Sides, *, words: bool) -> Prediction:
        """Convert hypotheses, best first, to a prediction with alternatives; `words`: map tokens to words."""
        spelling, name, made = self.spelling(given), name_of(given), []
        for one in found:
            text, target = spelled(spelling, one.tokens, ends=one.finished, words=words)
            weights = {site: part.float().cpu().numpy().astype(np.float32) for site, part in one.attention.items()}
            copies = weights.pop(COPY)[0] if COPY in weights else None
            attention = self.attention(given, sides, target, weights)
            made.append(Prediction(text, one.score, target.tokens, attention, name, copies=copies))
        return replace(made[0], alternatives=made[1:])

    def trace(self, given: Any, search: SearchConfig, options: TraceOptions, *, stop: Stop | None = None) -> Trace:
        given = self.opened(given)
        read = self.read([given])
        sides = self.seen(given, read.sides[0])
        places = len(sides["source"].tokens) if "source" in sides else 0
        steering = options.steering(self.model.source_sites, places)
        prefix = [*(read.prefixes or [[]])[0], *options.force]
        limits: dict[str, Any] = {"attention": False, "beams": True, "steering": steering, "stop": stop}
        ((best, *_),) = self._decode(read, search, prefix=[prefix], **limits)
        spelling = self.spelling(given)
        target = written_side(spelling, best.tokens, ends=best.finished)
        seen = trace_writing(self.model, spelling, best, read.batch, sides, target, steering, options)
        if search.precision == "int8" and steering is None:  # a steered search runs the model's own step, without int8
            seen["left_out"].append("Words were chosen with int8 weights; what is shown is computed in full precision.")
        return Trace(**begin(self, options, search), **seen)

    @torch.no_grad()
    def attend(
        self, examples: Sequence[Example], inputs: Sequence[Any] | None = None, batch_size: int = 64
    ) -> list[AttentionMaps]:
        """Return attention maps under teacher forcing of the references; `inputs`: the examples' inputs, opened."""
        found: list[AttentionMaps] = []
        order = sorted(range(len(examples)), key=lambda number: len(examples[number].source or ""))
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            own = None if inputs is None else [inputs[number] for number in chosen]
            found += self._attend([examples[number] for number in chosen], own)
        return [found[place] for place in np.argsort(order)]

    def _attend(self, examples: list[Example], inputs: list[Any] | None) -> list[AttentionMaps]:
        inputs = [self.opened(self.given(example)) for example in examples] if inputs is None else inputs
        read = self.read(inputs)
        spellings = [self.spelling(given) for given in inputs]
        encoded = [spell.encode(each.target or "") for spell, each in zip(spellings, examples, strict=True)]
        words = Batch.from_lists(targets=[part.tokens or [EOS] for part in encoded]).to(self.device)
        tape = Tape(detach=True)
        training = self.model.training
        self.model.eval().force(replace(read.batch, target=words.target, target_mask=words.target_mask), tape=tape)
        self.model.train(training)
        every = {site: tape[site].float().cpu().numpy() for site in self.model.source_sites}
        made = []
        for row, (given, example, sides) in enumerate(zip(inputs, examples, read.sides, strict=True)):
            # words of the reference, which gold links refer to; words of decoded text may be split differently
            target = read_side(spellings[row], example.target or "", encoded[row])
            rows, columns = len(target.tokens), len(sides["source"].tokens)
            weights = {site: part[row, :, :rows, :columns] for site, part in every.items()}
            made.append(self.attention(given, sides, target, weights, example))
        return made
