"""TrainConfig: the settings of training."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from saccade.config import Config, Count, Index, Positive, Seed, Share, Weight

__all__ = ["FREE_TO_CHANGE", "TrainConfig"]


class TrainConfig(Config):
    """How a model is trained. Batch sizes are global: several devices share one batch of this size."""

    steps: Count = 10000
    """Number of updates."""
    minutes: Positive | None = None
    """Time limit in minutes; training stops at it, after a last validation, if `steps` are not done.

    The cosine schedule and scheduled sampling use the larger of two shares: steps done or time elapsed.
    """
    tokens_per_batch: Count = 4096
    """Maximum tokens on the longer side of a batch, including padding."""
    examples_per_batch: Count | None = None
    """Maximum examples of a batch. With a limit, short examples get as many updates as long ones."""
    accumulate: Count = 1
    """Batches whose gradients are summed for one update."""
    optimizer: Literal["adam", "adamw", "adadelta", "sgd"] = "adamw"
    lr: Positive = 1e-3
    """Peak learning rate."""
    betas: Annotated[tuple[Share, Share], Field(strict=False)] = (0.9, 0.98)
    eps: Positive = 1e-8
    rho: float = Field(0.95, gt=0, lt=1)
    """For Adadelta."""
    momentum: Share = 0.0
    """For SGD."""
    weight_decay: Weight = 0.0
    schedule: Literal["constant", "cosine", "noam", "inverse-sqrt", "halving", "plateau"] = "cosine"
    warmup: Index = 0
    """Steps of linear warm-up to `lr`."""
    halve_after: Index = 0
    """For halving: first step at which the rate is halved."""
    halve_every: Count = 1000
    """For halving: steps between halvings."""
    plateau_patience: Index = 2
    """For plateau: validations without improvement that are tolerated before the rate is halved."""
    max_grad_norm: Positive | None = 1.0
    """Maximum gradient norm."""
    label_smoothing: Share = 0.0
    word_dropout: Share = 0.0
    """Share of input words replaced by <unk>."""
    r_drop: Weight = 0.0
    """R-Drop: weight of the KL divergence between predictions under two dropout masks."""
    scheduled_sampling: float = Field(0.0, ge=0, le=1)
    """Scheduled sampling: share of model predictions in the decoder's input at the end of training, rising from 0."""
    horizontal_flip: float = Field(0.0, ge=0, le=1)
    """For captioning: share of images flipped horizontally; for captions that do not mention left or right."""
    ema: float | None = Field(None, gt=0, lt=1)
    """Decay of an exponential moving average of the weights, which is then validated and saved."""
    average: Index = 0
    """At the end, save the mean weights of this many last checkpoints."""
    validate_every: Count = 500
    metric: str = "loss"
    """Metric that selects the best weights: loss, or a metric of the task such as bleu or accuracy."""
    patience: Count | None = None
    """Stop after this many validations without improvement."""
    checkpoint_every: Count = 500
    keep_checkpoints: Count = 2
    """Number of latest checkpoints to keep."""
    log_every: Count = 50
    loggers: list[Literal["tensorboard", "wandb"]] = Field(default_factory=list)
    """Further logs beside log.jsonl and log.csv; each needs the extra of its name."""
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    cuda_graphs: bool = True
    """Use CUDA graphs on one GPU: capture the update of each batch shape and replay it; pad batches to few shapes."""
    seed: Seed = 1
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    devices: int = Field(1, ge=1, le=1024)
    nodes: int = Field(1, ge=1, le=65536)
    strategy: Literal["auto", "ddp", "fsdp"] = "auto"

    @model_validator(mode="after")
    def _combines(self) -> TrainConfig:
        if self.average > self.keep_checkpoints:
            kept = f"only {self.keep_checkpoints} checkpoints are kept: raise keep_checkpoints"
            raise ValueError(f"average is {self.average}, but {kept}")
        if self.average and self.ema is not None:
            raise ValueError("average and ema both average weights: choose one")
        if self.strategy == "fsdp" and self.ema is not None:
            raise ValueError("ema keeps whole weights, which fsdp spreads over devices: leave one of them out")
        if self.schedule == "noam" and not self.warmup:
            raise ValueError("the noam schedule needs warmup steps (the paper has 4000)")
        if self.schedule == "halving" and not self.halve_after:
            raise ValueError("the halving schedule needs halve_after, the step at which the rate is first halved")
        return self


FREE_TO_CHANGE = frozenset(
    {
        "steps",
        "minutes",
        "patience",
        "keep_checkpoints",
        "log_every",
        "loggers",
        "cuda_graphs",
        "device",
        "devices",
        "nodes",
        "strategy",
    }
)
"""Settings that may differ when a run is resumed; none of them changes the steps already done."""
