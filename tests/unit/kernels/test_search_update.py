"""The state update of a search: Triton's kernels, on a GPU or through the interpreter, against the strategies."""

from itertools import chain

import pytest
import torch

pytest.importorskip("triton", reason="needs Triton")

from helpers.pairwise import pairwise
from saccade.batch import EOS, Batch
from saccade.kernels import dispatch
from saccade.search import Beam, Greedy
from saccade.search.step_scores import StepScores

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SENTENCES, WORDS, STEPS = 4, 9, 10
BOOKS = {"widths": [(2, 1), (3, 3), (4, 2)], "alpha": [0.0, 0.6, -1.0], "limits": [None, [10, 3, 6, 1]]}


def steps(strategy, limits=None, allowed=1.0, seed=3):
    """Run a strategy on random predictions that do not depend on its choices."""
    chance = torch.Generator().manual_seed(seed)
    batch = Batch.from_lists([[3, 4]] * SENTENCES).to(DEVICE)
    strategy.begin(batch.size, STEPS, (), torch.device(DEVICE))
    for t in range(STEPS):
        logits = 3 * torch.randn(SENTENCES * strategy.width, WORDS, generator=chance)
        logits[:, EOS] += t - 4
        forbidden = torch.rand(logits.shape, generator=chance) > allowed
        forbidden[:, EOS] = False
        logits[forbidden] = -torch.inf
        stopped = None if limits is None else torch.tensor(limits, device=DEVICE) <= t
        view = StepScores(
            logits.to(DEVICE), torch.zeros(SENTENCES, strategy.width, t).long(), STEPS - t, stopped=stopped
        )
        with torch.no_grad():
            yield strategy.choose(view), strategy.done()


def agree(make, monkeypatch, **options):
    ours, theirs = make(), make()
    with monkeypatch.context() as patch:
        patch.setattr(dispatch, "_on_gpu", lambda tensor: True)
        found = list(steps(ours, **options))
    with dispatch.disable_fused():
        expected = list(steps(theirs, **options))
    for (one, one_done), (other, other_done) in zip(found, expected, strict=True):
        assert torch.equal(one.tokens, other.tokens)
        torch.testing.assert_close(one.logs, other.logs)
        assert torch.equal(one_done, other_done)
        if other.parents is not None:
            real = ~other.logs.isneginf()
            assert torch.equal(one.parents[real], other.parents[real])
    assert [len(row) for row in ours.endings()] == [len(row) for row in theirs.endings()]
    for one, other in zip(chain(*ours.endings()), chain(*theirs.endings()), strict=True):
        assert (one.steps, one.slot, one.last) == (other.steps, other.slot, other.last)
        assert one[3:] == pytest.approx(other[3:], rel=1e-6)
    return theirs


@pytest.mark.parametrize("choice", pairwise(BOOKS), ids=str)
def test_a_beam_keeps_the_same_books(choice, monkeypatch):
    (width, nbest), alpha, limits = choice.values()
    kept = agree(lambda: Beam(width, length_penalty=alpha, nbest=nbest), monkeypatch, limits=limits)
    assert any(ending.last == EOS for row in kept.endings() for ending in row)


@pytest.mark.parametrize("seed", range(3))
def test_a_beam_that_runs_out_of_words(seed, monkeypatch):
    agree(lambda: Beam(3, length_penalty=0.6, nbest=3), monkeypatch, allowed=0.1, seed=seed)


@pytest.mark.parametrize("limits", [None, [10, 3, 6, 1]])
def test_a_walk_keeps_the_same_books(limits, monkeypatch):
    agree(Greedy, monkeypatch, limits=limits, allowed=0.6)
