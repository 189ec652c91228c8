"""Multi-head attention against torch.nn.MultiheadAttention with the same weights."""

import pytest
import torch
from torch import nn

from saccade import masks
from saccade.attention import Attention, MultiHead, ScaledDot, Tape, build_attention

WIDTH, HEADS = 8, 2


def twins(key_width=WIDTH, value_width=WIDTH, bias=True):
    """Torch's and ours, with the same numbers in them."""
    theirs = nn.MultiheadAttention(WIDTH, HEADS, bias=bias, kdim=key_width, vdim=value_width, batch_first=True).double()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.5)
    inner = Attention(ScaledDot(WIDTH // HEADS, WIDTH // HEADS, heads=HEADS))
    ours = MultiHead(inner, WIDTH, key_width, value_width, bias=bias).double()
    if theirs.in_proj_weight is not None:
        matrices = theirs.in_proj_weight.chunk(3)
    else:
        matrices = theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight
    with torch.no_grad():
        for layer, matrix in zip((ours.query, ours.key, ours.value), matrices, strict=True):
            layer.weight.copy_(matrix)
        ours.output.weight.copy_(theirs.out_proj.weight)
        if bias:
            for layer, vector in zip((ours.query, ours.key, ours.value), theirs.in_proj_bias.chunk(3), strict=True):
                layer.bias.copy_(vector)
            ours.output.bias.copy_(theirs.out_proj.bias)
    return theirs, ours


def compare(theirs, ours, query, keys, values, mask=None, **their_masks):
    context, weights = theirs(query, keys, values, average_attn_weights=False, **their_masks)
    tape = Tape()
    bank = ours.bank(keys, values, mask)
    torch.testing.assert_close(ours(query, bank).context, context)
    torch.testing.assert_close(ours(query, bank, tape=tape).context, context)
    torch.testing.assert_close(tape["attention"], weights)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("bias", [True, False])
def test_plain(bias):
    compare(*twins(bias=bias), randn(3, 4, WIDTH), randn(3, 7, WIDTH), randn(3, 7, WIDTH))


def test_keys_and_values_of_other_widths():
    compare(*twins(key_width=5, value_width=6), randn(3, 4, WIDTH), randn(3, 7, 5), randn(3, 7, 6))


def test_padding():
    mask = masks.padding(torch.tensor([2, 7, 4]))
    source = randn(3, 7, WIDTH)
    compare(*twins(), randn(3, 4, WIDTH), source, source, mask, key_padding_mask=~mask)  # torch: True = hide


def test_causal():
    mask = masks.causal(7)
    x = randn(3, 7, WIDTH)
    compare(*twins(), x, x, x, mask, attn_mask=~mask[0])


def test_padding_and_causal():
    padding, causal = masks.padding(torch.tensor([2, 7, 4])), masks.causal(7)
    x = randn(3, 7, WIDTH)
    compare(*twins(), x, x, x, padding[:, None] & causal, key_padding_mask=~padding, attn_mask=~causal[0])


def test_causal_for_a_single_sentence_needs_no_batch_axis():
    mask = masks.causal(7)[0]
    x = randn(1, 7, WIDTH)
    compare(*twins(), x, x, x, mask, attn_mask=~mask)


def test_a_mask_for_each_head():
    mask = torch.rand(3, HEADS, 4, 7) < 0.7
    mask[..., 0] = True  # torch gives NaN where nothing is seen
    compare(*twins(), randn(3, 4, WIDTH), randn(3, 7, WIDTH), randn(3, 7, WIDTH), mask, attn_mask=~mask.flatten(0, 1))


def test_gradients():
    theirs, ours = twins()
    mix = randn(3, 4, WIDTH)
    found = []
    inputs = randn(3, 4, WIDTH), randn(3, 7, WIDTH), randn(3, 7, WIDTH)
    for run in (lambda q, k, v: theirs(q, k, v)[0], lambda q, k, v: ours(q, ours.bank(k, v)).context):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        found.append(torch.autograd.grad((run(*leaves) * mix).sum(), leaves))
    torch.testing.assert_close(*found)


def test_build_attention_makes_the_same_attention():
    built = build_attention("scaled-dot", WIDTH, 5, WIDTH, heads=HEADS).double()
    theirs, ours = twins(key_width=5, value_width=WIDTH)
    built.load_state_dict(ours.state_dict())
    compare(theirs, built, randn(3, 4, WIDTH), randn(3, 7, 5), randn(3, 7, WIDTH))
