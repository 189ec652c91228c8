"""Property tests of pointers, around every preset that attends to its source."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import nn

from helpers.models import MIXED, VOCABULARY, loud, row_of, same, walk, with_junk
from saccade.attention import Tape
from saccade.batch import BOS, COPY, PAD, UNK, Batch
from saccade.errors import ConfigError, DataError
from saccade.models import MODELS, Ensemble, configure, presets_for
from saccade.models.pointer import OutputConfig, Pointer, build_pointer
from saccade.runtime import engine_of, step_engine
from saccade.search import SearchConfig, decode

BLIND = ("sutskever", "cho", "hred")
NAMES = [name for name in presets_for("sequence_to_sequence") if name not in BLIND]
each = pytest.mark.parametrize("name", NAMES)


@cache
def pointer(name: str, **options) -> Pointer:
    torch.manual_seed(2)
    family = configure(name, **MODELS[name].tiny)
    return loud(build_pointer(family, VOCABULARY, OutputConfig(kind="pointer", **options)))


def copying(batch: Batch) -> Batch:
    """The batch with two of the words unknown, one of which stands in the answer."""
    source = batch.source.masked_fill(batch.source > 8, UNK)
    places = torch.arange(source.shape[1]).expand_as(source)
    # two unknown words: 9 and 10; each has the number of its first place in the row
    first = [(batch.source == word).int().argmax(1, keepdim=True).expand_as(source) for word in (9, 10)]
    number = VOCABULARY + torch.where(batch.source == 9, first[0], first[1])
    copies = torch.where(batch.source_mask, torch.where(source == UNK, number, source), PAD)
    assert (copies < VOCABULARY + places.shape[1]).all()
    last = batch.target_mask.sum(1) - 2
    target = batch.target.clone()
    chosen = (last > 0).nonzero()[:, 0]
    target[chosen, last[chosen]] = copies[chosen, 0]
    return replace(batch, source=source, copies=copies, target=target)


def batch() -> Batch:
    return copying(MIXED.batch())


def one_row(batch: Batch, row: int) -> Batch:
    alone = row_of(batch, row)
    return replace(alone, copies=batch.copies[row : row + 1, : alone.source.shape[1]])


@each
@torch.no_grad()
def test_a_distribution_over_the_vocabulary_and_the_source(name):
    logs = pointer(name)(batch())
    assert logs.shape[-1] == VOCABULARY + batch().source.shape[1] == pointer(name).choices(batch())
    same(logs.exp().sum(-1), torch.ones(logs.shape[:2]))


@each
@torch.no_grad()
def test_forward_is_stepping(name):
    whole, steps = Tape(), Tape()
    logits = pointer(name)(batch(), tape=whole)
    same(walk(pointer(name), batch(), tape=steps)[0], logits)
    same(walk(pointer(name), batch())[0], logits)
    assert set(whole) == set(steps)


@each
@torch.no_grad()
def test_neither_padding_nor_the_rest_of_the_batch_matter(name):
    model, given = pointer(name), batch()
    junk = with_junk(given)
    junk = replace(junk, copies=nn.functional.pad(given.copies, (0, 2), value=5))
    together, beside_junk = model(given).exp(), model(junk).exp()
    for row in range(given.size):
        alone = model(one_row(given, row)).exp()[0]
        for other in (together[row], beside_junk[row]):
            same(other[: alone.shape[0], : alone.shape[1]], alone)
            assert other[: alone.shape[0], alone.shape[1] :].sum() < 1e-6, "a word of another source"


@each
@torch.no_grad()
def test_a_closed_gate_is_the_plain_model(name):
    model, given = pointer(name), batch()
    logits = model.inner(replace(given, target=model.known(given.target)))
    logits[..., -1] = 100.0  # the logit of p_gen
    tape = model.recorder()
    model.inner(replace(given, target=model.known(given.target)), tape=tape)
    mixed = model.mixed(logits, given.copies, tape)
    same(mixed[..., :VOCABULARY], torch.log_softmax(logits[..., :-1], -1))
    logits[..., -1] = -100.0  # and an open one copies
    copied = model.mixed(logits, given.copies, tape).exp()
    for row, words in enumerate(given.copies.tolist()):
        assert copied[row, 0, sorted(set(words))].sum() == pytest.approx(1, abs=1e-5)


@each
@torch.no_grad()
def test_the_engine_is_the_step(name):
    model, given = pointer(name), batch()
    fast, slow = (engine.read(given, 2, 6) for engine in (engine_of(model), step_engine(model)))
    for tokens in ([1, 1] * 3, [5, 12, 4, 13, 6, 6], [14, 5, 5, 11, 7, 8]):
        fed = torch.tensor(tokens)
        same(fast.step(fed), slow.step(fed), rtol=1e-4, atol=1e-4)
        for state in (fast, slow):
            state.follow(torch.tensor([1, 0, 3, 2, 4, 4]))
    for state in (fast, slow):
        state.keep(torch.tensor([2, 0]))
    same(fast.step(torch.tensor([4, 5, 6, 7])), slow.step(torch.tensor([4, 5, 6, 7])), rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_a_changed_inner_model_is_packed_again():
    model, given = pointer.__wrapped__("bahdanau"), batch()
    engine_of(model).read(given, 1, 3).step(torch.tensor([1, 1, 1]))
    model.inner.output.weight[5].mul_(2)
    found = engine_of(model).read(given, 1, 3).step(torch.tensor([1, 1, 1]))
    wanted = step_engine(model).read(given, 1, 3).step(torch.tensor([1, 1, 1]))
    same(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "search", [{}, {"beam": 3, "nbest": 2}, {"sample": True, "top_k": 4}, {"precision": "int8"}], ids=str
)
@pytest.mark.parametrize("name", ["bahdanau", "transformer-big", "lstmn"])
def test_every_search_copies_alone_as_in_a_batch_and_says_what_it_copied(name, search):
    model, given, config = pointer(name), batch(), SearchConfig(**search)
    together = decode(model, given, config, lengths=[6] * given.size)
    for row, found in enumerate(together):
        (alone,) = decode(model, one_row(given, row), config, lengths=[6])
        assert [one.tokens for one in alone] == [one.tokens for one in found]
        for one, other in zip(alone, found, strict=True):
            same(one.attention[COPY], other.attention[COPY])
            shares = one.attention[COPY][0].sum(-1)
            known = {number for number in given.copies[row].tolist() if number}
            for token, share in zip(one.tokens, shares.tolist(), strict=True):
                assert -1e-6 <= share <= 1 + 1e-5
                if token >= VOCABULARY:
                    assert share == pytest.approx(1, abs=1e-4), "only a copy writes an unknown word"
                if token not in known:
                    assert share == 0
    assert all(not one.attention for one in decode(model, given, config, lengths=[6] * 3, attention=False)[0])


def test_constraints_and_prefixes_name_copied_words():
    model, given = pointer("bahdanau"), batch()
    own = int(given.copies[0].max())
    assert own >= VOCABULARY
    prefix = [[own, 5], [4], [6]]
    found = decode(model, given, lengths=[6] * 3, prefix=prefix)
    assert [one[0].tokens[: len(begin)] for one, begin in zip(found, prefix, strict=True)] == prefix
    for one in decode(model, given, lengths=[6] * 3, banned=[[own]]):
        assert own not in one[0].tokens


@torch.no_grad()
def test_an_ensemble_of_pointers_copies():
    given, members = batch(), [pointer("bahdanau"), pointer("transformer-big")]
    both = Ensemble(members)
    mean = (members[0](given).exp() + members[1](given).exp()) / 2
    same(both(given).exp(), mean)
    (found, *_) = decode(both, given, lengths=[5] * 3)
    assert {"0.copy", "1.copy"} <= set(found[0].attention)


@torch.no_grad()
def test_one_head_of_one_site_may_be_copied_from():
    sites = pointer("transformer-base").source_sites
    model, given = pointer("transformer-base", site=sites[1], head=1), batch()
    tape = Tape()
    model(given, tape=tape)
    same(model._weights(tape, given.inputs.shape[1]), tape[sites[1]][:, 1])
    assert set(model.recorder()._only) == {sites[1]}


def test_what_cannot_copy_is_refused():
    family = configure("sutskever", **MODELS["sutskever"].tiny)
    with pytest.raises(ConfigError, match="this model has none"):
        build_pointer(family, VOCABULARY, OutputConfig(kind="pointer"))
    with pytest.raises(ConfigError, match=r"output\.site"):
        pointer("bahdanau", site="atention")
    with pytest.raises(DataError, match=r"Batch\.copies"):
        pointer("bahdanau")(MIXED.batch())


@torch.no_grad()
def test_the_share_that_was_copied_by_hand():
    model, given = pointer("bahdanau"), batch()
    tape = Tape(finished=True)
    logs = model(given, tape=tape)
    logits = model.inner(replace(given, target=model.known(given.target)))
    gate = torch.sigmoid(logits[..., -1])
    weights = tape["attention"][:, 0]
    for row in range(given.size):
        for t in range(int(given.expected_mask[row].sum())):
            word = int(given.expected[row, t])
            for s, written in enumerate(given.copies[row].tolist()):
                share = (1 - gate[row, t]) * weights[row, t, s] / logs[row, t, word].exp() if written == word else 0.0
                assert float(tape[COPY][row, 0, t, s]) == pytest.approx(float(share), abs=1e-5)


@torch.no_grad()
def test_a_step_by_kernels_is_the_plain_step(monkeypatch):
    pytest.importorskip("triton", reason="needs Triton")
    monkeypatch.setattr("saccade.runtime.transformer._native_decoder", lambda *parts: None)
    model, given, width = pointer.__wrapped__("transformer-base"), batch().take(slice(0, 2)), 3
    tokens = torch.full((given.size * width,), BOS)
    engine = engine_of(model, "full")
    plain, fused = (engine.read(given, width, 5) for _ in range(2))
    for _ in range(2):
        wanted = plain.step(tokens)
        with monkeypatch.context() as patch:
            patch.setattr("saccade.kernels.dispatch._on_gpu", lambda tensor: True)
            found = fused.step(tokens)
        assert fused._inner._by_kernels
        assert not plain._inner._by_kernels
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
        tokens = wanted.argmax(-1)
