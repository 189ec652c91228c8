"""Kernels in C: matmuls, a Transformer's step and the best words against torch's own; how they are built."""

import logging
import stat
import sys
from collections import Counter
from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F

from helpers.naive_kernels import naive_best, naive_best_together, naive_checksum
from saccade import kernels
from saccade.batch import Batch
from saccade.errors import ShapeError
from saccade.kernels.native import coarse_products, library
from saccade.kernels.native.checksum import native_checksum
from saccade.kernels.native.gemm import NativeProduct
from saccade.kernels.native.ranking import best_words
from saccade.kernels.packed import pack, prepacked
from saccade.models import build_seq2seq
from saccade.runtime import StepEngine, engine_of, transformer
from saccade.search import Beam, Greedy, SearchConfig, decode
from saccade.search.continuous_batching import continuous_search

built = sys.modules["saccade.kernels.native.library"]
needs_compiler = pytest.mark.skipif(library() is None, reason="no C compiler")
needs_vnni = pytest.mark.skipif(not coarse_products(), reason="no C compiler, or no VNNI")


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


# ---- matmuls


@needs_compiler
@pytest.mark.parametrize("rows", [1, 3, 8, 9, 33])
@pytest.mark.parametrize(("inputs", "outputs"), [(64, 64), (7, 33), (16, 1), (100, 131)])
@pytest.mark.parametrize("bias", [True, False])
def test_products_are_torchs(rows, inputs, outputs, bias):
    x, weight, offset = numbers(rows, inputs), numbers(outputs, inputs, seed=1), numbers(outputs) if bias else None
    product, wanted, other = (
        NativeProduct(weight, offset, coarse=False),
        F.linear(x, weight, offset),
        numbers(rows, outputs),
    )
    torch.testing.assert_close(product(x), wanted, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(product.rectified(x), wanted.relu(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(product.added(x, other), wanted + other, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(product(x[None, :, None]), wanted[None, :, None], rtol=1e-5, atol=1e-5)


@needs_vnni
@pytest.mark.parametrize("rows", [1, 8, 13])
@pytest.mark.parametrize(("inputs", "outputs"), [(16, 64), (128, 33)])
def test_products_of_eight_bits_are_near_and_each_row_is_its_own(rows, inputs, outputs):
    x, weight, bias = numbers(rows, inputs), numbers(outputs, inputs, seed=1) / inputs**0.5, numbers(outputs)
    x[0] *= 1000  # a row with large numbers must not coarsen the others
    product, wanted = NativeProduct(weight, bias, coarse=True), F.linear(x, weight, bias)
    for row in range(rows):
        got, alone = product(x)[row], product(x[row : row + 1])[0]
        assert torch.equal(got, alone)
        assert (got - wanted[row]).norm() <= 0.02 * wanted[row].norm()


@needs_vnni
def test_eight_bits_of_nothing_are_nothing_and_of_no_number_none():
    product = NativeProduct(numbers(5, 16), None, coarse=True)
    assert torch.equal(product(torch.zeros(2, 16)), torch.zeros(2, 5))
    x = numbers(3, 16)
    x[1, 4], x[2, 7] = torch.nan, torch.inf
    assert product(x).isfinite().all(1).tolist() == [True, False, False]


@needs_compiler
def test_one_thread_packs_by_it_and_several_do_not(monkeypatch):
    weight = numbers(128, 128)
    assert type(pack(weight, None)) is NativeProduct
    with kernels.disable_fused():
        assert type(pack(weight, None)) is not NativeProduct
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert type(pack(weight, None)) is not NativeProduct


# ---- checksums


@needs_compiler
def test_the_checksum_is_the_plain_one_and_notices_every_change():
    tensors = [numbers(3), numbers(40, 25), torch.empty(0), numbers(31, 7), numbers(40, 25).half()]
    before = native_checksum(tensors)
    assert torch.equal(before, naive_checksum(tensors))
    for part in (tensors[0], tensors[1], tensors[3], tensors[4]):
        kept = part.clone()
        part.view(-1)[-1] += 1
        assert not torch.equal(native_checksum(tensors), before)
        part.copy_(kept.flip(0))  # the same numbers in other places
        assert not torch.equal(native_checksum(tensors), before)
        part.copy_(kept)
    assert torch.equal(native_checksum(tensors), before)
    assert not torch.equal(native_checksum(tensors[::-1]), before)
    assert native_checksum([numbers(4, 6).T]) is None


# ---- the best words


@needs_compiler
@pytest.mark.parametrize(("words", "count"), [(7, 1), (16, 2), (130, 2), (1000, 10)])
def test_the_best_words_are_torchs(words, count):
    logits, before = 3 * numbers(12, words), numbers(4, 3)
    before[1, 2] = -torch.inf
    for got, wanted in (
        (best_words(logits, None, 3, count), naive_best(logits, 3, count)),
        (best_words(logits, before, 3, count), naive_best_together(logits, before, 3, count)),
    ):
        torch.testing.assert_close(got[0], wanted[0], rtol=1e-5, atol=1e-5)
        assert torch.equal(got[1], wanted[1])


@needs_compiler
def test_rows_nothing_comes_of_are_not_looked_at_and_no_number_makes_none():
    logits, before = numbers(4, 40), torch.zeros(2, 2)
    logits[1], before[0, 1] = torch.nan, -torch.inf
    logits[2, 5] = torch.nan
    values, places = best_words(logits, before, 3, 2)
    assert values[0].isfinite().all()
    assert (places[0] < 40).all()
    assert values[1].isnan().all()


@needs_compiler
def test_where_nothing_is_possible_the_best_are_impossible():
    logits = torch.full((1, 20), -torch.inf)
    logits[0, 1] = 0.0  # all probability on a forbidden word
    values, places = best_words(logits, None, 3, 2)
    assert values.tolist() == [[-torch.inf, -torch.inf]]
    assert places.tolist() == [[3, 4]]


# ---- a step

VARIANTS = {
    "pre-norm": {"norm": "pre"},
    "post-norm": {"norm": "post"},
    "one layer, one head": {"layers": 1, "attention": {"heads": 1}},
    "odd sizes": {"width": 42, "feed_forward": 50, "attention": {"heads": 3}},
    "learned places": {"positions": "learned"},
}


@pytest.fixture
def small(monkeypatch):
    """Pack matmuls of any size."""
    monkeypatch.setattr(prepacked, "_LEAST", 0)


def lively(**changes):
    torch.manual_seed(0)
    settings = {"width": 32, "feed_forward": 64, "layers": 2, "attention": {"heads": 2}, "tied": False, **changes}
    model = build_seq2seq("transformer-base", 30, 200, **settings).eval()
    with torch.no_grad():
        model.output.weight.mul_(4.0)
        model.output.bias[2] += 3.0  # sentences end, but not all at once
    return model


def sentences(count):
    torch.manual_seed(1)
    lengths = torch.randint(1, 19, (count,)).tolist()
    return Batch.from_lists([torch.randint(4, 30, (length,)).tolist() for length in lengths])


@needs_compiler
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=list(VARIANTS))
@pytest.mark.parametrize("width", [1, 4])
def test_a_search_by_it_finds_what_torchs_operations_find(small, changes, width):
    """Decode in few rows, so that sentences are replaced, rows removed, and caches grown and trimmed."""
    model, batch = lively(**changes), sentences(40)
    make = Greedy if width == 1 else lambda: Beam(width, length_penalty=0.5)
    found = []
    for way in (kernels.disable_fused, nullcontext):
        with way():
            assert (engine_of(model).decoder.native is not None) == (way is nullcontext)
            found.append(continuous_search(model, batch, make, rows=5, lengths=[1 + 7 * row % 45 for row in range(40)]))
    plain, ours = found
    assert [[part.tokens for part in each] for each in ours] == [[part.tokens for part in each] for each in plain]
    for got, wanted in zip(ours, plain, strict=True):
        assert [part.score for part in got] == pytest.approx([part.score for part in wanted], rel=1e-4)
    assert len({len(each[0].tokens) for each in plain}) > 5, "they end at many lengths"


@needs_compiler
@pytest.mark.parametrize("longest", [0, 8, 128])
def test_long_sources_are_read_by_torch_with_the_same_result(small, monkeypatch, longest):
    """The keys and values of the native encoder and those of torch have one layout."""
    monkeypatch.setattr(transformer, "_LONGEST_NATIVE", longest)
    model, batch = lively(width=96, attention={"heads": 2}), sentences(5)
    engine = engine_of(model)
    read = Counter()
    monkeypatch.setattr(engine, "_native", Counted(engine._native, read))
    with torch.inference_mode():
        found = engine._banks(batch.source, batch.source_mask, False, None)
        monkeypatch.setattr(engine, "_native", None)
        wanted = engine._banks(batch.source, batch.source_mask, False, None)
    assert read["read"] == (batch.source.shape[1] <= longest)
    kept = batch.source_mask.repeat_interleave(2, 0)
    for (keys, values), (plain_keys, plain_values) in zip(found, wanted, strict=True):
        for own, plain in ((keys.mT, plain_keys.mT), (values, plain_values)):
            torch.testing.assert_close(own[kept], plain[kept], rtol=1e-4, atol=1e-5)


class Counted:
    def __init__(self, encoder, read):
        self._encoder, self._count = encoder, read

    def read(self, *given):
        self._count["read"] += 1
        return self._encoder.read(*given)


@needs_compiler
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=list(VARIANTS))
@pytest.mark.parametrize("beam", [1, 4])
def test_attention_by_it_is_that_of_torchs_operations(small, changes, beam):
    model, batch = lively(**changes), sentences(5)
    found = []
    for way in (kernels.disable_fused, nullcontext):
        with way():
            assert (engine_of(model).decoder.native is not None) == (way is nullcontext)
            found.append(decode(model, batch, SearchConfig(beam=beam, max_length=25), attention=True))
    for (wanted, *_), (got, *_) in zip(*found, strict=True):
        assert got.tokens == wanted.tokens
        assert set(got.attention) == set(wanted.attention) == {*model.source_sites, *got.attention}
        assert len(got.attention) == 3 * len(model.decoder.layers)  # one of an encoder layer, two of a decoder layer
        for site, weights in got.attention.items():
            torch.testing.assert_close(weights, wanted.attention[site], rtol=1e-4, atol=1e-5)


@needs_vnni
def test_a_search_in_eight_bits_does_not_depend_on_company(small):
    model, batch = lively(), sentences(9)
    together = continuous_search(model, batch, Greedy, rows=4, lengths=[12] * 9, precision="int8")
    assert engine_of(model, "int8").decoder.native is not None
    for row, got in enumerate(together):
        size = int(batch.source_mask[row].sum())
        one = Batch(batch.source[row : row + 1, :size], batch.source_mask[row : row + 1, :size])
        (wanted,) = continuous_search(model, one, Greedy, rows=1, lengths=[12], precision="int8")
        assert got[0].tokens == wanted[0].tokens


@needs_compiler
def test_positions_that_rotate_are_left_to_torch(small):
    assert engine_of(lively(positions="rotary")).decoder.native is None


@needs_compiler
def test_what_is_not_the_same_everywhere_is_left_to_torch(small):
    assert engine_of(lively()).decoder.native is not None
    assert engine_of(lively(cross={"heads": 4})).decoder.native is None


def test_norms_without_weights_are_left_to_step():
    model = lively()
    model.decoder.layers[0].around_feed.norm = torch.nn.LayerNorm(32, elementwise_affine=False)
    assert type(engine_of(model)) is StepEngine


def answers(model, batch, **options):
    return [
        each[0].tokens for each in continuous_search(model, batch, Greedy, rows=3, lengths=[9] * batch.size, **options)
    ]


@needs_compiler
def test_words_of_32_bits_and_other_defaults_of_torch_change_nothing(small):
    model, batch = lively(), sentences(5)
    wanted = answers(model, batch)
    narrow = Batch(batch.source.int(), batch.source_mask)
    assert answers(model, narrow) == wanted
    torch.set_default_dtype(torch.float64)
    try:
        assert answers(model, batch) == wanted
    finally:
        torch.set_default_dtype(torch.float32)


@needs_compiler
def test_a_writer_keeps_the_weights_it_was_made_of(small):
    model, batch = lively(), sentences(3)
    writer = engine_of(model)
    first = writer.read(batch, 1, 9).step(torch.full((3,), 1)).clone()
    model.load_state_dict({name: torch.zeros_like(part) for name, part in model.state_dict().items()}, assign=True)
    assert torch.equal(writer.read(batch, 1, 9).step(torch.full((3,), 1)), first)


@needs_compiler
def test_what_is_no_word_or_no_row_is_refused(small):
    model, batch = lively(), sentences(2)
    with pytest.raises(IndexError, match="not one of the 200"):
        engine_of(model).read(batch, 1, 9).step(torch.tensor([5, 10**6]))
    product = NativeProduct(numbers(4, 8), None, coarse=False)
    for wrong in (numbers(2, 7), numbers(2, 8).double()):
        with pytest.raises(ShapeError, match="rows of 8 float32 numbers"):
            product(wrong)


@needs_compiler
def test_a_rectified_none_stays_none():
    weight = numbers(40, 8)
    x = numbers(2, 8)
    x[1, 3] = torch.nan
    assert NativeProduct(weight, None, coarse=False).rectified(x).isnan().all(1).tolist() == [False, True]


@needs_compiler
def test_where_all_is_impossible_there_is_no_answer():
    assert best_words(torch.full((1, 20), -torch.inf), None, 3, 1)[0].isnan().all()


# ---- how they are built


@pytest.fixture
def afresh(monkeypatch, tmp_path):
    """Nothing built yet, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library.cache_clear()
    yield tmp_path
    library.cache_clear()


def test_without_a_compiler_the_log_says_so(afresh, monkeypatch, caplog):
    monkeypatch.setattr(built, "_which", lambda name: None)
    with caplog.at_level(logging.INFO, "saccade"):
        assert library() is None
        assert library() is None
    assert [record.message for record in caplog.records] == ["CPU kernels in C are not used: there is no C compiler"]


@needs_compiler
def test_a_compiler_that_fails_is_named(afresh, monkeypatch, caplog, tmp_path):
    bad = tmp_path / "cc"
    bad.write_bytes(b"#!/bin/sh\necho 'no such flag \xe9' >&2\nexit 1\n")
    bad.chmod(0o700)
    monkeypatch.setenv("CC", str(bad))
    with caplog.at_level(logging.INFO, "saccade"):
        assert library() is None
    assert f"{bad} cannot build them: no such flag \ufffd" in caplog.text
    assert not list(tmp_path.glob("saccade/native/*"))


@needs_compiler
def test_it_is_built_once_and_kept_from_others(afresh):
    assert library() is not None
    (path,) = (afresh / "saccade" / "native").iterdir()
    assert not path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    made = path.stat().st_mtime_ns
    library.cache_clear()
    assert library() is not None
    assert path.stat().st_mtime_ns == made


@needs_compiler
def test_what_others_could_have_written_is_not_loaded(afresh, caplog):
    assert library() is not None
    (path,) = (afresh / "saccade" / "native").iterdir()
    path.chmod(0o777)
    library.cache_clear()
    with caplog.at_level(logging.INFO, "saccade"):
        assert library() is None
    assert f"{path} can be written by others" in caplog.text
