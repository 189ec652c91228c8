"""The Triton kernels of additive scores, on a GPU if there is one, else through Triton's interpreter."""

import pytest
import torch

pytest.importorskip("triton", reason="needs Triton")

from helpers.pairwise import pairwise
from saccade.kernels.additive.fused import LIMIT, fused_scores
from saccade.kernels.additive.naive import naive_scores

# the interpreter is numpy, which warns of infinities that the kernels count on
pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),
]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def inputs(rows, length, size, width, heads, dtype, scale):
    query, keys = (scale * torch.randn(rows, n, width, device=DEVICE) for n in (length, size))
    v = torch.randn(heads, width, device=DEVICE)
    return [part.to(dtype) for part in (query, keys, v)], torch.randn(rows, length, size, device=DEVICE)


def with_gradients(way, parts, slopes):
    parts = [part.clone().requires_grad_() for part in parts]
    scores = way(*parts)
    scores.backward(slopes.to(scores.dtype))
    return scores.detach(), *(part.grad for part in parts)


def by_definition(query, keys, v):
    heads = len(v)
    return naive_scores(query.unflatten(0, (-1, heads)), keys.unflatten(0, (-1, heads)), v).flatten(0, 1)


def error(found, truth):
    return ((found.double() - truth).norm() / truth.norm().clamp_min(1e-9)).item()


SHAPES = {"one": (1, 1, 1, 1, 1), "heads": (4, 17, 5, 7, 2), "beyond a tile": (2, 3, 131, 6, 1)}
SHAPES |= {"whole tiles": (2, 16, 128, 8, 1)}
"""Rows, queries, keys, width and heads."""
CHOICES = {"shape": list(SHAPES), "dtype": [torch.bfloat16, torch.float16, torch.float32], "scale": [0.1, 1.0, 30.0]}


@pytest.mark.parametrize(("shape", "dtype", "scale"), [tuple(row.values()) for row in pairwise(CHOICES)], ids=str)
def test_as_exact_as_by_definition_in_the_same_precision(shape, dtype, scale):
    parts, slopes = inputs(*SHAPES[shape], dtype, scale)
    exact = with_gradients(by_definition, [part.double() for part in parts], slopes.double())
    plain = with_gradients(by_definition, parts, slopes)
    ours = with_gradients(fused_scores, parts, slopes)
    floor = 4 * torch.finfo(dtype).eps
    for one, usual, truth in zip(ours, plain, exact, strict=True):
        assert one.isfinite().all()
        assert error(one, truth) <= max(2 * error(usual, truth), floor)


def test_only_rows_beyond_the_limit_take_the_other_form():
    (query, keys, v), _ = inputs(3, 4, 5, 6, 1, torch.bfloat16, 1.0)
    query[1, 2, 3] = 4 * LIMIT
    keys[2, 0, 0] = -300
    truth = by_definition(query.double(), keys.double(), v.double())
    assert error(fused_scores(query, keys, v), truth) < 1e-5


def test_what_is_not_a_number_stays_one():
    (query, keys, v), _ = inputs(2, 4, 5, 6, 1, torch.bfloat16, 1.0)
    query[0, 1, 0] = torch.nan
    scores = fused_scores(query, keys, v)
    assert scores[0, 1].isnan().all()
    assert scores[1].isfinite().all()
    assert scores[0, 0].isfinite().all()
