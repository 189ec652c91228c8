"""What a strategy is shown of a step."""

import pytest
import torch

from saccade.batch import EOS
from saccade.search import view as views
from saccade.search.view import View

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
        view = View(logits, WRITTEN, 5, constraints=rules)
        view.best(2) if ask == "best" else view.best_together(torch.zeros(1, 2), 2)
        assert bool(view.broken) == bad


def test_numbers_ranked_by_a_kernel_are_looked_at(monkeypatch):
    """A row with a NaN ranks it first."""
    for number in (0.5, torch.nan):
        found = torch.tensor([[0.1, 0.0], [number, 0.0]]), torch.zeros(2, 2, dtype=torch.long)
        monkeypatch.setattr(views, "best", lambda *given, found=found: found)
        view = View(torch.zeros(2, 8), WRITTEN, 5)
        view.best(2)
        assert bool(view.broken) == (number != number)
