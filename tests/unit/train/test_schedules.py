"""Learning rates, compared with manual values, and optimizers by name."""

import math
from typing import get_args

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from saccade.train.schedules import SCHEDULES, build_optimizer, learning_rate
from saccade.train.train_config import TrainConfig


def rates(at, width=1, halvings=0, **settings):
    config = TrainConfig(**settings)
    return [learning_rate(step, config, width, halvings) for step in at]


def near(*numbers):
    return pytest.approx(numbers, rel=1e-12, abs=1e-15)


def test_constant_rises_in_the_warm_up_and_stays():
    assert rates([1, 2, 4, 5, 900], schedule="constant", lr=0.2, warmup=4) == near(0.05, 0.1, 0.2, 0.2, 0.2)
    assert rates([1, 7], schedule="constant", lr=0.2) == near(0.2, 0.2)


def test_noam_is_the_formula_of_the_paper():
    steps, width, warmup = [1, 100, 3999, 4000, 4001, 100_000], 512, 4000
    by_hand = [width**-0.5 * min(step**-0.5, step * warmup**-1.5) for step in steps]
    assert rates(steps, width, schedule="noam", lr=1.0, warmup=warmup) == near(*by_hand)
    assert rates([4000], 512, schedule="noam", lr=1.0, warmup=4000) == pytest.approx([6.98771e-4], rel=1e-5)
    assert rates(steps, width, schedule="noam", lr=2.0, warmup=warmup) == near(*(2 * rate for rate in by_hand))


def test_inverse_sqrt_has_its_peak_at_lr():
    assert rates([25, 100, 400, 900], schedule="inverse-sqrt", lr=0.6, warmup=100) == near(0.15, 0.6, 0.3, 0.2)
    assert rates([1, 4], schedule="inverse-sqrt", lr=0.6) == near(0.6, 0.3)


def test_cosine_goes_down_to_nothing():
    found = rates([5, 10, 40, 60, 110], schedule="cosine", lr=1.0, warmup=10, steps=110)
    assert found == near(0.5, 1.0, 0.5 + 0.5 * math.cos(0.3 * math.pi), 0.5, 0.0)
    assert rates([3, 9], schedule="cosine", lr=1.0, steps=2) == near(0.0, 0.0)  # the rate never rises again
    assert rates([1], schedule="cosine", lr=1.0, warmup=5, steps=5) == near(0.2)


def test_halving_begins_at_its_step():
    settings = {"schedule": "halving", "lr": 8.0, "halve_after": 10, "halve_every": 3}
    assert rates([1, 9, 10, 12, 13, 16], **settings) == near(8.0, 8.0, 4.0, 4.0, 2.0, 1.0)


def test_each_plateau_halves_the_rate():
    assert rates([500], schedule="plateau", lr=0.4, halvings=0) == near(0.4)
    assert rates([500], schedule="plateau", lr=0.4, halvings=3) == near(0.05)


def test_every_schedule_a_recipe_may_name_is_there():
    assert set(TrainConfig.model_fields["schedule"].annotation.__args__) == set(SCHEDULES)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("adam", torch.optim.Adam, {"betas": (0.8, 0.9), "eps": 1e-4}),
        ("adamw", torch.optim.AdamW, {"betas": (0.8, 0.9), "eps": 1e-4}),
        ("adadelta", torch.optim.Adadelta, {"rho": 0.7, "eps": 1e-4}),
        ("sgd", torch.optim.SGD, {"momentum": 0.6}),
    ],
)
def test_optimisers_have_what_the_recipe_says(name, kind, expected):
    config = TrainConfig(optimizer=name, lr=0.3, betas=(0.8, 0.9), eps=1e-4, rho=0.7, momentum=0.6)
    made = build_optimizer(nn.Linear(2, 3), config)
    assert type(made) is kind
    assert {key: made.param_groups[0][key] for key in expected} == expected
    assert made.param_groups[0]["lr"] == 0.3


@pytest.mark.parametrize("name", ["adam", "adamw", "adadelta", "sgd"])
def test_an_optimiser_that_is_recorded_keeps_rate_and_steps_on_the_device(name):
    config = TrainConfig(optimizer=name, lr=0.25)
    recorded = build_optimizer(nn.Linear(2, 3), config, torch.device("cpu"))
    assert all(isinstance(group["lr"], torch.Tensor) and group["lr"] == 0.25 for group in recorded.param_groups)
    plain = build_optimizer(nn.Linear(2, 3), config)
    flag = "fused" if name == "sgd" else "capturable"
    assert (bool(recorded.defaults[flag]), bool(plain.defaults[flag])) == (True, False)


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_the_scale_of_fp16_is_taken_out_before_the_optimiser(name):
    """A fused optimizer unscales by itself, so it would get gradients that were clipped while scaled."""
    fused = {
        precision: getattr(
            build_optimizer(nn.Linear(2, 3), TrainConfig(optimizer=name, precision=precision)),
            "_step_supports_amp_scaling",
            False,
        )
        for precision in ("fp16", "bf16", "fp32")
    }
    assert fused == {"fp16": False, "bf16": True, "fp32": True}


