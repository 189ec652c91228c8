"""SearchConfig: the settings of decoding."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, model_validator

from saccade.config import Config, Count

__all__ = ["FusionConfig", "SearchConfig"]

_FEW, _MANY, _HYPOTHESES = 32, 256, 2560
"""Defaults of `together`: minimum and maximum sentences, and the hypotheses wanted in a batch on a GPU."""


class FusionConfig(Config):
    """A language model whose scores a search adds to those of the model (shallow fusion)."""

    model: str
    """Folder of the language model, trained with task language-modeling and the same kind of tokenizer."""
    weight: float = Field(0.3, ge=0, le=10)
    """Factor of its log-probabilities."""


class SearchConfig(Config):
    """Greedy search if `beam` is 1, beam search if it is more; sampling if `sample`."""

    beam: int = Field(1, ge=1, le=1000)
    nbest: int = Field(1, ge=1, le=1000)
    length_penalty: float = Field(0.6, ge=0, le=100)
    """For beam search: 0 prefers short answers; Wu et al. 2016, arXiv:1609.08144, use 0.6 to 0.7."""
    coverage_penalty: float = Field(0.0, ge=0, le=1e6)
    """For beam search: against answers that leave source words without attention (Wu et al. 2016)."""
    overlap_penalty: float = Field(0.0, ge=0, le=1e6)
    """For beam search: against answers that attend again to words that had attention, as repetitions do: the coverage
    loss of See et al. 2017, arXiv:1704.04368, of an answer."""
    sample: bool = False
    temperature: float = Field(1.0, ge=1e-3, le=1e3)
    top_k: Count | None = None
    top_p: float | None = Field(None, gt=0, le=1)
    seed: int = Field(1, ge=0, lt=2**63)
    """For sampling."""
    mbr: int | None = Field(None, ge=2, le=1000)
    """For sampling, minimum Bayes risk decoding: draw this many samples, and answer with the one that shares most
    tokens with all of them (mean unigram F1)."""
    max_length: int | None = Field(None, ge=1, le=100_000)
    """Maximum tokens of an answer; default: twice the tokens of its source, plus 20."""
    min_length: int = Field(0, ge=0, le=100_000)
    no_repeat_ngram: int | None = Field(None, ge=1, le=100)
    """Length of n-grams that an answer may contain only once; 3 is usual for summaries."""
    unknown: bool = True
    """Whether answers may contain <unk>, which stands for a rare word."""
    ctc: float = Field(0.0, ge=0, le=1)
    """For speech: weight of the model's CTC layer in the scores of the search; the decoder has the rest."""
    fusion: FusionConfig | None = None
    """Language model for shallow fusion; default: none."""
    captioner: str | None = None
    """For drawings: folder of a captioner that reads the pictures in an evaluation; default: the model's own judge."""
    no_answer: float = Field(0.0, ge=-1e3, le=1e3)
    """For questions: nats by which "no answer" must be more likely than an answer; below 0, it is given more often."""
    batch_size: Count | None = None
    """Sentences searched together; default: 32, and up to 256 on a GPU."""
    precision: Literal["full", "int8"] = "full"
    """Precision of matmuls: "full", the model's own, or "int8" where processor and model support it."""

    @model_validator(mode="after")
    def _check_combination(self) -> SearchConfig:
        if self.nbest > 1 and not self.sample and self.nbest > self.beam:
            raise ValueError(f"nbest is {self.nbest}, but a beam of {self.beam} finds at most {self.beam}: raise beam")
        if self.sample and self.mbr is not None and self.nbest > self.mbr:
            raise ValueError(f"nbest is {self.nbest}, but mbr draws {self.mbr} samples: raise mbr")
        if self.sample and (self.ctc or self.fusion is not None):
            raise ValueError("ctc and fusion are for greedy and beam search: set sample to false")
        return self

    def together(self, device: torch.device, *, large: bool) -> int:
        """Return the number of sentences searched together; `large`: each needs much memory (images, attention)."""
        if self.batch_size is not None:
            return self.batch_size
        if device.type == "cpu" or large:
            return _FEW
        return max(_FEW, min(_MANY, _HYPOTHESES // self.width))

    @property
    def width(self) -> int:
        """The number of hypotheses of a sentence in each step."""
        return max(self.beam, self.nbest, (self.sample and self.mbr) or 1)
