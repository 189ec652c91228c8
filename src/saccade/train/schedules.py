"""Optimizers by name, and the learning rate as a function of the step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase

from saccade.train.train_config import TrainConfig

__all__ = ["SCHEDULES", "build_optimizer", "decays", "learning_rate", "steps_reached"]

_NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, _NormBase)


def build_optimizer(
    module: nn.Module, config: TrainConfig, graphs_on: torch.device | None = None
) -> torch.optim.Optimizer:
    """Build the optimizer that a recipe names; biases, norms and gains get no weight decay.

    `graphs_on` is the device on which CUDA graphs will capture its steps, or None.
    """
    groups = _groups(module, config, graphs_on)
    fused = config.precision != "fp16"  # gradients must be unscaled before clipping, but fused ones unscale in step()
    rate: Any = config.lr
    graphed: dict[str, Any] = {}
    if graphs_on is not None:  # in a CUDA graph, the rate and the step count must be tensors on the device
        rate, graphed = torch.full((), config.lr, device=graphs_on), {"capturable": True}
    match config.optimizer:
        case "adam":
            return torch.optim.Adam(groups, rate, config.betas, config.eps, fused=fused, **graphed)
        case "adamw":
            return torch.optim.AdamW(groups, rate, config.betas, config.eps, fused=fused, **graphed)
        case "adadelta":
            return torch.optim.Adadelta(groups, rate, config.rho, config.eps, **graphed)
        case "sgd":
            # fused SGD reads a tensor rate on the device; the other implementations would sync to read it
            return torch.optim.SGD(groups, rate, config.momentum, fused=graphs_on is not None)


def _groups(module: nn.Module, config: TrainConfig, graphs_on: torch.device | None) -> list[dict[str, Any]]:
    """Return groups of parameters with one weight decay and, as `scale`, one factor on the learning rate."""
    scale_of = getattr(module, "rate_of", lambda path: 1.0)
    found: dict[tuple[float, bool], dict[str, Any]] = {}
    for path, owner, name, parameter in _owned_parameters(module):
        scale, decay = scale_of(path), decays(owner, name, parameter)
        if parameter.requires_grad:
            found.setdefault((scale, not decay), {"params": [], "scale": scale})["params"].append(parameter)
    for (scale, no_decay), group in sorted(found.items(), key=itemgetter(0)):
        rate = config.lr * scale
        group["weight_decay"] = 0.0 if no_decay else config.weight_decay
        group["lr"] = rate if graphs_on is None else torch.full((), rate, device=graphs_on)
    return [group for _, group in sorted(found.items(), key=itemgetter(0))]


def decays(owner: nn.Module, name: str, parameter: nn.Parameter) -> bool:
    """Return whether a parameter gets weight decay: weights do; biases, gains and parameters of norms do not.

    The number of axes alone does not decide: with several heads, biases and weight vectors are (H, 1, D), and gains
    are (H, 1, 1).
    """
    heads = getattr(owner, "heads", None)
    is_gain = parameter.numel() <= (heads if isinstance(heads, int) else 1)
    return parameter.dim() > 1 and "bias" not in name and not isinstance(owner, _NORMS) and not is_gain


def _owned_parameters(module: nn.Module) -> Iterator[tuple[str, nn.Module, str, nn.Parameter]]:
    """Yield each parameter once, in the order of `module.parameters()`: its path, its owner, and its name there."""
    for path, parameter in module.named_parameters():
        owner, _, name = path.rpartition(".")
        yield path, module.get_submodule(owner), name, parameter


def steps_reached(step: int, config: TrainConfig, seconds: float) -> float:
    """Return the progress of training in steps.

    With a time limit, this is the larger of the steps made and the elapsed share of the time times all steps.
    """
    if config.minutes is None:
        return step
    return max(step, config.steps * min(1.0, seconds / (60 * config.minutes)))


def _cosine(step: float, config: TrainConfig) -> float:
    """Decay from 1 to 0 along half a cosine."""
    done = (step - config.warmup) / max(1, config.steps - config.warmup)
    return 0.5 * (1.0 + math.cos(math.pi * min(1.0, max(0.0, done))))


def _inverse_sqrt(step: float, config: TrainConfig) -> float:
    """Decay with 1/√step after the warm-up: the schedule of Vaswani et al. 2017 with its peak at `lr`."""
    return math.sqrt(max(1, config.warmup) / max(step, config.warmup, 1))


def _halving(step: float, config: TrainConfig) -> float:
    """Return 1, halved at `halve_after` and every `halve_every` steps (Sutskever et al. 2014, Luong et al. 2015)."""
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
    """Return the learning rate of update `step`, from 1; `halvings`: plateaus so far; `seconds`: time used so far.

    cosine falls to 0 at the last step, or at the time limit if that comes first. The others ignore the time limit.

    noam is lr · width^-½ · min(step^-½, step · warmup^-1.5), so `lr` is a factor, 1 in the paper.
    """
    rise = min(1.0, step / config.warmup) if config.warmup else 1.0
    scale = (width * config.warmup) ** -0.5 if config.schedule == "noam" else 1.0
    at = steps_reached(step, config, seconds) if config.schedule == "cosine" else step
    return config.lr * scale * rise * SCHEDULES[config.schedule](at, config) * 0.5**halvings
