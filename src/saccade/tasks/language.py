"""Language modeling: continue a text, and measure perplexity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.batch import Batch
from saccade.data.example import Example
from saccade.data.forms import TEXT
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers, words_of
from saccade.kernels.cross_entropy import from_logits
from saccade.metrics import perplexities
from saccade.models import build_head
from saccade.models.base import Seq2Seq
from saccade.search import SearchConfig
from saccade.tasks.base import Evaluation, Statistics
from saccade.tasks.generation import GenerationTask, ModelInput
from saccade.tasks.postprocess import texts_of

__all__ = ["Language"]

_LONGEST = 100
"""Default maximum tokens of a continuation."""


class Language(GenerationTask):
    """Language modeling. The input is the start of a text, which the model continues."""

    name = "language-modeling"
    form = TEXT
    head = "language_model"
    parts = ("target",)
    metrics = ("perplexity", "perplexity_per_word", "bits_per_character")
    offers = frozenset({"words to write"})
    takes_vectors = True

    def _build(self) -> Seq2Seq:
        made: Seq2Seq = build_head(self.head, self.recipe.model_settings(), len(self.target))
        return made

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return Tokenizers(None, Tokenizer.train(config, texts_of(examples(), "target"), "text"))

    @classmethod
    def testable(cls, examples: Sequence[Example]) -> list[Example]:
        return [example for example in examples if (example.target or "").strip()]

    def length(self, text: str) -> int:
        return len(self.target.tokens([text])[0]) + 1

    def read(self, inputs: Sequence[str], *, sides: bool = True) -> ModelInput:
        prefixes = [part.tokens for part in self.target.encode_all(inputs)]
        blank = Batch.blank(len(inputs)).to(self.device)
        return ModelInput(blank, list(map(len, prefixes)), [{}] * len(inputs), prefixes)

    def most(self, size: int, search: SearchConfig) -> int:
        return size + (search.max_length or _LONGEST)

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        texts = [example.target or "" for example in examples]
        texts = [text for text in texts if text.strip()]
        tokens = self.target.tokens(texts)
        nats = self._nats(tokens)  # (N, 2): nats, tokens
        lengths = [len(words_of(text)) for text in texts]
        words = sum(lengths) + len(texts)
        characters = sum(len(text) + 1 for text in texts)
        units = perplexities(float(nats[:, 0].sum()), int(nats[:, 1].sum()), characters=characters)
        # per word, since models with different tokenizers can be compared only that way
        by_word = np.stack([nats[:, 0], np.array(lengths) + 1.0], 1)
        statistics = {"perplexity_per_word": Statistics(by_word, _perplexity)}
        metrics = {
            "perplexity": units.per_token,
            "perplexity_per_word": statistics["perplexity_per_word"].value,
            "bits_per_character": units.bits_per_character or 0.0,
            "loss": units.nats_per_token,
        }
        details = {"sentences": len(texts), "tokens": int(nats[:, 1].sum()), "words": words}
        return Evaluation(metrics, details, statistics, lengths)

    @torch.no_grad()
    def _nats(self, tokens: list[list[int]], batch_size: int = 32) -> NDArray[np.float64]:
        """Return (N, 2): the loss of each text in nats, and its number of tokens, including EOS."""
        order = sorted(range(len(tokens)), key=lambda number: len(tokens[number]))
        sums = np.zeros((len(tokens), 2))
        training = self.model.training
        self.model.eval()
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            batch = Batch.from_lists(targets=[tokens[row] for row in rows]).to(self.device)
            logits = self.model(batch)
            for place, row in enumerate(rows):
                real = batch.expected_mask[place]
                sums[row] = [
                    float(from_logits(logits[place][real], batch.expected[place][real]).plain),
                    int(real.sum()),
                ]
        self.model.train(training)
        return sums


def _perplexity(sums: NDArray[np.float64]) -> float:
    return perplexities(float(sums[0]), int(sums[1])).per_token
