"""Settings reach the part they are for, and no other."""

import pytest
import torch

from saccade.attention import Additive, Sparsemax
from saccade.batch import Batch
from saccade.config import merge
from saccade.models import MODELS, build_seq2seq


def tiny(name, **settings):
    return build_seq2seq(name, 11, 11, **merge(MODELS[name].tiny, settings))


@pytest.mark.parametrize("init", ["uniform", "groundhog"])
def test_the_papers_starts_leave_what_an_option_has_set(init):
    options = {"score": "concat", "align": "entmax-alpha"}
    options |= {"score_options": {"identity_keys": True}, "align_options": {"alpha": 1.9}}
    model = tiny("luong-concat", attention=options, init={"kind": init})
    assert torch.equal(model.attention.score.key_weight, torch.eye(8))
    assert model.attention.align.alpha.item() == pytest.approx(1.9)
    cosine = tiny("luong-dot", attention={"score": "cosine", "score_options": {"sharpness": 7.0}}, init={"kind": init})
    assert cosine.attention.score.log_sharpness.exp().item() == pytest.approx(7.0)


def test_the_attention_to_the_source_differs_where_it_is_told_to():
    model = tiny("transformer-base", cross={"align": "sparsemax"})
    layer = model.decoder.layers[0]
    assert isinstance(layer.cross.inner.align, Sparsemax)
    assert type(layer.cross.inner.score) is type(layer.self_attention.inner.score)
    assert layer.cross.heads == layer.self_attention.heads
    assert not isinstance(layer.cross.inner.score, Additive)


def test_a_model_trains_through_steps_when_only_its_queries_learn():
    model = tiny("transformer-base")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("self_attention.query" in name)
    batch = Batch.from_lists([[4, 5, 6]], [[5, 6, 7]])
    memory = model.encode(batch)
    state, total = model.init_state(memory, 4), 0.0
    for t in range(4):
        logits, state = model.step(memory, state, batch.inputs[:, t])
        total = total + logits.square().sum()
    total.backward()
    found = model.decoder.layers[0].self_attention.query.weight.grad
    other = torch.autograd.grad(model(batch).square().sum(), model.decoder.layers[0].self_attention.query.weight)[0]
    torch.testing.assert_close(found, other, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["bahdanau", "hred-attention", "self-attentive-rnn", "lstmn", "transformer-base"])
def test_torch_compile_wraps_a_whole_model(name):
    torch._dynamo.reset()
    model = tiny(name).eval()
    batch = Batch.from_lists([[4, 5, 6], [7, 8]], [[5, 6], [7]])
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(model, backend="eager")(batch), model(batch), atol=1e-6, rtol=1e-5)
