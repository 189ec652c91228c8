"""One word's attention in one launch: Triton's kernels, on a GPU or through the interpreter, against the definition."""

import pytest
import torch

pytest.importorskip("triton", reason="needs Triton")

from saccade.kernels.dot.step import attend_source, attend_written

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)


def randn(*shape, dtype=torch.float32):
    return torch.randn(*shape, device=DEVICE).to(dtype)


@each_dtype
@pytest.mark.parametrize("t", [0, 1, 5, 40])
@pytest.mark.parametrize("followed", [False, True])
def test_over_what_was_written(dtype, t, followed):
    rows, heads, size, room = 3, 2, 12, 44
    width = heads * size
    keys, values, joined = (
        randn(room, rows, width, dtype=dtype),
        randn(room, rows, width, dtype=dtype),
        randn(rows, 3 * width, dtype=dtype),
    )
    before = keys.clone(), values.clone()
    origins = torch.randint(0, rows, (room, rows), device=DEVICE) if followed else None
    found = attend_written(joined, keys, values, origins, t, heads)
    query, key, value = (part.double().view(rows, heads, size) for part in joined.chunk(3, -1))
    for new, old, own in zip((keys, values), before, (key, value), strict=True):
        assert torch.equal(new[t].double().view(rows, heads, size), own)
        assert torch.equal(new[:t], old[:t])
        assert torch.equal(new[t + 1 :], old[t + 1 :])
    for n in range(rows):
        past = [int(origins[time, n]) if followed else n for time in range(t)]
        k = torch.stack([*(before[0][time, row].double().view(heads, size) for time, row in enumerate(past)), key[n]])
        v = torch.stack([*(before[1][time, row].double().view(heads, size) for time, row in enumerate(past)), value[n]])
        weights = torch.softmax(torch.einsum("hd,thd->ht", query[n], k), -1)
        expected = torch.einsum("ht,thd->hd", weights, v).flatten()
        tolerance = 1e-5 if dtype == torch.float32 else 2e-2
        torch.testing.assert_close(found[n].double(), expected, rtol=tolerance, atol=tolerance)


@each_dtype
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("length", [1, 7, 40])
@pytest.mark.parametrize("beams", [1, 3, 17])
def test_over_a_source(dtype, hidden, length, beams):
    sentences, heads, size = 2, 2, 12
    query = randn(sentences * beams, heads * size, dtype=dtype)
    keys, values = (
        randn(sentences * heads, size, length, dtype=dtype),
        randn(sentences * heads, length, size, dtype=dtype),
    )
    added = None
    if hidden:
        added = torch.zeros(sentences * heads, 1, length, device=DEVICE, dtype=dtype)
        added[heads:, :, length // 2 + 1 :] = -torch.inf
    weights = torch.empty(sentences * beams, heads, length, device=DEVICE)
    found = attend_source(query, keys, values, added, heads, weights)
    assert torch.equal(found, attend_source(query, keys, values, added, heads))
    folded = query.double().view(sentences, beams, heads, size).transpose(1, 2).reshape(sentences * heads, beams, size)
    scores = folded @ keys.double() + (0 if added is None else added.double())
    shares = torch.softmax(scores, -1)
    context = shares @ values.double()
    kept = weights.view(sentences, beams, heads, length).transpose(1, 2).flatten(0, 1)
    torch.testing.assert_close(kept.double(), shares, rtol=1e-2, atol=1e-5 if dtype == torch.float32 else 2e-2)
    expected = context.view(sentences, heads, beams, size).transpose(1, 2).reshape(sentences * beams, -1)
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(found.double(), expected, rtol=tolerance, atol=tolerance)


def test_a_source_that_is_cut_is_read_where_it_lies():
    query, keys, values = randn(2, 8), randn(2, 8, 9), randn(2, 9, 8)
    whole = attend_source(query, keys[..., :5].contiguous(), values[:, :5].contiguous(), None, 1)
    torch.testing.assert_close(attend_source(query, keys[..., :5], values[:, :5], None, 1), whole)
