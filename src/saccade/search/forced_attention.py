"""Compute the attention of finished hypotheses in one pass of teacher forcing."""

from __future__ import annotations

import dataclasses

import torch

from saccade.attention.steering import Steering
from saccade.attention.tape import Tape
from saccade.batch import BOS, PAD, Batch
from saccade.models.base import Seq2Seq
from saccade.search.history import Hypothesis, PaddingCrop
from saccade.search.loop import evaluating

__all__ = ["attend_again"]


@torch.no_grad()
def attend_again(
    model: Seq2Seq, batch: Batch, found: list[list[Hypothesis]], steering: Steering | None = None
) -> list[list[Hypothesis]]:
    """Add attention to hypotheses, equal to what a search would record step by step."""
    rows = [row for row, hypotheses in enumerate(found) for _ in hypotheses]
    written = [hypothesis.tokens for hypotheses in found for hypothesis in hypotheses]
    assert batch.source_mask is not None
    longest = max(map(len, written))
    if longest == 0:
        return found
    device = batch.source_mask.device
    target = torch.tensor([[BOS, *tokens, *[PAD] * (longest - len(tokens))] for tokens in written], device=device)
    sources = batch.take(torch.tensor(rows, device=device))
    encoding, tape = Tape(steering=steering), Tape(steering=steering, finished=True)
    with evaluating(model):
        model.encode(batch, tape=encoding)
        whole = torch.ones_like(target, dtype=torch.bool)
        forced = dataclasses.replace(sources, target=target, target_mask=whole, links=None)
        model.force(forced, tape=tape)
    read = {site: encoding[site] for site in encoding}
    wrote = {site: tape[site] for site in tape if site not in read}
    cut, attention = PaddingCrop(model, batch), []
    for place, (row, tokens) in enumerate(zip(rows, written, strict=True)):
        unused = longest - len(tokens)
        seen = {site: cut.read(site, weights[row], row) for site, weights in read.items()}
        for site, weights in wrote.items():
            seen[site] = cut.wrote(site, weights[place, :, : len(tokens)], row, unused=unused)
        attention.append(seen)
    each = iter(attention)
    return [
        [dataclasses.replace(hypothesis, attention=next(each)) for hypothesis in hypotheses] for hypotheses in found
    ]
