"""Backtracking from an ending: its words, their slots, and the recorded attention."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from helpers.search import beam, greedy
from helpers.table_model import Table
from saccade.attention.tape import Tape
from saccade.batch import EOS, Batch
from saccade.search.history import Ending, History, Kept, PaddingCrop, walk

A, B, C, D, E = 4, 5, 6, 7, 8
ONE = Batch.from_lists([[3, 4]])
GARDEN = {(): {A: 0.6, B: 0.4}, (A,): {C: 0.4, D: 0.35, E: 0.25}, (B,): {EOS: 0.9, C: 0.1}}


def garden():
    return Table(9, lambda sentence, words: GARDEN.get(words, {EOS: 1.0}), lambda sentence, words: [0.5, 0.5])


@pytest.mark.parametrize("attention", [True, False])
def test_what_was_kept_beside_an_answer_is_remembered_where_asked(attention):
    ((found,),) = beam(garden(), ONE, 2, beams=True, attention=attention)
    assert found.tokens == [B, EOS]
    assert [(kept.tokens, kept.parents) for kept in found.beams] == [([A, B], [0, 0]), ([C, D], [0, 0])]
    logs = [log for kept in found.beams for log in kept.logs]
    assert logs == pytest.approx([math.log(chance) for chance in (0.6, 0.4, 0.6 * 0.4, 0.6 * 0.35)])
    ((unasked,),) = beam(garden(), ONE, 2, attention=attention)
    assert (unasked.tokens, unasked.beams) == (found.tokens, [])


def test_each_sentence_remembers_its_own_beams_while_another_goes_on():
    """Sentence 3 ends at once; it is not removed, since all steps of all sentences are requested."""
    likes = {3: {EOS: 0.9, A: 0.1}, 4: {B: 0.7, EOS: 0.3}}
    model = Table(9, lambda sentence, words: likes[sentence] if len(words) < 2 else {EOS: 1.0})
    first, second = greedy(model, Batch.from_lists([[3], [4]]), beams=True)
    assert (first.tokens, second.tokens) == ([EOS], [B, B, EOS])
    assert [kept.tokens for kept in first.beams] == [[EOS], [0], [0]]
    assert [kept.tokens for kept in second.beams] == [[B], [B], [EOS]]
    assert first.beams[0] == Kept([EOS], [0], [pytest.approx(math.log(0.9))])


@pytest.mark.parametrize("attention", [True, False])
def test_an_answer_knows_the_slot_it_stood_in_after_each_word(attention):
    (found,) = beam(garden(), ONE, 3, nbest=3, attention=attention)
    # after a word: A, B; after two: A C, A D, A E; nothing is chosen when an answer ends
    assert [(one.tokens, one.slots) for one in found] == [
        ([B, EOS], [1]),
        ([A, C, EOS], [0, 0]),
        ([A, D, EOS], [0, 1]),
    ]
    # without an end: B C is at 0.4, A A at 0.21, so they change places
    likes = {(): {A: 0.6, B: 0.4}, (A,): {A: 0.35, B: 0.33, D: 0.32}, (B,): {C: 1.0}}
    never = Table(9, lambda sentence, words: likes[words], lambda sentence, words: [0.5, 0.5])
    (going,) = beam(never, ONE, 2, nbest=2, max_length=2, attention=attention)
    assert [(one.tokens, one.slots) for one in going] == [([B, C], [1, 0]), ([A, A], [0, 1])]


def test_an_encoder_that_looked_at_one_place_of_a_picture_is_told_as_it_is():
    """There are no words of a source, so none can be padding."""
    reading, weights = Tape(), torch.ones(1, 1, 1, 1)
    reading.write("encoder", weights)
    model = SimpleNamespace(visible=lambda batch: {}, sides=lambda site: ("source", "source"))
    history = History(reading, PaddingCrop(model, Batch(pictures=torch.zeros(1, 3, 4, 4))), 3)
    history.look(Tape())
    history.choose(None, torch.tensor([[EOS]]))
    ((found,),) = history.follow([[Ending(0, 0, EOS, 0.0, 0.0)]])
    assert found.tokens == [EOS]
    assert torch.equal(found.attention["encoder"], weights[0])


def test_walking_back_from_endings_of_different_lengths():
    """Two sentences, two slots, three steps; by hand."""
    tokens = np.array([[[10, 11], [20, 21]], [[12, 13], [22, 23]], [[14, 15], [24, 25]]])
    parents = np.array([[[0, 0], [0, 0]], [[1, 0], [1, 1]], [[1, 0], [0, 1]]])
    endings = [
        [Ending(3, 0, None, -1.0, -2.0), Ending(1, 1, EOS, -3.0, -4.0)],
        [Ending(2, 0, EOS, -5.0, -6.0), Ending(0, 1, EOS, -7.0, -8.0)],
    ]
    first, second = walk(tokens, parents, endings)
    # sentence 0, slot 0 after step 3 came from slot 1, which came from slot 0
    assert [(one.tokens, one.slots, one.finished) for one in first] == [
        ([10, 13, 14], [0, 1, 0], False),
        ([11, EOS], [1], True),
    ]
    assert [(one.tokens, one.slots, one.finished) for one in second] == [
        ([21, 22, EOS], [1, 0], True),
        ([EOS], [], True),
    ]
    assert [(one.score, one.log_probability) for one in (*first, *second)] == [(-1, -2), (-3, -4), (-5, -6), (-7, -8)]


def test_walking_back_where_each_slot_goes_on_from_itself():
    tokens = np.array([[[10, 11], [20, 21]], [[12, 13], [22, 23]]])
    (first,), (second,) = walk(tokens, None, [[Ending(2, 1, None, 0.0, 0.0)], [Ending(1, 0, EOS, 0.0, 0.0)]])
    assert (first.tokens, first.slots) == ([11, 13], [1, 1])
    assert (second.tokens, second.slots) == ([20, EOS], [0])
