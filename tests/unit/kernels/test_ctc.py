"""The loss of CTC by recursions of ours, against torch's; test_speech compares torch's with the sum over all paths."""

import pytest
import torch
import torch.nn.functional as F

from saccade.kernels.ctc import ctc_losses
from saccade.kernels.ctc.recursion import RecursiveCtc


@pytest.mark.parametrize("seed", range(4))
def test_loss_and_gradient_are_those_of_torch(seed):
    """Ragged recordings and texts, with repeated tokens, an empty text, and one that does not fit."""
    torch.manual_seed(seed)
    keys, tokens = torch.tensor([9, 7, 5, 9, 2]), torch.tensor([3, 4, 0, 1, 4])
    words = torch.randint(1, 4, (5, 4)) * (torch.arange(4) < tokens[:, None])
    raw = torch.randn(5, 9, 4, dtype=torch.float64, requires_grad=True)
    options = {"reduction": "none", "zero_infinity": True}
    expected = F.ctc_loss(raw.log_softmax(-1).transpose(0, 1), words, keys, tokens, **options)
    weights = torch.rand(5, dtype=torch.float64)
    (slope,) = torch.autograd.grad((expected * weights).sum(), raw)
    found = RecursiveCtc.apply(raw.log_softmax(-1), words, keys, tokens, 0)
    (own,) = torch.autograd.grad((found * weights).sum(), raw)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(own, slope)
    assert found[4] == 0
    torch.testing.assert_close(ctc_losses(raw.log_softmax(-1), words, keys, tokens), expected)
