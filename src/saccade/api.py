"""The Python API: `saccade.load(folder)` returns a Model; call it with one input or a list of inputs."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Unpack, overload

from saccade.config import parse
from saccade.data.example import Example
from saccade.data.sound_windows import sound_windows
from saccade.deprecated import warn_renamed
from saccade.errors import ConfigError, DataError, unknown_name
from saccade.outside import trusting
from saccade.prediction import NOTHING, AttentionMaps, Prediction
from saccade.pretrained import find_model
from saccade.runs.folder import describe_task, load_task, write_description, write_model
from saccade.runs.workers import Workers
from saccade.search import SearchConfig, Stop
from saccade.search.options import SearchOptions, with_named_options
from saccade.tasks.base import Evaluation, Task
from saccade.tasks.batching import in_batches, stream
from saccade.tasks.episode_inputs import Support
from saccade.tasks.inputs import Input, shown
from saccade.tasks.seeds import SEED
from saccade.tasks.text_to_text import TextToText
from saccade.tasks.tracing import TraceOptions
from saccade.trace import Trace
from saccade.train.accelerators import find_accelerator
from saccade.train.checkpoint import weights_of

__all__ = ["Model", "describe", "load"]


def load(folder: str | Path, *, device: str = "auto", trust_code: bool = False) -> Model:
    """Load a trained model from its folder, or a shipped one by its name, such as "demo" (`saccade models` lists them).

    Nothing is unpickled, and no code that the folder names is run. A recipe may name a class of yours as a score or
    align (`package.module:Class`). Only `trust_code` allows its import.

    >>> saccade.load("demo")
    Model(translation, bahdanau, 574,073 parameters)
    """
    if device not in _DEVICES:
        raise unknown_name("device", device, _DEVICES)
    found, place = find_accelerator(device), find_model(folder)
    with trusting(trust_code, place):
        task = load_task(place)
    task.model.to(found)
    return Model(task, place, trust_code=trust_code)


def describe(folder: str | Path, *, trust_code: bool = False) -> Model:
    """Load a model without its weights: it has its recipe, options and tokenizers, but cannot predict."""
    place = find_model(folder)
    with trusting(trust_code, place):
        return Model(describe_task(place), place, trust_code=trust_code)


_WINDOW = 600
"""Maximum seconds of a window of `transcribe`."""
_DEVICES = ("auto", "cpu", "cuda", "mps")


class Model:
    """A trained model. Calling it with one input returns a Prediction; with a list, a list of Predictions.

    Several inputs may be a list, an array, a Series of pandas or a generator.

    An input is a text. For a model that reads images, it is the path of an image, the bytes of its file, or its pixels;
    for one that reads sound, the path or the bytes of a sound file, or an array of samples with the option `rate`.
    Options are those of a recipe's `search`: beam, nbest, length_penalty, sample, temperature, top_k, top_p, seed,
    max_length, min_length, batch_size.

    >>> model = saccade.load("demo")
    >>> model("the law").text
    'la loi'
    >>> [each.text for each in model(["the law", "a red car"], beam=3)]
    ['la loi', 'une voiture rouge']
    """

    def __init__(self, task: Task, folder: Path | None = None, *, trust_code: bool = False) -> None:
        self.task = task
        self._folder, self._trust_code = folder, trust_code

    @property
    def recipe(self) -> dict[str, Any]:
        """All settings of the model's training run."""
        return self.task.recipe.dump()

    @property
    def sample_inputs(self) -> list[Any]:
        """Inputs to try: those of the recipe, or some of its built-in corpus that the model was not trained on.

        >>> saccade.load("demo").sample_inputs[0]
        'the European Economic Area'
        """
        field = self.task.reads.entry
        return [_content(each[field]) if field != "input" else each[field] for each in self.task.examples()]

    @overload
    def __call__(self, inputs: Input, **options: Unpack[SearchOptions]) -> Prediction: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, inputs: Iterable[Input], **options: Unpack[SearchOptions]) -> list[Prediction]: ...
    @with_named_options
    def __call__(self, inputs: Any, **options: Unpack[SearchOptions]) -> Prediction | list[Prediction]:
        chosen: dict[str, Any] = {**options}
        single = self.task.reads.is_one(inputs) or isinstance(inputs, Mapping) or not isinstance(inputs, Iterable)
        several: list[Any] = [inputs] if single else list(inputs)
        several = self.task.reads.described(several, chosen)
        for number, given in enumerate(several, 1):
            self._check(given, f"input {number}")
        found = in_batches(self.task, several, self.search(**chosen), attention=True)
        return found[0] if single else found

    @with_named_options
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
        **options: Unpack[SearchOptions],
    ) -> Trace:
        """Answer one input and record every attention, the most likely tokens of each step and the beam.

        force: tokens to begin with. block: source tokens that no attention may attend to. pull: (step, source token,
        weight) sets an attention weight. detail: record hidden vectors too. gold: gold alignment links, source word
        first. stop: called before each step of the search; raises an Interruption to end it.

        >>> model = saccade.load("demo")
        >>> model.trace("the European Economic Area").text
        'la zone économique européenne'
        >>> model.trace("the European Economic Area", block=[2]).text  # without reading "Economic"
        'la zone européenne européenne'
        """
        chosen: dict[str, Any] = {**options}
        (given,) = self.task.reads.described([given], chosen)
        self._check(given, "the input")
        if isinstance(given, str) and not given.strip():
            raise DataError(f"a trace needs one {self.task.reads.name} that is not empty, but got {given!r}.")
        if (length := self.task.length(given)) > self.task.longest:
            raise DataError(f"the input has {length:,} tokens, but this model reads at most {self.task.longest:,}.")
        name = self._folder.name if self._folder is not None else "model"
        wishes = TraceOptions(force, block, pull, detail, gold, name)
        return self.task.trace(given, self.search(**chosen), wishes, stop=stop)

    @with_named_options
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
        **options: Unpack[SearchOptions],
    ) -> Iterator[Prediction]:
        """Yield predictions for any number of inputs, in order, in constant memory.

        None among the inputs flushes: inputs so far are answered before more are read. `on_error` is called with a
        message for each input that is invalid, too long or unreadable, and its answer is empty; without `on_error`,
        such an input raises. `workers`: number of processes with one core each, for many inputs on a CPU. `stop` is
        called between steps of a search, or between batches with several workers; it raises an Interruption to end the
        search.

        >>> lines = iter(["the law", "a red car"])
        >>> [each.text for each in saccade.load("demo").stream(lines)]
        ['la loi', 'une voiture rouge']
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

    @with_named_options
    def transcribe(
        self, path: str | Path, *, window: float, stop: Stop | None = None, **options: Unpack[SearchOptions]
    ) -> Prediction:
        """Transcribe a sound file of any length in flat memory; the result has text and word times, but no attention.

        The recording is cut at pauses into windows of at most `window` seconds, which are transcribed by themselves.
        Choose windows about as long as the recordings of training: models seldom transcribe longer ones well.
        """
        if self.task.reads.name != "sound":
            raise ConfigError(
                f"transcribe is for models of speech, but this one reads {self.task.reads.name}. Call it."
            )
        if not 1 <= window <= _WINDOW:
            raise ConfigError(f"window is {window}, but must be from 1 to {_WINDOW} seconds.")
        begins: list[float] = []

        def sounds() -> Iterator[Any]:
            for begin, sound in sound_windows(Path(path), window):
                begins.append(begin)
                yield sound

        texts, words, score = [], [], 0.0
        answers = stream(self.task, sounds(), self.search(**options), attention=True, stop=stop)
        for number, part in enumerate(answers):
            texts.append(part.text)
            score += part.score
            words += [word.moved(begins[number]) for word in part.words]
        text = " ".join(filter(None, texts))
        return Prediction(text, score, [], AttentionMaps(NOTHING, NOTHING, {}, ()), str(path), words=words)

    def _check(self, given: Any, name: str) -> None:
        if (why := self.task.reads.fault(given)) is not None:
            raise DataError(f"{name} {why}")

    @with_named_options
    def classify(self, support: Any, queries: Iterable[Any], **options: Unpack[SearchOptions]) -> list[Prediction]:
        """Predict the labels of images from a few labeled images, with a model trained on episodes.

        support: a folder with a folder of images for each label, or lists of images by label. queries: the images to
        classify. An image is the path of its file, the bytes of the file, or pixels. Needs no training: the labels are
        those of the support.
        """
        given = Support(support)
        found: list[Prediction] = self([{"support": given, "query": query} for query in queries], **options)
        return found

    def sample(
        self,
        count: int = 1,
        *,
        seed: int = 1,
        label: str | None = None,
        text: str | None = None,
        truncation: float = 1.0,
        attention: bool = True,
    ) -> list[Prediction]:
        """Draw images with a model that generates images; each has an `image` and the attention of its places.

        The images have the seeds `seed`, `seed` + 1 and so on. label: the class of all images; by default, a model with
        classes draws them in turn. text: the sentence of all images, for a model that draws sentences. truncation: a
        factor on the noise; below 1, images are more typical and vary less.
        """
        if count < 1:
            raise ConfigError(f"{count} images are asked for. Ask for 1 or more.")
        if "captions to draw" in self.task.offers:
            return self._drawn_text(text, range(seed, seed + count), label, truncation, attention)
        if text is not None:
            raise ConfigError(f"the text {text!r} is given, but this model draws no sentences. Leave it out.")
        return self._drawn([{"seed": seed + number} for number in range(count)], label, truncation, attention)

    def walk(
        self,
        first: int,
        last: int,
        frames: int = 16,
        *,
        label: str | None = None,
        truncation: float = 1.0,
        attention: bool = True,
    ) -> list[Prediction]:
        """Draw images on the way from the noise of one seed to that of another, with a model that generates images.

        label: the class of all images; by default, that of the first seed.
        """
        if "captions to draw" in self.task.offers:
            raise ConfigError("a walk leads from seed to seed, but this model draws sentences. Use sample(text='…').")
        if frames < 2:
            raise ConfigError(f"a walk of {frames} images is asked for. Ask for 2 or more.")
        ways = [{"seed": first, "toward": last, "share": number / (frames - 1)} for number in range(frames)]
        return self._drawn(ways, label, truncation, attention)

    def _drawn_text(
        self, text: str | None, seeds: Iterable[int], label: str | None, truncation: float, attention: bool
    ) -> list[Prediction]:
        if text is None or not text.strip():
            raise ConfigError("this model draws sentences, and none is given. Pass text='…', or --text.")
        if label is not None or truncation != 1:
            raise ConfigError("this model has no classes and no truncation. Leave them out.")
        self._check(text, "the text")
        searches = (self.search(seed=seed) for seed in seeds)
        return [in_batches(self.task, [text], search, attention=attention)[0] for search in searches]

    def _drawn(
        self, wishes: list[dict[str, Any]], label: str | None, truncation: float, attention: bool
    ) -> list[Prediction]:
        if self.task.reads is not SEED:
            raise ConfigError(f"this model reads a {self.task.reads.name}, and draws no images. Use one that does.")
        inputs = [{**wish, "class": label, "truncation": truncation} for wish in wishes]
        for given in inputs:
            self._check(given, "the input")
        return in_batches(self.task, inputs, self.search(), attention=attention)

    @with_named_options
    def evaluate(self, examples: Iterable[Any], **options: Unpack[SearchOptions]) -> Evaluation:
        """Compute the task's metrics on some examples: (source, target), (text, label), or Examples.

        >>> found = saccade.load("demo").evaluate([("the law", "la loi"), ("a red car", "une voiture rouge")])
        >>> found.metrics["ter"], found.predictions[0].text
        (0.0, 'la loi')
        """
        return self.task.evaluate(self.examples(examples), self.search(**options))

    def examples(self, given: Iterable[Any]) -> list[Example]:
        """Return Examples of tuples with the fields of this task's examples, such as (source, target)."""
        return [Example.of(one, self.task.form.fields) for one in given]

    def align(self, pairs: Iterable[Any], *, batch_size: int = 64) -> Iterator[list[tuple[int, int]]]:
        """Yield the word alignment of each pair (source, target): links (source word, target word), from 0.

        The model reads the source and is made to write the target; each target word is linked to the source word that
        it attends to most. A pair with an empty side has no links.

        >>> list(saccade.load("demo").align([("the European Economic Area", "la zone économique européenne")]))
        [[(0, 0), (3, 1), (2, 2), (1, 3)]]
        """
        task = self.task
        if not isinstance(task, TextToText) or not task.model.source_sites:
            raise ConfigError(f"{self!r} cannot align: that needs a model from text to text with attention.")
        return self._align(task, iter(pairs), batch_size)

    def _align(self, task: TextToText, pairs: Iterator[Any], batch_size: int) -> Iterator[list[tuple[int, int]]]:
        while chunk := self.examples(islice(pairs, batch_size * 16)):
            full = [one for one in chunk if (one.source or "").strip() and (one.target or "").strip()]
            found = iter(task.attend(full, batch_size=batch_size))
            kept = {id(one) for one in full}
            for one in chunk:
                yield next(found).links(*task.pointing_site) if id(one) in kept else []

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder, which `saccade.load` reads; its weights may have been changed.

        >>> saccade.load("demo").save("runs/copy")
        >>> saccade.load("runs/copy")("the law").text
        'la loi'
        """
        place = Path(folder)
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise ConfigError(f"{place} is there already. Choose another folder.")
        place.mkdir(parents=True, exist_ok=True)
        write_description(place, self.task.recipe, self.task.tokenizers)
        write_model(place, weights_of(self.task.model), self.task.tokenizers)

    def search(self, **options: Any) -> SearchConfig:
        """Return the recipe's search config with some options changed; `nbest` without `beam` widens the beam.

        >>> saccade.load("demo").search(nbest=3).beam
        3
        """
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


def _content(address: str) -> bytes:
    """Return the bytes of a file in a data: URL."""
    try:
        return b64decode(address.partition(",")[2])
    except ValueError as error:
        raise DataError(f"an example of the model's recipe is no data: URL in base64: {shown(address)}.") from error
