"""Terms: losses that an objective adds to the cross-entropy, each with a weight and its own settings.

    objective:
      guided_alignment: {weight: 0.5, head: 0}
      coverage: {weight: 1.0}

To add a term, write a class here and add it to TERMS, or name your own class in a recipe: `package.module:Class`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from saccade.attention.losses import coverage_loss, doubly_stochastic_loss, guided_loss, hop_loss
from saccade.attention.tape import Tape
from saccade.batch import EOS, NO_LABEL, PAD, AskedBatch, Batch
from saccade.config import Config, Fault, Index, Positive, Share, Weight, check
from saccade.errors import ConfigError, lookup, unknown_name
from saccade.kernels.ctc import ctc_losses
from saccade.models.base import Seq2Seq
from saccade.outside import find_factory, is_outside

__all__ = [
    "TERMS",
    "Adversarial",
    "Coverage",
    "Ctc",
    "DoublyStochastic",
    "GlimpseReward",
    "GuidedAlignment",
    "GuidedHops",
    "GuidedSupport",
    "Redescription",
    "Reinforce",
    "Term",
    "complete_terms",
    "find_term",
    "terms_of",
]


class Term(Config):
    """A term of the loss. A subclass adds settings as fields and computes the loss of a batch in `loss`."""

    name: ClassVar[str]
    """Its name in recipes and messages."""
    needs: ClassVar[str] = "attention to a source"
    """What a task must offer for the term to make sense; see `Task.offers`."""

    weight: Weight = 1.0
    """Weight of the term relative to the cross-entropy; 0 leaves it out."""
    after: Share = 0.0
    """Share of training after which the term counts: with 0.9, in the last tenth of the steps."""

    def check(self, model: Seq2Seq) -> None:
        """Raise ConfigError if the term cannot be computed for a model."""
        if not model.source_sites:
            raise ConfigError(
                f"{self.name} needs attention to the source, but this model has none. Remove it from the objective."
            )

    def applies(self, batch: Batch) -> bool:
        """Return whether a batch has what the term needs."""
        return True

    @abstractmethod
    def loss(self, model: Seq2Seq, batch: Batch, tape: Tape) -> Tensor:
        """Compute the loss, summed over the batch, from the attention in `tape`; the caller applies `weight`."""


class GuidedAlignment(Term):
    """Pulls attention towards gold alignments (Chen et al. 2016, arXiv:1607.01628)."""

    name = "guided_alignment"
    needs = "gold alignments"

    site: str | None = None
    """Attention site to train, such as decoder.layers.1.cross; default: the mean over all cross-attention sites."""
    head: Index | None = None
    """Head to train, from 0; default: the mean over all heads."""

    def check(self, model: Seq2Seq) -> None:
        super().check(model)
        if self.site is not None and self.site not in model.source_sites:
            raise unknown_name("objective.guided_alignment.site", self.site, model.source_sites)

    def applies(self, batch: Batch) -> bool:
        return batch.links is not None

    def loss(self, model: Seq2Seq, batch: Batch, tape: Tape) -> Tensor:
        return guided_loss(mean_weights(model, tape, self.site, self.head), model.linked(batch))


class DoublyStochastic(Term):
    """Pulls the summed attention to each source position towards 1 (Xu et al. 2015, arXiv:1502.03044)."""

    name = "doubly_stochastic"

    def loss(self, model: Seq2Seq, batch: Batch, tape: Tape) -> Tensor:
        return doubly_stochastic_loss(mean_weights(model, tape), batch.expected_mask).sum()


class Coverage(Term):
    """Penalizes attending twice to the same source position (See et al. 2017, arXiv:1704.04368)."""

    name = "coverage"

    def loss(self, model: Seq2Seq, batch: Batch, tape: Tape) -> Tensor:
        return coverage_loss(mean_weights(model, tape)[:, None], batch.expected_mask).sum()


class GuidedHops(Term):
    """Pulls the hops of a reader of questions to the sentences that the answer follows from, one after the other.

    A hop beyond the last sentence stays there. Paper: Weston et al. 2015, arXiv:1410.3916, who call it strong
    supervision; theirs ranks whole sentences.
    """

    name = "guided_hops"
    needs = "sentences that answers follow from"

    def check(self, model: Any) -> None:
        if not len(model.hops):
            raise ConfigError(f"{self.name} needs a reader with hops, but this one has none. Raise reader.hops.")

    def applies(self, batch: Batch) -> bool:
        return isinstance(batch, AskedBatch) and batch.evidence is not None

    def loss(self, model: Any, batch: Batch, tape: Tape) -> Tensor:
        assert isinstance(batch, AskedBatch)
        assert batch.evidence is not None
        weights = torch.cat([tape[hop.site][:, 0].float() for hop in model.hops], 1)  # (B, hops, S)
        return hop_loss(weights, batch.evidence)


class Ctc(Term):
    """Connectionist temporal classification: the encoder of speech alone predicts the tokens in their order.

        -log Σ P(path)        over all paths of tokens and blanks that spell the target; the blank is PAD

    It pulls attention of the first updates to a diagonal. The model needs the setting `ctc`.
    Papers: Graves et al. 2006; with attention: Kim et al. 2017, arXiv:1609.06773.
    """

    name = "ctc"
    needs = "sound"

    weight: Weight = 0.3

    def check(self, model: Any) -> None:
        if getattr(model, "ctc", None) is None:
            raise ConfigError("objective.ctc needs a layer that predicts tokens from the encoder. Set model.ctc.")

    def loss(self, model: Any, batch: Batch, tape: Tape) -> Tensor:
        logs = model.ctc(tape.tensors["heard"]).float().log_softmax(-1)  # (B, S, V)
        real = batch.expected_mask & (batch.expected != EOS)
        words, sizes = batch.expected.masked_fill(~real, PAD), model.visible(batch)["source"].sum(1)
        losses = ctc_losses(logs, words, sizes, real.sum(1), blank=PAD)
        return (losses * real.any(1)).sum()


class GuidedSupport(Term):
    """Pulls the first attention of a few-shot learner to the labeled images of the query's own class.

    -log Σ a[s]        over the labeled images s with the query's label
    """

    name = "guided_support"
    needs = "labeled images"

    weight: Weight = 0.1

    def check(self, model: Any) -> None:
        pass  # every few-shot learner attends to its support

    def loss(self, model: Any, batch: Batch, tape: Tape) -> Tensor:
        assert batch.source is not None
        assert batch.source_mask is not None
        assert batch.labels is not None
        size, queries = batch.source.shape[1], batch.labels.shape[1]
        weights = tape[next(iter(tape))][:, :, -queries:, :size].float().mean(1)  # (B, Q, S)
        own = (batch.source[:, None] == batch.labels[..., None]) & batch.source_mask[:, None]
        return -((weights * own).sum(-1).clamp_min(1e-9).log() * (batch.labels != NO_LABEL)).sum()


class GlimpseReward(Term):
    """Settings of REINFORCE for models that choose where to look (Mnih et al. 2014); see `train/glimpse_loss.py`."""

    name = "glimpse_reward"
    needs = "places to choose"

    weight: Weight = 0.01
    """Weight of the REINFORCE term."""
    baseline: Weight = 1.0
    """Weight of the squared error of the expected reward."""
    deviation: Annotated[tuple[Positive, Positive], Field(strict=False)] = (0.3, 0.05)
    """Standard deviation of places at the start, and from the share `until` of training on."""
    until: float = Field(0.8, gt=0, le=1)
    """Share of training after which the deviation stays."""
    reward: Literal["probability", "correct"] = "probability"
    """The probability of the label; or 1 if the label is the most likely one and 0 if not, as in the paper."""
    every_glimpse: bool = True
    """Whether every glimpse is to predict the label and is rewarded for it; otherwise the last one, as in the paper."""

    def check(self, model: Any) -> None:
        pass  # a model that chooses no places has no use for it, as a baseline beside one that does

    def loss(self, model: Any, batch: Batch, tape: Tape) -> Tensor:
        raise AssertionError("train/glimpse_loss.py computes this term")


class Reinforce(Term):
    """Settings of REINFORCE for hard attention (Xu et al. 2015); `train/hard.py` computes the loss."""

    name = "reinforce"

    weight: Weight = 0.1
    """Weight of the REINFORCE term. The reward is the log-likelihood of the words."""
    entropy: Weight = 0.002
    """Weight of the entropy of the attention distribution."""
    expected: float = Field(0.5, ge=0, le=1)
    """Share of the sentences of an update with expected (soft) instead of sampled attention."""

    def check(self, model: Seq2Seq) -> None:
        raise ConfigError("reinforce is for models with hard attention, trained with REINFORCE. Leave it out.")

    def loss(self, model: Seq2Seq, batch: Batch, tape: Tape) -> Tensor:
        raise AssertionError("train/hard.py computes this term")


class Adversarial(Term):
    """Settings of generative adversarial training; `train/adversarial.py` computes the losses."""

    name = "adversarial"
    needs = "images to generate"

    turns: int = Field(1, ge=1, le=10)
    """Updates of the discriminator for each one of the generator; a step of training is one of these updates."""
    discriminator_rate: Positive = 4.0
    """Factor on the learning rate for the discriminator (two time-scale update rule)."""
    judge_rate: Positive = 4.0
    """Factor on the learning rate for the classifier whose features measure the images."""
    relativistic: bool = False
    """Whether the losses compare each generated image with a real one, instead of both with a margin."""
    penalty: Weight = 0.0
    """Weight of the squared gradient of the discriminator's scores by the pixels, of real and of generated images.

    It makes each turn of the discriminator about twice as slow, and the game stable.
    """
    shift: int = Field(0, ge=0, le=16)
    """Maximum random shift, in pixels, of the images that the discriminator sees, real and generated."""

    def loss(self, model: Any, batch: Batch, tape: Tape) -> Tensor:
        raise AssertionError("train/adversarial.py computes this term")


class Redescription(Term):
    """Settings of a captioner's loss for the captions of generated pictures (Qiao et al. 2019, MirrorGAN).

    `train/drawing.py` computes it. The captioner is the model's judge; it learns from real pictures alone.
    """

    name = "redescription"
    needs = "captions to draw"

    def loss(self, model: Any, batch: Batch, tape: Tape) -> Tensor:
        raise AssertionError("train/drawing.py computes this term")


def mean_weights(model: Seq2Seq, tape: Tape, site: str | None = None, head: int | None = None) -> Tensor:
    """Return the attention (B, T, S) of one site and head, or the mean over all sites or heads if None."""
    sites = model.source_sites if site is None else [site]
    heads = min(tape[name].shape[1] for name in sites)
    if head is not None and head >= heads:
        raise ConfigError(
            f"objective.guided_alignment.head is {head}, but the heads are numbered from 0 to {heads - 1}."
        )
    return tape.mean(sites, head)


TERMS: dict[str, type[Term]] = {
    kind.name: kind
    for kind in (
        GuidedAlignment,
        DoublyStochastic,
        Coverage,
        GuidedHops,
        GuidedSupport,
        GlimpseReward,
        Ctc,
        Reinforce,
        Adversarial,
        Redescription,
    )
}


def find_term(name: str) -> type[Term]:
    """Return a term class by its name in TERMS, or by its import path, `package.module:Class`."""
    if not is_outside(name):
        return lookup("term", name, TERMS)
    found = find_factory("term", name)
    if not (isinstance(found, type) and issubclass(found, Term)):
        raise ConfigError(f"{name!r} is not a term: it must be a subclass of saccade.train.terms.Term.")
    return found


def terms_of(objective: dict[str, Any]) -> dict[str, Term]:
    """Return the terms of an objective that `complete_terms` has checked."""
    return {name: find_term(name).model_validate(settings) for name, settings in objective.items()}


def complete_terms(objective: Any) -> tuple[dict[str, Any] | None, list[Fault]]:
    """Return the settings of all terms with defaults filled in, or None; and the faults found."""
    if not isinstance(objective, dict):
        return None, []  # the recipe's schema reports the wrong type
    made: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, settings in objective.items():
        if settings is None:
            continue
        try:
            term, wrong = check(find_term(name), settings, ("objective", name))
        except ConfigError as error:
            term, wrong = None, [Fault(("objective", name), str(error))]
        faults += wrong
        if term is not None:
            made[name] = term.model_dump(mode="json")
    return (None, faults) if faults else (made, [])
