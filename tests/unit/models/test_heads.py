"""Heads are written once: a family that defines only a causal network gets every head that needs no more."""

import pytest
import torch
from torch import nn

from saccade.batch import EOS, Batch
from saccade.errors import ConfigError
from saccade.kernels.dropout import Dropout
from saccade.layers.causal import PlainReader
from saccade.layers.encoder import ReaderEncoder
from saccade.models import Family, WordNetwork, build_head


class Doubled(Family):
    """A family from outside the package: a plain RNN over embeddings that are doubled, all weights 0.5 at the start."""

    tied: bool = False

    def reader_of_words(self, vocabulary):
        return WordNetwork(nn.Embedding(vocabulary, 3), PlainReader("tanh", 3, 4), Dropout(0.25), 2.0)

    def encoder_of_words(self, vocabulary):
        return WordNetwork(nn.Embedding(vocabulary, 3), ReaderEncoder(PlainReader("tanh", 3, 4)), Dropout(0.25), 2.0)

    def initialize(self, model):
        for weight in model.parameters():
            nn.init.constant_(weight, 0.5)


def test_a_family_from_outside_writes_and_classifies():
    batch = Batch.from_lists([[4, 5, EOS]], [[6, 7]], labels=[1])
    language = build_head("language_model", Doubled(), 9)
    classifier = build_head("classifier", Doubled(), 9, 3, pooling="last")
    assert language(batch).shape == (1, 3, 9)
    assert classifier(batch).shape == (1, 3)
    for model in (language, classifier):
        assert model.scale == 2
        assert {weight.unique().item() for weight in model.parameters()} == {0.5}
    assert (language.dropout.p, classifier.source_dropout.p) == (0.25, 0.25)


def test_a_tied_family_predicts_with_its_embedding():
    class Narrow(Doubled):
        tied: bool = True

        def reader_of_words(self, vocabulary):
            return WordNetwork(nn.Embedding(vocabulary, 4), PlainReader("tanh", 4, 4))

    model = build_head("language_model", Narrow(), 9)
    assert model.output.weight is model.embedding.weight


@pytest.mark.parametrize("method", ["encoder_of_words", "reader_of_words", "sequence_to_sequence"])
def test_a_part_that_a_family_lacks_is_named(method):
    sizes = (9, 9) if method == "sequence_to_sequence" else (9,)
    with pytest.raises(TypeError, match=rf"^Family .*: write {method}\(\)$"):
        getattr(Family(), method)(*sizes)


def test_a_head_must_be_in_the_table():
    with pytest.raises(ConfigError, match=r"head 'clasifier'.*Did you mean 'classifier'"):
        build_head("clasifier", Doubled(), 9, 3)


def test_a_family_that_sets_no_weights_leaves_them():
    model = nn.Linear(2, 2)
    before = model.weight.clone()
    Family().initialize(model)
    assert torch.equal(model.weight, before)


def test_a_classifier_multiplies_its_embedding_by_the_scale():
    torch.manual_seed(2)
    scaled = build_head("classifier", Doubled(), 9, 3, pooling="mean").eval()
    for weight in scaled.parameters():
        nn.init.normal_(weight)
    batch = Batch.from_lists([[4, 5, EOS], [6, EOS]])
    found = scaled(batch)
    scaled.scale = 1.0
    with torch.no_grad():
        scaled.embedding.weight.mul_(2)
    assert torch.allclose(scaled(batch), found)
