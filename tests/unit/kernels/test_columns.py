"""Column sums by Triton kernels, on a GPU if there is one, else through Triton's interpreter."""

import pytest
import torch

pytest.importorskip("triton", reason="needs Triton")

from helpers.naive_kernels import naive_column_sums, naive_gate
from saccade.kernels.columns.fused import column_sums, gate_

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SHAPES = [(1, 1), (7, 5), (67, 130), (300, 129)]


def error(found, truth):
    return ((found.double() - truth).norm() / truth.norm().clamp_min(1e-9)).item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(("rows", "width"), SHAPES)
def test_column_sums_are_as_exact_as_by_definition(rows, width, dtype):
    x = torch.randn(rows, width, device=DEVICE).to(dtype)
    truth = naive_column_sums(x.double())
    assert column_sums(x).dtype == torch.float32
    assert error(column_sums(x), truth) <= max(2 * error(naive_column_sums(x), truth), 1e-6)


def test_rows_may_lie_apart():
    x = torch.randn(20, 30, device=DEVICE)[::2, 3:17]
    torch.testing.assert_close(column_sums(x), x.sum(0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("rows", "width"), SHAPES)
def test_a_gate_lets_through_what_a_relu_did(rows, width, dtype):
    inner = torch.randn(rows, width, device=DEVICE).relu().to(dtype)
    slope = torch.randn(rows, width, device=DEVICE).to(dtype)
    gated, sums = naive_gate(slope.double(), inner.double())
    found = gate_(slope, inner)
    assert torch.equal(slope.double(), gated)
    assert error(found, sums) < 1e-6
