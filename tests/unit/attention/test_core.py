"""Attention itself: banks, masks, states and the choice of the fused path."""

import pytest
import torch
from torch.testing import assert_close

from saccade import masks, pytree
from saccade.attention import (
    ALIGNS,
    SCORES,
    WINDOWS,
    Align,
    Attention,
    Bank,
    Coverage,
    DotScore,
    Global,
    Location,
    LocationAware,
    Score,
    Softmax,
    Tape,
    Window,
    build_attention,
)
from saccade.attention.core import spread_mask
from saccade.attention.scores.base import matrix
from saccade.errors import ShapeError


def test_values_are_the_keys_unless_given():
    attention = Attention(DotScore(2, 2))
    keys = torch.randn(1, 3, 2)
    assert attention.bank(keys).values is keys


def test_an_attention_of_a_score_alone_is_softmax_over_everything():
    attention = Attention(DotScore(2, 2))
    assert isinstance(attention.align, Softmax)
    assert isinstance(attention.window, Global)
    assert not attention.sequential
    assert attention.start(attention.bank(torch.randn(1, 3, 2))) is None


@pytest.mark.parametrize(
    ("mask", "keys", "spread"),
    [
        ((2, 5), (2, 5, 4), (2, 1, 5)),
        ((2, 3, 5), (2, 5, 4), (2, 3, 5)),
        ((1, 3, 5), (2, 5, 4), (1, 3, 5)),
        ((3, 5), (1, 5, 4), (1, 3, 5)),
        ((2, 5), (2, 6, 5, 4), (2, 1, 1, 5)),
        ((2, 3, 5), (2, 6, 5, 4), (2, 1, 3, 5)),
        ((2, 6, 3, 5), (2, 6, 5, 4), (2, 6, 3, 5)),
        ((2, 1, 3, 5), (2, 6, 5, 4), (2, 1, 3, 5)),
        ((3, 5), (1, 6, 5, 4), (1, 1, 3, 5)),
    ],
    ids=str,
)
def test_masks_are_spread_to_the_rank_of_the_scores(mask, keys, spread):
    assert spread_mask(torch.ones(mask, dtype=torch.bool), torch.zeros(keys)).shape == spread


def test_no_mask_stays_no_mask():
    assert spread_mask(None, torch.zeros(1, 2, 3)) is None


def test_weights_are_only_made_when_somebody_needs_them():
    source = torch.randn(1, 3, 4)
    fused, sparse = build_attention("dot", 4, 4), build_attention("dot", 4, 4, align="sparsemax")
    assert fused(source, fused.bank(source)).weights is None
    assert sparse(source, sparse.bank(source)).weights is not None


@pytest.mark.parametrize("temperature", [0.1, 2.0])
def test_softmax_with_a_temperature_is_not_left_to_the_fused_kernel(temperature):
    query, keys = torch.randn(1, 2, 4), torch.randn(1, 5, 4)
    attention = build_attention("dot", 4, 4, align_options={"temperature": temperature})
    wanted = torch.softmax(query @ keys.mT / temperature, -1) @ keys
    assert_close(attention(query, attention.bank(keys)).context, wanted)


def test_the_past_starts_even_over_what_can_be_seen():
    attention = Attention(Coverage(2, 2))
    bank = attention.bank(torch.randn(2, 4, 2), mask=masks.padding(torch.tensor([2, 4])))
    past = attention.start(bank)
    assert past.previous.tolist() == [[[0.5, 0.5, 0.0, 0.0]], [[0.25] * 4]]
    assert (past.total == 0).all()


def test_the_past_of_a_sentence_without_words_starts_at_zero():
    attention = Attention(LocationAware(2, 2, kernel=3))
    past = attention.start(attention.bank(torch.randn(1, 4, 2), mask=torch.zeros(1, 4, dtype=torch.bool)))
    assert (past.previous == 0).all()


def test_each_hypothesis_starts_with_the_past_of_its_sentence():
    attention = Attention(Coverage(2, 2))
    bank = attention.bank(torch.randn(2, 4, 2), mask=masks.padding(torch.tensor([2, 4])))
    past = attention.start(bank, rows=6)
    assert past.previous.shape == (6, 1, 4)
    assert (past.previous[:3] == past.previous[0]).all()
    assert (past.previous[3:] == 0.25).all()


