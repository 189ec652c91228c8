"""TrainConfig: all that training can be told."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from saccade.config import Config

__all__ = ["FREE_TO_CHANGE", "TrainConfig"]


class TrainConfig(Config):
    """How a model is trained. Batches are global: what several devices share is one batch of the recipe."""

    steps: int = Field(10000, ge=1)
    """Updates in all."""
    minutes: float | None = Field(None, gt=0)
    """Stop after this long, if the steps are not done by then; a last validation follows.

    The cosine schedule and scheduled sampling go by the larger share, of the steps or of this time.
    """
    tokens_per_batch: int = Field(4096, ge=1)
    """The tokens of the longer side, padding counted."""
    accumulate: int = Field(1, ge=1)
    """Batches whose gradients are added up to one update."""
    optimizer: Literal["adam", "adamw", "adadelta", "sgd"] = "adamw"
    lr: float = Field(1e-3, gt=0)
    """The highest learning rate."""
    betas: Annotated[tuple[float, float], Field(strict=False)] = (0.9, 0.98)
    eps: float = Field(1e-8, gt=0)
    rho: float = Field(0.95, gt=0, lt=1)
    """For Adadelta."""
    momentum: float = Field(0.0, ge=0, lt=1)
    """For SGD."""
    weight_decay: float = Field(0.0, ge=0)
    schedule: Literal["constant", "cosine", "noam", "inverse-sqrt", "halving", "plateau"] = "cosine"
    warmup: int = Field(0, ge=0)
    """Steps in which the rate rises to `lr`."""
    halve_after: int = Field(0, ge=0)
    """For halving: the first step at which the rate is halved."""
    halve_every: int = Field(1000, ge=1)
    """For halving: the steps between."""
    plateau_patience: int = Field(2, ge=0)
    """For plateau: validations without progress before the rate is halved."""
    clip: float | None = Field(1.0, gt=0)
    """The longest gradient."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    word_dropout: float = Field(0.0, ge=0, lt=1)
    """The share of input words replaced by <unk>."""
    agreement: float = Field(0.0, ge=0)
    """R-Drop: the weight of how far two readings of a batch, each with its own dropout, differ in what they say."""
    scheduled_sampling: float = Field(0.0, ge=0, le=1)
    """The share of the model's own words that are fed to it at the end of training, rising from 0."""
    guided_alignment: float = Field(0.0, ge=0)
    """The weight of the loss that pulls attention towards gold alignments."""
    guided_site: str | None = None
    """The place whose attention is pulled, such as decoder.layers.1.cross; left out, the mean of all of them."""
    guided_head: int | None = Field(None, ge=0)
    """The head that is pulled, from 0; left out, the mean of all heads."""
    doubly_stochastic: float = Field(0.0, ge=0)
    """The weight of the loss that pulls what each place of the source gets of all words' attention towards 1."""
    mirror: float = Field(0.0, ge=0, le=1)
    """For captioning: the share of pictures that are seen mirrored, for captions that do not tell left from right."""
    reinforce: float = Field(0.1, ge=0)
    """For hard attention: what the likelihood of the words counts when it teaches where to look."""
    reinforce_entropy: float = Field(0.002, ge=0)
    """For hard attention: the weight of the spread of what it draws from."""
    reinforce_expected: float = Field(0.5, ge=0, le=1)
    """For hard attention: the share of sentences that look everywhere, as soft attention does, in an update."""
    ema: float | None = Field(None, gt=0, lt=1)
    """The decay of a running mean of the weights, which is what is validated and saved."""
    average: int = Field(0, ge=0)
    """At the end, the mean of the weights of the last so many checkpoints is what is saved."""
    validate_every: int = Field(500, ge=1)
    metric: str = "loss"
    """What the best checkpoint is chosen by: loss, or a metric of the task such as bleu or accuracy."""
    patience: int | None = Field(None, ge=1)
    """Stop after so many validations without progress."""
    checkpoint_every: int = Field(500, ge=1)
    keep: int = Field(2, ge=1)
    """How many of the last checkpoints stay."""
    log_every: int = Field(50, ge=1)
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    graphs: bool = True
    """On one GPU, record an update for each shape of batch and replay it; batches are padded to few shapes for it."""
    seed: int = Field(1, ge=0)
    accelerator: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    devices: int = Field(1, ge=1)
    nodes: int = Field(1, ge=1)
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
