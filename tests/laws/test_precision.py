"""Every model in the precisions people use: float32 to 1e-5, all in half precision, and under autocast."""

from dataclasses import replace

import pytest
import torch

from helpers.models import loud
from helpers.search import beam, greedy
from saccade.attention import Tape
from saccade.batch import BOS, PAD, Batch
from saccade.models import MODELS, build_seq2seq, presets_for

HALVES = [torch.bfloat16, torch.float16]
BATCH = Batch.from_lists([[4, 5, 6, 7, 8], [5, 6], [9]], [[5, 6, 4], [4, 5, 6, 7], [9]])


OTHERS = replace(BATCH, source=BATCH.source.flip(0), source_mask=BATCH.source_mask.flip(0))
"""The same targets with other sources."""


def tiny(name: str) -> torch.nn.Module:
    return build_seq2seq(name, 11, 11, **MODELS[name].tiny)


def assert_nearly(rough: torch.Tensor, exact: torch.Tensor, others: torch.Tensor, dtype: torch.dtype) -> None:
    """Assert rounding errors of half precision, and that no sentence has another one's logits.

    The root of the mean squared error is below 4 roundings, of a sentence with another source above 8.
    """
    rounding, size = torch.finfo(dtype).eps, exact.square().mean().sqrt()
    assert (rough.float() - exact).square().mean().sqrt() < 4 * rounding * size
    for row in (0, 2):  # the middle one keeps its source
        real = BATCH.expected[row] != PAD
        assert (others - exact)[row, real].square().mean().sqrt() > 8 * rounding * size


@torch.no_grad()
@pytest.mark.parametrize("name", presets_for("sequence_to_sequence"))
def test_in_float32_a_search_says_what_forward_says(name):
    """Alone or in a batch: the same words, scores and attention, and those of teacher forcing on them."""
    model = tiny(name).eval()
    together = beam(model, BATCH, 3, nbest=3, max_length=6)
    for row, hypotheses in enumerate(together):
        length = int(BATCH.source_mask[row].sum())
        source = BATCH.source[row, :length].tolist()
        (alone,) = beam(model, Batch.from_lists([source]), 3, nbest=3, max_length=6)
        for one, other in zip(hypotheses, alone, strict=True):
            assert one.tokens == other.tokens
            assert one.score == pytest.approx(other.score, abs=1e-5)
            target = torch.tensor([[BOS, *one.tokens]])
            replayed = Batch(
                torch.tensor([source]), torch.ones(1, length).bool(), target, torch.ones_like(target).bool()
            )
            tape = Tape()
            logs = model(replayed, tape=tape).log_softmax(-1).gather(-1, replayed.expected[..., None])
            assert one.log_probability == pytest.approx(logs.sum().item(), abs=1e-5)
            for site in model.source_sites:
                torch.testing.assert_close(one.attention[site], tape[site][0], atol=1e-5, rtol=0)
                torch.testing.assert_close(other.attention[site], tape[site][0], atol=1e-5, rtol=0)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", presets_for("sequence_to_sequence"))
def test_a_converted_model_predicts_and_writes(name, dtype):
    model = loud(tiny(name))
    exact, others = model(BATCH), model(OTHERS)
    model.to(dtype)
    rough = model(BATCH)
    assert rough.dtype == dtype
    assert_nearly(rough, exact, others, dtype)
    found = beam(model, BATCH, 3, max_length=6)
    assert all(torch.isfinite(torch.tensor(best.score)) for best, *_ in found)


@pytest.mark.parametrize("name", presets_for("sequence_to_sequence"))
def test_autocast_trains(name):
    model = loud(tiny(name)).train()
    exact, others = model(BATCH), model(OTHERS)
    with torch.autocast("cpu", torch.bfloat16):
        rough = model(BATCH)
    assert_nearly(rough, exact, others, torch.bfloat16)
    rough.float().square().mean().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)
    with torch.autocast("cpu", torch.bfloat16):
        assert len(greedy(model, BATCH, max_length=6)) == BATCH.size
