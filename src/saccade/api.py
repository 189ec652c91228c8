"""The Python API: `saccade.load(folder)` returns a Model; call it with one input or a list of inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from saccade.config import parse
from saccade.data.example import Example
from saccade.deprecated import warn_renamed
from saccade.errors import ConfigError, DataError, unknown_name
from saccade.outside import trusting
from saccade.prediction import Prediction
from saccade.runs.folder import describe_task, load_task
from saccade.runs.workers import Workers
from saccade.search import SearchConfig, Stop
from saccade.tasks.base import Evaluation, Task
from saccade.tasks.batching import in_batches, stream
from saccade.tasks.episode_inputs import Support
from saccade.tasks.inputs import Input
from saccade.tasks.seeds import SEED
from saccade.tasks.tracing import TraceOptions
from saccade.trace import Trace
from saccade.train.devices import find_accelerator

__all__ = ["Model", "describe", "load"]


def load(folder: str | Path, *, device: str = "auto", trust_code: bool = False) -> Model:
    """Load a trained model from its folder, without unpickling and without running code that the folder names.

    A recipe may name a class of yours as a score or align (`package.module:Class`). Only `trust_code` allows its
    import.
    """
    if device not in _DEVICES:
        raise unknown_name("device", device, _DEVICES)
    found = find_accelerator(device)
    with trusting(trust_code, Path(folder)):
        task = load_task(Path(folder))
    task.model.to(found)
    return Model(task, Path(folder), trust_code=trust_code)


def describe(folder: str | Path, *, trust_code: bool = False) -> Model:
    """Load a model without its weights: it has its recipe, options and tokenizers, but cannot predict."""
    with trusting(trust_code, Path(folder)):
        return Model(describe_task(Path(folder)), Path(folder), trust_code=trust_code)


_DEVICES = ("auto", "cpu", "cuda", "mps")


class Model:
    """A trained model. Calling it with one input returns a Prediction; with a list, a list of Predictions.

    An input is a text. For a model that reads images, it is the path of an image, the bytes of its file, or its pixels;
    for one that reads sound, the path or the bytes of a sound file, or an array of samples with the option `rate`.
    Options are those of a recipe's `search`: beam, nbest, length_penalty, sample, temperature, top_k, top_p, seed,
    max_length, min_length, batch_size.
    """

    def __init__(self, task: Task, folder: Path | None = None, *, trust_code: bool = False) -> None:
        self.task = task
        self._folder, self._trust_code = folder, trust_code

    @property
    def recipe(self) -> dict[str, Any]:
        """All settings of the model's training run."""
        return self.task.recipe.dump()

    @overload
    def __call__(self, inputs: Input, **options: Any) -> Prediction: ...
    @overload
    def __call__(self, inputs: Iterable[Input], **options: Any) -> list[Prediction]: ...
    def __call__(self, inputs: Any, **options: Any) -> Prediction | list[Prediction]:
        single = self.task.reads.is_one(inputs) or not isinstance(inputs, Iterable)
        several: list[Any] = [inputs] if single else list(inputs)
        several = self.task.reads.described(several, options)
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
        """Answer one input and record every attention, the most likely tokens of each step and the beam.

        force: tokens to begin with. block: source tokens that no attention may attend to. pull: (step, source token,
        weight) sets an attention weight. detail: record hidden vectors too. gold: gold alignment links, source word
        first. stop: called before each step of the search; raises an Interruption to end it.
        """
        (given,) = self.task.reads.described([given], options)
        self._check(given, "the input")
        if isinstance(given, str) and not given.strip():
            raise DataError(f"a trace needs one {self.task.reads.name} that is not empty, but got {given!r}.")
        if (length := self.task.length(given)) > self.task.longest:
            raise DataError(f"the input has {length:,} tokens, but this model reads at most {self.task.longest:,}.")
        name = self._folder.name if self._folder is not None else "model"
        wishes = TraceOptions(force, block, pull, detail, gold, name)
        return self.task.trace(given, self.search(**options), wishes, stop=stop)

    def stream(
        self,
        inputs: Iterable[Input | None],
        *,
        attention: bool = False,
        prefix: str | None = None,
        on_error: Callable[[str], None] | None = None,
        workers: int = 1,
        stop: Stop | None = None,
        refuse: Callable[[str], None] | None = None,
        **options: Any,
    ) -> Iterator[Prediction]:
        """Yield predictions for any number of inputs, in order, in constant memory.

        None among the inputs flushes: inputs so far are answered before more are read. `on_error` is called with a
        message for each input that is invalid, too long or unreadable, and its answer is empty; without `on_error`,
        such an input raises. `workers`: number of processes with one core each, for many inputs on a CPU. `stop` is
        called between steps of a search, or between batches with several workers; it raises an Interruption to end the
        search.
        """
        if refuse is not None:
            warn_renamed("stream(refuse=)", "stream(on_error=)")
            on_error = on_error or refuse
        search = self.search(**options)
        common: dict[str, Any] = {"attention": attention, "prefix": prefix, "on_error": on_error, "stop": stop}
        if workers == 1 or self._folder is None:
            yield from stream(self.task, inputs, search, **common)
            return
        if self.task.device.type != "cpu":
            raise ConfigError(f"workers are for the CPU, but the model is on {self.task.device}. Use one of the two.")
        with Workers(self._folder, workers, trust_code=self._trust_code) as pool:
            yield from stream(self.task, inputs, search, workers=pool, **common)

    def _check(self, given: Any, name: str) -> None:
        if (why := self.task.reads.fault(given)) is not None:
            raise DataError(f"{name} {why}")

    def classify(self, support: Any, queries: Iterable[Any], **options: Any) -> list[Prediction]:
        """Predict the labels of images from a few labeled images, with a model trained on episodes.

        support: a folder with a folder of images for each label, or lists of images by label. queries: the images to
        classify. An image is the path of its file, the bytes of the file, or pixels. Needs no training: the labels are
        those of the support.
        """
        given = Support(support)
        found: list[Prediction] = self([{"support": given, "query": query} for query in queries], **options)
        return found

    def sample(
        self, count: int = 1, *, seed: int = 1, label: str | None = None, attention: bool = True
    ) -> list[Prediction]:
        """Draw images with a model that generates images; each has an `image` and the attention of its places.

        The images have the seeds `seed`, `seed` + 1 and so on. label: the class of all images; by default, a model with
        classes draws them in turn.
        """
        if self.task.reads is not SEED:
            raise ConfigError(f"this model reads a {self.task.reads.name}, and draws no images. Use one that does.")
        if count < 1:
            raise ConfigError(f"{count} images are asked for. Ask for 1 or more.")
        wanted = {} if label is None else {"class": label}
        inputs = [{"seed": seed + number, **wanted} for number in range(count)]
        for given in inputs:
            self._check(given, "the input")
        return in_batches(self.task, inputs, self.search(), attention=attention)

    def evaluate(self, examples: Iterable[Example], **options: Any) -> Evaluation:
        """Compute the task's metrics on some examples."""
        return self.task.evaluate(list(examples), self.search(**options))

    def search(self, **options: Any) -> SearchConfig:
        """Return the recipe's search config with some options changed; `nbest` without `beam` widens the beam."""
        if "batch" in options:
            warn_renamed("batch=", "batch_size=")
            options["batch_size"] = options.pop("batch")
        chosen = self.task.recipe.search.model_dump() | options
        if isinstance(options.get("nbest"), int) and "beam" not in options:
            chosen["beam"] = max(chosen["beam"], options["nbest"])
        return parse(SearchConfig, chosen, "the search")

    def __repr__(self) -> str:
        facts = self.task.facts()
        return f"Model({self.task.name}, {facts['model']}, {facts['parameters']:,} parameters)"