def test_a_rate_is_that_of_the_start_unless_told_what_happened():
    config = TrainConfig(schedule="cosine", lr=1.0, steps=1000, minutes=1.0)
    assert learning_rate(1, config, 1) == pytest.approx(0.5 + 0.5 * math.cos(math.pi / 1000), abs=1e-9)
    assert learning_rate(1, config, 1, seconds=30.0) == pytest.approx(0.5)


def test_what_a_recipe_does_not_ask_for_is_off():
    asked = ("label_smoothing", "word_dropout", "r_drop", "scheduled_sampling", "momentum")
    more = ("horizontal_flip", "weight_decay", "average", "warmup", "halve_after")
    config = TrainConfig()
    assert {name: getattr(config, name) for name in (*asked, *more)} == dict.fromkeys((*asked, *more), 0)
    assert (config.accumulate, config.devices, config.nodes) == (1, 1, 1)
    assert (config.ema, config.minutes, config.patience) == (None, None, None)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"average": 3, "keep_checkpoints": 2},
            "average is 3, but only 2 checkpoints are kept: raise keep_checkpoints",
        ),
        ({"average": 2, "ema": 0.9}, "average and ema both average weights: choose one"),
        ({"strategy": "fsdp", "ema": 0.9}, "ema keeps whole weights, which fsdp spreads over devices"),
        ({"schedule": "noam"}, "noam schedule needs warmup steps"),
        ({"schedule": "halving"}, "halving schedule needs halve_after"),
    ],
)
def test_settings_that_do_not_combine_are_refused(settings, message):
    with pytest.raises(ValidationError, match=message):
        TrainConfig(**settings)


BOUNDS = {
    "steps": ([1], [0]),
    "minutes": ([1e-9, None], [0.0]),
    "tokens_per_batch": ([1], [0]),
    "examples_per_batch": ([1, None], [0]),
    "accumulate": ([1], [0]),
    "lr": ([1e-9], [0.0]),
    "eps": ([1e-12], [0.0]),
    "rho": ([0.01, 0.99], [0.0, 1.0]),
    "momentum": ([0.0, 0.99], [-0.1, 1.0]),
    "weight_decay": ([0.0, 5.0], [-0.1]),
    "warmup": ([0], [-1]),
    "halve_after": ([0], [-1]),
    "halve_every": ([1], [0]),
    "plateau_patience": ([0], [-1]),
    "max_grad_norm": ([1e-9, None], [0.0]),
    "label_smoothing": ([0.0, 0.99], [-0.1, 1.0]),
    "word_dropout": ([0.0, 0.99], [-0.1, 1.0]),
    "r_drop": ([0.0, 9.0], [-0.1]),
    "scheduled_sampling": ([0.0, 1.0], [-0.1, 1.1]),
    "horizontal_flip": ([0.0, 1.0], [-0.1, 1.1]),
    "ema": ([0.01, 0.99, None], [0.0, 1.0]),
    "average": ([0, 1], [-1]),
    "validate_every": ([1], [0]),
    "patience": ([1, None], [0]),
    "checkpoint_every": ([1], [0]),
    "keep_checkpoints": ([1], [0]),
    "log_every": ([1], [0]),
    "seed": ([0], [-1]),
    "devices": ([1], [0]),
    "nodes": ([1], [0]),
}
"""Of each setting that is a number: the nearest values that are allowed, and those that are not."""


@pytest.mark.parametrize("name", BOUNDS)
def test_settings_keep_to_their_bounds(name):
    allowed, refused = BOUNDS[name]
    assert [getattr(TrainConfig(**{name: value}), name) for value in allowed] == allowed
    for value in refused:
        with pytest.raises(ValidationError, match=name):
            TrainConfig(**{name: value})


def test_every_setting_that_is_a_number_has_its_bounds_tested():
    kinds = {name: field.annotation for name, field in TrainConfig.model_fields.items() if name != "betas"}
    numbers = {
        name
        for name, kind in kinds.items()
        if any(getattr(part, "__origin__", part) in (int, float) for part in (kind, *get_args(kind)))
    }
    assert numbers == set(BOUNDS)
