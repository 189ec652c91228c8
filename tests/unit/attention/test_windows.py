"""Sliding windows over the previous weights: a view, with its own backward pass."""

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck, gradgradcheck

from saccade.attention.scores.base import AttentionState
from saccade.attention.scores.location import LocationAware, windows


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("places", [1, 2, 9])
def test_windows_are_torchs_with_zeros_beyond_the_ends_and_so_are_their_gradients(size: int, places: int) -> None:
    weights = torch.randn(2, 3, places, dtype=torch.double, requires_grad=True)
    plain = F.pad(weights, (size // 2, size // 2)).unfold(-1, size, 1)
    assert torch.equal(windows(weights, size), plain)
    assert gradcheck(lambda x: windows(x, size), weights)
    assert gradgradcheck(lambda x: windows(x, size), weights)


@pytest.mark.parametrize("kernel", [3, 17])
def test_a_short_convolution_joined_with_its_matrix_is_the_convolution(kernel: int) -> None:
    """One of these sizes uses the joined matrix and the other does not; the scores are the same."""
    torch.manual_seed(0)
    score = LocationAware(4, 4, filters=3, kernel=kernel)
    previous = torch.rand(2, 1, 11).softmax(-1)
    told = score.features(AttentionState(previous, previous)) @ score.feature_weight().mT
    convolved = score.filters(previous).mT.unsqueeze(1) @ score.filter_weight.mT
    torch.testing.assert_close(told, convolved)
