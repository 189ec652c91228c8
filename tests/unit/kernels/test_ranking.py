"""The best of many words: Triton's kernel, on a GPU or through the interpreter, against the definition."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("triton", reason="needs Triton")

from helpers.naive_kernels import naive_best, naive_best_together
from saccade.kernels import dispatch, ranking
from saccade.kernels.ranking import choose, fused
from saccade.kernels.ranking.fused import summaries

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(autouse=True)
def by_our_kernels(monkeypatch):
    monkeypatch.setattr(dispatch, "_on_gpu", lambda tensor: True)
    monkeypatch.setattr(choose, "_suits_native", lambda *asked: False)  # which is tested in test_native.py
    monkeypatch.setattr(choose, "SIZE", 16)


def logits(rows, words):
    """No two alike, so that there is one order."""
    values = torch.arange(rows * words).float() / (rows * words)
    return (20 * values[torch.randperm(rows * words)]).view(rows, words).to(DEVICE)


@pytest.mark.parametrize("words", [640, 777])
@pytest.mark.parametrize("count", [1, 3])
def test_the_best_of_each_row(words, count):
    given = logits(4, words)
    values, places = ranking.best(given, 2, count)
    expected = naive_best(given, 2, count)
    assert torch.equal(places, expected[1])
    torch.testing.assert_close(values, expected[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("words", [640, 777])
def test_the_best_of_several_rows_together(words):
    given, before = logits(6, words), torch.tensor([[0.0, -3.0, -torch.inf], [-1.0, -0.5, -2.0]], device=DEVICE)
    values, places = ranking.best_together(given, before, 2, 6)
    expected = naive_best_together(given, before, 2, 6)
    assert torch.equal(places, expected[1])
    torch.testing.assert_close(values, expected[0], atol=1e-5, rtol=1e-5)


def test_words_before_the_first_are_never_chosen():
    given = logits(2, 640)
    given[:, :2] = 1000.0
    _, places = ranking.best(given, 2, 3)
    assert (places >= 2).all()
    assert torch.equal(places, naive_best(given, 2, 3)[1])


@pytest.mark.parametrize("first", [2, 40, 200])
def test_words_before_a_later_one_are_never_chosen_either(monkeypatch, first):
    monkeypatch.setattr(fused, "BLOCKS", 2)  # 32 words a pass
    given = logits(2, 640)
    given[:, :first] += 50.0
    assert torch.equal(ranking.best(given, first, 3)[1], naive_best(given, first, 3)[1])


def test_the_ten_best_of_five_rows_by_a_program_of_several_warps(monkeypatch):
    monkeypatch.setattr(choose, "SIZE", 256)
    given, before = logits(10, 10_300), torch.randn(2, 5, device=DEVICE)
    values, places = ranking.best_together(given, before, 3, 10)
    expected = naive_best_together(given, before, 3, 10)
    assert torch.equal(places, expected[1])
    torch.testing.assert_close(values, expected[0], atol=1e-5, rtol=1e-5)


def test_of_words_that_are_alike_the_first_is_taken_and_none_twice():
    given = logits(2, 640).round()
    values, places = ranking.best_together(given, torch.zeros(1, 2, device=DEVICE), 2, 6)
    assert len(set(places[0].tolist())) == 6
    torch.testing.assert_close(values, naive_best_together(given, torch.zeros(1, 2, device=DEVICE), 2, 6)[0])
    flat = (given - torch.logsumexp(given, 1, keepdim=True))[:, 2:].flatten()
    order = sorted(range(len(flat)), key=lambda place: -round(float(flat[place]), 4))
    assert places[0].tolist() == [place // 638 * 640 + place % 638 + 2 for place in order[:6]]


@given(seed=st.integers(0, 999), words=st.integers(512, 700), count=st.sampled_from([1, 3, 8]))
def test_any_rows_with_many_alike_and_some_that_may_not_come(seed, words, count):
    chance = torch.Generator().manual_seed(seed)
    rows = torch.randint(-2, 3, (3, words), generator=chance).float()
    rows[torch.rand(3, words, generator=chance) < 0.3] = -torch.inf
    rows[2, 5:] = -torch.inf  # fewer than are asked for
    values, places = (part.cpu() for part in ranking.best(rows.to(DEVICE), 2, count))
    logs = rows.log_softmax(1)
    for row in range(3):
        order = sorted(range(2, words), key=lambda word: -float(rows[row, word]))
        there = [word for word in order[:count] if rows[row, word] > -torch.inf]
        assert places[row, : len(there)].tolist() == there
        torch.testing.assert_close(values[row, : len(there)], logs[row, there], atol=1e-5, rtol=1e-5)
        assert values[row, len(there) :].isneginf().all()
        assert ((places[row] >= 0) & (places[row] < words)).all()


@pytest.mark.parametrize("programs", [1, 12, 512])
def test_sums_and_what_is_no_number(programs, monkeypatch):
    monkeypatch.setattr(fused, "PROGRAMS", programs)
    monkeypatch.setattr(fused, "BLOCKS", 2)
    given = logits(3, 100)
    given[1, 50], given[2] = torch.nan, -torch.inf
    maxima, sums, _ = summaries(given, 0, 16)
    assert sums.shape == (3, {1: 1, 12: 4, 512: 4}[programs])
    torch.testing.assert_close(torch.logsumexp(sums[0], 0), torch.logsumexp(given[0], 0))
    assert sums[1].isnan().any()
    torch.testing.assert_close(maxima[0, :6], given[0, :96].view(6, 16).amax(1))
    torch.testing.assert_close(maxima[0, 6], given[0, 96:].amax())


def test_what_comes_of_no_number_is_none():
    given = logits(4, 640)
    given[1, 300] = torch.nan
    values, places = ranking.best_together(given, torch.zeros(2, 2, device=DEVICE), 2, 3)
    assert values[0].isnan().all()
    assert values[1].isfinite().all()
    assert ((places >= 0) & (places < 2 * 640)).all()


def test_where_nothing_is_left_places_are_still_places():
    values, places = ranking.best_together(logits(2, 640), torch.full((1, 2), -torch.inf, device=DEVICE), 2, 3)
    assert values.isneginf().all()
    assert ((places >= 0) & (places < 2 * 640)).all()


def test_many_of_them_are_left_to_torch(monkeypatch):
    assert ranking.best(logits(2, 640), 2, 3) is not None
    monkeypatch.setattr(choose, "FEW", 2)
    assert ranking.best(logits(2, 640), 2, 3) is None


def test_few_words_are_left_to_torch():
    assert ranking.best(logits(2, 40), 2, 1) is None
