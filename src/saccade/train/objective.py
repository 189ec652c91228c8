"""Objectives: compute the losses of a model on a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade import pytree
from saccade.attention.tape import Tape
from saccade.batch import NO_LABEL, PAD, UNK, AskedBatch, Batch
from saccade.data.batch_sampler import Rows
from saccade.data.loader import TrainBatch, count_rows, count_words
from saccade.data.store import Store
from saccade.kernels.cross_entropy import cross_entropy, from_logits
from saccade.models.base import Classifying, Seq2Seq
from saccade.train.agreement import disagreement
from saccade.train.terms import Term

__all__ = ["ClassLoss", "Losses", "Objective", "SpanLoss", "WordLoss", "losses_of", "mean_loss", "unknown"]


class Losses(NamedTuple):
    """Sums over a batch: `total`, which training minimizes, and `plain`, the negative log-likelihood, in nats."""

    total: Tensor
    plain: Tensor


class Handed:
    """Hides a batch from Fabric's wrapper, which unpacks dataclasses and cannot rebuild a frozen one."""

    __slots__ = ("batch",)

    def __init__(self, batch: Batch) -> None:
        self.batch = batch


class Objective(nn.Module, ABC):
    """The training loss. It holds the model, so that DDP and FSDP wrap one module."""

    step: int = 0
    """The number of the current update."""

    @abstractmethod
    def losses(self, batch: Batch) -> Losses:
        """Compute the losses of a batch, summed over its examples."""

    def count(self, store: Store, rows: Rows) -> int:
        """Count the predictions that some rows of a store ask for: the denominator of the mean loss."""
        return count_words(store, rows)

    def progress(self, share: float) -> None:
        """Update schedules to the share of training that is done, from 0 to 1; called before every update."""

    def take_turn(self, step: int) -> None:
        """Prepare for update number `step`, from 1; with several players, decide who learns from it."""
        self.step = step

    def rate_of(self, parameter: str) -> float:
        """Return the factor on the learning rate of a parameter, by its name in the objective."""
        return 1.0

    def numbers(self) -> dict[str, Any]:
        """Return further numbers for the training log."""
        return {}

    @property
    def phase(self) -> Hashable:
        """A value that changes when `losses` begins to run other operations; a CUDA graph serves one phase."""
        return None

    def forward(self, handed: Handed) -> Losses:
        """Compute the losses. Call it through `losses_of`, since Fabric's wrapper needs `Handed`."""
        return self.losses(handed.batch)


def losses_of(objective: nn.Module, batch: Batch) -> Losses:
    """Compute the losses of an objective, wrapped by Fabric or not."""
    found: Losses = objective(Handed(batch))
    return found


def mean_loss(objective: Objective, loads: Iterable[TrainBatch], device: torch.device) -> float:
    """Compute the negative log-likelihood of held-out batches, in nats per token or label."""
    total, count = 0.0, 0
    for load in loads:
        total += float(losses_of(objective, load.batch.to(device)).plain)
        count += load.tokens
    return total / count


