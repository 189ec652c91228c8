"""Drawing: a picture of a sentence, by a generator whose regions read the words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
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
from saccade.data.features import Feature, text_features
from saccade.data.forms import CAPTIONS
from saccade.data.image_feature import ImageFeature
from saccade.data.pictures import fit
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.errors import ConfigError, DataError
from saccade.metrics.generated import frechet_distance, kernel_distance, precision_recall, spread
from saccade.models import build_head
from saccade.models.drawing import Drawer, DrawingConfig
from saccade.prediction import AttentionMaps, Prediction, Side
from saccade.search import SearchConfig, Stop, decode
from saccade.tasks.base import Evaluation, Split, Statistics, Task
from saccade.tasks.image_generation import noise_of
from saccade.tasks.inputs import TEXT
from saccade.tasks.postprocess import texts_of
from saccade.tasks.tracing import TraceOptions
from saccade.trace import Trace
from saccade.train.drawing import DrawingLoss
from saccade.train.terms import Adversarial, Redescription

if TYPE_CHECKING:
    from saccade.recipes.schema import Recipe

__all__ = ["Drawing"]

_BATCH = 64
_EVALUATED = 2**30


class Drawing(Task):
    """Drawing pictures of sentences."""

    name = "drawing"
    reads = TEXT
    form = CAPTIONS
    head = "drawer"
    parts = ("target",)
    metrics = ("words_read", "exact", "kid", "fid", "precision", "recall")
    offers = frozenset({"images to generate", "captions to draw"})
    model: Drawer

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return Tokenizers(None, Tokenizer.train(config, texts_of(examples(), "target"), "text"))

    @property
    def target(self) -> Tokenizer:
        """The tokenizer of sentences."""
        assert self.tokenizers.target is not None
        return self.tokenizers.target

    def _build(self) -> Drawer:
        made: Drawer = build_head(self.head, self.recipe.model_settings(), len(self.target))
        return made

    def features(self, split: Split) -> list[Feature]:
        return [*text_features(self.tokenizers), ImageFeature(split.images())]

    def objective(self) -> DrawingLoss:
        settings = self.terms.get(Adversarial.name, Adversarial())
        reading = self.terms.get(Redescription.name)
        assert isinstance(settings, Adversarial)
        return DrawingLoss(self.model, settings, 0.0 if reading is None else reading.weight)

    def length(self, given: Any) -> int:
        return len(self.target.tokens([given])[0]) + 1

    @torch.no_grad()
    def draw(self, sentences: Sequence[str], seeds: Sequence[int], tape: Tape | None = None) -> Tensor:
        """Return a picture (N, H, W, 3) of each sentence; `tape` records the generator."""
        training, model = self.model.training, self.model.eval()
        noise = torch.stack([noise_of(seed, model.generator.noise) for seed in seeds]).to(self.device)
        batch = self._to_batch([[*tokens, EOS] for tokens in self.target.tokens(sentences)])
        assert batch.source is not None
        assert batch.source_mask is not None
        images = model.images(model.generate(noise, batch.source, batch.source_mask, tape=tape))
        model.train(training)
        return images

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
        images = self.draw(inputs, [search.seed] * len(inputs))
        none = AttentionMaps(Side([], [], []), Side([], [], []), {}, ())
        read = self.read_back(images.cpu().numpy())
        return [
            Prediction(text, 0.0, text.split(), none, given, image=image)
            for text, given, image in zip(read, inputs, images.cpu().numpy(), strict=True)
        ]

    def read_back(self, images: NDArray[np.uint8]) -> list[str]:
        """Return the judge's captions of images (N, H, W, 3)."""
        found = []
        for start in range(0, len(images), _BATCH):
            batch = Batch(pictures=torch.from_numpy(images[start : start + _BATCH]).to(self.device))
            found += decode(self.model.judge, batch, SearchConfig(max_length=40))
        return [self.target.decode(each[0].tokens) for each in found]

    def trace(self, given: Any, search: SearchConfig, options: TraceOptions, *, stop: Stop | None = None) -> Trace:
        raise NotImplementedError

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        sentences = [example.target or "" for example in examples]
        real = np.stack([fit(example.image.load(), self.recipe.data.image_size, self.recipe.data.image_fit) for example in examples])
        drawn = self.drawn(sentences)
        read, seen = self.read_back(drawn), self.read_back(real)
        kept = CORPORA["scenes"].kept
        counts = {"words_read": [kept(a, b) for a, b in zip(sentences, read)], "exact": [(a == b, 1) for a, b in zip(sentences, read)],
         "real_read": [kept(a, b) for a, b in zip(sentences, seen)]}
        statistics = {name: Statistics(np.array(part, np.float64), lambda s: float(s[0] / max(s[1], 1))) for name, part in counts.items()}
        a, b = self.features_of(drawn), self.features_of(real)
        p, r = precision_recall(a, b)
        metrics = {name: part.value for name, part in statistics.items()} | {"kid": kernel_distance(a, b), "fid": frechet_distance(a, b), "precision": p, "recall": r}
        return Evaluation(metrics, {}, statistics, [1] * len(examples))

    def drawn(self, sentences: Sequence[str]) -> NDArray[np.uint8]:
        parts = [sentences[start : start + _BATCH] for start in range(0, len(sentences), _BATCH)]
        return np.concatenate([self.draw(part, range(_EVALUATED + n * _BATCH, _EVALUATED + n * _BATCH + len(part))).cpu().numpy() for n, part in enumerate(parts)])

    @torch.no_grad()
    def features_of(self, images):
        training, judge = self.model.training, self.model.judge.eval()
        found = []
        for start in range(0, len(images), _BATCH):
            from saccade.models.captioning import pictures_of
            batch = Batch(pictures=torch.from_numpy(images[start : start + _BATCH]).to(self.device))
            found.append(judge.encoder.see(pictures_of(batch, judge.output.weight))[0].annotations.mean(1).double().cpu().numpy())
        self.model.train(training)
        return np.concatenate(found)

    def progress_image(self) -> NDArray[np.uint8]:
        shown = ["a purple six left of a pink frame", "two red stars above a green ring", "a blue circle inside a black frame", "a yellow seven between a red square and a green two"] * 3
        return np.concatenate(list(self.draw(shown, range(1, 13)).cpu().numpy()), 1)
