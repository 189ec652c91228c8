"""Property tests of attention: any two entries of SCORES, ALIGNS and WINDOWS together, in one head and in several.

A new entry is tested by being listed in its table.
"""

import copy
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from helpers.attention import (
    ENTRIES,
    Case,
    Parts,
    Shape,
    assert_same,
    inner_of,
    make_case,
    outcome,
    some_pairs,
    what_is_shown,
)
from saccade import masks, pytree
from saccade.attention import ALIGNS, SCORES, AttentionState, Cache, LocalPredictive, MultiHead, Steering, Tape

shapes = st.builds(Shape, B=st.integers(1, 3), T=st.sampled_from([1, 2, 7]), S=st.sampled_from([2, 5, 7, 12]))
ids = {"ids": str}


# The laws that hold for every combination and every shape


def weights_share_out_what_is_seen(parts: Parts, shape: Shape) -> None:
    case = make_case(parts, shape, mask="queries", dtype=torch.float32)
    with what_is_shown(case.attention) as looks:
        _, weights = case.recorded()
    assert weights.shape == (shape.B, parts.heads or 1, shape.T, shape.S)
    everything = torch.ones_like(weights, dtype=torch.bool)
    shown = [everything[:, :, :1] if look is None else _with_heads(look, parts) for look in looks]
    shown = torch.cat(shown, 2).expand_as(weights) if len(shown) > 1 else shown[0].expand_as(weights)
    assert not (shown & ~case.mask[:, None]).any(), "a window shows no more than the mask"
    assert (weights >= 0).all()
    assert (weights[~shown] == 0).all()
    total = weights.sum(-1)
    assert (total <= 1 + 1e-5).all()
    if parts.spends_all:
        assert_close(total, shown.any(-1).float())


def a_tape_changes_nothing(parts: Parts, shape: Shape) -> None:
    case = make_case(parts, shape, mask="queries")
    assert_same(outcome(case), outcome(case, Tape()))


def junk_behind_the_mask_changes_nothing(parts: Parts, shape: Shape) -> None:
    _check_junk(make_case(parts, shape, dtype=torch.float32), 1e30)


def steps_add_up_to_the_sequence(parts: Parts, shape: Shape) -> None:
    case = make_case(parts, shape)
    bank = case.bank()
    whole_tape, step_tape = Tape(), Tape()
    whole = case.attention(case.query, bank, tape=whole_tape)
    past = case.attention.start(bank)
    contexts = []
    for t in range(shape.T):
        positions = torch.full((shape.B, 1), t)
        step = case.attention(case.query[:, t : t + 1], bank, positions=positions, past=past, tape=step_tape)
        past = step.past
        contexts.append(step.context)
    assert_close(torch.cat(contexts, 1), whole.context)
    assert_close(step_tape["attention"], whole_tape["attention"])
    assert (past is None) == (not case.attention.sequential)
    assert_close(list(pytree.leaves(past)), list(pytree.leaves(whole.past)))


def hypotheses_share_the_bank_of_their_sentence(parts: Parts, shape: Shape) -> None:
    case = make_case(parts, shape, mask="queries")
    beams = 3
    query = torch.randn(shape.B * beams, *case.query.shape[1:], dtype=case.query.dtype)
    shared, copied = case.bank(), pytree.repeat_rows(case.bank(), beams)
    for tape in _paths(case):
        of_shared, of_copied = (case.attention(query, bank, tape=tape) for bank in (shared, copied))
        assert_close(list(pytree.leaves(of_shared)), list(pytree.leaves(of_copied)))


def a_cache_that_fills_up_is_a_bank_behind_a_causal_mask(parts: Parts, shape: Shape) -> None:
    case = make_case(parts, replace(shape, S=shape.T), mask=None)
    whole = replace(case, mask=masks.causal(shape.T).expand(shape.B, -1, -1))
    context, weights = whole.recorded()
    cache = Cache.empty(case.attention, shape.B, shape.T, case.values.shape[-1], case.query)
    past = case.attention.start(cache.bank(ahead=1))
    tape = Tape()
    for t in range(shape.T):
        now = slice(t, t + 1)
        cache = cache.add(*case.attention.project(case.keys[:, now], case.values[:, now]))
        positions = torch.full((shape.B, 1), t)
        step = case.attention(case.query[:, now], cache.bank(), positions=positions, past=past, tape=tape)
        past = step.past
        assert_close(step.context, context[:, now])
    assert_close(tape["attention"], weights)


