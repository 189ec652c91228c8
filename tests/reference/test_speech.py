"""Listen, Attend and Spell and Chorowski's decoder as the papers' equations, step by step, with a model's weights."""

import torch

from helpers.models import loud, same
from saccade.batch import BOS, Batch
from saccade.models import MODELS, build_recognizer

FRAMES, VOCABULARY = 6, 9


def built(name, **overrides):
    torch.manual_seed(4)
    return loud(build_recognizer(name, FRAMES, VOCABULARY, **(MODELS[name].tiny | overrides)))


def a_batch():
    torch.manual_seed(5)
    target = torch.tensor([[BOS, 5, 6, 4, 2]])
    return Batch(torch.randn(1, 11, FRAMES), torch.ones(1, 11, dtype=torch.bool), target, torch.ones_like(target) > 0)


def lstm(cell, inputs, hidden, memory):
    weights = cell.rnn
    gates = weights.weight_ih_l0 @ inputs + weights.bias_ih_l0 + weights.weight_hh_l0 @ hidden + weights.bias_hh_l0
    i, f, g, o = gates.chunk(4)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), memory


@torch.no_grad()
def test_attend_and_spell():
    """s[i] = RNN(s[i-1], y[i-1], c[i-1]);  e[i, u] = <φ(s[i]), ψ(h[u])>;  c[i] = Σ α h;  y[i] ~ MLP(s[i], c[i])."""
    model, batch = built("las"), a_batch()
    keys = model.encoder.listen(batch.source, batch.source_mask)[0].annotations[0]
    assert len(keys) == 6, "eleven frames are five pairs and one frame"
    score, (first, second) = model.attention.score, model.cells.cells
    zero = torch.zeros(8)
    one, two, context, logits = (zero, zero), (zero, zero), torch.zeros(keys.shape[1]), []
    for word in batch.inputs[0]:
        one = lstm(first, torch.cat([model.target_embedding.weight[word], context]), *one)
        two = lstm(second, one[0], *two)
        energies = torch.stack([(score.query_weight @ two[0]) @ (score.key_weight @ key) for key in keys])
        context = torch.softmax(energies, 0) @ keys
        hidden = torch.tanh(model.readout.vector.join.weight @ torch.cat([context, two[0]]))
        logits.append(model.output(hidden))
    same(model(batch)[0], torch.stack(logits))


@torch.no_grad()
def test_location_aware_and_smoothed():
    """f = F * α[i-1];  e = w · tanh(W s[i-1] + V h + U f + b);  α = σ(e) / Σ σ(e);  g = Σ α h;  s = GRU(s, g, y).

    The paper's s[i-1], which has read y[i-1], is the decoder's state of step i.
    """
    model, batch = built("chorowski"), a_batch()
    keys = model.encoder.listen(batch.source, batch.source_mask)[0].annotations[0]
    score, cell = model.attention.score, model.cells.first
    state, glimpse, alpha = torch.zeros(8), torch.zeros(keys.shape[1]), torch.full((len(keys),), 1 / len(keys))
    kernel, logits = score.filters.weight[:, 0], []
    half = kernel.shape[1] // 2
    for word in batch.inputs[0]:
        read = torch.cat([model.target_embedding.weight[word], glimpse])
        state = cell(read[None], state[None])[0]
        energies = []
        for place, key in enumerate(keys):
            seen = [alpha[p] if 0 <= p < len(keys) else 0.0 for p in range(place - half, place + half + 1)]
            features = kernel @ torch.tensor(seen)
            total = score.query_weight @ state + score.key_weight @ key + score.filter_weight @ features + score.bias
            energies.append(score.v.flatten() @ torch.tanh(total))
        alpha = torch.sigmoid(torch.stack(energies))
        alpha = alpha / alpha.sum()
        glimpse = alpha @ keys
        logits.append(model.output(model.readout(state[None], glimpse[None], None)[0]))
    same(model(batch)[0], torch.stack(logits))


def test_without_subsampling_each_frame_is_a_key():
    model = built("chorowski", sound_encoder={"width": 4, "layers": 2, "factor": 1})
    assert model.visible(a_batch())["source"].shape == (1, 11)