def test_the_past_keeps_the_last_weights_and_adds_them_all_up():
    attention = Attention(Coverage(2, 2))
    bank = attention.bank(torch.randn(1, 4, 2))
    first = attention(torch.randn(1, 1, 2), bank)
    second = attention(torch.randn(1, 1, 2), bank, past=first.past)
    assert_close(second.past.previous, second.weights)
    assert_close(second.past.total, first.weights + second.weights)


def test_a_query_that_saw_nothing_leaves_the_past_as_it_was():
    attention = build_attention("dot", 2, 2, window="monotonic")
    keys = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.0, 9.0]]])
    look = torch.tensor([[[0.0, 1.0]]])
    seen = attention(look, attention.bank(keys))  # peaks at the last key
    blind = attention(look, attention.bank(keys, mask=torch.zeros(1, 3, dtype=torch.bool)), past=seen.past)
    assert blind.weights.count_nonzero() == 0
    after = attention(torch.tensor([[[9.0, 0.0]]]), attention.bank(keys), past=blind.past)
    assert after.weights.tolist() == [[[0.0, 0.0, 1.0]]]


@pytest.mark.parametrize("score", ["scaled-dot", "additive", "coverage"])
def test_a_window_may_hide_all_that_the_mask_is_known_to_show(score):
    """`sight="some"` is about the mask; the window still hides every key from a query far beyond the last key."""
    attention = build_attention(score, 4, 4, window="local-m", window_options={"radius": 1})
    bank = attention.bank(torch.randn(1, 3, 4))
    seen = attention(torch.randn(1, 1, 4), bank, sight="some")
    beyond = torch.tensor([[7]])
    blind = attention(torch.randn(1, 1, 4), bank, positions=beyond, past=seen.past, sight="some")
    assert (blind.context == 0).all()
    if seen.past is not None:
        assert_close(blind.past.previous, seen.past.previous)


def test_a_location_score_has_a_place_for_as_many_keys_as_it_was_built_for():
    attention = Attention(Location(4, 4, max_length=5))
    query = torch.randn(1, 1, 4)
    seen = attention(query, attention.bank(torch.randn(1, 5, 4)), tape=(tape := Tape()))
    assert seen.context.shape == (1, 1, 4)
    assert_close(tape["attention"][:, 0], torch.softmax(query @ attention.score.weight.mT, -1))


@pytest.mark.parametrize("heads", [None, 2])
def test_positions_are_given_by_row_or_for_all_rows_alike(heads):
    attention = build_attention("dot", 4, 4, window="local-m", window_options={"radius": 1}, heads=heads)
    query, bank = torch.randn(3, 2, 4), attention.bank(torch.randn(3, 6, 4))
    alike = attention(query, bank, positions=torch.tensor([[3, 5]])).context
    assert_close(alike, attention(query, bank, positions=torch.tensor([[3, 5]] * 3)).context)
    mixed = attention(query, bank, positions=torch.tensor([[3, 5], [0, 1], [3, 5]])).context
    assert_close(mixed[[0, 2]], alike[[0, 2]])
    assert_close(mixed[1:2], attention(query, bank).context[1:2])


@pytest.mark.parametrize("sentences", [1, 2])
@pytest.mark.parametrize("beams", [2, 3])
@pytest.mark.parametrize("queries", [1, 4], ids=["mask for all queries", "mask by query"])
def test_hypotheses_of_a_sentence_share_its_mask(queries, beams, sentences):
    attention = build_attention("dot", 3, 3).double()
    mask = torch.rand(sentences, queries, 5) < 0.6
    bank = attention.bank(torch.randn(sentences, 5, 3).double(), mask=mask)
    query = torch.randn(sentences * beams, 4, 3).double()
    copied = attention(query, pytree.repeat_rows(bank, beams)).context
    assert_close(attention(query, bank).context, copied)
    assert_close(attention(query, bank, tape=Tape()).context, copied)


