"""Where fused kernels run, and where torch's own operations do."""

import logging

import pytest
import torch

pytest.importorskip("triton", reason="needs Triton")

from saccade.kernels import disable_fused, dispatch
from saccade.kernels.columns import fused

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    monkeypatch.setattr(dispatch, "_on_gpu", lambda tensor: True)


def test_a_cpu_goes_its_own_way():
    assert not dispatch.fusable(torch.ones(2))


def test_what_our_kernels_take(as_on_a_gpu):
    ones = torch.ones(2, device=DEVICE)
    assert dispatch.fusable(ones, None, ones.bfloat16(), ones.half())
    assert not dispatch.fusable(ones, ones.double())
    assert not dispatch.fusable(ones[:0])
    with disable_fused():
        assert not dispatch.fusable(ones)
    assert dispatch.fusable(ones)


def test_where_triton_does_not_work_torch_does_and_it_is_said(as_on_a_gpu, monkeypatch, caplog):
    def broken(x):
        raise RuntimeError("failed to find a C compiler")

    monkeypatch.setattr(fused, "column_sums", broken)
    dispatch._triton_works.cache_clear()
    try:
        with caplog.at_level(logging.INFO, "saccade"):
            assert not dispatch.fusable(torch.ones(2, device=DEVICE))
            assert not dispatch.fusable(torch.ones(2, device=DEVICE))
        assert caplog.messages == [
            f"fused kernels disabled on {torch.ones(2, device=DEVICE).device}: failed to find a C compiler"
        ]
    finally:
        dispatch._triton_works.cache_clear()


@pytest.mark.parametrize(
    ("capability", "recent"), [((7, 5), False), ((8, 0), True), ((8, 6), True), ((9, 0), True), ((12, 1), True)]
)
def test_gpus_that_triton_no_longer_serves_are_left_to_torch_and_it_is_said(monkeypatch, caplog, capability, recent):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    dispatch._recent.cache_clear()
    try:
        with caplog.at_level(logging.INFO, "saccade"):
            assert dispatch._recent(torch.device("cuda:3")) == recent
        told = ["fused kernels disabled on cuda:3: the GPU is too old for Triton"]
        assert caplog.messages == ([] if recent else told)
    finally:
        dispatch._recent.cache_clear()
