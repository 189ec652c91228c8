"""The mixture of words and copies: by hand, and Triton's kernel, on a GPU or through the interpreter, against torch."""

import math

import pytest
import torch

pytest.importorskip("triton", reason="needs Triton")

from saccade.kernels import dispatch
from saccade.kernels.mixture import mixture, naive_mixture

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LEAST = math.log(torch.finfo(torch.float32).tiny)


def inputs(rows, sentences, vocabulary, size, dtype=torch.float32, seed=0):
    """Logits, weights that do not sum to 1 and are 0 for padding, and copies, among them unknown and repeated words."""
    chance = torch.Generator().manual_seed(seed)
    logits = 4 * torch.randn(rows, 1, vocabulary + 1, generator=chance)
    weights = 2 * torch.rand(rows, 1, size, generator=chance)
    weights[..., size - size // 4 :] = 0
    copies = torch.randint(0, vocabulary, (sentences, size), generator=chance)
    copies[:, ::3] = vocabulary + torch.arange(size)[::3]
    copies[:, 1::4] = copies[:, :1]
    return logits.to(DEVICE, dtype), weights.to(DEVICE, dtype), copies.to(DEVICE)


def fused(monkeypatch, *parts):
    with monkeypatch.context() as patch:
        patch.setattr(dispatch, "_on_gpu", lambda tensor: True)
        return mixture(*parts)


def test_by_hand():
    logits = torch.tensor([[[math.log(1.0), math.log(3.0), 0.0]]])  # softmax 1/4 and 3/4; the gate is a half
    weights, copies = torch.tensor([[[0.2, 0.4, 0.2]]]), torch.tensor([[1, 3, 1]])
    found = naive_mixture(logits, weights, copies)[0, 0].exp()  # two words, and three positions of the source
    torch.testing.assert_close(found, torch.tensor([1 / 8, 3 / 8 + 1 / 4, 0.0, 1 / 4, 0.0]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(6, 2, 37, 9), (2, 2, 2500, 130), (1, 1, 2048, 64), (3, 3, 5, 1)])
def test_the_kernel_is_the_definition(monkeypatch, shape, dtype):
    parts = inputs(*shape, dtype=dtype)
    found, wanted = fused(monkeypatch, *parts), naive_mixture(*parts)
    assert found.shape == wanted.shape
    torch.testing.assert_close(found.exp().sum(-1), torch.ones_like(found[..., 0]))
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)


def test_the_kernel_at_the_limits(monkeypatch):
    logits, weights, copies = inputs(4, 2, 11, 6)
    logits[0, 0, -1], logits[1, 0, -1] = 200.0, -200.0  # only words, only copies
    logits[2, 0, :3] = -torch.inf
    weights[3] = 0.0
    found = fused(monkeypatch, logits, weights, copies)
    torch.testing.assert_close(found, naive_mixture(logits, weights, copies), atol=1e-5, rtol=1e-5)
    assert float(found.min()) == pytest.approx(LEAST)
    logits[0, 0, 4] = torch.nan
    assert fused(monkeypatch, logits, weights, copies)[0].isnan().any()  # a search must notice


def test_what_the_kernel_does_not_take(monkeypatch):
    logits, weights, copies = inputs(2, 2, 11, 6)
    learned = logits.clone().requires_grad_()
    fused(monkeypatch, learned, weights, copies).sum().backward()
    assert learned.grad is not None
    steps = fused(monkeypatch, logits.expand(2, 3, 12), weights.expand(2, 3, 6), copies)
    torch.testing.assert_close(steps, naive_mixture(logits, weights, copies).expand(2, 3, 17))
