"""Heads: the tasks that model families can be built for. Each is written once, for all families, as a row of HEADS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from saccade.config import Config
from saccade.errors import lookup
from saccade.models.classifier import Classifier
from saccade.models.language import LanguageModel
from saccade.models.span_reader import SpanReader, SpanReaderConfig

__all__ = ["HEADS", "build_head"]


def build_head(head: str, family: Config, *sizes: Any, **options: Any) -> Any:
    """Build a model from a head's name, a family and what the head asks for, such as the sizes of vocabularies."""
    return lookup("head", head, HEADS).build(family, *sizes, **options)


def language_model(family: Any, vocabulary: int) -> LanguageModel:
    """Build a model that predicts the next word."""
    words = family.reader_of_words(vocabulary)
    tied = family.tied
    model = LanguageModel(words.embedding, words.network, tied=tied, dropout=words.dropout, scale=words.scale)
    family.initialize(model)
    return model


def classifier(family: Any, vocabulary: int, classes: int, **options: Any) -> Classifier:
    """Build a model that classifies whole sequences; for `options` see Classifier."""
    words = family.encoder_of_words(vocabulary)
    parts = {"source_dropout": words.dropout, "scale": words.scale}
    model = Classifier(words.embedding, words.network, classes, **parts, **options)
    family.initialize(model)
    return model


def span_reader(family: Any, vocabulary: int, matches: int, *, config: SpanReaderConfig) -> SpanReader:
    """Build a model that points at the answer to a question."""
    passage = family.encoder_of_words(vocabulary)
    question = None if config.joint else family.encoder_of_words(vocabulary).network
    model = SpanReader(passage, question, matches, config)
    family.initialize(model)
    return model


class Head(NamedTuple):
    """The function that builds a model of a family, and what the families it is for read; see `Family.reads`."""

    build: Callable[..., Any]
    reads: str = "text"


HEADS: dict[str, Head] = {
    "sequence_to_sequence": Head(lambda family, source, target: family.sequence_to_sequence(source, target)),
    "language_model": Head(language_model),
    "classifier": Head(classifier),
    "span_reader": Head(span_reader),
    "captioner": Head(lambda family, vocabulary: family.captioner(vocabulary), "image"),
    "recognizer": Head(lambda family, frames, vocabulary: family.recognizer(frames, vocabulary), "sound"),
    "pointer_network": Head(lambda family, points: family.pointer_network(points), "point"),
    "few_shot": Head(lambda family, codes, longest: family.few_shot(codes, longest), "episode"),
    "image_generator": Head(lambda family, classes: family.image_generator(classes), "seed"),
    "drawer": Head(lambda family, vocabulary: family.drawer(vocabulary), "caption"),
    "image_classifier": Head(lambda family, classes: family.image_classifier(classes), "labeled image"),
}
