"""Weight decay applies to weights, but not to biases, norms and gains."""

import pytest
import torch
from torch import nn

from helpers.attention import ENTRIES
from helpers.models import CLASSIFIERS, ENGINES, VOCABULARY
from saccade.models import build_captioner, presets_for
from saccade.train.schedules import build_optimizer
from saccade.train.train_config import TrainConfig

CAPTIONERS = presets_for("captioner")

MODELS = {
    **ENGINES,
    **{f"classifier {name}": make for name, make in CLASSIFIERS.items()},
    **{name: lambda n=name: build_captioner(n, VOCABULARY, **CAPTIONERS[n].tiny) for name in CAPTIONERS},
}


def decayed(module):
    """Return, by name, whether weight decay applies to a parameter."""
    names = {parameter: name for name, parameter in module.named_parameters()}
    groups = build_optimizer(module, TrainConfig(weight_decay=0.1)).param_groups
    assert {group["weight_decay"] for group in groups} <= {0.0, 0.1}
    return {names[parameter]: group["weight_decay"] > 0 for group in groups for parameter in group["params"]}


def scales_or_shifts(module, name):
    """Return the same by hand: parameter names and modules that are not weights."""
    owner, _, own = name.rpartition(".")
    kind = type(module.get_submodule(owner)).__name__
    return own.startswith("bias") or own in ("log_sharpness", "alpha_logit") or kind.endswith(("Norm", "Norm2d"))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_its_weights_decayed_and_nothing_else(name):
    model = MODELS[name]()
    found = decayed(model)
    assert found == {name: not scales_or_shifts(model, name) for name in found}
    assert found.keys() == {name for name, parameter in model.named_parameters() if parameter.requires_grad}


@pytest.mark.parametrize("parts", ENTRIES, ids=str)
def test_every_part_of_attention_has_its_weights_decayed_and_nothing_else(parts):
    attention = parts.build()
    found = decayed(attention) if list(attention.parameters()) else {}
    assert found == {name: not scales_or_shifts(attention, name) for name in found}


def test_the_parts_of_attention_hold_both_kinds():
    """Otherwise the test above would be vacuous."""
    names = {name for parts in ENTRIES if parts.heads for name, _ in parts.build().inner.named_parameters()}
    assert {"score.bias", "score.log_sharpness", "align.alpha_logit", "score.v", "window.v", "score.weight"} <= names


class Rule(nn.Module):
    """A user-defined part of attention with parameters per head."""

    def __init__(self, heads):
        super().__init__()
        self.heads = heads
        self.gain = nn.Parameter(torch.ones(heads, 1, 1))
        self.key_bias = nn.Parameter(torch.ones(heads, 1, 5))
        self.weight = nn.Parameter(torch.ones(heads, 4, 5))


def test_a_part_of_ones_own_needs_no_listing():
    assert decayed(Rule(3)) == {"gain": False, "key_bias": False, "weight": True}


def test_norms_over_several_axes_and_frozen_weights_are_left_alone():
    layers = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm((4, 3)), nn.GroupNorm(1, 3), nn.Linear(3, 1, bias=False))
    layers[3].weight.requires_grad_(False)
    assert decayed(layers) == {
        "0.weight": True,
        "0.bias": False,
        "1.weight": False,
        "1.bias": False,
        "2.weight": False,
        "2.bias": False,
    }


def test_a_weight_that_two_layers_share_is_in_one_group_once():
    model = nn.ModuleDict({"embedding": nn.Embedding(5, 3), "output": nn.Linear(3, 5)})
    model["output"].weight = model["embedding"].weight
    assert decayed(model) == {"embedding.weight": True, "output.bias": False}
    assert sum(len(group["params"]) for group in build_optimizer(model, TrainConfig()).param_groups) == 2


def test_a_model_of_vectors_alone_has_one_group():
    assert len(build_optimizer(nn.LayerNorm(3), TrainConfig()).param_groups) == 1
