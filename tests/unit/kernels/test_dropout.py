"""Dropout: the right share of numbers dropped, independently, and the same ones in both passes."""

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck, gradgradcheck
from torch.testing import assert_close

from helpers.naive_kernels import naive_dropout
from saccade.errors import ConfigError
from saccade.kernels.dropout import Dropout, dropout

MANY = 1 << 20


def level(p):
    """The probability of a zero that `dropout` really uses."""
    return 1 - round((1 - p) * 256) / 256


def z_score(share, probability, draws):
    """How many standard deviations a share of `draws` coins lies from its expectation."""
    return abs(share - probability) / (probability * (1 - probability) / draws) ** 0.5


@pytest.mark.parametrize("p", [1 / 256, 0.1, 0.3, 0.5, 0.9, 255 / 256])
@pytest.mark.parametrize("drop", [dropout, naive_dropout], ids=["bytewise", "naive"])
def test_the_right_share_is_dropped_and_the_rest_scaled(drop, p):
    exact = level(p) if drop is dropout else p
    out = drop(torch.ones(MANY), p)
    assert z_score((out == 0).double().mean().item(), exact, MANY) < 4
    assert_close(out[out != 0], torch.full_like(out[out != 0], 1 / (1 - exact)))


def test_mean_and_variance_are_those_of_the_naive_form():
    """E = x and Var = x² p / (1 - p); at p = 1/4, which is a whole number of levels, for both forms."""
    x = torch.full((MANY,), 3.0, dtype=torch.float64)
    for drop in (dropout, naive_dropout):
        out = drop(x, 0.25)
        assert out.mean().item() == pytest.approx(3.0, abs=4 * (3 / MANY) ** 0.5)
        assert out.var().item() == pytest.approx(9 * 0.25 / 0.75, rel=0.01)


def test_a_probability_between_levels_leaves_the_expected_value_exact():
    p = 0.1  # 230 of 256 levels are kept: 0.1016 are dropped, and the rest scaled for that
    scale = dropout(torch.ones(1000, dtype=torch.float64), p).max().item()
    assert scale * (1 - level(p)) == 1
    assert abs(level(p) - p) <= 1 / 512


@pytest.mark.parametrize("distance", [*range(1, 9), 16, 63, 64, 1024])
def test_neighbours_are_independent(distance):
    """Eight numbers share a draw of 64 bits; they must be independent, in their own draw and the next."""
    dropped = dropout(torch.ones(MANY), 0.3) == 0
    together = (dropped[distance:] & dropped[:-distance]).double().mean().item()
    assert z_score(together, level(0.3) ** 2, MANY / 2) < 4  # half: overlapping pairs are not independent


def test_each_place_in_a_draw_is_dropped_as_often():
    for dropped in (dropout(torch.ones(MANY), 0.5) == 0).view(-1, 8).double().mean(0).tolist():
        assert z_score(dropped, 0.5, MANY / 8) < 4


def test_two_calls_are_independent():
    first, second = (dropout(torch.ones(MANY), 0.5) == 0 for _ in range(2))
    assert z_score((first & second).double().mean().item(), 0.25, MANY) < 4


def test_the_seed_decides():
    x = torch.randn(100, 37)
    outs = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        outs.append(dropout(x, 0.4))
    assert (outs[0] == outs[1]).all()
    assert not (outs[0] == outs[2]).all()


def test_a_saved_state_of_the_generator_resumes():
    x = torch.randn(33, 7)
    dropout(x, 0.2)
    state = torch.get_rng_state()
    later = [dropout(x, 0.2), torch.rand(3)]
    torch.set_rng_state(state)
    assert_close([dropout(x, 0.2), torch.rand(3)], later, rtol=0, atol=0)


def test_the_number_of_threads_changes_nothing():
    x = torch.ones(MANY // 4)
    outs = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        torch.manual_seed(3)
        outs.append(dropout(x, 0.3))
    torch.set_num_threads(before)
    assert (outs[0] == outs[1]).all()


def test_the_gradient_is_the_mask_times_the_scale():
    x = torch.ones(50, 11, requires_grad=True)
    out = dropout(x, 0.5)
    upstream = torch.randn_like(out)
    out.backward(upstream)
    assert_close(x.grad, upstream * out.detach())


def test_only_a_byte_a_number_is_kept_for_the_backward_pass():
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor, lambda tensor: tensor):
        dropout(torch.randn(8, 8, requires_grad=True), 0.3)
    assert [(tensor.dtype, tensor.numel()) for tensor in kept] == [(torch.uint8, 64)]


