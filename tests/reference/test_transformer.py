"""The Transformer against torch's own layers with copied weights, and positional encodings against their formulae."""

import math
from collections.abc import Iterable

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from helpers.models import MIXED, loud, tiny
from saccade import masks
from saccade.attention import MultiHead, build_attention
from saccade.layers.positions import Learned, Rotary, Sinusoidal
from saccade.layers.transformer import DecoderLayer, EncoderLayer

WIDTH, HEADS, INNER = 8, 2, 12
each_norm = pytest.mark.parametrize("norm", ["post", "pre"])


def heads() -> MultiHead:
    return build_attention("scaled-dot", WIDTH, WIDTH, heads=HEADS)


def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHead) -> None:
    projections = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.data.copy_(torch.cat([layer.weight for layer in projections]))
    theirs.in_proj_bias.data.copy_(torch.cat([layer.bias for layer in projections]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


def torch_layer(ours: EncoderLayer | DecoderLayer, norm: str) -> nn.Module:
    """Torch's layer with the weights of ours. In training mode, since evaluation has a separate fast path."""
    kind = nn.TransformerDecoderLayer if isinstance(ours, DecoderLayer) else nn.TransformerEncoderLayer
    theirs = kind(WIDTH, HEADS, INNER, dropout=0.0, batch_first=True, norm_first=norm == "pre").double().train()
    copy_attention(theirs.self_attn, ours.self_attention)
    around = [ours.around_self, ours.around_feed]
    if isinstance(ours, DecoderLayer):
        copy_attention(theirs.multihead_attn, ours.cross)
        around.insert(1, ours.around_cross)
    for number, residual in enumerate(around, 1):
        getattr(theirs, f"norm{number}").load_state_dict(residual.norm.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward[0].state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward[2].state_dict())
    return theirs


def random_sources() -> tuple[Tensor, Tensor]:
    return torch.randn(3, 7, WIDTH, dtype=torch.float64), masks.padding(torch.tensor([7, 1, 4]))


@each_norm
def test_an_encoder_layer_is_torchs(norm: str):
    layer = loud(EncoderLayer(heads(), WIDTH, INNER, norm=norm, dropout=0.0).double())
    x, mask = random_sources()
    theirs = torch_layer(layer, norm)(x, src_key_padding_mask=~mask)
    assert_close(layer(x, mask)[mask], theirs[mask])


@each_norm
def test_a_decoder_layer_is_torchs(norm: str):
    layer = loud(DecoderLayer(heads(), heads(), WIDTH, INNER, norm=norm, dropout=0.0).double())
    sources, mask = random_sources()
    x = torch.randn(3, 5, WIDTH, dtype=torch.float64)
    ours = layer(x, layer.cross.bank(sources, mask=mask))
    theirs = torch_layer(layer, norm)(x, sources, tgt_mask=~masks.causal(5)[0], memory_key_padding_mask=~mask)
    assert_close(ours, theirs)


def run_torch(layers: Iterable[nn.Module], norm: str, x: Tensor, *memory: Tensor, **masked: Tensor) -> Tensor:
    for layer in layers:
        x = torch_layer(layer, norm)(x, *memory, **masked)
    return x


@each_norm
def test_the_model_is_torchs_layers_on_scaled_embeddings_and_its_tied_output_is_not_scaled(norm: str):
    model, batch = loud(tiny("transformer-base", norm=norm).double()), MIXED.batch()
    E = model.target_embedding.weight
    assert model.source_embedding.weight is E
    assert model.output.weight is E

    def placed(tokens: Tensor) -> Tensor:
        codes = [[formula(p, i) for i in range(WIDTH)] for p in range(tokens.shape[1])]
        return E[tokens] * math.sqrt(WIDTH) + torch.tensor(codes, dtype=torch.float64)

    memory = run_torch(model.encoder.layers, norm, placed(batch.source), src_key_padding_mask=~batch.source_mask)
    T = batch.inputs.shape[1]
    masked = {"tgt_mask": ~masks.causal(T)[0], "memory_key_padding_mask": ~batch.source_mask}
    x = run_torch(model.decoder.layers, norm, placed(batch.inputs), model.encoder.norm(memory), **masked)
    wanted = model.decoder.norm(x) @ E.T + model.output.bias
    assert_close(model(batch), wanted, rtol=1e-5, atol=1e-5)  # positional encodings are made in float32
    for stack in (model.encoder, model.decoder):
        assert isinstance(stack.norm, nn.LayerNorm if norm == "pre" else nn.Identity)


def formula(position: int, entry: int) -> float:
    angle = position / 10000 ** (2 * (entry // 2) / WIDTH)
    return math.cos(angle) if entry % 2 else math.sin(angle)


def test_sinusoidal_positions_are_the_formula():
    codes = Sinusoidal(WIDTH)(torch.tensor([[0, 1, 2, 63], [5, 4, 1000, 0]]))
    for row, positions in enumerate([(0, 1, 2, 63), (5, 4, 1000, 0)]):
        for t, position in enumerate(positions):
            for entry in range(WIDTH):
                assert codes[row, t, entry].item() == pytest.approx(formula(position, entry), abs=1e-4)


def test_sinusoidal_positions_of_odd_width_leave_the_last_cosine_out():
    assert_close(Sinusoidal(5)(torch.arange(4)[None])[..., 4], torch.sin(torch.arange(4) * 10000 ** (-4 / 5))[None])


def test_learned_positions_are_rows_of_a_table():
    code = Learned(3, 6)
    assert_close(code(torch.tensor([[5, 0]])), code.table.weight[[5, 0]][None])


@pytest.mark.parametrize("distance", [0, 1, 6])
def test_rotary_scores_depend_on_the_distance_alone(distance: int):
    rotate, query, key = Rotary(6), *torch.randn(2, 1, 1, 1, 6, dtype=torch.float64)
    starts = torch.tensor([0, 3, 40])
    turned = [rotate(query, (p + distance)[None, None]) @ rotate(key, p[None, None]).mT for p in starts]
    assert_close(torch.cat(turned), turned[0].expand(3, 1, 1, 1), rtol=1e-4, atol=1e-4)
    assert_close(rotate(query, starts[1:2, None]).norm(), query.norm(), rtol=1e-5, atol=1e-5)


def test_rotary_turns_entries_i_and_i_plus_half_by_the_papers_angle():
    x = torch.tensor([1.0, 0.0, 0.0, 2.0]).view(1, 1, 1, 4)  # pairs (1, 0) and (0, 2)
    turned = Rotary(4)(x, torch.tensor([[3]])).flatten().tolist()
    slow = 3 * 10000 ** (-2 / 4)
    assert turned == pytest.approx([math.cos(3), -2 * math.sin(slow), math.sin(3), 2 * math.cos(slow)], abs=1e-6)


def test_rotary_positions_by_default_count_from_zero():
    x = torch.randn(2, 3, 5, 4)
    assert_close(Rotary(4)(x, None), Rotary(4)(x, torch.arange(5).expand(2, 5)))
