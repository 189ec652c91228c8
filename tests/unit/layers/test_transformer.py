"""Transformer layers through our kernels, on a GPU or through Triton's interpreter, against torch's own operations."""

import pytest
import torch

pytest.importorskip("triton", reason="needs Triton")

from saccade.attention import Tape
from saccade.batch import Batch
from saccade.kernels import disable_fused, dispatch
from saccade.models import build_seq2seq
from saccade.train.objective import WordLoss, losses_of

# the interpreter is numpy, which warns of infinities that the kernels count on
pytestmark = [
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:divide by zero encountered:RuntimeWarning"),
]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SIZES = {"width": 24, "feed_forward": 20, "layers": 2, "attention": {"score": "scaled-dot", "heads": 2}}


@pytest.fixture(autouse=True)
def by_our_kernels(monkeypatch):
    monkeypatch.setattr(dispatch, "_on_gpu", lambda tensor: True)


def model_of(dropout=0.0, **options):
    return build_seq2seq("transformer-base", 11, 11, **SIZES, dropout=dropout, **options).to(DEVICE)


def batch():
    return Batch.from_lists([[4, 5, 6, 7, 8], [5, 6], [9]], [[5, 6, 4], [4, 5, 6, 7], [9]]).to(DEVICE)


def long_batch():
    """Lengths at which the kernel for short sequences runs."""
    sources, targets = ([[4 + (i * k) % 7 for i in range(length)] for k, length in ((2, 21), (3, 5))] for _ in range(2))
    return Batch.from_lists(sources, targets).to(DEVICE)


def trained(model, batch, autocast=False):
    """The loss and all gradients."""
    model.zero_grad()
    with torch.autocast(DEVICE, torch.bfloat16, enabled=autocast):
        losses = losses_of(WordLoss(model, label_smoothing=0.1), batch)
    losses.total.backward()
    return {"loss": losses.total.detach()} | {name: part.grad.clone() for name, part in model.named_parameters()}


OPTIONS = [
    {"norm": "post"},
    {"norm": "pre"},
    {"norm": "pre", "positions": "rotary"},
    {"norm": "post", "positions": "learned", "tied": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_training_step_is_that_of_the_plain_way(options):
    model = model_of(**options)
    ours = trained(model, batch())
    with disable_fused():
        usual = trained(model, batch())
    for name, value in usual.items():
        torch.testing.assert_close(ours[name], value, atol=2e-5, rtol=2e-4, msg=lambda text, name=name: name + text)


@pytest.mark.parametrize("batch", [batch, long_batch])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_under_autocast_it_is_about_as_exact_as_the_plain_way(norm, batch):
    model = model_of(norm=norm)
    with disable_fused():
        exact = trained(model, batch())
        usual = trained(model, batch(), autocast=True)
    ours = trained(model, batch(), autocast=True)

    def off(found):
        return sum((found[name] - value).square().sum() for name, value in exact.items() if name != "loss").sqrt()

    assert all(value.isfinite().all() for value in ours.values())
    # only here the residual stream is bfloat16, and the interpreter truncates to bfloat16 instead of rounding
    assert off(ours) <= 4 * off(usual)


def test_gradients_under_autocast_are_in_float32():
    model = model_of(0.1)
    assert {value.dtype for value in trained(model, batch(), autocast=True).values()} == {torch.float32}


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_steps_say_what_whole_targets_say(norm):
    model = model_of(0.1, norm=norm).eval()
    fed = batch()
    with torch.no_grad():
        whole = model(fed)
        memory = model.encode(fed)
        state = model.init_state(memory, 8)
        for t in range(fed.inputs.shape[1]):
            logits, state = model.step(memory, state, fed.inputs[:, t])
            torch.testing.assert_close(logits, whole[:, t], atol=1e-5, rtol=1e-4)


def test_a_tape_changes_nothing():
    model = model_of()
    tape = Tape()
    torch.testing.assert_close(model(batch(), tape=tape), model(batch()), atol=1e-5, rtol=1e-4)
    assert tape["decoder.layers.0.cross"].shape == (3, 2, 5, 5)


def test_dropout_reaches_every_layer():
    model = model_of(0.5)
    torch.manual_seed(1)
    first, second = model(batch()), model(batch())
    torch.manual_seed(1)
    assert not torch.equal(first, second)
    assert torch.equal(first, model(batch()))
