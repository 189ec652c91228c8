"""Tape: the recorder of attention weights."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from saccade.attention import Attention, DotScore, MultiHead, Tape, build_attention, name_sites
from saccade.errors import ConfigError, ShapeError


def test_steps_are_laid_one_after_the_other_on_t():
    tape = Tape()
    first, second = torch.rand(2, 1, 1, 5), torch.rand(2, 1, 3, 5)
    tape.write("decoder", first)
    tape.write("decoder", second)
    assert tape["decoder"].shape == (2, 1, 4, 5)
    assert_close(tape["decoder"][:, :, 1:], second)


def test_sites_are_kept_apart_in_the_order_of_writing():
    tape = Tape()
    tape.write("b", torch.zeros(1, 1, 1, 2))
    tape.write("a", torch.ones(1, 2, 1, 2))
    assert list(tape) == ["b", "a"]
    assert len(tape) == 2
    assert "a" in tape
    assert "c" not in tape
    assert repr(tape) == "Tape(b (1, 1, 1, 2), a (1, 2, 1, 2))"


@pytest.mark.parametrize("detach", [False, True])
def test_weights_stay_in_the_graph_unless_cut_off(detach):
    tape = Tape(detach=detach)
    attention = Attention(DotScore(2, 2))
    query = torch.randn(1, 1, 2, requires_grad=True)
    attention(query, attention.bank(torch.randn(1, 3, 2)), tape=tape)
    assert tape["attention"].requires_grad == (not detach)


def test_an_unknown_site_is_answered_with_the_nearest():
    tape = Tape()
    tape.write("decoder.attention", torch.zeros(1, 1, 1, 1))
    tape.write("encoder.0", torch.zeros(1, 1, 1, 1))
    with pytest.raises(ConfigError, match=r"'decoder.atention'.*mean 'decoder.attention'\?.*Known: .*encoder.0"):
        tape["decoder.atention"]


def test_one_head_counts_as_a_head():
    one, many = build_attention("dot", 4, 4), build_attention("dot", 4, 4, heads=2)
    source = torch.randn(2, 5, 4)
    for attention, heads in ((one, 1), (many, 2)):
        tape = Tape()
        attention(source[:, :3], attention.bank(source), tape=tape)
        assert tape["attention"].shape == (2, heads, 3, 5)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.ModuleList([build_attention("dot", 4, 4, heads=2) for _ in range(2)])
        self.look = build_attention("additive", 4, 4)


def test_sites_are_named_by_their_place_in_the_model():
    model = Model()
    name_sites(model)
    assert model.encoder[1].inner.site == "encoder.1"
    assert model.look.site == "look"


@pytest.mark.parametrize("heads", [None, 2])
def test_an_attention_that_is_the_whole_model_is_called_attention(heads):
    attention = build_attention("dot", 4, 4, heads=heads)
    name_sites(attention)
    assert (attention.inner if isinstance(attention, MultiHead) else attention).site == "attention"


def test_an_attribute_that_merely_ends_in_inner_keeps_its_name():
    model = nn.Module()
    model.winner = build_attention("dot", 4, 4)
    name_sites(model)
    assert model.winner.site == "winner"


def test_two_attentions_cannot_share_a_site():
    model = nn.ModuleDict({"one": Attention(DotScore(2, 2)), "two": Attention(DotScore(2, 2))})
    x = torch.randn(1, 3, 2)
    tape = Tape()
    model["one"](x, model["one"].bank(x), tape=tape)
    with pytest.raises(ConfigError, match=r"two attentions write to the site 'attention'.*name_sites\(model\)"):
        model["two"](x, model["two"].bank(x), tape=tape)
    name_sites(model)
    tape = Tape()
    for attention in model.values():
        attention(x, attention.bank(x), tape=tape)
    assert list(tape) == ["one", "two"]


def test_details_of_heads_hold_the_query_of_every_step_and_keys_and_values_once():
    attention = build_attention("scaled-dot", 4, 4, heads=2)
    bank, tape = attention.bank(torch.randn(1, 5, 4)), Tape(detailed=True)
    for step in range(3):
        attention(torch.randn(1, 1, 4), bank, positions=torch.tensor([[step]]), tape=tape)
    assert tape.notes["attention.query"].shape == (1, 2, 3, 2)
    assert torch.equal(tape.notes["attention.key"], bank.keys)
    assert torch.equal(tape.notes["attention.value"], bank.values)
    assert tape.notes["attention.scores"].shape == (1, 2, 3, 5)


def test_a_tape_is_for_one_call():
    tape = Tape()
    tape.write("here", torch.zeros(2, 1, 3, 4))
    with pytest.raises(
        ShapeError, match=r"\(B, H, S\) = \(2, 1, 4\), but the new weights have \(5, 1, 6\).*fresh Tape"
    ):
        tape.write("here", torch.zeros(5, 1, 3, 6))
