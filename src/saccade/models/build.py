"""Build models from the names of presets."""

from __future__ import annotations

from typing import Any

from saccade.batch import EOS
from saccade.config import Config, merge, parse
from saccade.errors import ConfigError, lookup
from saccade.models.base import Classifying, Seq2Seq
from saccade.models.heads import build_head
from saccade.models.presets import MODELS, presets_for

__all__ = [
    "build_captioner",
    "build_classifier",
    "build_language_model",
    "build_recognizer",
    "build_seq2seq",
    "configure",
]


def configure(preset: str, **overrides: Any) -> Config:
    """Return a preset's settings with overrides, which merge into nested sections field by field.

    configure("bahdanau", embedding=64, encoder={"width": 128}, attention={"align": "sparsemax"})
    """
    entry = lookup("model", preset, MODELS)
    return parse(entry.family, merge(_complete(entry.family, entry.settings), overrides), f"model {preset!r}")


def build_seq2seq(preset: str, source_vocabulary: int, target_vocabulary: int, **overrides: Any) -> Seq2Seq:
    """Build a sequence-to-sequence model."""
    model: Seq2Seq = _build(preset, "sequence_to_sequence", (source_vocabulary, target_vocabulary), overrides)
    return model


def build_language_model(preset: str, vocabulary: int, **overrides: Any) -> Seq2Seq:
    """Build a language model."""
    model: Seq2Seq = _build(preset, "language_model", (vocabulary,), overrides)
    return model


def build_captioner(preset: str, vocabulary: int, **overrides: Any) -> Seq2Seq:
    """Build an image captioning model."""
    model: Seq2Seq = _build(preset, "captioner", (vocabulary,), overrides)
    return model


def build_recognizer(preset: str, frames: int, vocabulary: int, **overrides: Any) -> Seq2Seq:
    """Build a model of speech; `frames`: values per frame, such as the bands of a spectrogram."""
    model: Seq2Seq = _build(preset, "recognizer", (frames, vocabulary), overrides)
    return model


def build_classifier(
    preset: str,
    vocabulary: int,
    classes: int,
    *,
    pooling: str = "mean",
    hidden: int | None = None,
    head_dropout: float = 0.0,
    **overrides: Any,
) -> Classifying:
    """Build a model that classifies whole inputs."""
    if hidden is not None and hidden < 1:
        raise ConfigError(f"hidden is {hidden}, but a layer needs at least 1 unit. Leave it out for no layer.")
    if not 0 <= head_dropout < 1:
        raise ConfigError(f"head_dropout is {head_dropout}, but must be at least 0 and below 1.")
    options = {"pooling": pooling, "hidden": hidden, "dropout": head_dropout}
    model: Classifying = _build(preset, "classifier", (vocabulary, classes), overrides, **options)
    return model


def _build(preset: str, head: str, sizes: tuple[int, ...], overrides: dict[str, Any], **more: Any) -> Any:
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ConfigError(f"a model needs vocabularies and classes of at least 1, but was given {sizes}.")
    if head != "classifier" and sizes[-1] <= EOS:
        raise ConfigError(
            f"a model that generates text needs the end token ({EOS}), but its vocabulary has {sizes[-1]} words."
        )
    lookup("model", preset, presets_for(head))
    return build_head(head, configure(preset, **overrides), *sizes, **more)


def _complete(family: type[Config], settings: dict[str, Any]) -> dict[str, Any]:
    """Fill in the family's defaults, so that overrides merge into complete sections."""
    return parse(family, settings, family.__name__).model_dump()
