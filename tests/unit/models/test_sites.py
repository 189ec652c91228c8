"""Every attention of a model is named by its module path, for every kind of model."""

import pytest

from saccade.attention import Attention
from saccade.models import MODELS, build_classifier, build_language_model, build_seq2seq

KINDS = {
    "translator": lambda name: build_seq2seq(name, 11, 11, **MODELS[name].tiny),
    "language model": lambda name: build_language_model(name, 11, **MODELS[name].tiny),
    "classifier": lambda name: build_classifier(name, 11, 3, **MODELS[name].tiny),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["bahdanau", "lstmn", "self-attentive-rnn", "transformer-base"])
def test_sites_are_called_by_their_places(name, kind):
    model = KINDS[kind](name)
    found = {place: part.site for place, part in model.named_modules() if isinstance(part, Attention)}
    assert {place: place.removesuffix(".inner") for place in found} == found
