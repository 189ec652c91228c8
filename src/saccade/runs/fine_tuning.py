"""Fine-tuning: start a model from another one's tokenizers and weights, and say what was not taken over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import torch
from torch import nn

from saccade.data.example import Example
from saccade.data.tokenizer import Tokenizer, Tokenizers
from saccade.errors import ConfigError
from saccade.recipes.schema import Recipe
from saccade.runs.folder import read_tokenizers, stored_weights
from saccade.tasks.postprocess import texts_of
from saccade.train.checkpoint import Tensors, without_retired

__all__ = ["initial_tokenizers", "take_over"]

_SHOWN = 6
"""Maximum tensors that a note lists."""


def initial_tokenizers(recipe: Recipe, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
    """Return the tokenizers of the model to start from, with the new words of the examples if the recipe says so."""
    start = recipe.init_from
    first = read_tokenizers(Path(str(start.model)))
    if start.vocabulary == "keep":
        return first
    source = first.source and _extended(first.source, texts_of(examples(), "source"), recipe)
    if first.shared:
        source = first.source and _extended(first.source, texts_of(examples(), "source", "target"), recipe)
        return Tokenizers(source, source, first.labels)
    return Tokenizers(
        source, first.target and _extended(first.target, texts_of(examples(), "target"), recipe), first.labels
    )


def _extended(tokenizer: Tokenizer, texts: Iterable[str], recipe: Recipe) -> Tokenizer:
    if tokenizer.kind not in ("word", "char"):
        raise ConfigError(
            f"init_from.vocabulary is extend, but a {tokenizer.kind} vocabulary covers every text. Leave it out."
        )
    return tokenizer.extended(texts, recipe.tokenizer.min_count)


def take_over(model: nn.Module, folder: Path) -> list[str]:
    """Copy the weights of a model folder into a model, and return notes on what was not taken over.

    A matrix that grew by new words keeps its first rows; the new ones stay as they were initialized.
    """
    weights = without_retired(model, stored_weights(folder))
    own = dict(model.named_parameters()) | {
        name: part for name, part in model.named_buffers() if name in model.state_dict()
    }
    left, grown = [], 0
    with torch.no_grad():
        for name, tensor in own.items():
            rows = _rows(tensor, weights, name)
            if rows is None:
                left.append(f"{name} {tuple(tensor.shape)}")
                continue
            tensor[:rows].copy_(weights[name]) if tensor.dim() else tensor.copy_(weights[name])
            grown = max(grown, len(tensor) - rows if tensor.dim() else 0)
    unused = [f"{name} {tuple(tensor.shape)}" for name, tensor in weights.items() if name not in own]
    notes = [f"started from {folder}: {len(own) - len(left)} of {len(own)} tensors taken over"]
    notes += [f"{grown:,} new words start untrained"] if grown else []
    notes += [f"not taken over, so they start untrained: {_listed(left)}"] if left else []
    notes += [f"left unused in {folder}: {_listed(unused)}"] if unused else []
    return notes


def _rows(tensor: torch.Tensor, weights: Tensors, name: str) -> int | None:
    """Return how many rows of a tensor the weights have, all or the first; None if they do not fit."""
    found = weights.get(name)
    if found is None or found.dim() != tensor.dim() or found.shape[1:] != tensor.shape[1:]:
        return None
    if tensor.dim() == 0:
        return 0
    same = len(found) == len(tensor)
    grows = len(found) < len(tensor) and ("embedding" in name or name.startswith("output"))
    return len(found) if same or grows else None


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
