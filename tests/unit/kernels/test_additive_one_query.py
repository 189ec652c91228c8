"""The Triton kernels for few queries, on a GPU if there is one, else through Triton's interpreter."""

import pytest
import torch

pytest.importorskip("triton", reason="needs Triton")

from torch.testing import assert_close

from helpers.additive import Steps, assert_as_exact, error
from helpers.naive_kernels import naive_attend
from helpers.pairwise import pairwise
from saccade.kernels.additive import one_query
from saccade.kernels.additive.collect import attend
from saccade.kernels.additive.parts import Parts

# the interpreter is numpy, which warns of infinities that the kernels count on
pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),
]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "steps",
    [
        Steps(sentences=1, size=1, width=1, depth=1),
        Steps(heads=2, length=2, size=19, width=17, depth=3, steps=2, masked=True),
        Steps(heads=3, length=1, size=4, width=5, depth=35, features=1, steps=2, masked=True),
        Steps(sentences=1, heads=8, size=3, width=2, depth=2, features=3),
        Steps(size=18, width=20, features=17, masked=True),
        Steps(scale=40.0, steps=2),
    ],
    ids=["one", "heads", "coverage", "eight heads", "many features", "far out"],
)
def test_as_exact_as_by_definition_in_the_same_precision(steps, dtype):
    assert_as_exact(steps, one_query, dtype, DEVICE)


def test_without_a_ledger_every_step_gives_all_its_gradients():
    assert_as_exact(
        Steps(heads=2, length=2, features=2, masked=True), one_query, torch.float32, DEVICE, collected=False
    )


@pytest.mark.parametrize("features", [0, 1, 2])
def test_rows_wider_and_longer_than_a_tile(monkeypatch, features):
    monkeypatch.setattr(one_query, "TILE_BYTES", 1024)  # 16 rows of 16 numbers
    monkeypatch.setattr(one_query, "DOT_TILE", (16, 16))
    monkeypatch.setattr(one_query, "GATHER_TILE", (16, 16))
    steps = Steps(size=35, width=37, depth=50, features=features, masked=True)
    assert_as_exact(steps, one_query, torch.float32, DEVICE)


@pytest.mark.parametrize("features", [0, 1])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_keys_and_values_side_by_side_in_several_tiles(monkeypatch, dtype, features):
    monkeypatch.setattr(one_query, "PAIR_BYTES", 256)  # 2 or 4 rows of 32 numbers
    steps = Steps(size=35, width=17, depth=20, features=features, masked=True)
    assert_as_exact(steps, one_query, dtype, DEVICE)


@pytest.mark.parametrize(
    ("warps", "dtype", "features"),
    [tuple(row.values()) for row in pairwise({"warps": [1, 2, 4], "dtype": DTYPES, "features": [0, 1]})],
    ids=str,
)
def test_rows_shared_out_among_warps(monkeypatch, warps, dtype, features):
    monkeypatch.setattr(one_query, "ENOUGH", 0)  # gradients too
    monkeypatch.setattr(one_query, "ROW_BYTES", 32 * dtype.itemsize // warps)
    monkeypatch.setattr(one_query, "PAIR_BYTES", 256)
    monkeypatch.setattr(one_query, "SLOPE_BYTES", 512)
    assert one_query._warps(32 * dtype.itemsize) == warps
    steps = Steps(sentences=3, heads=2, size=35, width=17, depth=20, features=features, masked=True)
    assert_as_exact(steps, one_query, dtype, DEVICE)


@pytest.mark.parametrize("order", ["rising", "falling"])
def test_what_was_summed_is_weighed_anew_when_a_higher_score_turns_up(monkeypatch, order):
    monkeypatch.setattr(one_query, "PAIR_BYTES", 256)  # 4 rows of 16 numbers
    torch.manual_seed(0)
    query, values = torch.zeros(1, 1, 4, device=DEVICE), torch.randn(1, 9, 3, device=DEVICE)
    heights = torch.linspace(-2, 2, 9, device=DEVICE)
    keys = (heights if order == "rising" else heights.flip(0))[None, :, None].expand(1, 9, 4)
    v, mask = torch.full((4,), 20.0, device=DEVICE), torch.arange(9, device=DEVICE)[None, None] > 3  # a tile of nothing
    found = attend(one_query, Parts(query, keys, values, v, mask))
    for one, other in zip(found, naive_attend(query, keys, values, v, mask), strict=True):
        assert_close(one, other)


@pytest.mark.parametrize(("features", "dtype"), [*zip([0, 1, 2], DTYPES, strict=True)], ids=str)
def test_keys_split_among_programs(monkeypatch, dtype, features):
    monkeypatch.setattr(one_query, "CHUNK", 8)
    monkeypatch.setattr(one_query, "DOT_TILE", (16, 16))
    assert_as_exact(Steps(size=37, depth=9, masked=True, heads=2, features=features), one_query, dtype, DEVICE)


def test_a_mask_for_each_query_and_head_and_keys_that_lie_apart():
    torch.manual_seed(0)
    query = torch.randn(2, 3, 4, 6, device=DEVICE)
    keys = torch.randn(2, 5, 3, 6, device=DEVICE).transpose(1, 2)
    values = torch.randn(2, 3, 7, 5, device=DEVICE).mT
    v, mask = torch.randn(3, 6, device=DEVICE), torch.rand(2, 3, 4, 5, device=DEVICE) < 0.5
    found = attend(one_query, Parts(query, keys, values, v, mask))
    for one, other in zip(found, naive_attend(query, keys, values, v, mask), strict=True):
        assert_close(one, other)


def test_what_stands_behind_the_mask_is_never_seen():
    query, keys, values = (torch.randn(1, 1, n, 4, device=DEVICE) for n in (1, 3, 3))
    v, mask = torch.randn(1, 4, device=DEVICE), torch.tensor([True, False, True], device=DEVICE)
    keys[..., 1, :] = torch.nan
    context, weights = attend(one_query, Parts(query, keys, values, v, mask))
    assert context.isfinite().all()
    assert weights[..., 1].item() == 0


def test_what_is_not_a_number_stays_one():
    query, keys, values = (torch.randn(2, 1, n, 4, device=DEVICE) for n in (2, 3, 3))
    query[0, 0, 1] = torch.nan
    context, weights = attend(one_query, Parts(query, keys, values, torch.randn(1, 4, device=DEVICE)))
    assert context[0, 0, 1].isnan().all()
    assert weights[0, 0, 1].isnan().all()
    assert context[1].isfinite().all()
    assert context[0, 0, 0].isfinite().all()


def test_parts_may_differ_in_precision_as_under_autocast():
    kinds = {
        "queries": torch.bfloat16,
        "keys": torch.bfloat16,
        "to_contexts": torch.bfloat16,
        "to_weights": torch.bfloat16,
    }
    steps = Steps(features=2, steps=2, masked=True)
    rough = {name: x.to(kinds.get(name, torch.float32)) for name, x in steps.inputs(torch.float32, DEVICE).items()}
    ours, exact = steps.run(one_query, rough), steps.run(None, {name: x.double() for name, x in rough.items()})
    for name, truth in exact.items():
        assert error(ours[name], truth) < 0.02, name
    assert ours["context"].dtype == ours["weights"].dtype == ours["gradient of keys"].dtype == torch.bfloat16
    assert ours["gradient of values"].dtype == ours["gradient of matrix"].dtype == torch.float32