def test_first_and_second_derivatives():
    def same_mask(x):
        torch.manual_seed(0)
        return dropout(x, 0.4) ** 2

    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    assert gradcheck(same_mask, [x])
    assert gradgradcheck(same_mask, [x])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_every_dtype_is_kept(dtype):
    x = torch.ones(64, 3, dtype=dtype, requires_grad=True)
    out = dropout(x, 0.25)
    out.sum().backward()
    assert out.dtype == x.grad.dtype == dtype
    assert set(out.tolist()[0]) <= {0.0, torch.tensor(4 / 3, dtype=dtype).item()}


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (8,), (9,), (3, 0, 2), (2, 3, 5)], ids=str)
def test_every_shape(shape):
    x = torch.ones(shape, requires_grad=True)
    out = dropout(x, 0.5)
    assert out.shape == shape
    assert ((out == 0) | (out == 2)).all()
    out.sum().backward()
    assert_close(x.grad, out.detach())


@pytest.mark.parametrize(
    "view",
    [lambda x: x.t(), lambda x: x[:, ::2], lambda x: x[:1].expand(6, -1)],
    ids=["transposed", "strided", "expanded"],
)
def test_the_layout_in_memory_changes_nothing(view):
    x = view(torch.randn(6, 10))
    outs = []
    for tensor in (x, x.contiguous()):
        torch.manual_seed(2)
        outs.append(dropout(tensor, 0.5))
    assert_close(*outs, rtol=0, atol=0)


def test_the_input_is_left_alone():
    x = torch.randn(9)
    copy = x.clone()
    dropout(x, 0.5)
    assert (x == copy).all()


def test_nothing_to_drop_gives_back_the_input_itself():
    x = torch.randn(4)
    assert dropout(x, 0.0) is x
    assert dropout(x, 0.5, training=False) is x


@pytest.mark.parametrize("p", [0.001, 0.999, 1.0])
def test_what_a_byte_cannot_say_is_left_to_torch(p, monkeypatch):
    asked = []
    monkeypatch.setattr(F, "dropout", lambda x, p: asked.append(p) or x)
    dropout(torch.ones(4), p)
    assert asked == [p]


def test_all_may_be_dropped():
    assert (dropout(torch.ones(5), 1.0) == 0).all()


@pytest.mark.parametrize("p", [-0.1, 1.5])
@pytest.mark.parametrize("make", [Dropout, lambda p: dropout(torch.ones(2), p)], ids=["layer", "function"])
def test_a_share_beyond_none_and_all_is_refused(make, p):
    with pytest.raises(ConfigError, match=rf"dropout is {p}, .* in \[0, 1\]"):
        make(p)


def test_the_layer_drops_in_training_only():
    x = torch.ones(1000)
    layer = Dropout(0.5)
    assert 300 < (layer(x) == 0).sum() < 700
    assert layer.eval()(x) is x
    assert repr(layer) == "Dropout(p=0.5)"


def test_it_compiles_as_one_graph():
    layer = Dropout(0.5)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    x = torch.ones(1000, requires_grad=True)
    out = compiled(x)
    out.sum().backward()
    assert 300 < (out == 0).sum() < 700
    assert_close(x.grad, out.detach())


def test_a_probability_is_quantised_to_the_nearest_level():
    for kept in range(1, 256):
        scale = dropout(torch.ones(4096, dtype=torch.float64), 1 - kept / 256 + 0.4 / 256).max().item()
        assert scale in (0.0, 256 / kept)


def test_locked_a_feature_is_dropped_through_the_whole_sentence_and_by_itself_in_each():
    x = torch.randn(64, 7, 32, requires_grad=True)
    out = Dropout(0.5, locked=True)(x)
    dropped = out == 0
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert z_score(dropped[:, 0].double().mean().item(), 0.5, 64 * 32) < 4
    assert len(dropped[:, 0].unique(dim=0)) == 64
    assert_close(out[~dropped], 2 * x[~dropped])
    out.sum().backward()
    assert_close(x.grad, torch.where(dropped, 0.0, 2.0))


def test_over_steps_a_locked_layer_keeps_its_mask_and_another_does_not():
    x = torch.ones(4, 1000)
    locked, free = (Dropout(0.5, locked=kind).over_steps() for kind in (True, False))
    assert torch.equal(locked(x) == 0, locked(2 * x) == 0)
    assert not torch.equal(free(x) == 0, free(x) == 0)
    again = Dropout(0.5, locked=True).over_steps()
    assert not torch.equal(locked(x) == 0, again(x) == 0)


def test_locked_it_drops_in_training_only():
    x, layer = torch.ones(2, 3, 4), Dropout(0.5, locked=True).eval()
    assert layer(x) is x
    assert layer.over_steps()(x) is x
    assert repr(layer) == "Dropout(p=0.5, locked=True)"