def neither_batch_mates_nor_padding_matter(parts: Parts, shape: Shape) -> None:
    case = make_case(parts, shape)
    context, weights = case.recorded()
    for row, length in enumerate(masks.lengths_of(case.mask).tolist()):
        one = slice(row, row + 1)
        alone = Case(case.attention, case.query[one], case.keys[one, :length], case.values[one, :length])
        context_alone, weights_alone = alone.recorded()
        assert_close(context[one], context_alone)
        assert_close(weights[one, ..., :length], weights_alone)
        assert (weights[one, ..., length:] == 0).all()


def a_query_that_sees_nothing_gets_nothing(parts: Parts, shape: Shape) -> None:
    _check_unseeing(parts, shape, torch.float32)


def the_order_of_the_keys_does_not_matter(parts: Parts, shape: Shape) -> None:
    case = make_case(parts, shape, mask="queries")
    order = torch.randperm(shape.S)
    shuffled = replace(case, keys=case.keys[:, order], values=case.values[:, order], mask=case.mask[..., order])
    context, weights = case.recorded()
    shuffled_context, shuffled_weights = shuffled.recorded()
    assert_close(shuffled_context, context)
    assert_close(shuffled_weights, weights[..., order])
    assert_close(shuffled.run().context, context)


def a_word_hidden_by_steering_is_one_behind_the_mask(parts: Parts, shape: Shape) -> None:
    """The window keeps its place: local-p counts the keys that steering hides."""
    case = make_case(parts, shape)
    kept = torch.rand(shape.S) < 0.6
    steering = Steering(["attention"], blocked=(~kept).nonzero().flatten().tolist())
    with _counting(case):
        context, weights = replace(case, mask=case.mask & kept).recorded()
    whole, steps = Tape(steering=steering), Tape(steering=steering)
    assert_close(case.run(whole).context, context)
    assert_close(whole["attention"], weights)
    bank = case.bank()
    past = case.attention.start(bank)
    for t in range(shape.T):
        now = slice(t, t + 1)
        step = case.attention(case.query[:, now], bank, positions=torch.tensor([[t]]), past=past, tape=steps)
        past = step.past
        assert_close(step.context, context[:, now])
    assert_close(steps["attention"], weights)


LAWS = [
    weights_share_out_what_is_seen,
    a_tape_changes_nothing,
    junk_behind_the_mask_changes_nothing,
    steps_add_up_to_the_sequence,
    hypotheses_share_the_bank_of_their_sentence,
    a_cache_that_fills_up_is_a_bank_behind_a_causal_mask,
    neither_batch_mates_nor_padding_matter,
    a_query_that_sees_nothing_gets_nothing,
    a_word_hidden_by_steering_is_one_behind_the_mask,
    the_order_of_the_keys_does_not_matter,
]


def _lawful(combinations: Callable[[int], list[Parts]]) -> list:
    """Every property with the combinations, chosen by its number, that it applies to."""
    return [
        pytest.param(law, parts, id=f"{law.__name__}-{parts}")
        for number, law in enumerate(LAWS)
        for parts in combinations(number)
        if law is not the_order_of_the_keys_does_not_matter or not parts.positional
    ]


@pytest.mark.parametrize(("law", "parts"), _lawful(some_pairs))
def test_law_holds_for_every_pair_of_entries(law, parts):
    """Each property meets other combinations, so that together they meet most of all."""
    law(parts, Shape(B=2, T=2, S=5))


@pytest.mark.parametrize(("law", "parts"), _lawful(lambda number: ENTRIES))
@settings(max_examples=6)
@given(shape=shapes)
@example(shape=Shape(B=1, T=1, S=1))
@example(shape=Shape(B=2, T=7, S=1))
def test_law_holds_for_every_shape(law, parts, shape):
    torch.manual_seed(1)
    law(parts, shape)


# Half precision


@pytest.mark.parametrize("parts", ENTRIES, **ids)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], **ids)
def test_a_query_that_sees_nothing_gets_nothing_in_half_precision(dtype, parts):
    _check_unseeing(parts, Shape(B=2, T=3, S=5), dtype)


@pytest.mark.parametrize("parts", ENTRIES, **ids)
@pytest.mark.parametrize(("dtype", "junk"), [(torch.bfloat16, 1e30), (torch.float16, 1e4)], **ids)
def test_junk_behind_the_mask_changes_nothing_in_half_precision(dtype, junk, parts):
    _check_junk(make_case(parts, Shape(B=2, T=3, S=5), dtype=dtype), junk)


