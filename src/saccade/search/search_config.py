"""SearchConfig: how answers are looked for."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, model_validator

from saccade.config import Config, Count

__all__ = ["SearchConfig"]

_FEW, _MANY, _HYPOTHESES = 32, 256, 2560
"""Sentences searched together where nobody says how many: at least, at most, and the hypotheses of a GPU's."""


class SearchConfig(Config):
    """Greedy search at width 1, beam search above it, sampling if asked for."""

    beam: int = Field(1, ge=1, le=1000)
    nbest: int = Field(1, ge=1, le=1000)
    length_penalty: float = Field(0.6, ge=0, le=100)
    """For beams: 0 prefers short answers; Wu et al. 2016, arXiv:1609.08144, have 0.6 to 0.7."""
    coverage_penalty: float = Field(0.0, ge=0, le=1e6)
    sample: bool = False
    temperature: float = Field(1.0, ge=1e-3, le=1e3)
    top_k: Count | None = None
    top_p: float | None = Field(None, gt=0, le=1)
    seed: int = Field(1, ge=0, lt=2**63)
    """For sampling."""
    max_length: int | None = Field(None, ge=1, le=100_000)
    """The most tokens of an answer; left out, twice those of its source and 20 more."""
    min_length: int = Field(0, ge=0, le=100_000)
    batch: Count | None = None
    """Sentences searched together; left out, 32, and more on a GPU, which they are to fill."""
    precision: Literal["full", "int8"] = "full"
    """What products are computed in: "full", as the model is, or in eight bits where processor and model allow it."""

    @model_validator(mode="after")
    def _combines(self) -> SearchConfig:
        if self.nbest > 1 and not self.sample and self.nbest > self.beam:
            raise ValueError(f"nbest is {self.nbest}, but a beam of {self.beam} finds at most {self.beam}: raise beam")
        return self

    def together(self, device: torch.device, *, large: bool) -> int:
        """Sentences searched together there; `large`: pictures, or attention that is asked for, so few have room."""
        if self.batch is not None:
            return self.batch
        if device.type == "cpu" or large:
            return _FEW
        return max(_FEW, min(_MANY, _HYPOTHESES // max(self.beam, self.nbest)))
