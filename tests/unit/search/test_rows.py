"""Data of a sentence moves with it when sentences are removed from a batch or change places."""

import pytest
import torch
from torch import nn

from helpers.search import greedy
from helpers.table_model import Table, random_table
from saccade.batch import EOS, Batch
from saccade.errors import ConfigError
from saccade.search import MaximumLengths, SearchConfig, decode
from saccade.search.constraints import Banned, MinimumLength, Prefix, Required, narrowed

A, B, C = 4, 5, 6
SOURCES = [[3], [4], [5], [6]]


def test_maximum_lengths_of_some_rows_are_theirs():
    part = MaximumLengths([1, 2, 3, 4]).of([3, 1])
    assert part.stopped(2, torch.device("cpu")).tolist() == [False, True]
    assert part.stopped(4, torch.device("cpu")).tolist() == [True, True]


def test_prefixes_of_some_rows_are_theirs_and_what_is_banned_stays_banned():
    part = Prefix([[A], [B], [C], []], banned=[[C]]).of([1, 0])
    allowed = part(torch.zeros(2, 1, 8), torch.zeros(2, 1, 0, dtype=torch.long), 3).isfinite()
    assert [row.nonzero().flatten().tolist() for row in allowed[:, 0]] == [[B], [A]]
    with pytest.raises(ConfigError, match="which is banned"):
        Prefix([[A], [B], [C], []], banned=[[C]]).of([2]).check(1, 8, 5)


@pytest.mark.parametrize("rows", [[2, 0], [3], [1, 2, 3]], ids=str)
def test_rows_searched_alone_are_ruled_as_in_their_batch(rows):
    model = random_table(1)
    rules = [
        MinimumLength(2),
        MaximumLengths([5, 4, 6, 4]),
        Prefix([[A], [B, C], [], [C]]),
        Banned([[A, A]]),
        Required([[[B]], [], [[C, A]], [[B]]], prefixes=[[A], [B, C], [], [C]], lengths=[5, 4, 6, 4]),
    ]
    together = greedy(model, Batch.from_lists(SOURCES), max_length=7, constraints=rules)
    assert len({tuple(one.tokens) for one in together}) == 4
    alone = greedy(
        model, Batch.from_lists([SOURCES[row] for row in rows]), max_length=7, constraints=narrowed(rules, rows)
    )
    assert [one.tokens for one in alone] == [together[row].tokens for row in rows]


def test_rules_that_know_only_all_rows_are_not_narrowed():
    assert narrowed([lambda logs, written, left: logs], [0]) is None


def test_equal_sentences_that_begin_differently_go_on_by_draws_of_their_own():
    """The next word never depends on the words before, so equal draws would give equal ends."""
    model = Table(10, lambda sentence, words: dict.fromkeys(range(3, 10), 1 / 7))
    model.somewhere = nn.Parameter(torch.zeros(()))  # a search runs where the parameters are
    config = SearchConfig(sample=True, seed=5)
    asked = {"lengths": [12, 12, 12], "attention": False, "prefix": [[A], [B], [A]]}
    first, second, third = decode(model, Batch.from_lists([[3, 4], [3, 4], [3, 4]]), config, **asked)
    assert first[0].tokens == third[0].tokens, "the same words in, the same words out"
    assert first[0].tokens[1:] != second[0].tokens[1:]
    assert EOS not in first[0].tokens
