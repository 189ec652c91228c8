"""The LSTMN by naive loops over its two tapes: Cheng et al. 2016, section 3; forward and gradients."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from helpers.models import MIXED, assert_same_by_name, gradients, loud, row_of, tiny
from helpers.papers import compare_with_paper, lstm
from saccade.attention import Tape, build_attention
from saccade.layers.lstmn import LSTMN
from saccade.models import Seq2Seq, build_language_model

E, D = 3, 4


def zeros(width: int) -> Tensor:
    return torch.zeros(width, dtype=torch.float64)


def attend(score: nn.Module, query: list[Tensor], keys: list[Tensor], tapes: list[list[Tensor]]) -> tuple[Tensor, ...]:
    """softmax over v·tanh(W_h key + [W_x W_h̃] query), then one sum for each tape; an empty tape reads as zeros."""
    if not keys:
        return tuple(zeros(score.key_width) for _ in tapes)
    asked = score.query_weight @ torch.cat(query)
    weights = torch.softmax(torch.stack([score.v[0] @ torch.tanh(score.key_weight @ key + asked) for key in keys]), 0)
    return tuple(sum(w * entry for w, entry in zip(weights, tape, strict=True)) for tape in tapes)


def read_by_hand(
    layer: LSTMN,
    inputs: list[Tensor],
    seed: tuple[Tensor, Tensor] | None = None,
    source: tuple[list[Tensor], list[Tensor]] | None = None,
) -> tuple[list[Tensor], list[Tensor]]:
    """Hidden and memory tape after reading the inputs, without the seed; `source` for deep fusion: γ and α tapes."""
    hiddens, memories = ([seed[0]], [seed[1]]) if seed else ([], [])
    summary = fused = zeros(layer.width)
    for x in inputs:
        summary, recalled = attend(layer.attention.score, [x, summary], hiddens, [hiddens, memories])
        extra = 0.0
        if source is not None:
            gammas, alphas = source
            fused, alpha = attend(layer.fusion.attention.score, [x, fused], gammas, [gammas, alphas])
            gate = layer.fusion.gate
            extra = torch.sigmoid(gate.weight @ torch.cat([fused, x]) + gate.bias) * alpha
        h, c = lstm(layer.cell, x, summary, recalled, extra)
        hiddens, memories = [*hiddens, h], [*memories, c]
    skipped = 1 if seed else 0
    return hiddens[skipped:], memories[skipped:]


def stack_by_hand(layers: nn.Module, words: list[Tensor], **options: list) -> list[tuple[list[Tensor], list[Tensor]]]:
    """The tapes of each layer; upper ones read [below ; word]."""
    tapes: list[tuple[list[Tensor], list[Tensor]]] = []
    for number, layer in enumerate(layers):
        own = {name: values[number] for name, values in options.items()}
        inputs = [torch.cat([h, x]) for h, x in zip(tapes[-1][0], words, strict=True)] if number else words
        tapes.append(read_by_hand(layer, inputs, **own))
    return tapes


def translate_by_hand(model: nn.Module, source: Tensor, inputs: Tensor) -> tuple[Tensor, None]:
    """The decoder's tapes start with the encoder's last state; fusion deep, or shallow on top."""
    read = stack_by_hand(model.encoder, [model.source_embedding.weight[token] for token in source])
    seeds = [(hiddens[-1], memories[-1]) for hiddens, memories in read]
    words = [model.target_embedding.weight[token] for token in inputs]
    if model.attention is None:
        outputs = stack_by_hand(model.decoder, words, seed=seeds, source=read)[-1][0]
    else:
        states, annotations = stack_by_hand(model.decoder, words, seed=seeds)[-1][0], read[-1][0]
        join, outputs = model.readout.vector.join.weight, []
        for h in states:
            (context,) = attend(model.attention.score, [h], annotations, [annotations])
            outputs.append(torch.tanh(join @ torch.cat([context, h])))
    return torch.stack([model.output.weight @ output + model.output.bias for output in outputs]), None


def make(name: str, **settings: object) -> Seq2Seq:
    return loud(tiny(name, **settings).double())


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("name", ["lstmn", "lstmn-shallow"])
def test_fused_lstmns_are_the_papers_equations(name: str, layers: int):
    model = make(name, layers=layers)
    for row in range(3):
        batch = row_of(MIXED.batch(), row)
        wanted, _ = translate_by_hand(model, batch.source[0], batch.inputs[0])
        assert_close(model(batch)[0], wanted)


@pytest.mark.parametrize("name", ["lstmn", "lstmn-shallow"])
def test_gradients_are_those_of_the_naive_loop(name: str):
    """Back-propagation through the tapes reaches every earlier step."""
    model, batch = make(name, layers=2), row_of(MIXED.batch(), 0)
    naive, _ = translate_by_hand(model, batch.source[0], batch.inputs[0])
    assert_same_by_name(gradients(model, model(batch)), gradients(model, naive[None]), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("layers", [1, 3])
def test_the_language_model_is_the_papers_and_so_are_its_gradients(layers: int):
    model = loud(build_language_model("lstmn", 11, embedding=E, width=D, layers=layers).double())
    batch = row_of(MIXED.batch(), 0)
    stack = model.reader.layers if layers > 1 else [model.reader]
    outputs = stack_by_hand(stack, [model.embedding.weight[token] for token in batch.inputs[0]])[-1][0]
    naive = torch.stack([model.output.weight @ output + model.output.bias for output in outputs])
    assert_close(model(batch)[0], naive)
    assert_same_by_name(gradients(model, model(batch)), gradients(model, naive[None]), rtol=1e-8, atol=1e-9)


def one_layer() -> LSTMN:
    return loud(LSTMN(build_attention("additive", E + D, D, 2 * D), E, D).double())


def test_with_an_empty_tape_the_first_step_is_an_lstms():
    layer, plain = one_layer(), nn.LSTM(E, D, batch_first=True).double()
    plain.load_state_dict({name: p.clone() for name, p in layer.cell.rnn.named_parameters()})
    inputs, tape = torch.randn(3, 2, E, dtype=torch.float64), Tape()
    hiddens, (last, memory) = plain(inputs)
    both = layer.read(inputs, tape=tape)
    assert (tape["attention"][:, :, 0] == 0).all()
    assert_close(both[:, 1], torch.cat([last[0], memory[0]], -1))  # one slot gets all weight, so step 2 is too
    assert_close(both[:, :, :D], hiddens)


def test_one_set_of_weights_reads_both_tapes_and_never_the_present_or_the_future():
    layer, inputs, tape = one_layer(), torch.randn(2, 6, E, dtype=torch.float64), Tape()
    layer.read(inputs, tape=tape)
    weights = tape["attention"]
    assert weights.shape == (2, 1, 6, 6)
    assert (weights.triu() == 0).all()
    assert_close(weights.sum(-1)[..., 1:], torch.ones(2, 1, 5, dtype=torch.float64))


def test_a_seed_is_a_slot_that_stays_attendable():
    layer = one_layer()
    seed, inputs = torch.randn(1, 2 * D, dtype=torch.float64), torch.randn(1, 5, E, dtype=torch.float64)
    tape, state = Tape(), layer.start(1, 5, inputs, seed=seed)
    both, _ = layer.extend(inputs, state, tape=tape)
    hiddens, memories = read_by_hand(layer, list(inputs[0]), seed=tuple(seed[0].chunk(2)))
    assert_close(both[0], torch.cat([torch.stack(hiddens), torch.stack(memories)], -1))
    assert (tape["attention"][0, 0, :, 0] > 0).all()
    assert_close(tape["attention"].sum(-1), torch.ones(1, 1, 5, dtype=torch.float64))


@pytest.mark.parametrize("fusion", ["deep", "shallow"])
def test_a_window_on_the_source_moves_with_the_target_whatever_stands_on_the_tape(fusion: str):
    """local-m: word t of the target sees words t - 1 .. t + 1 of the source, seeded tape or not."""
    model = make("lstmn", fusion=fusion, cross={"window": "local-m", "window_options": {"radius": 1}})
    batch, tape = row_of(MIXED.batch(), 0), Tape()
    model(batch, tape=tape)
    seen = (tape[model.source_sites[0]][0, 0] > 0).tolist()
    assert seen == [[abs(t - s) <= 1 for s in range(3)] for t in range(7)]


def test_padding_and_batching_do_not_change_the_papers_numbers():
    model = make("lstmn")
    compare_with_paper(model, lambda source, inputs: translate_by_hand(model, source, inputs))