def test_a_bank_can_be_made_by_hand():
    attention = Attention(DotScore(2, 2))
    keys, values = torch.randn(1, 3, 2), torch.randn(1, 3, 5)
    query = torch.randn(1, 1, 2)
    by_hand = attention(query, Bank(attention.score.prepare(keys), values)).context
    assert_close(by_hand, attention(query, attention.bank(keys, values)).context)


def test_objects_of_ones_own_are_taken_as_they_are():
    score, align = DotScore(4, 4), Softmax(temperature=2.0)
    attention = build_attention(score, 4, 4, align=align)
    assert attention.score is score
    assert attention.align is align


def test_options_reach_their_part():
    attention = build_attention(
        "location-aware",
        4,
        6,
        align="entmax-alpha",
        window="local-p",
        score_options={"kernel": 5, "filters": 3},
        align_options={"alpha": 1.25},
        window_options={"radius": 4},
    )
    assert attention.score.filters.weight.shape == (3, 1, 5)
    assert_close(attention.align.alpha, torch.tensor([1.25]))
    assert attention.window.radius == 4


def test_parts_without_options_have_the_sizes_of_their_papers():
    assert LocationAware(4, 4).filters.weight.shape == (10, 1, 201)
    assert Location(4, 4).weight.shape == (128, 4)
    assert [WINDOWS[name](4).radius for name in ("local-m", "local-p")] == [10, 10]
    assert_close(ALIGNS["entmax-alpha"]().alpha, torch.tensor([1.5]))
    assert ALIGNS["hard"]().estimator == "reinforce"


def test_weight_matrices_start_within_the_root_of_their_columns():
    weight = matrix(3, 50, 16)
    assert weight.shape == (3, 50, 16)
    assert 0.24 < weight.abs().max().item() <= 0.25
    assert abs(weight.mean().item()) < 0.01


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        (lambda: Score(4, 4)(torch.zeros(1, 1, 4), torch.zeros(1, 2, 4)), r"as_dot\(\) or forward\(\)"),
        (lambda: Align()(torch.zeros(1, 1, 2)), r"share\(\)"),
        (lambda: Window(4)(torch.zeros(1, 1, 4), 2, None, torch.zeros(1, 1, 1)), r"forward\(\)"),
    ],
    ids=["score", "align", "window"],
)
def test_a_part_that_lacks_its_rule_says_what_to_write(call, missing):
    with pytest.raises(TypeError, match=f"must implement {missing}"):
        call()


def test_an_attention_describes_itself():
    text = repr(build_attention("additive", 4, 6, dropout=0.1, align_options={"temperature": 0.5}))
    assert "Additive(query=4, keys=6)" in text
    assert "site='attention', dropout=0.1" in text
    assert "temperature=0.5" in text
    assert "heads=2" in repr(build_attention("dot", 4, 4, heads=2))
    plain = repr(build_attention("dot", 4, 4))
    assert "Softmax()" in plain, "defaults are not shown"
    assert "dropout" not in plain
    assert "heads" not in plain


def test_the_cells_of_a_picture_are_keys_like_any_other():
    attention = build_attention("additive", 3, 5)
    picture = torch.randn(2, 5, 4, 6)  # (B, channels, height, width)
    attended = attention(torch.randn(2, 1, 3), attention.bank(picture.flatten(2).mT), tape=(tape := Tape()))
    looked = tape["attention"].view(2, 4, 6)
    assert_close(attended.context[:, 0], torch.einsum("bhw,bchw->bc", looked, picture))


def test_keys_of_heads_have_an_axis_for_them():
    attention = Attention(SCORES["general"](3, 3, heads=2))
    assert attention.bank(torch.randn(2, 2, 4, 3)).keys.shape == (2, 2, 4, 3)
    with pytest.raises(ShapeError, match=r"keys are \(2, 4, 3\), but this attention takes \(B, 2, S, D\)"):
        attention.bank(torch.randn(2, 4, 3))


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_there_are_as_many_queries_for_every_sentence(rows):
    attention = Attention(SCORES["dot"](3, 3))
    bank = attention.bank(torch.randn(2, 4, 3))
    assert attention(torch.randn(4, 1, 3), bank).context.shape == (4, 1, 3)
    with pytest.raises(ShapeError, match=rf"query has {rows} rows, but the bank has 2"):
        attention(torch.randn(rows, 1, 3), bank)
