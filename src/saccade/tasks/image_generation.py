"""Image generation: draw images from noise, and perhaps a class, with a generator trained against a discriminator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from saccade.attention import Tape
from saccade.config import Fault
from saccade.corpora import CORPORA
from saccade.data.example import Example
from saccade.data.features import Feature, text_features
from saccade.data.image_feature import OnlyImageFeature
from saccade.data.labeled_images import LABELED_IMAGES
from saccade.data.pictures import fit
from saccade.data.tokenizer import TokenizerConfig, Tokenizers
from saccade.errors import ConfigError, DataError
from saccade.look.picture import Picture
from saccade.metrics.generated import neighbors
from saccade.models import build_head
from saccade.models.sagan import Sagan, SaganConfig
from saccade.prediction import AttentionMaps, Prediction, Side
from saccade.search import SearchConfig, Stop
from saccade.tasks.base import Evaluation, Split, Task
from saccade.tasks.image_scores import Judged, evaluation_of, health_of_players
from saccade.tasks.inputs import shown
from saccade.tasks.seeds import SEED
from saccade.tasks.tracing import TraceOptions, begin, describe_sites, plain_side
from saccade.trace import Step, Trace
from saccade.train.adversarial import AdversarialLoss
from saccade.train.terms import Adversarial

if TYPE_CHECKING:
    from saccade.recipes.schema import Recipe

__all__ = ["ImageGeneration", "Wish", "grid_side", "noise_of", "player_faults"]

_FOR_OTHERS = ("word_dropout", "label_smoothing", "r_drop", "average")
"""Training settings that have no meaning for two players."""
_BATCH = 64
_WATCHED = 64
"""Images that are compared at each validation, to notice a collapse."""
_TRAINED = 10_000
"""Maximum images of training among which the nearest to a generated one is looked for."""
_STRAIGHT = 1e-3
"""Sine of an angle between two vectors of noise below which there is no arc from one to the other."""
_EVALUATED = 2**30
"""The first seed of an evaluation: no image that users usually draw."""


class Wish(NamedTuple):
    """An opened input: a seed and the number of a class; its noise lies a share of the way to that of another seed.

    truncation: a factor on the noise; below 1, images are more typical and vary less.
    """

    seed: int
    label: int
    toward: int = 0
    share: float = 0.0
    truncation: float = 1.0

    @property
    def name(self) -> str:
        """The seed, as an input line."""
        return str(self.seed)


class ImageGeneration(Task):
    """Class-conditional or unconditional generation of small images.

    A prediction's text is the class that the judge sees in the image, and its score that class's log-probability.
    """

    name = "image-generation"
    reads = SEED
    form = LABELED_IMAGES
    head = "image_generator"
    parts = ("labels",)
    metrics = ("kid", "fid", "precision", "recall", "coverage", "agreement", "rule", "judge_accuracy")
    offers = frozenset({"images to generate"})
    model: Sagan

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return Tokenizers(None, None, sorted({each.label for each in examples() if each.label is not None}))

    @classmethod
    def faults(cls, recipe: Recipe) -> Iterator[Fault]:
        yield from super().faults(recipe)
        yield from player_faults(recipe, _FOR_OTHERS)
        if recipe.data.hub is not None:
            yield Fault(("data", "hub"), f"{recipe.task} reads images from files: name them in data.train")
        if issubclass(recipe.family, SaganConfig) and (size := _config(recipe).size) != recipe.data.image_size:
            why = f"the generator draws {size} × {size} pixels, but data.image_size is {recipe.data.image_size}"
            yield Fault(("model", "generator"), why)

    @classmethod
    def testable(cls, examples: Sequence[Example]) -> list[Example]:
        for number, example in enumerate(examples, 1):
            if example.image is None or example.label is None:
                raise DataError(f"example {number} has no image or no label, so there is nothing to compare with.")
        return list(examples)

    def _build(self) -> Sagan:
        if len(self.labels) < 2:
            raise DataError(
                f"the training data have the labels {self.labels}, but the classifier that measures the images needs "
                "two or more. Sort the images into classes."
            )
        made: Sagan = build_head(self.head, self.recipe.model_settings(), len(self.labels))
        return made

    @property
    def labels(self) -> list[str]:
        """The classes."""
        return self.tokenizers.labels or []

    @property
    def conditional(self) -> bool:
        """Whether an input can name a class."""
        return self.model.classes > 1

    @property
    def drawable(self) -> list[str]:
        return self.labels if self.conditional else []

    def positions(self, tokens: int) -> tuple[int, int]:
        places = max(_config(self.recipe).attend, default=0) ** 2
        return places, places

    def features(self, split: Split) -> list[Feature]:
        return [*text_features(self.tokenizers), OnlyImageFeature(split.images())]

    def objective(self) -> AdversarialLoss:
        settings = self.terms.get(Adversarial.name, Adversarial())
        assert isinstance(settings, Adversarial)
        return AdversarialLoss(self.model, settings)

    def length(self, given: Any) -> int:
        return 1

    def opened(self, given: Any, **limits: Any) -> Wish:
        if isinstance(given, Wish):
            return given
        fields: Mapping[str, Any] = given if isinstance(given, Mapping) else {"seed": int(given)}
        seed, chosen = fields["seed"], fields.get("class")
        more = {name: fields[name] for name in ("toward", "share", "truncation") if fields.get(name) is not None}
        if chosen is None:
            return Wish(seed, seed % len(self.labels) if self.conditional else 0, **more)
        if not self.conditional:
            raise ConfigError(
                f"the class {shown(chosen)} is asked for, but this model draws without classes. Leave the class out."
            )
        if chosen not in self.labels:
            raise DataError(f"there is no class {shown(chosen)}. The classes are {', '.join(self.labels)}.")
        return Wish(seed, self.labels.index(chosen), **more)

    @torch.no_grad()
    def draw(self, wishes: Sequence[Wish], tape: Tape | None = None) -> tuple[Tensor, Tensor]:
        """Return images (N, H, W, 3), and the judge's log-probabilities (N, classes); `tape` records both players."""
        training, model = self.model.training, self.model.eval()
        noise = torch.stack([noise_of(wish, model.generator.noise) for wish in wishes]).to(self.device)
        labels = torch.tensor([wish.label for wish in wishes], device=self.device)
        pixels = model.generate(noise, labels, tape=tape)
        images = model.images(pixels)
        if tape is not None:
            model.score(pixels, labels, tape=tape)
        logits = model.judge(model.gray(images))[1]
        model.train(training)
        return images, logits.float().log_softmax(-1)

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
            raise ConfigError("an image cannot be given a prefix: leave the prefix out.")
        wishes = [self.opened(given) for given in inputs]
        tape = Tape(detach=True) if attention else None
        images, logs = self.draw(wishes, tape)
        weights = {site: tape[site].float().cpu().numpy() for site in tape} if tape is not None else {}
        found = []
        for row, (wish, pixels) in enumerate(zip(wishes, images.cpu().numpy(), strict=True)):
            best = logs[row].sort(descending=True)
            own = {site: part[row] for site, part in weights.items()}
            every = [
                Prediction(self.labels[place], score, [self.labels[place]], self._maps(place, own, pixels), wish.name,
                           image=pixels)
                for place, score in zip(best.indices.tolist(), best.values.tolist(), strict=True)
            ][: max(1, search.nbest)]  # fmt: skip
            every[0].alternatives.extend(every[1:])
            found.append(every[0])
        return found

    def _maps(self, label: int, weights: dict[str, NDArray[Any]], pixels: NDArray[np.uint8]) -> AttentionMaps:
        """Return the attention of both players to a drawn image; `source` is the grid of the default site."""
        text = self.labels[label]
        target = Side([text], [text], [0])
        site = self._default_site(weights)
        size = math.isqrt(weights[site].shape[-1]) if site else 1
        source, extra, between = grid_side(size), {}, {}
        for name, part in weights.items():
            own = math.isqrt(part.shape[-1])
            side = "source" if own == size else f"grid {own} × {own}"
            between[name] = (side, side)
            if own != size:
                extra[side] = grid_side(own)
        picture = Picture(pixels, size, size)
        return AttentionMaps(
            source, target, weights, (), between, extra, picture=picture, model=self._shown_model(),
            default_site=site,
        )  # fmt: skip

    def _default_site(self, weights: Mapping[str, Any]) -> str | None:
        """Return the generator's last site, else the discriminator's."""
        drawing = [site for site in weights if site.startswith("generator")]
        return next(iter(reversed(drawing or [*weights])), None)

    def _shown_model(self) -> str:
        """Return the model's name with each γ: a map of a block whose γ is near 0 means little."""
        gains: dict[str, str] = {}
        for site, gamma in self.model.gammas.items():
            player = site.partition(".")[0]
            gains[player] = f"{gains.get(player, f'γ of {player}')} {gamma:.2f}"
        return ", ".join([self.model_name, *gains.values()])

    def trace(self, given: Any, search: SearchConfig, options: TraceOptions, *, stop: Stop | None = None) -> Trace:
        if options.force or options.block or options.pull:
            raise ConfigError("an image is not generated token by token, so there is nothing to force, block or pull.")
        every = search.model_copy(update={"nbest": len(self.labels)})
        (best,) = self.predict([given], every)
        maps, ranked = best.attention, [best, *best.alternatives]
        about = begin(self, options, search)
        about["model"] = about["model"].model_copy(update={"preset": maps.model})
        sides = {"source": plain_side(maps.source, f"seed {best.source}"), "target": plain_side(maps.target, best.text)}
        sides |= {name: plain_side(side, name) for name, side in maps.extra_sides.items()}
        assert maps.picture is not None
        for name in sides.keys() - {"target"}:  # each is a grid over the same image
            size = math.isqrt(len(sides[name].tokens))
            grid = {"kind": "grid", "grid": [size, size], "image": maps.picture.address}
            sides[name] = sides[name].model_copy(update=grid)
        sites = describe_sites(self.model, maps.weights, {}, sides, maps.target, maps.between.__getitem__)
        candidates = [(self.labels.index(each.text), each.text, each.score) for each in ranked]
        step = Step(token=candidates[0][0], text=best.text, log_probability=best.score, candidates=candidates)
        seen: dict[str, Any] = {"text": best.text, "score": best.score, "sides": sides, "sites": sites, "steps": [step]}
        return Trace(**about, **seen, default_site=maps.default_site)

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        real = self._real(self.testable(examples))
        drawn = self._sampled(real.labels.tolist())
        corpus = self.recipe.data.corpus
        rule = None if corpus is None else CORPORA[corpus].rule
        return evaluation_of(drawn, real, self._trained, len(self.labels), conditional=self.conditional, rule=rule)

    def nearest(self, images: NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
        """Return the images of training (N, count, H, W, 3) that are nearest to each image (N, H, W, 3), by pixels."""
        return self._trained[neighbors(images, self._trained, count)]

    @cached_property
    def _trained(self) -> NDArray[np.uint8]:
        """The first images of the training data."""
        data = self.recipe.data
        corpus = None if data.corpus is None else CORPORA[data.corpus]
        if corpus is None:
            examples = self.form.read(data.paths("train"))
        else:
            low, high = data.lengths
            options = corpus.options(data)
            examples = corpus.generate("train", data.size, data.seed, min_length=low, max_length=high, **options)
        return self._images(islice(examples, _TRAINED))[0]

    def _sampled(self, labels: Sequence[int]) -> Judged:
        """Draw and judge an image for each label."""
        wishes = [Wish(_EVALUATED + number, label) for number, label in enumerate(labels)]
        parts = [self.draw(wishes[start : start + _BATCH])[0] for start in range(0, len(wishes), _BATCH)]
        return self._judged(torch.cat(parts).cpu().numpy(), np.array(labels))

    @torch.no_grad()
    def _judged(self, images: NDArray[np.uint8], labels: NDArray[np.int64]) -> Judged:
        training, model = self.model.training, self.model.eval()
        found = []
        for start in range(0, len(images), _BATCH):
            batch = model.gray(torch.from_numpy(images[start : start + _BATCH]).to(self.device))
            found.append([part.double().cpu().numpy() for part in model.judge(batch)])
        model.train(training)
        features, logits = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return Judged(images, labels, features, logits.argmax(1))

    def _real(self, examples: Sequence[Example]) -> Judged:
        """Judge images of the data."""
        images, labels = self._images(examples)
        if strange := set(labels) - set(self.labels):
            known = ", ".join(self.labels)
            raise DataError(f"the data have the class {shown(min(strange))}, but the model knows {known}.")
        return self._judged(images, np.array([self.labels.index(label) for label in labels]))

    def _images(self, examples: Iterable[Example]) -> tuple[NDArray[np.uint8], list[str]]:
        """Return the images that can be read, as the model draws them, with their labels; training skips others too."""
        images, labels = [], []
        for example in examples:
            assert example.image is not None
            with suppress(DataError):
                images.append(fit(example.image.load(), self.recipe.data.image_size, self.recipe.data.image_fit))
                labels.append(example.label or "")
        if not images:
            raise DataError("no image can be read, so there is nothing to compare with. Check the files.")
        return np.stack(images), labels

    @torch.no_grad()
    def health(self, examples: Sequence[Example]) -> tuple[dict[str, float], list[str]]:
        real = self._real(examples[:_WATCHED])
        drawn = self._sampled(real.labels.tolist())
        scores = [self._scores(judged) for judged in (real, drawn)]
        relativistic = self.objective().settings.relativistic
        return health_of_players(real.features, drawn.features, *scores, relativistic=relativistic)

    def _scores(self, judged: Judged) -> NDArray[np.float64]:
        training, model = self.model.training, self.model.eval()
        images, labels = (torch.from_numpy(part).to(self.device) for part in (judged.images, judged.labels))
        found: NDArray[np.float64] = model.score(model.pixels(images), labels).double().cpu().numpy()
        model.train(training)
        return found

    def progress_image(self) -> NDArray[np.uint8]:
        wishes = [Wish(seed, seed % len(self.labels) if self.conditional else 0) for seed in range(1, 13)]
        return np.concatenate(list(self.draw(wishes)[0].cpu().numpy()), 1)


def player_faults(recipe: Recipe, idle: Sequence[str]) -> Iterator[Fault]:
    """Yield the faults of a recipe that trains two players; `idle`: settings of `train` that its task does not use."""
    for name in idle:
        if getattr(recipe.train, name):
            yield Fault(("train", name), f"{recipe.task} does not use it: set it to 0")
    if recipe.train.metric == "loss":
        why = "the loss of two players does not tell which step is the best: choose kid, fid or another metric"
        yield Fault(("train", "metric"), why)
    if recipe.train.devices * recipe.train.nodes > 1:
        yield Fault(("train", "devices"), "two players train on one device: set devices and nodes to 1")
    if recipe.train.accumulate > 1:
        yield Fault(("train", "accumulate"), "batch norm makes large batches differ from several small ones: use 1")


def noise_of(wish: Wish, width: int) -> Tensor:
    """Return the noise (width,) of an input.

    Between two seeds it moves along an arc, so that it keeps the length of usual noise:

        z = (z₁ sin((1 - t) ω) + z₂ sin(t ω)) / sin ω        ω is the angle between z₁ and z₂, t the share
    """
    first, second = (
        torch.randn(width, generator=torch.Generator().manual_seed(seed)) for seed in (wish.seed, wish.toward)
    )
    if not wish.share:
        return first * wish.truncation
    angle = torch.acos(F.cosine_similarity(first, second, 0).clamp(-1, 1))
    if torch.sin(angle) < _STRAIGHT:  # the same noise, or noise of one number
        return torch.lerp(first, second, wish.share) * wish.truncation
    between = torch.sin((1 - wish.share) * angle) * first + torch.sin(wish.share * angle) * second
    return between / torch.sin(angle) * wish.truncation


def grid_side(size: int) -> Side:
    """Return the side of the places of a grid, row by row."""
    names = [f"{row},{column}" for row in range(size) for column in range(size)]
    return Side(names, names, list(range(len(names))))


def _config(recipe: Recipe) -> SaganConfig:
    found = recipe.model_settings()
    assert isinstance(found, SaganConfig)
    return found
