"""The front door: `saccade.load(folder)` gives a Model, which is called with an input or a list of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from saccade.config import parse
from saccade.data.example import Example
from saccade.errors import ConfigError, DataError, unknown_name
from saccade.outside import trusting
from saccade.prediction import Prediction
from saccade.runs.folder import describe_task, load_task
from saccade.runs.workers import Workers
from saccade.search import SearchConfig, Stop
from saccade.tasks.base import Evaluation, Task
from saccade.tasks.batching import in_batches, stream
from saccade.tasks.inputs import Input
from saccade.tasks.tracing import Wishes
from saccade.trace import Trace
from saccade.train.devices import find_accelerator

__all__ = ["Model", "describe", "load"]


def load(folder: str | Path, *, device: str = "auto", trust_code: bool = False) -> Model:
    """A trained model from its folder. Loading unpickles nothing and runs no code that the folder names.

    A recipe may name a class of yours as a score or align (`package.module:Class`); it is imported only with
    `trust_code`.
    """
    if device not in _DEVICES:
        raise unknown_name("device", device, _DEVICES)
    found = find_accelerator(device)
    with trusting(trust_code):
        task = load_task(Path(folder))
    task.model.to(found)
    return Model(task, Path(folder), trust_code=trust_code)


def describe(folder: str | Path, *, trust_code: bool = False) -> Model:
    """A model without its weights: it knows its recipe, its options and its tokens, and cannot answer."""
    with trusting(trust_code):
        return Model(describe_task(Path(folder)), Path(folder), trust_code=trust_code)


_DEVICES = ("auto", "cpu", "cuda", "mps")


class Model:
    """A trained model. Called with an input it answers with a Prediction, called with a list with a list.

    An input is a text, or for a model that looks at pictures the path of one, the bytes of its file, or its pixels.
    Options are those of a recipe's `search`: beam, nbest, length_penalty, sample, temperature, top_k, top_p, seed,
    max_length, min_length, batch.
    """

    def __init__(self, task: Task, folder: Path | None = None, *, trust_code: bool = False) -> None:
        self.task = task
        self._folder, self._trust_code = folder, trust_code

    @property
    def recipe(self) -> dict[str, Any]:
        """All settings the model was trained with."""
        return self.task.recipe.dump()

    @overload
    def __call__(self, inputs: Input, **options: Any) -> Prediction: ...
    @overload
    def __call__(self, inputs: Iterable[Input], **options: Any) -> list[Prediction]: ...
    def __call__(self, inputs: Any, **options: Any) -> Prediction | list[Prediction]:
        single = self.task.reads.is_one(inputs) or not isinstance(inputs, Iterable)
        several: list[Any] = [inputs] if single else list(inputs)
        for number, given in enumerate(several, 1):
            self._check(given, f"input {number}")
        found = in_batches(self.task, several, self.search(**options), attention=True)
        return found[0] if single else found

    def trace(
        self,
        given: Input,
        *,
        force: Sequence[int] = (),
        block: Sequence[int] = (),
        pull: Sequence[tuple[int, int, float]] = (),
        detail: bool = False,
        gold: Iterable[tuple[int, int]] | None = None,
        stop: Stop | None = None,
        **options: Any,
    ) -> Trace:
        """The answer to one input and all there is to see of it: every attention, what else was likely, the beam.

        force: tokens to begin with. block: source tokens that may not be looked at. pull: (step, source token, weight)
        that an attention has to give. detail: the vectors too. gold: links that would be right, source word first.
        stop: called before each step of the search; raises an Interruption to end it.
        """
        self._check(given, "the input")
        if isinstance(given, str) and not given.strip():
            raise DataError(f"a trace is of one {self.task.reads.name} that is not empty, but this is {given!r}.")
        if (length := self.task.length(given)) > self.task.longest:
            raise DataError(f"the input has {length:,} tokens, but this model reads at most {self.task.longest:,}.")
        name = self._folder.name if self._folder is not None else "model"
        wishes = Wishes(force, block, pull, detail, gold, name)
        return self.task.trace(given, self.search(**options), wishes, stop=stop)

    def stream(
        self,
        inputs: Iterable[Input | None],
        *,
        attention: bool = False,
        prefix: str | None = None,
        refuse: Callable[[str], None] | None = None,
        workers: int = 1,
        stop: Stop | None = None,
        **options: Any,
    ) -> Iterator[Prediction]:
        """Predictions for any number of inputs, in their order, in flat memory.

        None among the inputs means: answer those so far before asking for more. `refuse` is told of inputs that are
        too long or cannot be read, which then have empty answers; without it they are an error. Several `workers` are
        processes with a core each, which is what many inputs on a CPU want. `stop` is called between the steps of a
        search, or between batches where workers search, and raises an Interruption to end it.
        """
        search = self.search(**options)
        common: dict[str, Any] = {"attention": attention, "prefix": prefix, "refuse": refuse, "stop": stop}
        if workers == 1 or self._folder is None:
            yield from stream(self.task, self._checked(inputs), search, **common)
            return
        if self.task.device.type != "cpu":
            raise ConfigError(f"workers are for the CPU, but the model is on {self.task.device}. Use one of the two.")
        with Workers(self._folder, workers, trust_code=self._trust_code) as pool:
            yield from stream(self.task, self._checked(inputs), search, workers=pool, **common)

    def _checked(self, inputs: Iterable[Input | None]) -> Iterator[Input | None]:
        number = 0
        for given in inputs:
            if given is not None:
                number += 1
                self._check(given, f"input {number}")
            yield given

    def _check(self, given: Any, name: str) -> None:
        if (why := self.task.reads.fault(given)) is not None:
            raise DataError(f"{name} {why}")

    def evaluate(self, examples: Iterable[Example], **options: Any) -> Evaluation:
        """How well the model does on some examples."""
        return self.task.evaluate(list(examples), self.search(**options))

    def search(self, **options: Any) -> SearchConfig:
        """The recipe's way to search, with some options changed; several answers need a beam, unless they are drawn."""
        chosen = self.task.recipe.search.model_dump() | options
        if isinstance(options.get("nbest"), int) and "beam" not in options:
            chosen["beam"] = max(chosen["beam"], options["nbest"])
        return parse(SearchConfig, chosen, "the search")

    def __repr__(self) -> str:
        facts = self.task.facts()
        return f"Model({self.task.name}, {facts['model']}, {facts['parameters']:,} parameters)"
