"""The same numbers on an accelerator as on the CPU."""

import pytest
import torch

from helpers.search import beam
from saccade.attention import SCORES, Tape, build_attention
from saccade.batch import Batch
from saccade.kernels.additive import choose
from saccade.models import MODELS, build_seq2seq, presets_for

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
SOURCES = [[4, 5, 6, 7, 8, 9, 10], [5, 6], [9]]
TARGETS = [[5, 6, 4], [4, 5, 6, 7, 7], [9]]
OPTIONS = {"location-aware": {"kernel": 5, "filters": 3}}


def assert_as_on_the_cpu(name):
    torch.manual_seed(0)
    model = build_seq2seq(name, 11, 11, **MODELS[name].tiny).eval()
    batch = Batch.from_lists(SOURCES, TARGETS)
    here = model(batch)
    here[batch.expected_mask].square().sum().backward()
    expected = {key: p.grad.clone() for key, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    model.cuda()
    batch = batch.to("cuda")
    there = model(batch)
    torch.testing.assert_close(there.cpu(), here, atol=1e-4, rtol=1e-4)
    there[batch.expected_mask].square().sum().backward()
    for key, parameter in model.named_parameters():
        if key in expected:
            torch.testing.assert_close(parameter.grad.cpu(), expected[key], atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("name", presets_for("sequence_to_sequence"))
def test_forward_and_gradients_agree_with_the_cpu(name):
    assert_as_on_the_cpu(name)


@pytest.mark.parametrize("name", ["bahdanau", "luong-concat", "self-attentive-rnn", "lstmn"])
def test_a_launch_a_step_agrees_with_the_cpu(name, monkeypatch):
    monkeypatch.setattr(choose, "SMALL", 0)  # else these sizes would use the naive form
    assert_as_on_the_cpu(name)


@pytest.mark.parametrize("rows", [3, 6], ids=["one hypothesis", "two"])
@pytest.mark.parametrize("heads", [None, 2])
@pytest.mark.parametrize("score", ["additive", "coverage", "location-aware"])
def test_steps_in_one_launch_agree_with_the_definition_on_the_cpu(score, heads, rows, monkeypatch):
    monkeypatch.setattr(choose, "SMALL", 0)
    torch.manual_seed(0)
    attention = build_attention(score, 6, 6, heads=heads, score_options=OPTIONS.get(score))
    given = torch.randn(3, 7, 6), torch.randn(rows, 6)
    mask = torch.arange(7) < torch.tensor([[7], [2], [0]])

    def loop(device):
        attention.to(device)
        keys, query = (x.to(device).requires_grad_() for x in given)
        bank = attention.bank(keys, mask=mask.to(device))
        past, contexts, state = attention.start(bank, rows), [], query
        for _ in range(4):
            attended = attention(state[:, None], bank, past=past)
            past = attended.past
            contexts.append(attended.context[:, 0])
            state = torch.tanh(state + contexts[-1])
        found = torch.stack(contexts)
        slopes = torch.autograd.grad(found.square().sum(), [keys, query, *attention.parameters()])
        return [x.cpu() for x in (found, *slopes)]

    for here, there in zip(loop("cpu"), loop("cuda"), strict=True):
        torch.testing.assert_close(there, here, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", presets_for("sequence_to_sequence"))
def test_beam_search_agrees_with_the_cpu(name):
    torch.manual_seed(0)
    model = build_seq2seq(name, 11, 11, **MODELS[name].tiny).double()
    batch = Batch.from_lists(SOURCES)
    here = beam(model, batch, 4, nbest=3, max_length=12, length_penalty=0.6)
    there = beam(model.cuda(), batch.to("cuda"), 4, nbest=3, max_length=12, length_penalty=0.6)
    for ours, theirs in zip(here, there, strict=True):
        assert [h.tokens for h in ours] == [h.tokens for h in theirs]
        for a, b in zip(ours, theirs, strict=True):
            for site, weights in a.attention.items():
                torch.testing.assert_close(b.attention[site].cpu(), weights, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("heads", [None, 2])
@pytest.mark.parametrize("score", SCORES)
def test_recording_changes_nothing_and_nobody_to_look_at_gives_zeros(score, heads, dtype):
    torch.manual_seed(0)
    options = OPTIONS.get(score)
    attention = build_attention(score, 16, 16, heads=heads, score_options=options, bias=False).cuda().to(dtype)
    keys = torch.randn(3, 7, 16, device="cuda", dtype=dtype, requires_grad=True)
    query = torch.randn(3, 5, 16, device="cuda", dtype=dtype)
    mask = torch.tensor([[True] * 7, [True] * 3 + [False] * 4, [False] * 7], device="cuda")
    fused = attention(query, attention.bank(keys, mask=mask)).context
    recorded = attention(query, attention.bank(keys, mask=mask), tape=Tape()).context
    tolerance = 1e-5 if dtype is torch.float32 else 3e-2
    torch.testing.assert_close(fused, recorded, atol=tolerance, rtol=tolerance)
    assert fused[2].count_nonzero() == 0
    fused.sum().backward()
    assert torch.isfinite(keys.grad).all()
    assert keys.grad[2].count_nonzero() == 0


@pytest.mark.parametrize("small", [0, choose.SMALL], ids=["in one launch", "as ever"])
@pytest.mark.parametrize("name", ["bahdanau", "luong-general", "lstmn", "transformer-base"])
def test_training_in_bf16_lowers_the_loss(name, small, monkeypatch):
    monkeypatch.setattr(choose, "SMALL", small)
    torch.manual_seed(0)
    model = build_seq2seq(name, 11, 11, **MODELS[name].tiny).cuda()
    batch = Batch.from_lists(SOURCES, TARGETS).to("cuda")
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(60):
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(batch)
        loss = torch.nn.functional.cross_entropy(
            logits[batch.expected_mask].float(), batch.expected[batch.expected_mask]
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
