"""Writing: what tasks share whose models answer a token at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.attention import Tape
from saccade.batch import EOS, Batch
from saccade.data.example import Example
from saccade.data.tokenizer import Spelling, Tokenizer
from saccade.errors import ConfigError
from saccade.models.base import Seq2Seq
from saccade.prediction import NOTHING, Attention, Prediction, Side
from saccade.search import Hypothesis, SearchConfig, Stop, decode
from saccade.tasks.base import Task
from saccade.tasks.inputs import name_of
from saccade.tasks.objectives import word_loss
from saccade.tasks.tracing import Wishes, begin, plain_side, trace_writing
from saccade.tasks.words import read_side, spelled, written_side
from saccade.trace import Side as TraceSide
from saccade.trace import Trace
from saccade.train.objective import WordLoss

__all__ = ["Given", "Writing"]

Sides = Mapping[str, Side]
"""What the positions of each source are, by its name; the first or only one is called "source"."""


@dataclass(frozen=True)
class Given:
    """Some inputs as a model reads them.

    sizes: how many tokens each has. sides: the sources of each; empty where they were not asked for.
    prefixes: the tokens each answer begins with, for a task whose inputs are beginnings.
    """

    batch: Batch
    sizes: list[int]
    sides: Sequence[Sides]
    prefixes: list[list[int]] | None = None


class Writing(Task):
    """A task whose model writes its answer a token at a time.

    A subclass says by `read` what the model is given, and how good answers are by `evaluate`. One whose answers may
    have more words than the target's tokenizer writes `spelling`.
    """

    model: Seq2Seq

    @property
    def target(self) -> Tokenizer:
        """The tokenizer of answers."""
        assert self.tokenizers.target is not None
        return self.tokenizers.target

    @abstractmethod
    def read(self, inputs: Sequence[Any], *, sides: bool = True) -> Given:
        """Return opened inputs as the model reads them; `sides`: whether attention will be shown."""

    def spelling(self, given: Any) -> Spelling:
        """Return what the tokens of an answer to an input stand for."""
        return self.target

    def given(self, example: Example) -> Any:
        """Return what the model reads of an example."""
        return example.source or ""

    def most(self, size: int, search: SearchConfig) -> int:
        """Return the most tokens of an answer to an input of so many."""
        return search.max_length or self.positions(size)[1]

    def seen(self, given: Any, sides: Sides) -> dict[str, TraceSide]:
        """Return the sources of an input as a trace has them."""
        alone = len(sides) == 1
        return {name: plain_side(side, given if alone else " ".join(side.words)) for name, side in sides.items()}

    def attention(
        self,
        given: Any,
        sides: Sides,
        target: Side,
        weights: Mapping[str, NDArray[Any]],
        example: Example | None = None,
    ) -> Attention:
        """Return a record of attention; `example` is what the input comes from, where its answer was forced."""
        found, model = dict(weights), self.model
        if not found:
            return Attention(sides.get("source", NOTHING), target, found, ())
        looking = tuple(site for site in model.source_sites if site in found)
        between = {site: model.sides(site) for site in found}
        others = {name: side for name, side in sides.items() if name != "source"}
        return Attention(sides.get("source", NOTHING), target, found, looking, between, others)

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
                raise ConfigError("the input is itself what its answer begins with: leave the prefix out.")
            prefixes = [self.spelling(given).encode(prefix).tokens for given in inputs]
        limits: dict[str, Any] = {"attention": attention, "stop": stop}
        found = self._decode(read, search, **limits, **({} if prefixes is None else {"prefix": prefixes}))
        sides = read.sides or [{}] * len(inputs)
        return [self._answer(*parts, words=attention) for parts in zip(inputs, found, sides, strict=True)]

    def _decode(self, read: Given, search: SearchConfig, **limits: Any) -> list[list[Hypothesis]]:
        lengths = [self.most(size, search) for size in read.sizes]
        return decode(self.model, read.batch, search, lengths=lengths, room=self.room, **limits)

    def _answer(self, given: Any, found: list[Hypothesis], sides: Sides, *, words: bool) -> Prediction:
        """The best hypothesis as a prediction, the others behind it; `words`: whether attention will be shown."""
        spelling, name, made = self.spelling(given), name_of(given), []
        for one in found:
            text, target = spelled(spelling, one.tokens, ends=one.finished, words=words)
            weights = {site: part.float().cpu().numpy().astype(np.float32) for site, part in one.attention.items()}
            attention = self.attention(given, sides, target, weights)
            made.append(Prediction(text, one.score, target.tokens, attention, name))
        best = made[0]
        return Prediction(best.text, best.score, best.tokens, best.attention, name, made[1:])

    def trace(self, given: Any, search: SearchConfig, wishes: Wishes, *, stop: Stop | None = None) -> Trace:
        given = self.opened(given)
        read = self.read([given])
        sides = self.seen(given, read.sides[0])
        places = len(sides["source"].tokens) if "source" in sides else 0
        steering = wishes.steering(self.model.source_sites, places)
        prefix = [*(read.prefixes or [[]])[0], *wishes.force]
        limits: dict[str, Any] = {"attention": False, "beams": True, "steering": steering, "stop": stop}
        ((best, *_),) = self._decode(read, search, prefix=[prefix], **limits)
        spelling = self.spelling(given)
        target = written_side(spelling, best.tokens, ends=best.finished)
        seen = trace_writing(self.model, spelling, best, read.batch, sides, target, steering, wishes)
        if search.precision == "int8" and steering is None:  # a steered search goes by the model's own step
            seen["left_out"].append("Words were chosen with int8 weights; what is shown is computed in full precision.")
        return Trace(**begin(self, wishes, search), **seen)

    @torch.no_grad()
    def attend(
        self, examples: Sequence[Example], inputs: Sequence[Any] | None = None, batch_size: int = 64
    ) -> list[Attention]:
        """Where the model looks while it is made to write the reference; `inputs`: those of the examples, opened."""
        found: list[Attention] = []
        order = sorted(range(len(examples)), key=lambda number: len(examples[number].source or ""))
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            own = None if inputs is None else [inputs[number] for number in chosen]
            found += self._attend([examples[number] for number in chosen], own)
        return [found[place] for place in np.argsort(order)]

    def _attend(self, examples: list[Example], inputs: list[Any] | None) -> list[Attention]:
        inputs = [self.opened(self.given(example)) for example in examples] if inputs is None else inputs
        read = self.read(inputs)
        spellings = [self.spelling(given) for given in inputs]
        encoded = [spell.encode(each.target or "") for spell, each in zip(spellings, examples, strict=True)]
        words = Batch.of(targets=[part.tokens or [EOS] for part in encoded]).to(self.device)
        tape = Tape(detach=True)
        training = self.model.training
        self.model.eval().force(replace(read.batch, target=words.target, target_mask=words.target_mask), tape=tape)
        self.model.train(training)
        every = {site: tape[site].float().cpu().numpy() for site in self.model.source_sites}
        made = []
        for row, (given, example, sides) in enumerate(zip(inputs, examples, read.sides, strict=True)):
            # words as they stand in the reference, which gold links count; decoding may join them in another way
            target = read_side(spellings[row], example.target or "", encoded[row])
            rows, columns = len(target.tokens), len(sides["source"].tokens)
            weights = {site: part[row, :, :rows, :columns] for site, part in every.items()}
            made.append(self.attention(given, sides, target, weights, example))
        return made
