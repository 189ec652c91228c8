"""TrainConfig: all that training can be told."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from saccade.config import Config, Count, Index, Positive, Seed, Share, Weight

__all__ = ["FREE_TO_CHANGE", "TrainConfig"]


class TrainConfig(Config):
    """How a model is trained. Batches are global: what several devices share is one batch of the recipe."""

    steps: Count = 10000
    """Updates in all."""
    minutes: Positive | None = None
    """Stop after this long, if the steps are not done by then; a last validation follows.

    The cosine schedule and scheduled sampling go by the larger share, of the steps or of this time.
    """
    tokens_per_batch: Count = 4096
    """The tokens of the longer side, padding counted."""
    accumulate: Count = 1
    """Batches whose gradients are added up to one update."""
    optimizer: Literal["adam", "adamw", "adadelta", "sgd"] = "adamw"
    lr: Positive = 1e-3
    """The highest learning rate."""
    betas: Annotated[tuple[Share, Share], Field(strict=False)] = (0.9, 0.98)
    eps: Positive = 1e-8
    rho: float = Field(0.95, gt=0, lt=1)
    """For Adadelta."""
    momentum: Share = 0.0
    """For SGD."""
    weight_decay: Weight = 0.0
    schedule: Literal["constant", "cosine", "noam", "inverse-sqrt", "halving", "plateau"] = "cosine"
    warmup: Index = 0
    """Steps in which the rate rises to `lr`."""
    halve_after: Index = 0
    """For halving: the first step at which the rate is halved."""
    halve_every: Count = 1000
    """For halving: the steps between."""
    plateau_patience: Index = 2
    """For plateau: validations without progress before the rate is halved."""
    clip: Positive | None = 1.0
    """The longest gradient."""
    label_smoothing: Share = 0.0
    word_dropout: Share = 0.0
    """The share of input words replaced by <unk>."""
    agreement: Weight = 0.0
    """R-Drop: the weight of how far two readings of a batch, each with its own dropout, differ in what they say."""
    scheduled_sampling: float = Field(0.0, ge=0, le=1)
    """The share of the model's own words that are fed to it at the end of training, rising from 0."""
    mirror: float = Field(0.0, ge=0, le=1)
    """For captioning: the share of pictures that are seen mirrored, for captions that do not tell left from right."""
    ema: float | None = Field(None, gt=0, lt=1)
    """The decay of a running mean of the weights, which is what is validated and saved."""
    average: Index = 0
    """At the end, the mean of the weights of the last so many checkpoints is what is saved."""
    validate_every: Count = 500
    metric: str = "loss"
    """What the best checkpoint is chosen by: loss, or a metric of the task such as bleu or accuracy."""
    patience: Count | None = None
    """Stop after so many validations without progress."""
    checkpoint_every: Count = 500
    keep: Count = 2
    """How many of the last checkpoints stay."""
    log_every: Count = 50
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    graphs: bool = True
    """On one GPU, record an update for each shape of batch and replay it; batches are padded to few shapes for it."""
    seed: Seed = 1
    accelerator: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    devices: int = Field(1, ge=1, le=1024)
    nodes: int = Field(1, ge=1, le=65536)
    strategy: Literal["auto", "ddp", "fsdp"] = "auto"

    @model_validator(mode="after")
    def _combines(self) -> TrainConfig:
        if self.average > self.keep:
            raise ValueError(f"average is {self.average}, but only {self.keep} checkpoints are kept: raise keep")
        if self.average and self.ema is not None:
            raise ValueError("average and ema are two ways to the same end: choose one")
        if self.strategy == "fsdp" and self.ema is not None:
            raise ValueError("ema keeps whole weights, which fsdp spreads over devices: leave one of them out")
        if self.schedule == "noam" and not self.warmup:
            raise ValueError("the noam schedule needs warmup steps (the paper has 4000)")
        if self.schedule == "halving" and not self.halve_after:
            raise ValueError("the halving schedule needs halve_after, the step at which the rate is first halved")
        return self


FREE_TO_CHANGE = frozenset(
    {"steps", "minutes", "patience", "keep", "log_every", "graphs", "accelerator", "devices", "nodes", "strategy"}
)
"""What may differ when a run is resumed: none of it changes the steps that were made."""
