"""Few-shot learning: predict the label of an image from a few labeled images of classes never seen in training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.attention import Tape
from saccade.batch import EpisodeBatch
from saccade.config import Fault
from saccade.data.episode_feature import EpisodeFeature, padded_episodes, pixels_of
from saccade.data.episodes import Episode, EpisodePlan, Setting, members_of
from saccade.data.example import Example
from saccade.data.features import Feature
from saccade.data.image_store import load_images
from saccade.data.labeled_images import LABELED_IMAGES
from saccade.data.pictures import fit, open_picture
from saccade.data.tokenizer import TokenizerConfig, Tokenizers
from saccade.errors import ConfigError, DataError
from saccade.models import build_head
from saccade.models.few_shot import FewShot
from saccade.prediction import AttentionMaps, Prediction, Side
from saccade.search import SearchConfig, Stop
from saccade.tasks.base import Evaluation, Split, Task
from saccade.tasks.episode_inputs import EPISODE, EpisodeInput, Support
from saccade.tasks.episode_scores import Asked, evaluation_of
from saccade.tasks.inputs import Opened, name_of
from saccade.tasks.support_sheet import SupportSheet
from saccade.tasks.tracing import TraceOptions, begin, describe_sites, plain_side
from saccade.trace import Step, Trace
from saccade.train.episode_loss import EpisodeLoss

if TYPE_CHECKING:
    from saccade.recipes.schema import Recipe

__all__ = ["Episodes"]

_FOR_OTHERS = ("word_dropout", "label_smoothing", "r_drop")
"""Training settings that have no meaning for episodes."""
_POSITIONS = 4096
"""Positions of a batch in evaluation."""


class Episodes(Task):
    """Few-shot learning of images."""

    name = "episodes"
    reads = EPISODE
    form = LABELED_IMAGES
    batch = EpisodeBatch
    head = "few_shot"
    parts = ()
    metrics = ("accuracy",)
    offers = frozenset({"labeled images"})
    model: FewShot

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return Tokenizers(None, None)

    @classmethod
    def faults(cls, recipe: Recipe) -> Iterator[Fault]:
        yield from super().faults(recipe)
        for name in _FOR_OTHERS:
            if getattr(recipe.train, name):
                yield Fault(("train", name), f"{recipe.task} does not use it: set it to 0")
        if recipe.data.hub is not None:
            yield Fault(("data", "hub"), f"{recipe.task} reads images from files: name them in data.train")
        if recipe.data.train is not None and recipe.data.valid is None:
            why = "episodes of validation need classes that training does not have: name other labeled images"
            yield Fault(("data", "valid"), why)

    def _build(self) -> FewShot:
        asked = self.recipe.episodes
        most = max(asked.ways[1] * asked.shots[1], *(ways * shots for ways, shots in asked.tests))
        made: FewShot = build_head(self.head, self.recipe.model_settings(), asked.codes, most + 1)
        return made

    @property
    def _color(self) -> bool:
        return self.model.embedding.channels == 3

    def features(self, split: Split) -> list[Feature]:
        asked, training = self.recipe.episodes, split.name == "train"
        settings = _mixed(asked.ways, asked.shots) if training else self._tests
        count = asked.count if training else max(1, asked.tested // 5) * len(settings)
        plan = EpisodePlan((), asked.codes, asked.queries, asked.seed, split.name)
        rotated = asked.rotations == "all" or (training and asked.rotations == "train")
        return [EpisodeFeature(split.images(), plan, settings, count, color=self._color, rotated=rotated)]

    @property
    def _tests(self) -> list[Setting]:
        return [Setting(*each) for each in self.recipe.episodes.tests]

    def objective(self) -> EpisodeLoss:
        return EpisodeLoss(self.model, self.recipe.episodes.queries, list(self.terms.values()))

    def check_installed(self) -> None:
        self._open(np.zeros((1, 2, 3), np.uint8))

    def _open(self, given: Any, **limits: Any) -> NDArray[np.uint8]:
        """Return an image as the model reads it: (size, size, C)."""
        pixels = given if isinstance(given, np.ndarray) else open_picture(_file(given), **limits)
        square = fit(pixels, self.recipe.data.image_size, self.recipe.data.image_fit)
        found: NDArray[np.uint8] = pixels_of(square[None], color=self._color)[0]
        return found

    def opened(self, given: Any, **limits: Any) -> Opened:
        if isinstance(given, Opened):
            return given
        support = given["support"] if isinstance(given["support"], Support) else Support(given["support"])
        count, most = len(support.labels), self.model.classes
        if not 2 <= count <= most:
            what = "class: give at least two" if count == 1 else f"classes, but this model distinguishes at most {most}"
            raise DataError(f"the support has {count} {what}.")
        how = (self.recipe.data.image_size, self.recipe.data.image_fit, self._color)
        images = support.pixels(how, lambda image: self._open(image, **limits))
        query = self._open(given["query"], **limits)
        return Opened(EpisodeInput(support, images, query), name_of(given["query"]))

    def length(self, given: Any) -> int:
        return len(self.opened(given).value.images) + 1

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
        found: list[Prediction] = []
        ready = [self.opened(given) for given in inputs]
        for _, group in groupby(ready, lambda given: id(given.value.support)):  # queries of one support share a batch
            if stop is not None:
                stop()
            found += self._answer(list(group), search, attention)
        return found

    def _answer(self, inputs: list[Opened], search: SearchConfig, attention: bool) -> list[Prediction]:
        """Predict the labels of queries that share a support."""
        support = inputs[0].value.support
        names, size = support.labels, len(support.pairs)
        codes = [names.index(label) for label, _ in support.pairs]
        batch = EpisodeBatch(
            source=torch.tensor([codes]),
            source_mask=torch.ones(1, size, dtype=torch.bool),
            support=torch.from_numpy(inputs[0].value.images[None]),
            queries=torch.from_numpy(np.stack([given.value.query for given in inputs])[None]),
        ).to(self.device)
        logs, weights = self._run(batch, attention)
        best = logs[0][:, : len(names)].sort(-1, descending=True)
        sheet = SupportSheet.of([label for label, _ in support.pairs])
        source, made = sheet.side, []
        # later blocks also compare what earlier ones appended; the first one compares the images themselves
        seen: dict[str, Any] = {"model": self.model_name, "default_site": next(iter(weights), None)}
        for place, given in enumerate(inputs):
            own = {site: sheet.spread(part[0][:, place : place + 1]) for site, part in weights.items()}
            picture = sheet.picture(given.value.images, given.value.query) if attention else None
            every = []
            for code, score in zip(best.indices[place].tolist(), best.values[place].tolist(), strict=True):
                label = names[code]
                target = Side([label], [label], [0])
                maps = AttentionMaps(source, target, own, tuple(own), picture=picture, **seen)
                every.append(Prediction(label, score, [label], maps, given.name))
            first, others = every[0], every[1 : max(1, search.nbest)]
            made.append(Prediction(first.text, first.score, first.tokens, first.attention, given.name, others))
        return made

    def _run(self, batch: EpisodeBatch, attention: bool) -> tuple[torch.Tensor, dict[str, NDArray[Any]]]:
        """Return log-probabilities (B, Q, codes), and by site the weights (B, H, Q, S + 1) of queries.

        The last column is the weight of a query on itself; zero if the site has only the support.
        """
        tape = Tape(detach=True) if attention else None
        training = self.model.training
        logs = self.model.eval()(batch, tape=tape)
        self.model.train(training)
        assert batch.source is not None
        found = {}
        for site in tape or ():
            assert tape is not None
            found[site] = _of_queries(tape[site].float(), batch.source.shape[1], logs.shape[1]).cpu().numpy()
        return logs.float(), found

    def trace(self, given: Any, search: SearchConfig, options: TraceOptions, *, stop: Stop | None = None) -> Trace:
        if options.force or options.block or options.pull:
            raise ConfigError("a label is not generated token by token, so there is nothing to force, block or pull.")
        opened = self.opened(given)
        every = search.model_copy(update={"nbest": self.model.classes})
        (best,) = self.predict([opened], every)
        ranked, names = [best, *best.alternatives], opened.value.support.labels
        attention, picture = best.attention, best.attention.picture
        assert picture is not None
        grid = {"kind": "grid", "grid": [picture.rows, picture.columns], "image": picture.address}
        sides = {
            "source": plain_side(attention.source, f"{len(names)} labels and a query").model_copy(update=grid),
            "target": plain_side(attention.target, best.text),
        }
        sites = describe_sites(
            self.model, attention.weights, {}, sides, attention.target, lambda _: ("target", "source")
        )
        candidates = [(names.index(each.text), each.text, each.score) for each in ranked]
        step = Step(token=candidates[0][0], text=best.text, log_probability=best.score, candidates=candidates)
        seen: dict[str, Any] = {"text": best.text, "score": best.score, "sides": sides, "sites": sites, "steps": [step]}
        return Trace(**begin(self, options, search), **seen, default_site=attention.default_site)

    @classmethod
    def testable(cls, examples: Sequence[Example]) -> list[Example]:
        for number, example in enumerate(examples, 1):
            if example.image is None or example.label is None:
                raise DataError(f"example {number} has no image or no label, so no episode can be drawn with it.")
        return list(examples)

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        asked = self.recipe.episodes
        pixels, labels, notes = load_images(examples)
        images = np.stack([self._open(one) for one in pixels])
        members = members_of(labels, np.ones(len(labels), np.bool_), rotated=asked.rotations == "all")
        plan = EpisodePlan(members, asked.codes, asked.queries, asked.seed, "test")
        found: dict[Setting, list[Asked]] = {}
        for setting in self._tests:
            plan.check(setting, "the data")
            episodes = [plan.draw(number, setting) for number in range(asked.tested)]
            few = max(1, _POSITIONS // (setting.ways * setting.shots + asked.queries))
            found[setting] = [
                asked_now
                for start in range(0, len(episodes), few)
                for asked_now in self._ask(images, episodes[start : start + few])
            ]
        return replace(evaluation_of(found), notes=notes)

    @torch.no_grad()
    def _ask(self, pixels: NDArray[np.uint8], episodes: Sequence[Episode]) -> list[Asked]:
        batch = EpisodeBatch(**padded_episodes(pixels, episodes, len(episodes))).to(self.device)
        logs, weights = self._run(batch, attention=True)
        predicted = logs.argmax(-1).cpu().numpy()
        return [
            Asked(one, predicted[row], {site: part[row].mean(0) for site, part in weights.items()})
            for row, one in enumerate(episodes)
        ]


def _mixed(ways: tuple[int, int], shots: tuple[int, int]) -> list[Setting]:
    """Return every combination, which the episodes of training take in turn."""
    return [Setting(way, shot) for way in range(ways[0], ways[1] + 1) for shot in range(shots[0], shots[1] + 1)]


def _of_queries(weights: torch.Tensor, support: int, queries: int) -> torch.Tensor:
    """Return the weights (B, H, Q, S + 1) of queries on the support and on themselves."""
    rows = weights[:, :, -queries:]
    own = rows[..., support:].diagonal(dim1=-2, dim2=-1) if rows.shape[-1] > support else rows.new_zeros(rows.shape[:3])
    return torch.cat([rows[..., :support], own[..., None]], -1)


def _file(given: Any) -> Path | bytes:
    return Path(given) if isinstance(given, str) else given
