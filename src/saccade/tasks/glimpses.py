"""Glimpses: classify images through a retina, at a few places that the model chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.attention import Tape
from saccade.batch import Batch
from saccade.config import Fault
from saccade.corpora import CORPORA
from saccade.data.example import Example
from saccade.data.features import Feature
from saccade.data.field_feature import FieldFeature, ink_of_images
from saccade.data.fields import Fields
from saccade.data.image_store import load_images
from saccade.data.labeled_images import LABELED_IMAGES
from saccade.data.pictures import fit, open_picture
from saccade.data.tokenizer import TokenizerConfig, Tokenizers
from saccade.errors import ConfigError, DataError
from saccade.look.glimpse_path import GlimpsePath
from saccade.look.picture import Picture, data_address
from saccade.models import build_head
from saccade.models.base import Classifying
from saccade.models.glimpses import SITE, GlimpseModel, ink_of
from saccade.prediction import AttentionMaps, Prediction, Side
from saccade.search import SearchConfig, Stop
from saccade.tasks.base import Evaluation, Split, Task
from saccade.tasks.glimpse_scores import evaluation_of
from saccade.tasks.inputs import IMAGE, Opened, name_of
from saccade.tasks.tracing import TraceOptions, begin, plain_side
from saccade.trace import Glimpses as TraceGlimpses
from saccade.trace import Site, Step, Trace, pack
from saccade.trace.packed import COARSE, FINE
from saccade.train.glimpse_loss import GlimpseLoss
from saccade.train.terms import GlimpseReward

if TYPE_CHECKING:
    from saccade.recipes.schema import Recipe

__all__ = ["Glimpses"]

_FOR_OTHERS = ("word_dropout", "label_smoothing", "r_drop")
"""Training settings that this task does not use."""
_EXAMPLES = 4
_TOGETHER = 256
"""Images of a batch in evaluation."""


class Glimpses(Task):
    """Classify images from glimpses; a convolutional model of whole images is the baseline."""

    name = "glimpses"
    reads = IMAGE
    form = LABELED_IMAGES
    head = "image_classifier"
    parts = ("labels",)
    metrics = ("accuracy", "on_target")
    offers = frozenset({"places to choose"})
    model: Classifying

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return Tokenizers(None, None, sorted({each.label for each in examples() if each.label is not None}))

    @classmethod
    def faults(cls, recipe: Recipe) -> Iterator[Fault]:
        yield from super().faults(recipe)
        for name in _FOR_OTHERS:
            if getattr(recipe.train, name):
                yield Fault(("train", name), f"{recipe.task} does not use it: set it to 0")
        if recipe.model.get("policy") == "learned" and not recipe.objective.get(GlimpseReward.name, {}).get("weight"):
            yield Fault(("objective",), "a model that chooses places learns by reward: add glimpse_reward: {}")
        if 0 < recipe.field.size < recipe.data.image_size:
            sizes = f"it is {recipe.field.size}, but images have {recipe.data.image_size} pixels a side"
            yield Fault(("field", "size"), f"{sizes}: lower data.image_size, or raise field.size")

    def sample_files(self) -> list[str]:
        data = self.recipe.data
        if data.corpus is None or find_spec("sklearn") is None:
            return []
        corpus = CORPORA[data.corpus]
        ink, *_ = self._fields(list(corpus.generate("test", _EXAMPLES, data.seed, **corpus.options(data))))
        pixels = [np.repeat(255 - one[..., None], 3, -1) for one in ink]
        return [data_address(one) for one in pixels]

    @property
    def labels(self) -> list[str]:
        """The classes."""
        return self.tokenizers.labels or []

    @property
    def side(self) -> int:
        """Side of the fields that the model sees, in pixels."""
        return max(self.recipe.field.size, self.recipe.data.image_size)

    def _build(self) -> Classifying:
        if len(self.labels) < 2:
            raise DataError(f"the training data have the labels {self.labels}, but there must be two or more.")
        made: Classifying = build_head(self.head, self.recipe.model_settings(), len(self.labels))
        return made

    def features(self, split: Split) -> list[Feature]:
        return [FieldFeature(split.images(), self.recipe.field, self.labels, split.name)]

    def objective(self) -> GlimpseLoss:
        reward = self.terms.get(GlimpseReward.name)
        assert reward is None or isinstance(reward, GlimpseReward)
        return GlimpseLoss(self.model, reward)

    def check_installed(self) -> None:
        self._open(np.zeros((1, 2, 3), np.uint8))

    @property
    def grid(self) -> tuple[int, int] | None:
        """Rows and columns of the regions that attention is over."""
        return self.model.grid((self.side, self.side)) if isinstance(self.model, GlimpseModel) else None

    def positions(self, tokens: int) -> tuple[int, int]:
        rows, columns = self.grid or (1, 1)
        return rows * columns, self.recipe.model.get("glimpses", 1)

    def length(self, given: Any) -> int:
        return 1

    def _open(self, given: Any, **limits: Any) -> NDArray[np.uint8]:
        """Return an image as the model sees it: ink (side, side). A small one lies in the middle of a field."""
        pixels = given if isinstance(given, np.ndarray) else open_picture(_file(given), **limits)
        data = self.recipe.data
        if max(pixels.shape[:2]) > data.image_size or self.side == data.image_size:
            square: NDArray[np.uint8] = ink_of_images(fit(pixels, self.side, data.image_fit)[None])[0]
            return square
        small = ink_of_images(pixels[None])[0]
        made = np.zeros((self.side, self.side), np.uint8)
        top, left = ((self.side - size) // 2 for size in small.shape)
        made[top : top + small.shape[0], left : left + small.shape[1]] = small
        return made

    def opened(self, given: Any, **limits: Any) -> Opened:
        return given if isinstance(given, Opened) else Opened(self._open(given, **limits), name_of(given))

    @torch.no_grad()
    def predict(
        self,
        inputs: Sequence[Any],
        search: SearchConfig,
        *,
        attention: bool = True,
        prefix: str | None = None,
        stop: Stop | None = None,
    ) -> list[Prediction]:
        if prefix is not None:
            raise ConfigError("a label cannot be given a prefix: leave the prefix out.")
        if stop is not None:
            stop()
        return self._answer([self.opened(given) for given in inputs], search, attention)

    def _answer(
        self, inputs: Sequence[Opened], search: SearchConfig, attention: bool, forced: torch.Tensor | None = None
    ) -> list[Prediction]:
        ink = np.stack([given.value for given in inputs])
        batch = Batch(pictures=torch.from_numpy(255 - ink)[..., None]).to(self.device)
        tape = Tape(detach=True) if attention else None
        training = self.model.training
        logits = self._run(batch, tape, forced)
        self.model.train(training)
        best = torch.log_softmax(logits.float(), -1).sort(-1, descending=True)
        paths = self._paths(tape) if tape is not None and SITE in tape else [None] * len(inputs)
        weights = tape[SITE].float().cpu().numpy() if tape is not None and SITE in tape else None
        found = []
        for row, (given, path) in enumerate(zip(inputs, paths, strict=True)):
            ranked = [self.labels[place] for place in best.indices[row].tolist()]
            own = {} if weights is None else {SITE: weights[row]}
            maps = self._maps(ranked[0], 255 - ink[row], own, path)
            every = [
                Prediction(label, score, [label], maps, given.name)
                for label, score in zip(ranked, best.values[row].tolist(), strict=True)
            ]
            found.append(replace(every[0], alternatives=every[1 : max(1, search.nbest)]))
        return found

    def _run(self, batch: Batch, tape: Tape | None, forced: torch.Tensor | None) -> torch.Tensor:
        model = self.model.eval()
        if forced is None or not isinstance(model, GlimpseModel):
            logits: torch.Tensor = model(batch, tape=tape)
            return logits
        return model.record(ink_of(batch), tape, forced)

    def _paths(self, tape: Tape) -> list[GlimpsePath | None]:
        """Return the path of each image of a batch."""
        assert isinstance(self.model, GlimpseModel)
        parts = {name: tape.tensors[f"{SITE}.{name}"] for name in ("logits", "places", "patches")}
        boxes = self.model.encoder.retina.boxes(parts["places"], (self.side, self.side)).cpu().numpy()
        beliefs = parts["logits"].softmax(-1).cpu().numpy()
        patches = parts["patches"][:, :, :, 0].float().cpu().numpy()
        return [GlimpsePath(*row, tuple(self.labels)) for row in zip(boxes, patches, beliefs, strict=True)]

    def _maps(
        self, label: str, gray: NDArray[np.uint8], weights: dict[str, Any], path: GlimpsePath | None
    ) -> AttentionMaps:
        """Return attention over regions of the image; each row is a glimpse, named by the label predicted after it."""
        rows, columns = self.grid or (1, 1)
        names = [f"{row},{column}" for row in range(rows) for column in range(columns)]
        tokens = [label] if path is None else path.best
        source, target = Side(names, names, [*range(len(names))]), Side(tokens, tokens, [*range(len(tokens))])
        picture = Picture(np.repeat(gray[..., None], 3, -1), rows, columns)
        seen: dict[str, Any] = {"picture": picture, "model": self.model_name, "path": path}
        return AttentionMaps(source, target, weights, tuple(weights), **seen)

    def trace(self, given: Any, search: SearchConfig, options: TraceOptions, *, stop: Stop | None = None) -> Trace:
        if options.force:
            raise ConfigError("a label is not generated token by token, so there is nothing to force.")
        opened, forced = self._steered(self.opened(given), options)
        if stop is not None:
            stop()
        with torch.no_grad():
            (best,) = self._answer([opened], search.model_copy(update={"nbest": len(self.labels)}), True, forced)
        maps, path, picture = best.attention, best.path, best.attention.picture
        assert picture is not None
        rows, columns = self.grid or (1, 1)
        name = "an image" if best.source is None else Path(best.source).name
        image = {"kind": "grid", "grid": [rows, columns], "image": data_address(picture.pixels)}
        sides = {
            "source": plain_side(maps.source, name).model_copy(update=image),
            "target": plain_side(maps.target, best.text),
        }
        sites = [_site(name, part) for name, part in maps.weights.items()]
        scores = np.log(np.maximum(path.beliefs, 1e-9)) if path is not None else None
        if scores is None:
            ranked = [best, *best.alternatives]
            known = {one.text: one.score for one in ranked}
            scores = np.array([[known[label] for label in self.labels]])
        steps = [self._step(row) for row in scores]
        seen: dict[str, Any] = {"text": best.text, "score": best.score, "sides": sides, "sites": sites, "steps": steps}
        if path is not None:
            patches = pack(path.patches, COARSE, low=0, high=1)
            seen["glimpses"] = TraceGlimpses(boxes=path.boxes.tolist(), patches=patches, labels=self.labels)
        return Trace(**begin(self, options, search), **seen)

    def _steered(self, given: Opened, options: TraceOptions) -> tuple[Opened, torch.Tensor | None]:
        """Erase blocked regions of the image; also return the positions (1, T, 2) that pulls set, NaN elsewhere.

        A glimpse that is pulled to several regions is placed at the weighted mean of their centers.
        """
        rows, columns = self.grid or (1, 1)
        if options.steering([SITE] if self.grid else [], rows * columns) is None:
            return given, None
        assert isinstance(self.model, GlimpseModel)
        options.check_steps(self.model.glimpses)
        ink = given.value.copy()
        for region in options.block:
            row, column = divmod(region, columns)
            high, wide = (
                np.array([row, row + 1]) * self.side // rows,
                np.array([column, column + 1]) * self.side // columns,
            )
            ink[slice(*high), slice(*wide)] = 0
        forced = torch.full((1, self.model.glimpses, 2), torch.nan)
        for step in {step for step, _, weight in options.pull if weight > 0}:
            own = [(place, weight) for at, place, weight in options.pull if at == step]
            centers = torch.tensor(
                [[(place % columns + 0.5) / columns, (place // columns + 0.5) / rows] for place, _ in own]
            )
            shares = torch.tensor([weight for _, weight in own])
            middle = (centers * shares[:, None]).sum(0) / shares.sum()
            forced[0, step] = self.model.encoder.retina.places(middle, (self.side, self.side))
        return Opened(ink, given.name), forced.to(self.device)

    def _step(self, scores: NDArray[np.float64]) -> Step:
        """Return the step of a glimpse: the labels from the most likely one on."""
        order = [int(place) for place in np.argsort(-scores, kind="stable")]
        candidates = [(place, self.labels[place], float(scores[place])) for place in order]
        token, text, score = candidates[0]
        return Step(token=token, text=text, log_probability=score, candidates=candidates)

    @classmethod
    def testable(cls, examples: Sequence[Example]) -> list[Example]:
        for number, example in enumerate(examples, 1):
            if example.image is None or example.label is None:
                raise DataError(f"example {number} has no image or no label, so there is nothing to compare with.")
        return list(examples)

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        ink, boxes, gold, notes = self._fields(examples)
        inputs = [Opened(one, None) for one in ink]
        predictions = [
            found
            for start in range(0, len(inputs), _TOGETHER)
            for found in self._light(inputs[start : start + _TOGETHER], search)
        ]
        return replace(evaluation_of(predictions, gold, self.labels, boxes), notes=notes)

    @torch.no_grad()
    def _light(self, inputs: Sequence[Opened], search: SearchConfig) -> list[Prediction]:
        return self._answer(inputs, search, attention=True)

    def _fields(
        self, examples: Sequence[Example]
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64] | None, list[str], list[str]]:
        """Return the fields of images, the boxes of their objects, labels, and notes on images that cannot be read.

        If no image has more than `data.image_size` pixels a side, each is placed at random on a field. Otherwise all
        are resized to fields or centered on them, and there are no boxes.
        """
        (pixels, gold, notes), data = load_images(examples), self.recipe.data
        if self.side > data.image_size and any(max(one.shape[:2]) > data.image_size for one in pixels):
            return np.stack([self._open(one) for one in pixels]), None, gold, notes
        small = ink_of_images(np.stack([fit(one, data.image_size, data.image_fit) for one in pixels]))
        numbers = np.arange(len(small))
        ink, boxes = Fields(small, self.recipe.field, "test").draw(numbers, numbers)
        return ink, boxes, gold, notes


def _site(name: str, weights: NDArray[Any]) -> Site:
    return Site(
        name=name,
        rows="target",
        columns="source",
        score="policy",
        align="retina",
        formula="the share of each region in the finest patch",
        heads=len(weights),
        weights=pack(weights, FINE, low=0, high=1),
    )


def _file(given: Any) -> Path | bytes:
    return Path(given) if isinstance(given, str) else given
