"""Attention over turns: where turns lie, and weights that are one distribution over all words."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from saccade.attention import Additive, Coverage, DotScore, Hard, Monotonic, Softmax, Sparsemax, Steering, Tape
from saccade.attention.turns import TurnAttention, Turns
from saccade.errors import ConfigError


def turns_of(*rows: str) -> tuple[Turns, torch.Tensor]:
    """Turns of rows such as `|..|.`: a bar begins a turn, a space is padding."""
    size = max(map(len, rows))
    starts = torch.tensor([[mark == "|" for mark in row.ljust(size)] for row in rows])
    mask = torch.tensor([[mark != " " for mark in row.ljust(size)] for row in rows])
    return Turns.starting(starts, mask), mask


def test_where_turns_lie():
    turns, _ = turns_of("|..|.|", ".||", "|")
    assert turns.of.tolist() == [[0, 0, 0, 1, 1, 2], [0, 1, 2, 2, 2, 2], [0, 0, 0, 0, 0, 0]]
    assert turns.mask.long().tolist() == [
        [[1, 1, 1], [1, 1, 0], [1, 0, 0]],
        [[1, 0, 0], [1, 0, 0], [1, 0, 0]],
        [[1, 0, 0], [0, 0, 0], [0, 0, 0]],
    ]
    words = torch.arange(18.0).view(3, 6, 1)
    split = turns.split(words)[..., 0] * turns.mask
    assert split[0].tolist() == [[0, 1, 2], [3, 4, 0], [5, 0, 0]]
    assert split[1].tolist() == [[6, 0, 0], [7, 0, 0], [8, 0, 0]]
    back = turns.join(turns.split(words))[..., 0]
    assert back[0].tolist() == [0, 1, 2, 3, 4, 5]
    assert back[1, :3].tolist() == [6, 7, 8]


def case(draw, align=None, score=Additive):
    rows = draw(st.lists(st.text("|.", min_size=1, max_size=9), min_size=1, max_size=3))
    turns, mask = turns_of(*rows)
    torch.manual_seed(draw(st.integers(0, 99)))
    attention = TurnAttention(score(3, 4), score(3, 2), align).double()
    words, vectors = torch.randn(*mask.shape, 4).double(), torch.randn(*turns.mask.shape[:2], 2).double()
    return attention, attention.bank_of_turns(words, vectors, mask, turns), turns, mask, words, vectors


@given(st.data(), st.sampled_from([None, Sparsemax()]), st.sampled_from([Additive, Coverage]))
def test_weights_are_one_distribution_and_a_turn_gets_its_weight(data, align, score):
    attention, bank, turns, mask, words, vectors = case(data.draw, align, score)
    query, tape = torch.randn(len(mask), 3, 3).double(), Tape()
    attended = attention(query, bank, tape=tape)
    weights = tape["attention"][:, 0]
    assert_close(weights.sum(-1), torch.ones(len(mask), 3).double())
    assert (weights[~mask[:, None].expand_as(weights)] == 0).all()
    assert_close(attended.context, weights @ words)
    if score is Additive:
        present = turns.mask.any(-1)[:, None]
        wanted = attention.align(attention.turn_score(query, attention.turn_score.prepare(vectors)), present)
        assert_close(turns.total(weights), wanted)


@given(st.data())
def test_two_softmaxes_are_one_softmax_of_the_recorded_scores(data):
    attention, bank, _, mask, _, _ = case(data.draw)
    tape = Tape(detailed=True)
    attention(torch.randn(len(mask), 2, 3).double(), bank, tape=tape)
    scores = tape.notes["attention.scores"]
    assert_close(torch.softmax(scores, -1), tape["attention"])


def test_hidden_words_leave_their_weight_to_their_turn_and_a_hidden_turn_to_the_others():
    turns, mask = turns_of("|..|.")
    attention = TurnAttention(DotScore(1, 1), DotScore(1, 1)).double()
    bank = attention.bank_of_turns(torch.zeros(1, 5, 1).double(), torch.zeros(1, 2, 1).double(), mask, turns)

    def weights(blocked):
        tape = Tape(steering=Steering(["attention"], blocked))
        attention(torch.ones(1, 1, 1).double(), bank, tape=tape)
        return tape["attention"][0, 0, 0].tolist()

    assert weights(()) == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 4, 1 / 4])
    assert weights((1,)) == pytest.approx([1 / 4, 0, 1 / 4, 1 / 4, 1 / 4])
    assert weights((3, 4)) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 0])


def test_hypotheses_share_a_bank():
    turns, mask = turns_of("|..|.", "|.")
    torch.manual_seed(1)
    attention = TurnAttention(Coverage(3, 4), Coverage(3, 2)).double()
    words, vectors = torch.randn(2, 5, 4).double(), torch.randn(2, 2, 2).double()
    query = torch.randn(6, 2, 3).double()
    shared = attention(query, attention.bank_of_turns(words, vectors, mask, turns), past=None)
    three = [part.repeat_interleave(3, 0) for part in (words, vectors, mask)]
    copied, _ = turns_of(*["|..|."] * 3, *["|."] * 3)
    alone = attention(query, attention.bank_of_turns(*three, copied))
    assert_close(shared.context, alone.context)


@pytest.mark.parametrize("align", [Hard(), Monotonic()])
def test_an_align_with_a_state_or_samples_is_refused(align):
    with pytest.raises(ConfigError, match="one head and an align without state or samples"):
        TurnAttention(Additive(3, 4), Additive(3, 2), align)


def test_dropout_leaves_the_recorded_weights():
    turns, mask = turns_of("|..|.")
    attention = TurnAttention(DotScore(1, 1), DotScore(1, 1), Softmax(), dropout=0.9)
    bank = attention.bank_of_turns(torch.ones(1, 5, 1), torch.ones(1, 2, 1), mask, turns)
    torch.manual_seed(1)
    dropped = attention.train()(torch.ones(1, 8, 1), bank, tape=Tape())
    assert not torch.allclose(dropped.context, torch.ones(1, 8, 1))
    assert_close(dropped.weights.sum(-1), torch.ones(1, 8))
    assert_close(attention.eval()(torch.ones(1, 8, 1), bank, tape=Tape()).context, torch.ones(1, 8, 1))
