"""Steps whose sums are deferred to the end of the loop: the same gradients as autograd's."""

import gc
import weakref

import pytest
import torch
from torch.testing import assert_close

from helpers import additive_by_torch as by_torch
from helpers.additive import Steps
from helpers.naive_kernels import naive_attend
from saccade.kernels.additive.collect import attend, collect
from saccade.kernels.additive.parts import Parts

CASES = [
    Steps(steps=3),
    Steps(heads=2, length=3, steps=2, masked=True),
    Steps(heads=3, features=1, steps=3, masked=True),
    Steps(sentences=3, heads=8, length=2, size=3, features=4, steps=2),
]


@pytest.mark.parametrize("collected", [False, True])
@pytest.mark.parametrize("steps", CASES, ids=str)
def test_contexts_weights_and_gradients_are_those_of_the_definition(steps, collected):
    inputs = steps.inputs(torch.float64)
    ours, theirs = steps.run(by_torch, inputs, collected=collected), steps.run(None, inputs)
    for name, expected in theirs.items():
        assert_close(ours[name], expected, msg=lambda text, name=name: f"{name}: {text}")


def test_a_sentence_with_nothing_to_see_gives_zeros_and_gets_none():
    steps = Steps(sentences=2, steps=2, masked=True, features=1)
    found = steps.run(by_torch, steps.inputs(torch.float64))
    for name in ("context", "weights", "gradient of queries"):
        assert found[name][:, 1].count_nonzero() == 0
    for name in ("gradient of keys", "gradient of values", "gradient of features"):
        assert found[name][1].count_nonzero() == 0


def parts(**sizes):
    steps = Steps(**sizes)
    inputs = {name: x.requires_grad_() for name, x in steps.inputs(torch.float64).items() if "to_" not in name}
    return inputs["queries"][0], inputs["keys"], inputs["values"], inputs["v"]


def test_sums_are_made_once_however_many_steps_there_are(monkeypatch):
    calls = []
    real = by_torch.gather
    monkeypatch.setattr(by_torch, "gather", lambda *given: calls.append(given) or real(*given))
    steps = Steps(steps=5)
    steps.run(by_torch, steps.inputs(torch.float64))
    assert [given[0].query.shape[2] for given in calls] == [5]


def test_keys_that_also_go_another_way_get_both_gradients():
    query, keys, values, v = parts()
    here, there = collect(by_torch, keys, values, v)
    ours = attend(by_torch, Parts(query, here, there, v))[0].sum() + (here.square().sum() + there.sum())
    theirs = naive_attend(query, keys, values, v)[0].sum() + (keys.square().sum() + values.sum())
    for one, other in zip(*(torch.autograd.grad(x, (query, keys, values, v)) for x in (ours, theirs)), strict=True):
        assert_close(one, other)


def test_a_pass_that_stops_before_the_sums_leaves_nothing_for_the_next():
    query, keys, values, v = parts()
    context = attend(by_torch, Parts(query, *collect(by_torch, keys, values, v), v))[0]
    torch.autograd.grad(context.sum(), query, retain_graph=True)
    (first,) = torch.autograd.grad(context.sum(), keys, retain_graph=True)
    (again,) = torch.autograd.grad(context.sum(), keys)
    (expected,) = torch.autograd.grad(naive_attend(query, keys, values, v)[0].sum(), keys)
    assert_close(first, expected)
    assert_close(again, expected)


def test_a_ledger_goes_with_its_graph():
    query, keys, values, v = parts(features=1)
    collected = collect(by_torch, keys, values, v)
    ledger = weakref.ref(collected[0].grad_fn.ledger)
    state = query
    for _ in range(2):
        state = state + attend(by_torch, Parts(state, *collected, v))[0].sum()
    torch.autograd.grad(state.sum(), query, retain_graph=True)  # leaves lines that are never summed
    gc.disable()
    try:
        del collected, state
        assert ledger() is None
    finally:
        gc.enable()


def test_keys_collected_for_other_parameters_are_plain_keys():
    query, keys, values, v = parts()
    other = v.detach().clone().requires_grad_()
    attend(by_torch, Parts(query, *collect(by_torch, keys, values, v), other))[0].sum().backward()
    assert v.grad is None
    assert other.grad.abs().sum() > 0
    assert keys.grad.abs().sum() > 0


def test_only_the_weights_or_only_the_context_may_be_used():
    for which in (0, 1):
        query, keys, values, v = parts()
        ours = attend(by_torch, Parts(query, *collect(by_torch, keys, values, v), v))[which].square().sum()
        theirs = naive_attend(query, keys, values, v)[which].square().sum()
        expected = torch.autograd.grad(theirs, (query, keys, v))
        for one, other in zip(torch.autograd.grad(ours, (query, keys, v)), expected, strict=True):
            assert_close(one, other)


def test_without_gradients_nothing_is_collected():
    _, keys, values, v = parts()
    with torch.no_grad():
        assert collect(by_torch, keys, values, v) == (keys, values)
    assert collect(by_torch, keys.detach(), values.detach(), v.detach())[0].grad_fn is None