class WordLoss(Objective):
    """Cross-entropy of the target words, plus weighted terms.

    `own_words` is the probability that the decoder is fed the model's own prediction instead of the target word
    (scheduled sampling, Bengio et al. 2015, arXiv:1506.03099). It rises linearly to `scheduled_sampling`.
    """

    def __init__(
        self,
        model: Seq2Seq,
        *,
        label_smoothing: float = 0.0,
        word_dropout: float = 0.0,
        terms: Sequence[Term] = (),
        horizontal_flip: float = 0.0,
        r_drop: float = 0.0,
        scheduled_sampling: float = 0.0,
        augment: Callable[[Batch], Batch] | None = None,
    ) -> None:
        super().__init__()
        self.augment = augment
        """Augments the inputs of a training batch, such as SpecAugment."""
        self.terms = [term for term in terms if term.weight]
        for term in self.terms:
            term.check(model)
        self.model, self.horizontal_flip, self.r_drop = model, horizontal_flip, r_drop
        self.label_smoothing, self.word_dropout = label_smoothing, word_dropout
        self.scheduled_sampling, self.own_words = scheduled_sampling, 0.0
        self.active = [term for term in self.terms if not term.after]

    def progress(self, share: float) -> None:
        self.own_words = self.scheduled_sampling * share
        self.active = [term for term in self.terms if share >= term.after]

    @property
    def phase(self) -> Hashable:
        return tuple(term.name for term in self.active)

    def losses(self, batch: Batch) -> Losses:
        if agree := self.training and self.r_drop > 0:
            batch = pytree.concatenate([batch, batch])
        if self.training and self.augment is not None:
            batch = self.augment(batch)
        terms = [term for term in self.active if term.applies(batch)]
        tape = Tape() if terms else None
        fed = self._augmented(batch)
        expected = _flat(batch.expected, batch)
        if "output" in self.model._modules and not agree:
            output = self.model.output
            vectors = _flat(self.model.hidden_states(fed, tape=tape), batch)
            losses = cross_entropy(vectors, output.weight, output.bias, expected, smoothing=self.label_smoothing)
            return Losses(losses.smoothed + self._weighted(terms, batch, tape), losses.plain)
        logits = _flat(self.model(fed, tape=tape), batch)
        losses = from_logits(logits, expected, smoothing=self.label_smoothing)
        total = losses.smoothed + self._weighted(terms, batch, tape)
        if not agree:
            return Losses(total, losses.plain)
        return Losses((total + self.r_drop * disagreement(logits, expected != PAD)) / 2, losses.plain / 2)

    def _weighted(self, terms: Sequence[Term], batch: Batch, tape: Tape | None) -> Tensor | float:
        """Sum up the terms, each times its weight."""
        total: Tensor | float = 0.0
        for term in terms:
            assert tape is not None
            total = total + term.weight * term.loss(self.model, batch, tape)
        return total

    def _augmented(self, batch: Batch) -> Batch:
        """Apply the augmentations of training: word dropout, flipped images, scheduled sampling."""
        if not self.training:
            return batch
        if self.word_dropout:
            sides = {"source": batch.source, "target": batch.target}
            tokens = {name: side for name, side in sides.items() if side is not None and not side.is_floating_point()}
            changed = {name: unknown(side, self.word_dropout) for name, side in tokens.items()}
            batch = replace(batch, **changed)
        if self.horizontal_flip and batch.pictures is not None:
            batch = replace(batch, pictures=_flipped(batch.pictures, self.horizontal_flip))
        return self._with_own_words(batch) if self.own_words else batch

    @torch.no_grad()
    def _with_own_words(self, batch: Batch) -> Batch:
        """Replace some target words by greedy predictions; each step is fed the words as replaced so far."""
        inputs = batch.inputs.clone()
        with _keeping_buffers(self.model):  # the training pass follows; batch norm must count a batch once
            memory = self.model.encode(batch)
            state = self.model.init_state(memory, inputs.shape[1])
            own = torch.rand(inputs.shape, device=inputs.device) < self.own_words
            for t in range(inputs.shape[1] - 1):
                logits, state = self.model.step(memory, state, inputs[:, t])
                inputs[:, t + 1] = torch.where(own[:, t + 1], logits.argmax(-1), inputs[:, t + 1])
        assert batch.target is not None
        target = torch.cat([inputs, batch.target[:, -1:]], 1)
        return replace(batch, target=target)


@contextmanager
def _keeping_buffers(model: nn.Module) -> Iterator[None]:
    """Restore buffers, such as the running means of batch norm, after the block."""
    kept = [(buffer, buffer.clone()) for buffer in model.buffers()]
    yield
    for buffer, value in kept:
        buffer.copy_(value)


def _flat(values: Tensor, batch: Batch) -> Tensor:
    """Flatten (B, T, ...) to (n, ...): on the CPU without padding rows, on a GPU with them.

    Padding adds nothing to the loss. Dropping it on a GPU would need a sync to learn n.
    """
    return values[batch.expected_mask] if values.device.type == "cpu" else values.flatten(0, 1)


