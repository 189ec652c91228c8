"""StepScores: the scores of a step, as strategies see them."""

import pytest
import torch

from saccade.batch import BOS, EOS, PAD
from saccade.search import MaximumLengths
from saccade.search import step_scores as views
from saccade.search.step_scores import StepScores

WRITTEN = torch.empty(1, 2, 0, dtype=torch.long)


def forbid(word):
    def rule(logs, written, left):
        return logs.index_fill(-1, torch.tensor([word]), -torch.inf)

    return rule


@pytest.mark.parametrize("rules", [[], [forbid(EOS)]])
@pytest.mark.parametrize("ask", ["best", "best_together"])
def test_a_prediction_that_is_no_number_is_noticed(rules, ask):
    logits = torch.zeros(2, 8)
    for bad in (False, True):
        if bad:
            logits[1] = torch.nan
        view = StepScores(logits, WRITTEN, 5, constraints=rules)
        view.best(2) if ask == "best" else view.best_together(torch.zeros(1, 2), 2)
        assert bool(view.broken) == bad


def test_numbers_ranked_by_a_kernel_are_looked_at(monkeypatch):
    """A row with a NaN ranks it first."""
    for number in (0.5, torch.nan):
        found = torch.tensor([[0.1, 0.0], [number, 0.0]]), torch.zeros(2, 2, dtype=torch.long)
        monkeypatch.setattr(views, "best", lambda *given, found=found: found)
        view = StepScores(torch.zeros(2, 8), WRITTEN, 5)
        view.best(2)
        assert bool(view.broken) == (number != number)


def test_numbers_that_were_not_asked_for_are_not_looked_at():
    view = StepScores(torch.full((2, 8), torch.nan), WRITTEN, 5)
    assert not bool(view.broken)


def test_padding_and_beginning_are_the_only_words_that_may_not_come():
    logs = StepScores(torch.zeros(2, 8), WRITTEN, 5).log_probabilities
    assert logs.isneginf().nonzero()[:, 2].tolist() == [PAD, BOS] * 2
    assert torch.allclose(logs[..., EOS:], torch.tensor(1 / 8).log()), "other words keep the model's log-probability"


def test_a_sentence_that_is_stopped_has_no_next_word():
    written = torch.empty(2, 1, 0, dtype=torch.long)
    for ask in (
        lambda view: view.log_probabilities.amax((1, 2)),
        lambda view: view.best(2)[0].amax((1, 2)),
        lambda view: view.best_together(torch.zeros(2, 1), 2)[0].amax(1),
    ):
        for stopped, rules in (
            (torch.tensor([False, True]), []),
            (None, [MaximumLengths([3, 0])]),
            (torch.tensor([False, True]), [MaximumLengths([3, 1])]),
        ):
            found = ask(StepScores(torch.zeros(2, 8), written, 5, constraints=rules, stopped=stopped))
            assert found.isneginf().tolist() == [False, True]


@pytest.mark.parametrize("rules", [[], [forbid(EOS)]])
@pytest.mark.parametrize("count", [1, 4])
def test_the_best_of_many_words_by_sentence_and_by_hypothesis(rules, count):
    """So many words that the search goes by blocks; two sentences of three hypotheses."""
    torch.manual_seed(1)
    words, written = 8000, torch.empty(2, 3, 0, dtype=torch.long)
    logits, before = torch.randn(6, words), torch.randn(2, 3)
    logs = logits.log_softmax(-1).view(2, 3, words)
    logs[..., : (EOS if rules else BOS) + 1] = -torch.inf
    values, found = StepScores(logits.clone(), written, 5, constraints=rules).best(count)
    wanted = logs.topk(count)
    torch.testing.assert_close(values, wanted.values)
    assert torch.equal(found, wanted.indices)
    values, places = StepScores(logits.clone(), written, 5, constraints=rules).best_together(before, count)
    wanted = (logs + before[..., None]).flatten(1).topk(count)
    torch.testing.assert_close(values, wanted.values)
    assert torch.equal(places, wanted.indices)