@pytest.mark.parametrize("recorded", [False, True], ids=["fused", "recorded"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], **ids)
@pytest.mark.parametrize("name", SCORES)
def test_half_precision_errs_at_most_twice_as_much_as_plain_torch(name, dtype, recorded):
    """The root of the mean squared error over a few draws, of the context and of the gradients."""
    parts = Parts(score=name)
    squares = defaultdict(lambda: torch.zeros(3, dtype=torch.float64))
    for _ in range(4):
        halves = make_case(parts, Shape(B=2, T=7, S=63), dtype=dtype, attention=parts.build(score_options=None))
        wide = {part: getattr(halves, part).double() for part in ("query", "keys", "values")}
        truth = outcome(replace(halves, attention=copy.deepcopy(halves.attention).double(), **wide), Tape())
        ours = outcome(halves, Tape() if recorded else None)
        plain = outcome(halves, run=_plain_attention)
        for what in ("context", "query", "keys", "values"):
            sizes = ours[what] - truth[what], plain[what] - truth[what], truth[what]
            squares[what] += torch.stack([tensor.square().mean() for tensor in sizes])
    for what, (error, allowed, size) in ((what, sums.sqrt().tolist()) for what, sums in squares.items()):
        rounding = torch.finfo(dtype).eps * size
        assert allowed <= 8 * rounding, f"{what}: plain torch computes something else"
        floor = 0.05 * rounding
        assert error <= 2 * allowed + floor, f"{what}: {error:.2e}, plain torch {allowed:.2e}"


PLAIN_SCORES = {
    "dot": lambda score, q, k, past: q @ k.mT,
    "scaled-dot": lambda score, q, k, past: q @ k.mT / q.shape[-1] ** 0.5,
    "general": lambda score, q, k, past: q @ score.weight @ k.mT,
    "concat": lambda score, q, k, past: _plain_network(score, q, k, 0),
    "additive": lambda score, q, k, past: _plain_network(score, q, k, 0),
    "cosine": lambda score, q, k, past: (
        score.log_sharpness.exp() * (q / q.norm(dim=-1, keepdim=True)) @ (k / k.norm(dim=-1, keepdim=True)).mT
    ),
    "location": lambda score, q, k, past: (q @ score.weight.mT)[..., : k.shape[-2]],
    "location-aware": lambda score, q, k, past: _plain_network(
        score, q, k, score.bias + (score.filters(past.previous).mT @ score.filter_weight.mT)[:, None]
    ),
    "projected-dot": lambda score, q, k, past: (q @ score.query_weight.mT) @ (k @ score.key_weight.mT).mT,
    "coverage": lambda score, q, k, past: _plain_network(
        score, q, k, score.bias + past.total.mT[:, None] @ score.coverage_weight
    ),
}
"""Each score written naively in torch, for its errors in half precision."""


def _plain_network(score, q, k, more):
    inner = (q @ score.query_weight.mT)[:, :, None] + (k @ score.key_weight.mT)[:, None] + more
    return torch.tanh(inner) @ score.v[0]


def _plain_attention(case: Case) -> torch.Tensor:
    score, mask = inner_of(case.attention).score, case.mask[:, None]
    name = next(name for name, kind in SCORES.items() if kind is type(score))
    assert name in PLAIN_SCORES, f"write {name!r} in plain torch into PLAIN_SCORES"
    even = mask.to(case.query.dtype) / mask.sum(-1, keepdim=True)
    past = AttentionState(even, torch.zeros_like(even))
    contexts = []
    for t in range(case.query.shape[1]):
        scores = PLAIN_SCORES[name](score, case.query[:, t : t + 1], case.keys, past)
        weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), -1)
        past = AttentionState(weights, past.total + weights)
        contexts.append(weights @ case.values)
    return torch.cat(contexts, 1)


@pytest.mark.parametrize("parts", [parts for parts in ENTRIES if parts.heads is None], **ids)
@pytest.mark.parametrize("mode", ["evaluating", "training"])
def test_values_behind_the_mask_may_overflow_the_gradient_of_their_weights(mode, parts):
    """That gradient is infinite in half precision; nothing may multiply it by zero."""
    options = {"align_options": {"estimator": "gumbel"}} if parts.align == "hard" else {}
    attention = parts.build(**options).train(mode == "training")
    case = make_case(parts, Shape(), dtype=torch.float16, attention=attention)
    case = replace(case, values=case.values.masked_fill(~case.mask[..., None], 6e4))
    for tape in (None, Tape()):
        assert all(tensor.isfinite().all() for tensor in outcome(case, tape).values())


# Gradients


