"""Searches with CTC scores and with a language model: the model that such a search runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from saccade.batch import UNK
from saccade.data.tokenizer import Tokenizer
from saccade.errors import ConfigError
from saccade.models.base import Seq2Seq
from saccade.models.fusion import Fusion
from saccade.models.language import LanguageModel
from saccade.search import SearchConfig

if TYPE_CHECKING:
    from saccade.tasks.generation import GenerationTask

__all__ = ["searched", "token_numbers"]


def searched(task: GenerationTask, search: SearchConfig) -> Seq2Seq:
    """Return the model that a search runs: the task's own, or one that adds other scores to its own."""
    fusion = search.fusion
    if not search.ctc and fusion is None:
        return task.model
    if fusion is None:
        return Fusion(task.model, ctc=search.ctc)
    language, tokenizer = _language_model(task, fusion.model)
    numbers = token_numbers(task.target, tokenizer, fusion.model).to(task.device)
    language = language.to(task.device)
    return Fusion(task.model, ctc=search.ctc, language=language, weight=fusion.weight, numbers=numbers)


def token_numbers(target: Tokenizer, other: Tokenizer, name: str) -> Tensor:
    """Return the number (V,) that another tokenizer gives to each token; words and characters it lacks are unknown."""
    if target.kind != other.kind or (target.kind in ("bpe", "unigram") and target.vocabulary != other.vocabulary):
        raise ConfigError(
            f"search.fusion: the language model {name} has other tokens ({other.kind}, {len(other):,}) than the model "
            f"({target.kind}, {len(target):,}). Train both with tokenizer.kind word or char, or with one tokenizer."
        )
    numbers = {token: number for number, token in enumerate(other.vocabulary)}
    return torch.tensor([numbers.get(token, UNK) for token in target.vocabulary])


def _language_model(task: GenerationTask, name: str) -> tuple[LanguageModel, Tokenizer]:
    """Load a language model once, and keep it with the task."""
    if name not in task.companions:
        if task.open_companion is None:
            raise ConfigError("search.fusion needs a model that was loaded from its folder: saccade.load(folder).")
        task.companions[name] = task.open_companion(Path(name))
    found = task.companions[name]
    if not isinstance(found.model, LanguageModel) or found.tokenizers.target is None:
        raise ConfigError(
            f"search.fusion: {name} is a model for {found.name}, but must be a language model. Train one with task: "
            "language-modeling."
        )
    return found.model, found.tokenizers.target
