"""The losses of given answers, by a forced pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.batch import Batch
from saccade.kernels.cross_entropy import from_logits
from saccade.models.base import Seq2Seq

__all__ = ["reply_losses"]


@torch.no_grad()
def reply_losses(model: Seq2Seq, batch: Batch, answers: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Return (N, 2): the loss of each answer in nats, and its number of tokens, including EOS.

    batch: the inputs of the model, without a target.
    """
    words = Batch.from_lists(targets=answers).to(next(model.parameters()).device)
    batch = replace(batch, target=words.target, target_mask=words.target_mask)
    training = model.training
    logits = model.eval()(batch)
    model.train(training)
    sums = np.zeros((batch.size, 2))
    for row, real in enumerate(batch.expected_mask):
        loss = from_logits(logits[row][real], batch.expected[row][real]).plain
        sums[row] = float(loss), int(real.sum())
    return sums