class ClassLoss(Objective):
    """Cross-entropy of the correct class."""

    def __init__(
        self, model: Classifying, *, label_smoothing: float = 0.0, word_dropout: float = 0.0, r_drop: float = 0.0
    ) -> None:
        super().__init__()
        self.model, self.label_smoothing, self.word_dropout = model, label_smoothing, word_dropout
        self.r_drop = r_drop

    def count(self, store: Store, rows: Rows) -> int:
        return count_rows(store, rows)

    def losses(self, batch: Batch) -> Losses:
        if agree := self.training and self.r_drop > 0:
            batch = pytree.concatenate([batch, batch])
        if self.training and self.word_dropout and batch.source is not None:
            batch = replace(batch, source=unknown(batch.source, self.word_dropout))
        logits = self.model(batch)
        assert batch.labels is not None
        total = F.cross_entropy(logits, batch.labels, label_smoothing=self.label_smoothing, reduction="sum")
        plain = F.cross_entropy(logits.detach(), batch.labels, reduction="sum")
        if not agree:
            return Losses(total, plain)
        return Losses((total + self.r_drop * disagreement(logits, batch.labels != NO_LABEL)) / 2, plain / 2)


class SpanLoss(Objective):
    """Negative log-likelihood that the model points at an acceptable answer, plus weighted terms.

    -log Σ_k start[i_k] · end[j_k]
    """

    def __init__(self, model: Any, *, word_dropout: float = 0.0, terms: Sequence[Term] = ()) -> None:
        super().__init__()
        self.terms = [term for term in terms if term.weight]
        for term in self.terms:
            term.check(model)
        self.model, self.word_dropout, self.share = model, word_dropout, 0.0

    def progress(self, share: float) -> None:
        self.share = share

    @property
    def phase(self) -> Hashable:
        return tuple(term.name for term in self._active)

    @property
    def _active(self) -> list[Term]:
        return [term for term in self.terms if self.share >= term.after]

    def count(self, store: Store, rows: Rows) -> int:
        return count_rows(store, rows)

    def losses(self, batch: Batch) -> Losses:
        assert isinstance(batch, AskedBatch)
        assert batch.spans is not None
        spans, real = batch.spans.clamp_min(0), batch.spans[..., 0] >= 0  # (B, K, 2), (B, K)
        if self.training and self.word_dropout and batch.source is not None:
            batch = replace(batch, source=unknown(batch.source, self.word_dropout))
        terms = [term for term in self._active if term.applies(batch)]
        tape = Tape() if terms else None
        logs = self.model(batch, tape=tape)  # (B, 2, S)
        both = logs[:, 0].gather(1, spans[..., 0]) + logs[:, 1].gather(1, spans[..., 1])
        likelihood = torch.logsumexp(both.masked_fill(~real, _NEVER), 1)
        plain = -likelihood.masked_fill(~real.any(1), 0.0).sum()
        total = plain
        for term in terms:
            assert tape is not None
            total = total + term.weight * term.loss(self.model, batch, tape)
        return Losses(total, plain.detach())


_NEVER = -1e4
"""The logarithm of a probability that is 0; finite, so that its gradient is too."""


def _flipped(pictures: Tensor, share: float) -> Tensor:
    """Flip a random share of the images left to right: uint8 (B, H, W, 3), or floats (B, 3, H, W)."""
    chosen = torch.rand(len(pictures), device=pictures.device) < share
    width = 2 if pictures.dtype == torch.uint8 else 3  # the axis
    return torch.where(chosen[:, None, None, None], pictures.flip(width), pictures)


def unknown(tokens: Tensor, share: float) -> Tensor:
    """Replace a random share of the words, but no special tokens, by UNK."""
    chosen = (torch.rand(tokens.shape, device=tokens.device) < share) & (tokens > UNK)
    return tokens.masked_fill(chosen, UNK)
