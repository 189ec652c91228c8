"""Masks, and functions on padded sequences."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from saccade import masks
from saccade.errors import ShapeError

lengths_lists = st.lists(st.integers(0, 6), min_size=1, max_size=4)


def test_padding_keeps_the_first_positions():
    assert masks.padding(torch.tensor([1, 3, 0])).int().tolist() == [[1, 0, 0], [1, 1, 1], [0, 0, 0]]
    assert masks.padding(torch.tensor([1]), 3).int().tolist() == [[1, 0, 0]]
    assert masks.padding(torch.tensor([1])).dtype == torch.bool


def test_causal_shows_the_past_and_the_present():
    assert masks.causal(3).int().tolist() == [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]


def test_causal_counts_both_sides_from_the_start():
    assert masks.causal(2, 4).int().tolist() == [[[1, 0, 0, 0], [1, 1, 0, 0]]]
    assert masks.causal(3, 2).int().tolist() == [[[1, 0], [1, 1], [1, 1]]]


@given(lengths_lists)
def test_lengths_are_read_back_from_padding(lengths):
    assert masks.lengths_of(masks.padding(torch.tensor(lengths), 6)).tolist() == lengths


def test_reverse_turns_the_real_part_around():
    mask = masks.padding(torch.tensor([3, 1]))
    tokens = torch.tensor([[5, 6, 7], [8, 0, 0]])
    assert masks.reverse(tokens, mask).tolist() == [[7, 6, 5], [8, 0, 0]]


@given(lengths_lists)
def test_reverse_is_its_own_inverse(lengths):
    mask = masks.padding(torch.tensor(lengths), 6)
    sequences = torch.randn(len(lengths), 6, 2, 3)
    assert_close(masks.reverse(masks.reverse(sequences, mask), mask), sequences)


def test_last_takes_the_last_real_position():
    sequences = torch.arange(12.0).view(2, 3, 2)
    assert masks.last(sequences, masks.padding(torch.tensor([3, 1]))).tolist() == [[4.0, 5.0], [6.0, 7.0]]


def test_mean_leaves_padding_out():
    sequences = torch.tensor([[[1.0], [3.0], [99.0]], [[5.0], [99.0], [99.0]]])
    mask = masks.padding(torch.tensor([2, 1]), 3)
    assert masks.mean(sequences, mask).tolist() == [[2.0], [5.0]]


def test_mean_of_nothing_is_zero():
    assert masks.mean(torch.ones(1, 2, 3), torch.zeros(1, 2, dtype=torch.bool)).tolist() == [[0.0, 0.0, 0.0]]


def test_lengths_of_another_rank_are_refused():
    with pytest.raises(ShapeError, match=r"\(B,\) of whole numbers, but are \(2, 3\).*one length per row"):
        masks.padding(torch.ones(2, 3, dtype=torch.long))
    with pytest.raises(ShapeError, match="whole numbers, but are list"):
        masks.padding([1, 3])


def test_a_mask_shorter_than_its_sentences_is_refused():
    with pytest.raises(ShapeError, match="5 long, but the mask only 3"):
        masks.padding(torch.tensor([5, 2]), 3)
