"""Optimisers by name, and the learning rate as a function of the step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase

from saccade.train.settings import TrainConfig

__all__ = ["SCHEDULES", "build_optimizer", "decays", "learning_rate", "steps_reached"]

_NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, _NormBase)


def build_optimizer(
    module: nn.Module, config: TrainConfig, graphs_on: torch.device | None = None
) -> torch.optim.Optimizer:
    """The optimiser a recipe names. Biases, norms and gains get no weight decay. `graphs_on`: where it is recorded."""
    wanted = [(decays(owner, name, p), p) for owner, name, p in _owned_parameters(module) if p.requires_grad]
    groups = [
        {"params": [parameter for yes, parameter in wanted if yes], "weight_decay": config.weight_decay},
        {"params": [parameter for yes, parameter in wanted if not yes], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    fused = config.precision != "fp16"  # its loss scale must be taken out before gradients are clipped
    rate: Any = config.lr
    recorded: dict[str, Any] = {}
    if graphs_on is not None:  # a graph reads the rate from where it stands, and counts steps on the device
        rate, recorded = torch.full((), config.lr, device=graphs_on), {"capturable": True}
    match config.optimizer:
        case "adam":
            return torch.optim.Adam(groups, rate, config.betas, config.eps, fused=fused, **recorded)
        case "adamw":
            return torch.optim.AdamW(groups, rate, config.betas, config.eps, fused=fused, **recorded)
        case "adadelta":
            return torch.optim.Adadelta(groups, rate, config.rho, config.eps, **recorded)
        case "sgd":
            # the fused one reads a rate that is a tensor on the device; the others would ask for its value
            return torch.optim.SGD(groups, rate, config.momentum, fused=graphs_on is not None)


def decays(owner: nn.Module, name: str, parameter: nn.Parameter) -> bool:
    """Whether a parameter of a module is a weight, which decays, and not a bias, a norm's or a gain, which do not.

    The number of axes alone cannot tell: with several heads a bias is (H, 1, D), as a weight vector is, and a gain is
    (H, 1, 1).
    """
    heads = getattr(owner, "heads", None)
    one_number_each = parameter.numel() <= (heads if isinstance(heads, int) else 1)
    return parameter.dim() > 1 and "bias" not in name and not isinstance(owner, _NORMS) and not one_number_each


def _owned_parameters(module: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Parameter]]:
    """Each parameter once, in the order of `module.parameters()`, with its own module and its name there."""
    for path, parameter in module.named_parameters():
        owner, _, name = path.rpartition(".")
        yield module.get_submodule(owner), name, parameter


def steps_reached(step: int, config: TrainConfig, seconds: float) -> float:
    """How far training is on its way to its end, in steps.

    With a time limit it is as far in its steps as in its time, if that is further than the steps that were made.
    """
    if config.minutes is None:
        return step
    return max(step, config.steps * min(1.0, seconds / (60 * config.minutes)))


def _cosine(step: float, config: TrainConfig) -> float:
    """From 1 down to 0 along half a cosine."""
    done = (step - config.warmup) / max(1, config.steps - config.warmup)
    return 0.5 * (1.0 + math.cos(math.pi * min(1.0, max(0.0, done))))


def _inverse_sqrt(step: float, config: TrainConfig) -> float:
    """Falling with 1/√step after the warm-up; the shape of Vaswani et al. 2017 with the peak at `lr`."""
    return math.sqrt(max(1, config.warmup) / max(step, config.warmup, 1))


def _halving(step: float, config: TrainConfig) -> float:
    """Sutskever et al. 2014, Luong et al. 2015: constant, then halved again and again."""
    if step < config.halve_after:
        return 1.0
    return float(0.5 ** (1 + (step - config.halve_after) // config.halve_every))


SCHEDULES: dict[str, Callable[[float, TrainConfig], float]] = {
    "constant": lambda step, config: 1.0,
    "cosine": _cosine,
    "inverse-sqrt": _inverse_sqrt,
    "noam": _inverse_sqrt,
    "halving": _halving,
    "plateau": lambda step, config: 1.0,
}


def learning_rate(step: int, config: TrainConfig, width: int, halvings: int = 0, seconds: float = 0.0) -> float:
    """The rate of an update, counted from 1; `halvings`: how often a plateau was met; `seconds`: the time used so far.

    cosine falls towards an end, which a time limit may bring sooner than the steps; the others know of no end.

    noam is lr · width^-½ · min(step^-½, step · warmup^-1.5), so its `lr` is the factor of the paper, which is 1.
    """
    rise = min(1.0, step / config.warmup) if config.warmup else 1.0
    scale = (width * config.warmup) ** -0.5 if config.schedule == "noam" else 1.0
    at = steps_reached(step, config, seconds) if config.schedule == "cosine" else step
    return config.lr * scale * rise * SCHEDULES[config.schedule](at, config) * 0.5**halvings
