"""Minimum Bayes risk: which of several samples has most in common with all of them."""

import pytest
import torch
from pydantic import ValidationError

from helpers.search import lively_case
from saccade.batch import Batch
from saccade.search import Hypothesis, SearchConfig, decode
from saccade.search.consensus import by_consensus


def samples(*answers):
    return [Hypothesis([*answer, 2], 0.0, -float(place), True) for place, answer in enumerate(answers)]


def test_scores_by_hand():
    found = by_consensus(samples([5, 6], [7], [5, 6, 7, 7], [7]))
    # of 7: with itself and its copy 1 each, with 5 6 7 7 2·1/5, with 5 6 none
    assert [one.tokens for one in found] == [[5, 6, 7, 7, 2], [7, 2], [5, 6, 2]], "each answer once, the best first"
    assert [one.score for one in found] == pytest.approx([(2 / 3 + 1 + 0.4 + 0.4) / 4, 2.4 / 4, (1 + 2 / 3) / 4])
    assert found[1].log_probability == -1.0, "the first of equal samples stands for them"


def test_empty_answers_and_equal_scores():
    assert [one.score for one in by_consensus(samples([], [], [5]))] == pytest.approx([2 / 3, 1 / 3])
    assert [one.tokens[0] for one in by_consensus(samples([8], [6], [7]))] == [8, 6, 7]


@pytest.mark.parametrize("attention", [True, False])
def test_the_answer_is_one_of_the_samples_of_its_own_sentence(attention):
    model = lively_case("bahdanau", "seq2seq")[0]
    batch = Batch.from_lists([[4, 5, 6], [5, 4], [6, 6, 4, 5], [4]])
    config = SearchConfig(sample=True, mbr=12, nbest=2, max_length=7, batch_size=3)
    found = decode(model, batch, config, attention=attention)
    drawn = decode(model, batch, config.model_copy(update={"nbest": 12, "mbr": None}), attention=False)
    for row, own in zip(drawn, found, strict=True):
        wanted = by_consensus(row)[:2]
        assert [(one.tokens, one.score) for one in own] == [(one.tokens, one.score) for one in wanted]
    for row, own in enumerate(found):
        alone = decode(model, batch.take(slice(row, row + 1)).trimmed(), config, attention=attention)[0]
        assert [one.tokens for one in alone] == [one.tokens for one in own]
        for one in own:
            shapes = [tuple(part.shape[1:]) for part in one.attention.values()]
            assert shapes == ([(len(one.tokens), int(batch.source_mask[row].sum()))] if attention else [])
            assert all(
                torch.allclose(part.sum(-1), torch.ones(())) for part in map(torch.Tensor.float, one.attention.values())
            )


def test_it_is_for_sampling():
    plain = SearchConfig(mbr=12)
    model, batch = lively_case("bahdanau", "seq2seq")[0], Batch.from_lists([[4, 5]])
    greedy = decode(model, batch, SearchConfig(), attention=False)
    assert decode(model, batch, plain, attention=False) == greedy
    with pytest.raises(ValidationError, match="nbest is 9, but mbr draws 8 samples: raise mbr"):
        SearchConfig(sample=True, nbest=9, mbr=8)
    assert (SearchConfig(sample=True, mbr=40).width, plain.width, SearchConfig(beam=4).width) == (40, 1, 4)
