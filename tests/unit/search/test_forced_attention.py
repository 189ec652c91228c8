"""Attention computed by forced decoding equals what a search records step by step."""

import pytest
import torch
from torch.testing import assert_close

from helpers.search import beam
from saccade import search
from saccade.batch import Batch
from saccade.models import MODELS, build_seq2seq, presets_for
from saccade.search.forced_attention import attend_again

SOURCES = [[4, 5, 6, 7, 8, 9, 10], [5, 6], [9]]


@pytest.mark.parametrize("name", presets_for("sequence_to_sequence"))
@pytest.mark.parametrize("width", [1, 3])
def test_the_same_as_recorded_step_by_step(name, width):
    torch.manual_seed(0)
    model = build_seq2seq(name, 11, 11, **MODELS[name].tiny).double()
    batch = Batch.from_lists(SOURCES)
    recorded = beam(model, batch, width, nbest=width, max_length=7)
    bare = beam(model, batch, width, nbest=width, max_length=7, attention=False)
    for ours, theirs in zip(attend_again(model, batch, bare), recorded, strict=True):
        assert [one.tokens for one in ours] == [one.tokens for one in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert list(one.attention) == list(other.attention)
            for site, weights in other.attention.items():
                assert_close(one.attention[site], weights)


def test_nothing_written_is_nothing_looked_at():
    torch.manual_seed(0)
    model = build_seq2seq("bahdanau", 11, 11, **MODELS["bahdanau"].tiny)
    batch = Batch.from_lists(SOURCES)
    empty = [[search.Hypothesis([], 0.0, 0.0, False)] for _ in SOURCES]
    assert attend_again(model, batch, empty) == empty
