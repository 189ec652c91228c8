"""Drawing: a picture of a sentence, by a generator whose regions read the words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.attention import Tape
from saccade.batch import EOS, Batch
from saccade.config import Fault
from saccade.corpora import CORPORA
from saccade.data.example import Example
from saccade.data.familiar import Familiar, familiar
from saccade.data.features import Feature, text_features
from saccade.data.forms import CAPTIONS
from saccade.data.image_feature import ImageFeature
from saccade.data.pictures import fit
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers, words_of
from saccade.errors import ConfigError, DataError
from saccade.look.picture import Picture, data_address
from saccade.models import build_head
from saccade.models.drawing import Drawer, DrawingConfig
from saccade.prediction import AttentionMaps, Prediction, Side
from saccade.search import SearchConfig, Stop, decode
from saccade.tasks.base import Evaluation, Split, Task
from saccade.tasks.image_generation import Wish, grid_side, noise_of, player_faults
from saccade.tasks.image_scores import Readings, evaluation_of_drawings, health_of_players
from saccade.tasks.inputs import TEXT
from saccade.tasks.postprocess import read_side, texts_of
from saccade.tasks.tracing import CANDIDATES, TraceOptions, begin, describe_sites, plain_side
from saccade.trace import Step, Trace
from saccade.train.drawing import DrawingLoss
from saccade.train.terms import Adversarial, Redescription, terms_of

if TYPE_CHECKING:
    from saccade.recipes.schema import Recipe

__all__ = ["Drawing"]

_FOR_OTHERS = ("label_smoothing", "r_drop", "average")
"""Training settings that have no meaning for two players."""
_BATCH = 64
_WATCHED = 64
"""Pictures that are compared at each validation, to notice a collapse."""
_EVALUATED = 2**30
"""The first seed of an evaluation: no picture that users usually draw."""
_SHOWN, _PER_SENTENCE = 4, 3
"""Validation sentences in the strip of the log folder, and pictures of each."""
_LONGEST = 40
"""Maximum tokens of a caption that is read back."""


class Drawing(Task):
    """Drawing small pictures of sentences.

    A prediction's text is the caption that the model's judge reads in the picture, and its score the judge's
    log-probability of the sentence that was asked for. Attention maps go from its words to the regions that read them.
    """

    name = "drawing"
    reads = TEXT
    form = CAPTIONS
    head = "drawer"
    parts = ("target",)
    metrics = ("nouns", "exact", "cider_d", "kid", "fid", "precision", "recall")
    offers = frozenset({"images to generate", "captions to draw"})
    model: Drawer
    _watched: Sequence[str] = ()

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return Tokenizers(None, Tokenizer.train(config, texts_of(examples(), "target"), "text"))

    @classmethod
    def faults(cls, recipe: Recipe) -> Iterator[Fault]:
        yield from super().faults(recipe)
        yield from player_faults(recipe, _FOR_OTHERS)
        settings = terms_of(recipe.objective).get(Adversarial.name)
        for name in ("relativistic", "penalty"):
            if getattr(settings, name, False):
                yield Fault(("objective", Adversarial.name, name), f"{recipe.task} does not use it: leave it out")
        if recipe.tokenizer.kind != "word":
            yield Fault(("tokenizer", "kind"), f"{recipe.task} attends to whole words: set it to word")
        if issubclass(recipe.family, DrawingConfig) and (size := _config(recipe).size) != recipe.data.image_size:
            why = f"the generator draws {size} × {size} pixels, but data.image_size is {recipe.data.image_size}"
            yield Fault(("model", "generator"), why)

    @classmethod
    def testable(cls, examples: Sequence[Example]) -> list[Example]:
        for number, example in enumerate(examples, 1):
            if example.image is None or not example.target:
                raise DataError(f"example {number} has no image or no caption, so there is nothing to compare with.")
        return list(examples)

    @property
    def words(self) -> Tokenizer:
        """The tokenizer of sentences."""
        assert self.tokenizers.target is not None
        return self.tokenizers.target

    def _build(self) -> Drawer:
        made: Drawer = build_head(self.head, self.recipe.model_settings(), len(self.words))
        return made

    @cached_property
    def companions(self) -> dict[str, Task]:
        """Captioners that evaluations load beside this model, by the name of their folder."""
        return {}

    def features(self, split: Split) -> list[Feature]:
        return [*text_features(self.tokenizers), ImageFeature(split.images())]

    def objective(self) -> DrawingLoss:
        settings = self.terms.get(Adversarial.name, Adversarial())
        reading = self.terms.get(Redescription.name)
        assert isinstance(settings, Adversarial)
        weight = 0.0 if reading is None else reading.weight
        return DrawingLoss(self.model, settings, weight, word_dropout=self.recipe.train.word_dropout)

    def length(self, given: str) -> int:
        return len(self.words.tokens([given])[0]) + 1

    def familiar(self, sentence: str) -> Familiar:
        """Return the sentence in the case that the vocabulary has, and its unknown words."""
        return familiar(self.words, sentence)

    def _batch(self, sentences: Sequence[str]) -> Batch:
        """Return a batch whose target is the sentences, as training reads it."""
        known = [self.familiar(sentence).text for sentence in sentences]
        return Batch.from_lists(targets=self.words.tokens(known)).to(self.device)

    @torch.no_grad()
    def draw(self, sentences: Sequence[str], seeds: Sequence[int], tape: Tape | None = None) -> NDArray[np.uint8]:
        """Return a picture (N, H, W, 3) of each sentence; `tape` records both players."""
        training, model = self.model.training, self.model.eval()
        noise = torch.stack([noise_of(Wish(seed, 0), model.generator.noise) for seed in seeds]).to(self.device)
        batch = self._batch(sentences)
        pixels = model.generate(noise, batch.expected, batch.expected_mask, tape=tape)
        if tape is not None:
            model.score(pixels, batch.expected, batch.expected_mask, tape=tape)
        found: NDArray[np.uint8] = model.images(pixels).cpu().numpy()
        model.train(training)
        return found

    def drawn(self, sentences: Sequence[str], first: int = _EVALUATED) -> NDArray[np.uint8]:
        """Return a picture of each of any number of sentences, with the seeds `first`, `first` + 1 and so on."""
        starts = range(0, len(sentences), _BATCH)
        parts = [(sentences[start : start + _BATCH], first + start) for start in starts]
        return np.concatenate([self.draw(part, range(seed, seed + len(part))) for part, seed in parts])

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
            raise ConfigError("a picture cannot be given a prefix: leave the prefix out.")
        tape = Tape(detach=True) if attention else None
        images = self.draw(inputs, [search.seed] * len(inputs), tape)
        read, logs = self.read_back(images), self._expected(images, inputs)
        weights = {site: tape[site].float().cpu().numpy() for site in tape} if tape is not None else {}
        found = []
        for row, (sentence, text) in enumerate(zip(inputs, read, strict=True)):
            target = read_side(self.words, sentence, self.words.encode(self.familiar(sentence).text))
            maps = self._maps(target, {site: part[row] for site, part in weights.items()}, images[row])
            score = float(logs[row].gather(1, self._tokens(sentence)[:, None]).sum())
            notes = self.familiar(sentence).notes
            found.append(Prediction(text, score, words_of(text), maps, sentence, image=images[row], notes=notes))
        return found

    def read_back(self, images: NDArray[np.uint8]) -> list[str]:
        """Return the captions that the model's judge reads in images (N, H, W, 3)."""
        training, judge = self.model.training, self.model.judge.eval()
        found = []
        for part in self._parts(images):
            found += decode(judge, Batch(pictures=part), SearchConfig(max_length=_LONGEST))
        self.model.train(training)
        return [self.words.decode(each[0].tokens) for each in found]

    @torch.no_grad()
    def _expected(self, images: NDArray[np.uint8], sentences: Sequence[str]) -> list[Tensor]:
        """Return the judge's log-probabilities (T, V) of each word of the sentences, as it reads the pictures."""
        training, judge = self.model.training, self.model.judge.eval()
        batch = self._batch(sentences)
        pictures = torch.from_numpy(images).to(self.device)
        logs = judge(replace(batch, pictures=pictures)).float().log_softmax(-1).cpu()
        self.model.train(training)
        return [row[: int(mask.sum())] for row, mask in zip(logs, batch.expected_mask, strict=True)]

    def _tokens(self, sentence: str) -> Tensor:
        return torch.tensor([*self.words.tokens([self.familiar(sentence).text])[0], EOS])

    def _maps(self, target: Side, weights: Mapping[str, NDArray[Any]], pixels: NDArray[np.uint8]) -> AttentionMaps:
        """Return the attention of both players as maps from words to the regions that read them.

        Regions attend to words, so the weights of a region, not of a word, sum to 1. Sites of self-attention are maps
        from regions to regions.
        """
        count, found = len(target.tokens), dict(weights)
        reading = [site for site in weights if site in self.model.word_sites]
        found |= {name: weights[name].mT[:, :count] for name in reading}
        drawing = [site for site in reading if site.startswith("generator")]
        site: str | None = max(drawing, key=lambda name: found[name].shape[-1], default=None)
        size = math.isqrt(found[site].shape[-1]) if site else 1
        between, extra = {}, {}
        for name, part in found.items():
            own = math.isqrt(part.shape[-1])
            side = "source" if own == size else f"grid {own} × {own}"
            between[name] = ("target" if name in reading else side, side)
            if own != size:
                extra[side] = grid_side(own)
        picture = Picture(pixels, size, size, drawn=True)
        sites = tuple(name for name in reading if between[name][1] == "source" and name in drawing)
        return AttentionMaps(
            grid_side(size), target, found, sites, between, extra, picture=picture, model=self.model_name,
            default_site=site,
        )  # fmt: skip

    def trace(self, given: Any, search: SearchConfig, options: TraceOptions, *, stop: Stop | None = None) -> Trace:
        if options.force or options.block or options.pull:
            raise ConfigError("a picture is not written word by word, so there is nothing to force, block or pull.")
        (found,) = self.predict([given], search)
        maps = found.attention
        assert found.image is not None
        sides = {"source": plain_side(maps.source, f"picture {search.seed}"), "target": plain_side(maps.target, given)}
        for name, side in maps.extra_sides.items():
            sides[name] = plain_side(side, name)
        assert maps.picture is not None
        grid = {"kind": "grid", "grid": [maps.picture.rows, maps.picture.columns], "image": data_address(found.image)}
        sides["source"] = sides["source"].model_copy(update=grid)
        sites = describe_sites(self.model, maps.weights, {}, sides, maps.target, maps.between.__getitem__)
        steps = self._steps(self._expected(found.image[None], [given])[0], self._tokens(given).tolist())
        seen: dict[str, Any] = {"text": found.text, "score": found.score, "sides": sides, "sites": sites}
        about = begin(self, options, search)
        return Trace(**about, **seen, steps=steps, left_out=found.notes, default_site=maps.default_site)

    def _steps(self, logs: Tensor, tokens: list[int]) -> list[Step]:
        """Return a step for each word of the sentence, with what the judge expects to read there."""
        best = logs.topk(min(CANDIDATES, logs.shape[1]), -1)
        made = []
        for place, (token, likely, values) in enumerate(
            zip(tokens, best.indices.tolist(), best.values.tolist(), strict=True)
        ):
            texts = self.words.pieces([token, *likely])
            candidates = list(zip(likely, texts[1:], values, strict=True))
            own = float(logs[place, token])
            made.append(Step(token=token, text=texts[0], log_probability=own, candidates=candidates))
        return made

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        sentences, real = self._opened(self.testable(examples))
        drawn = self.drawn(sentences)
        corpus = self.recipe.data.corpus
        readings = Readings(sentences, self._read(drawn, search), self._read(real, search), search.captioner)
        kept = None if corpus is None else CORPORA[corpus].kept
        return evaluation_of_drawings(readings, self._features(drawn), self._features(real), kept)

    def _read(self, images: NDArray[np.uint8], search: SearchConfig) -> list[str]:
        """Return what a captioner reads in images: the one that the search names, or the model's own judge."""
        if search.captioner is None:
            return self.read_back(images)
        captioner = self._captioner(search.captioner)
        plain = captioner.recipe.search
        parts = [[captioner.opened(image) for image in images[n : n + _BATCH]] for n in range(0, len(images), _BATCH)]
        return [found.text for part in parts for found in captioner.predict(part, plain, attention=False)]

    def _captioner(self, name: str) -> Task:
        """Load a captioner once, and keep it."""
        if name not in self.companions:
            if self.open_companion is None:
                raise ConfigError(
                    "search.captioner needs a model that was loaded from its folder: saccade.load(folder)."
                )
            self.companions[name] = self.open_companion(Path(name))
        found = self.companions[name]
        if found.reads.name != "picture" or found.form is not CAPTIONS:
            raise ConfigError(
                f"search.captioner: {name} is a model for {found.name}, but must be one that captions images. Train "
                "one with task: captioning."
            )
        found.model.to(self.device)
        return found

    def _opened(self, examples: Sequence[Example]) -> tuple[list[str], NDArray[np.uint8]]:
        """Return the captions and images of the examples whose image can be read."""
        sentences, images = [], []
        for example in examples:
            assert example.image is not None
            with suppress(DataError):
                images.append(fit(example.image.load(), self.recipe.data.image_size, self.recipe.data.image_fit))
                sentences.append(example.target or "")
        if not images:
            raise DataError("no image can be read, so there is nothing to compare with. Check the files.")
        return sentences, np.stack(images)

    def _parts(self, images: NDArray[np.uint8]) -> Iterator[Tensor]:
        for start in range(0, len(images), _BATCH):
            yield torch.from_numpy(images[start : start + _BATCH]).to(self.device)

    @torch.no_grad()
    def _features(self, images: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the judge's mean annotation (N, D) of images."""
        training, model = self.model.training, self.model.eval()
        found = [model.features(part).double().cpu().numpy() for part in self._parts(images)]
        model.train(training)
        return np.concatenate(found)

    @torch.no_grad()
    def health(self, examples: Sequence[Example]) -> tuple[dict[str, float], list[str]]:
        sentences, real = self._opened(examples[:_WATCHED])
        self._watched = [*dict.fromkeys(sentences)][:_SHOWN]
        drawn, batch = self.drawn(sentences), self._batch(sentences)
        training, model = self.model.training, self.model.eval()
        scores = [
            model.score(model.pixels(torch.from_numpy(part).to(self.device)), batch.expected, batch.expected_mask)
            for part in (real, drawn)
        ]
        model.train(training)
        return health_of_players(self._features(real), self._features(drawn), *(part.cpu().numpy() for part in scores))

    def progress_image(self) -> NDArray[np.uint8] | None:
        sentences = [sentence for sentence in self._watched for _ in range(_PER_SENTENCE)]
        return np.concatenate(list(self.drawn(sentences, 1)), 1) if sentences else None


def _config(recipe: Recipe) -> DrawingConfig:
    found = recipe.model_settings()
    assert isinstance(found, DrawingConfig)
    return found
