"""Packed matmuls against torch's own."""

import logging

import pytest
import torch
import torch.nn.functional as F

from saccade.kernels.packed import PlainProduct, pack
from saccade.kernels.packed import prepacked as packed


@pytest.fixture(autouse=True)
def by_torch(monkeypatch):
    """Disable the C code, which has its own tests."""
    monkeypatch.setattr(packed, "_native", lambda *given, **options: None)


def case(rows, inputs, outputs, bias=True):
    generator = torch.Generator().manual_seed(rows + outputs)
    x, weight = torch.randn(rows, inputs, generator=generator), torch.randn(outputs, inputs, generator=generator)
    return x, weight / inputs**0.5, torch.randn(outputs, generator=generator) if bias else None


@pytest.mark.parametrize("rows", [1, 7, 33])
@pytest.mark.parametrize(("inputs", "outputs"), [(64, 64), (96, 130), (64, 5000)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("precision", "tolerance"), [("full", 1e-5), ("int8", 0.08)])
def test_products_agree(rows, inputs, outputs, bias, precision, tolerance):
    x, weight, offset = case(rows, inputs, outputs, bias)
    product = pack(weight, offset, precision=precision)
    wanted, other = F.linear(x, weight, offset), torch.randn(rows, outputs)
    torch.testing.assert_close(product(x), wanted, rtol=0, atol=tolerance)
    torch.testing.assert_close(product.rectified(x), wanted.relu(), rtol=0, atol=tolerance)
    torch.testing.assert_close(product.added(x, other), wanted + other, rtol=0, atol=tolerance)


def test_small_and_precise_weights_stay_as_they_are():
    assert type(pack(torch.randn(4, 4), None)) is PlainProduct
    assert type(pack(torch.randn(100, 100).double(), None, precision="int8")) is PlainProduct


def test_a_machine_without_eight_bits_says_why_and_goes_on(monkeypatch, caplog):
    monkeypatch.setattr(packed, "int8_reason", lambda: "this processor has no VNNI instructions")
    packed._int8_works.cache_clear()
    x, weight, bias = case(3, 64, 64)
    with caplog.at_level(logging.WARNING, "saccade"):
        product = pack(weight, bias, precision="int8")
        pack(weight, bias, precision="int8")
    packed._int8_works.cache_clear()
    assert [record.message for record in caplog.records] == [
        "int8 unavailable (this processor has no VNNI instructions); using float32"
    ]
    torch.testing.assert_close(product(x), F.linear(x, weight, bias), rtol=0, atol=1e-5)


def test_a_torch_without_the_operators_has_plain_products(monkeypatch):
    monkeypatch.setattr(packed, "_onednn_packs", lambda: False)
    assert type(pack(torch.randn(100, 100), None)) is PlainProduct


def test_the_log_says_why_nothing_is_packed(monkeypatch, caplog):
    caplog.set_level("INFO", "saccade")
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert not packed._onednn_packs.__wrapped__()
    assert "weights not packed (this torch has no oneDNN)" in caplog.text
