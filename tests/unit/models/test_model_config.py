"""Model settings have their documented effect."""

from typing import Any

import pytest
import torch

from helpers.models import MIXED, VOCABULARY, loud, same, tiny
from saccade.attention import MultiHead
from saccade.errors import ConfigError
from saccade.kernels.dropout import Dropout
from saccade.models import (
    MODELS,
    build_captioner,
    build_classifier,
    build_language_model,
    build_seq2seq,
    configure,
    presets_for,
)

HEADS = {
    "translator": lambda name, **s: build_seq2seq(name, VOCABULARY, VOCABULARY, **s),
    "language model": lambda name, **s: build_language_model(name, VOCABULARY, **s),
    "classifier": lambda name, **s: build_classifier(name, VOCABULARY, 3, **s),
}


def with_dropout(name: str, head: str) -> dict[str, Any]:
    """The tiny settings with a high dropout where the family has it."""
    settings = MODELS[name].tiny
    if "dropout" in MODELS[name].family.model_fields:
        return settings | {"dropout": 0.5}
    side = "decoder" if head == "language model" else "encoder"
    return settings | {side: settings[side] | {"dropout": 0.5}}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("name", ["bahdanau", "luong-dot", "self-attentive-rnn", "lstmn", "transformer-base"])
def test_dropout_drops_in_training_and_only_then(name: str, head: str):
    model, batch = HEADS[head](name, **with_dropout(name, head)), MIXED.batch()
    assert not torch.allclose(model.train()(batch), model(batch))
    assert torch.equal(model.eval()(batch), model(batch))


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("name", ["bahdanau", "luong-dot", "self-attentive-rnn", "lstmn"])
def test_locked_dropout_reaches_every_place_that_drops(name: str, head: str):
    family = MODELS[name].family.model_fields
    settings = MODELS[name].tiny
    if "locked_dropout" in family:
        settings = settings | {"locked_dropout": True}
    for side in {"encoder", "decoder"} & set(family):
        settings = settings | {side: settings.get(side, {}) | {"locked_dropout": True}}
    places = {path: part for path, part in HEADS[head](name, **settings).named_modules() if isinstance(part, Dropout)}
    unlocked = {path for path, part in places.items() if not part.locked}
    assert unlocked == ({"dropout"} if head == "classifier" else set())  # which is on one vector, not on a sentence


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("name", presets_for("sequence_to_sequence"))
def test_small_presets_drop_nothing_and_nothing_is_locked_unless_asked_for(name: str, head: str):
    model, batch = HEADS[head](name, **MODELS[name].tiny).train(), MIXED.batch()
    assert torch.equal(model(batch), model(batch))
    assert not any(part.locked for part in model.modules() if isinstance(part, Dropout))


def test_show_attend_and_tell_looks_through_a_network_that_does_not_learn():
    with torch.device("meta"):
        model = build_captioner("show-attend-tell-soft", 100)
    convolutions = [part for part in model.encoder.grid.modules() if isinstance(part, torch.nn.Conv2d)]
    assert len(convolutions) == 16  # and three further layers make the 19 of the paper's VGG
    assert {name.split(".")[1] for name, part in model.named_parameters() if not part.requires_grad} == {"grid"}
    assert not any(part.requires_grad for part in model.encoder.parameters())


@pytest.mark.parametrize("part", ["score", "align", "window"])
def test_numbers_among_the_options_of_a_part_have_bounds(part: str):
    for allowed in (2**20, -(2**20), 0.5, True, "a word"):
        options = {f"{part}_options": {"size": allowed}}
        assert getattr(configure("bahdanau", attention=options).attention, f"{part}_options") == {"size": allowed}
    for wrong in (2**20 + 1, -(2**20) - 1, 1e7, float("inf"), float("nan")):
        with pytest.raises(ConfigError, match="option 'size' must lie between -1,048,576 and 1,048,576"):
            configure("bahdanau", attention={f"{part}_options": {"size": wrong}})


@pytest.mark.parametrize(
    ("ways", "wanted"),
    [
        ({}, lambda a: a[(0, 1, 2), (2, 6, 0)]),
        ({"reverse": True}, lambda a: a[:, 0]),
        ({"bidirectional": True}, lambda a: torch.cat([a[(0, 1, 2), (2, 6, 0), :8], a[:, 0, 8:]], -1)),
    ],
    ids=["forward", "reverse", "both"],
)
def test_the_summary_is_what_the_encoder_ends_with(ways: dict[str, bool], wanted):
    model, batch = loud(tiny("cho", encoder={"width": 8, **ways})), MIXED.batch()
    annotations = model.encoder(model.source_embedding(batch.source), batch.source_mask).annotations
    same(model.encode(batch).summary, wanted(annotations))


def test_overrides_change_one_field_of_a_section_and_leave_the_rest():
    config = configure("bahdanau", encoder={"width": 7}, attention={"align": "sparsemax"})
    assert config.encoder.width == 7
    assert config.encoder.cell == "gru-bahdanau"
    assert config.encoder.bidirectional
    assert (config.attention.score, config.attention.align) == ("additive", "sparsemax")
    assert configure("bahdanau", attention=None).attention is None
    assert configure("sutskever", attention={"score": "dot"}).attention.score == "dot"


def test_a_decoder_may_have_other_layers_and_another_cross_attention_than_the_encoder():
    cross = {"score": "additive", "heads": 4}
    model = tiny("transformer-base", decoder_layers=1, cross=cross)
    assert (len(model.encoder.layers), len(model.decoder.layers)) == (2, 1)
    layer = model.decoder.layers[0]
    assert isinstance(layer.cross, MultiHead)
    assert (layer.self_attention.heads, layer.cross.heads) == (2, 4)
    assert type(layer.cross.inner.score).__name__ == "Additive"
    assert model(MIXED.batch()).shape == (3, 7, VOCABULARY)


def test_sites_on_the_tape_are_named_by_place():
    assert tiny("bahdanau").source_sites == ["attention"]
    assert tiny("lstmn", layers=2).source_sites == ["decoder.0.fusion.attention", "decoder.1.fusion.attention"]
    assert tiny("lstmn-shallow").source_sites == ["attention"]
    assert tiny("transformer-base").source_sites == ["decoder.layers.0.cross", "decoder.layers.1.cross"]
    assert tiny("sutskever").source_sites == []
