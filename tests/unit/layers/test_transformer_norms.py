"""Norms of Transformer layers that have hooks or were replaced are called."""

import pytest
import torch
from torch import nn

from saccade.batch import Batch
from saccade.models import MODELS, build_seq2seq


def model_of(norm):
    torch.manual_seed(0)
    return build_seq2seq("transformer-base", 11, 11, **{**MODELS["transformer-base"].tiny, "norm": norm}).eval()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_hooks_on_norms_are_called(norm):
    model, batch, calls = model_of(norm), Batch.from_lists([[4, 5]], [[6]]), []
    before = model(batch)
    norms = [part for part in model.modules() if isinstance(part, nn.LayerNorm)]
    for part in norms:
        part.register_forward_hook(lambda module, given, out: calls.append(module))
    torch.testing.assert_close(model(batch), before)
    assert set(calls) == set(norms)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_norm_can_be_exchanged(norm):
    model, batch = model_of(norm), Batch.from_lists([[4, 5]], [[6]])
    before = model(batch)
    for part in model.modules():
        if hasattr(part, "pre"):
            part.norm = nn.RMSNorm(8)
    after = model(batch)
    assert after.isfinite().all()
    assert not torch.allclose(after, before)