@pytest.mark.parametrize("parts", [parts for parts in ENTRIES if not ALIGNS[parts.align].samples], **ids)
def test_gradients_are_those_of_finite_differences(parts):
    case = make_case(parts, Shape(B=2, T=3, S=4), mask="queries").with_gradients()

    def outputs(*perturbed_in_place):
        return case.run().context, *case.recorded()

    parameters = [parameter for parameter in case.attention.parameters() if parameter.requires_grad]
    assert torch.autograd.gradcheck(outputs, (case.query, case.keys, case.values, *parameters), fast_mode=True)


@pytest.mark.parametrize("heads", [None, 2])
def test_the_sparsity_of_each_head_is_learned(heads):
    case = make_case(Parts(align="entmax-alpha", heads=heads), Shape())
    gradient = next(value for name, value in outcome(case).items() if name.endswith("alpha_logit"))
    assert gradient.numel() == (heads or 1)
    assert (gradient != 0).all()


@pytest.mark.parametrize("heads", [None, 2])
@pytest.mark.parametrize(("estimator", "passes"), [("gumbel", True), ("reinforce", False)])
def test_of_the_hard_estimators_only_gumbel_passes_gradient_through_the_draw(estimator, passes, heads):
    attention = Parts(align="hard", heads=heads).build(align_options={"estimator": estimator}).train()
    case = make_case(Parts(align="hard", heads=heads), Shape(), attention=attention)
    found = outcome(case)
    assert (found["query"] != 0).any() == passes
    assert (found["keys"] != 0).any() == passes
    assert (found["values"] != 0).any(), "the values that were chosen always learn"
    asking = case.with_gradients()
    assert asking.run().distribution.requires_grad, "reinforce_loss gives the distribution a gradient"


# Preparing


@pytest.mark.parametrize("heads", [None, 2])
@pytest.mark.parametrize("name", SCORES)
def test_keys_are_prepared_position_by_position(name, heads):
    score = inner_of(Parts(score=name, heads=heads).build()).score
    keys = torch.randn(2, *([] if heads is None else [heads]), 7, score.key_width)
    prepared = score.prepare(keys)
    assert prepared.shape == (*keys.shape[:-1], score.prepared_width)
    pieces = [score.prepare(piece) for piece in keys.split([1, 4, 2], -2)]
    assert_close(torch.cat(pieces, -2), prepared)


# What several laws check


def _with_heads(tensor: torch.Tensor, parts: Parts) -> torch.Tensor:
    return tensor if parts.heads else tensor[:, None]


@contextmanager
def _counting(case: Case) -> Iterator[None]:
    """Inside, a window that predicts its center uses the number of keys of this case, whatever its mask."""
    window = inner_of(case.attention).window
    if not isinstance(window, LocalPredictive):
        yield
        return
    mask, centre = case.bank().mask, window.centre
    window.centre = lambda query, size, shown: centre(query, size, mask)
    try:
        yield
    finally:
        del window.centre


def _paths(case: Case) -> list[Tape | None]:
    """Both paths, unrecorded and recorded, where a fused kernel may run, else the recorded one; it comes last."""
    inner = inner_of(case.attention)
    return [None, Tape()] if inner.align.fusable and not inner.sequential else [Tape()]


def _check_junk(case: Case, junk: float) -> None:
    hidden = ~case.mask[..., None]
    rubbish = {
        name: torch.where(hidden, junk * torch.randn_like(clean).sign(), clean)
        for name, clean in (("keys", case.keys), ("values", case.values))
    }
    dirty = replace(case, **rubbish)
    for tape in _paths(case):
        assert_same(outcome(dirty, tape), outcome(case, tape))
    found, wanted = tape["attention"].chunk(2, 2)
    assert_close(found, wanted)


def _check_unseeing(parts: Parts, shape: Shape, dtype: torch.dtype) -> None:
    case = make_case(parts, shape, mask="queries", dtype=dtype)
    blind = torch.zeros(shape.B, shape.T, dtype=torch.bool)
    blind[0] = True  # a sentence of which nothing can be seen
    blind[-1, 0] = True  # and one query that sees nothing among others that do
    case.mask[blind] = False
    nothing = case.attention.output.bias if isinstance(case.attention, MultiHead) else torch.zeros(())
    for tape in _paths(case):
        found = outcome(case, tape)
        assert (found["context"][blind] == nothing).all()
        assert (found["query"][blind] == 0).all()
        assert (found["keys"][0] == 0).all()
        assert (found["values"][0] == 0).all()
        assert all(tensor.isfinite().all() for tensor in found.values())
    assert (tape["attention"].transpose(1, 2)[blind] == 0).all()
