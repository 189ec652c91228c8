"""The Triton kernels of recurrent cells, on a GPU if there is one, else through Triton's interpreter."""

import pytest
import torch

pytest.importorskip("triton", reason="needs Triton")

from saccade.kernels.cells import gru_cell, lstm_cell
from saccade.kernels.cells.fused import fused_gru_cell, fused_lstm_cell
from saccade.kernels.cells.naive import naive_gru_cell, naive_lstm_cell

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
each_precision = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
each_shape = pytest.mark.parametrize(("rows", "width"), [(1, 1), (3, 7), (2, 513)])


def randn(*shape, dtype):
    return (2 * torch.randn(*shape, device=DEVICE)).to(dtype)


def with_gradients(cell, parts, slopes):
    parts = [None if part is None else part.clone().requires_grad_() for part in parts]
    found = cell(*parts)
    found = found if isinstance(found, tuple) else (found,)
    pairs = [(one, slope.to(one.dtype)) for one, slope in zip(found, slopes, strict=True) if slope is not None]
    torch.autograd.backward([one for one, _ in pairs], [slope for _, slope in pairs])
    return [*(one.detach() for one in found), *(part.grad for part in parts if part is not None)]


def check(fused, naive, parts, slopes, dtype):
    exact = with_gradients(
        naive, *([None if part is None else part.double() for part in group] for group in (parts, slopes))
    )
    usual, ours = with_gradients(naive, parts, slopes), with_gradients(fused, parts, slopes)
    for one, other, truth in zip(ours, usual, exact, strict=True):
        if truth is None:
            assert one is None or not one.any()
            continue
        error, allowed = ((x.double() - truth).norm() / truth.norm().clamp_min(1e-9) for x in (one, other))
        assert error <= max(2 * allowed, 2 * torch.finfo(dtype).eps)


@each_precision
@each_shape
@pytest.mark.parametrize("extra", [False, True])
def test_lstm_as_exact_as_by_definition(rows, width, dtype, extra):
    more = randn(rows, width, dtype=dtype) if extra else None
    parts = [*(randn(rows, 4 * width, dtype=dtype) for _ in range(2)), randn(rows, width, dtype=torch.float32), more]
    slopes = [randn(rows, width, dtype=torch.float32) for _ in range(2)]
    check(fused_lstm_cell, naive_lstm_cell, parts, slopes, dtype)


@pytest.mark.parametrize("missing", [0, 1])
def test_lstm_where_only_one_of_its_outputs_is_used(missing):
    parts = [
        randn(3, 20, dtype=torch.float32),
        randn(3, 20, dtype=torch.float32),
        randn(3, 5, dtype=torch.float32),
        None,
    ]
    slopes = [randn(3, 5, dtype=torch.float32) for _ in range(2)]
    slopes[missing] = None
    check(fused_lstm_cell, naive_lstm_cell, parts, slopes, torch.float32)


@each_precision
@each_shape
def test_gru_as_exact_as_by_definition(rows, width, dtype):
    parts = [*(randn(rows, 3 * width, dtype=dtype) for _ in range(2)), randn(rows, width, dtype=torch.float32)]
    check(fused_gru_cell, naive_gru_cell, parts, [randn(rows, width, dtype=torch.float32)], dtype)


def test_rows_may_be_apart_and_numbers_too():
    wide = randn(3, 2, 40, dtype=torch.float32)
    parts = [wide[:, 0, :20], wide[:, 1, 20:], randn(5, 3, dtype=torch.float32).mT, None]
    check(fused_lstm_cell, naive_lstm_cell, parts, [randn(3, 5, dtype=torch.float32) for _ in range(2)], torch.float32)
    parts = [wide[:, 0, :15], wide[:, 1, 20:35], randn(5, 3, dtype=torch.float32).mT]
    check(fused_gru_cell, naive_gru_cell, parts, [randn(5, 3, dtype=torch.float32).mT], torch.float32)


def test_on_the_cpu_the_definition_does_it():
    parts = [torch.randn(2, 12), torch.randn(2, 12), torch.randn(2, 3)]
    assert all(torch.equal(*pair) for pair in zip(lstm_cell(*parts), naive_lstm_cell(*parts), strict=True))
    parts = [torch.randn(2, 9), torch.randn(2, 9), torch.randn(2, 3)]
    assert torch.equal(gru_cell(*parts), naive_gru_cell(*parts))
