"""Every model in the precisions people use: float32 to 1e-5, half precision whole, and under autocast."""

import pytest
import torch

from saccade import search
from saccade.attention import Tape
from saccade.batch import BOS, Batch
from saccade.models import MODELS, build_seq2seq

HALVES = [torch.bfloat16, torch.float16]
BATCH = Batch.of([[4, 5, 6, 7, 8], [5, 6], [9]], [[5, 6, 4], [4, 5, 6, 7], [9]])


def tiny(name: str) -> torch.nn.Module:
    return build_seq2seq(name, 11, 11, **MODELS[name].tiny)


@torch.no_grad()
@pytest.mark.parametrize("name", MODELS)
def test_in_float32_a_search_says_what_forward_says(name):
    """Alone or in a batch: the same words, scores and attention, and those of teacher forcing on them."""
    model = tiny(name).eval()
    together = search.beam(model, BATCH, 3, nbest=3, max_length=6)
    for row, hypotheses in enumerate(together):
        length = int(BATCH.source_mask[row].sum())
        source = BATCH.source[row, :length].tolist()
        (alone,) = search.beam(model, Batch.of([source]), 3, nbest=3, max_length=6)
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
@pytest.mark.parametrize("name", MODELS)
def test_a_converted_model_predicts_and_writes(name, dtype):
    model = tiny(name).eval()
    exact = model(BATCH)
    model.to(dtype)
    rough = model(BATCH)
    assert rough.dtype == dtype
    torch.testing.assert_close(rough.float(), exact, atol=0.1, rtol=0.1)
    found = search.beam(model, BATCH, 3, max_length=6)
    assert all(torch.isfinite(torch.tensor(best.score)) for best, *_ in found)


@pytest.mark.parametrize("name", MODELS)
def test_autocast_trains(name):
    model = tiny(name)
    exact = model(BATCH)
    with torch.autocast("cpu", torch.bfloat16):
        rough = model(BATCH)
    torch.testing.assert_close(rough.float(), exact, atol=0.1, rtol=0.1)
    rough.float().square().mean().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)
    with torch.autocast("cpu", torch.bfloat16):
        assert len(search.greedy(model, BATCH, max_length=6)) == BATCH.size
