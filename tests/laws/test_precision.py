"""Every model in half precision: converted whole, and under autocast."""

import pytest
import torch

from saccade import search
from saccade.batch import Batch
from saccade.models import MODELS, build_seq2seq

HALVES = [torch.bfloat16, torch.float16]
BATCH = Batch.of([[4, 5, 6, 7, 8], [5, 6], [9]], [[5, 6, 4], [4, 5, 6, 7], [9]])


def tiny(name: str) -> torch.nn.Module:
    return build_seq2seq(name, 11, 11, **MODELS[name].tiny)


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
