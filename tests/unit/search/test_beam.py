"""Beam search with pencil and paper."""

import math

import pytest

from helpers.search import beam, greedy
from helpers.table_model import Table, random_table
from saccade.batch import BOS, EOS, PAD, Batch
from saccade.search import Beam, Limits, Required, run

A, B, C, D, E = 4, 5, 6, 7, 8
ONE = Batch.from_lists([[3, 4]])


def tokens_of(found):
    return [one.tokens for one in found]


GARDEN = {
    (): {A: 0.6, B: 0.4},
    (A,): {C: 0.4, D: 0.35, E: 0.25},  # the likelier word, and then nothing is likely
    (B,): {EOS: 0.9, C: 0.1},
}


def garden(sentence, words):
    return GARDEN.get(words, {EOS: 1.0})


def test_a_beam_of_two_leaves_the_garden_path_that_greedy_takes():
    model = Table(9, garden)
    assert greedy(model, ONE)[0].tokens == [A, C, EOS]
    assert greedy(model, ONE)[0].log_probability == pytest.approx(math.log(0.24))
    (found,) = beam(model, ONE, 2)
    assert tokens_of(found) == [[B, EOS]]
    assert found[0].log_probability == found[0].score == pytest.approx(math.log(0.36))


def test_the_second_best_is_listed_second():
    (found,) = beam(Table(9, garden), ONE, 3, nbest=3)
    assert tokens_of(found) == [[B, EOS], [A, C, EOS], [A, D, EOS]]
    assert [one.score for one in found] == pytest.approx([math.log(0.36), math.log(0.24), math.log(0.21)])


LENGTHS = {
    (): {A: 0.25, B: 0.3, E: 0.45},
    (B,): {EOS: 1.0},
    (A,): {C: 1.0},
    (A, C): {D: 1.0},
    (E,): {A: 0.2, B: 0.2, C: 0.2, D: 0.2, E: 0.2},
}


@pytest.mark.parametrize(
    ("alpha", "winner", "score"),
    [
        (0.0, [B, EOS], math.log(0.3)),
        (1.0, [A, C, D, EOS], math.log(0.25) / 1.5),  # lp = 9/6; the shorter has log 0.3 / (7/6) = -1.03 < -0.92
        (-1.0, [B, EOS], math.log(0.3) * 7 / 6),
    ],
)
def test_a_length_penalty_changes_the_winner(alpha, winner, score):
    model = Table(9, lambda sentence, words: LENGTHS.get(words, {EOS: 1.0}))
    ((found,),) = beam(model, ONE, 5, length_penalty=alpha)
    assert found.tokens == winner
    assert found.score == pytest.approx(score)


def half_blind(sentence, words):
    """Answers that begin with A attend to the first source word; those that begin with B attend to both."""
    return [0.5, 0.5] if words[:1] == (B,) else [0.95, 0.05] if words else [0.9, 0.1]


@pytest.mark.parametrize(
    ("beta", "winner", "score"),
    [
        (0.0, [A, EOS], math.log(0.55)),
        # coverage of A: 0.9 + 0.95 and 0.1 + 0.05; of B: 0.9 + 0.5 and 0.1 + 0.5. Above 1 counts as 1
        (0.1, [A, EOS], math.log(0.55) + 0.1 * math.log(0.15)),
        (0.5, [B, EOS], math.log(0.45) + 0.5 * math.log(0.6)),
    ],
)
def test_a_coverage_penalty_prefers_who_looks_everywhere(beta, winner, score):
    opinion = {(): {A: 0.55, B: 0.45}}
    model = Table(9, lambda sentence, words: opinion.get(words, {EOS: 1.0}), half_blind)
    ((found,),) = beam(model, ONE, 3, coverage_penalty=beta)
    assert found.tokens == winner
    assert found.score == pytest.approx(score)
    assert found.log_probability == pytest.approx(math.log(0.55 if winner[0] == A else 0.45))


@pytest.mark.parametrize(
    ("gamma", "winner", "score"),
    [
        (0.0, [A, EOS], math.log(0.55)),
        # A: min(0.95, 0.9) + min(0.05, 0.1) had attention before; B: min(0.5, 0.9) + min(0.5, 0.1)
        (0.2, [A, EOS], math.log(0.55) - 0.2 * 0.95),
        (1.0, [B, EOS], math.log(0.45) - 1.0 * 0.6),
    ],
)
def test_an_overlap_penalty_prefers_who_looks_elsewhere(gamma, winner, score):
    opinion = {(): {A: 0.55, B: 0.45}}
    model = Table(9, lambda sentence, words: opinion.get(words, {EOS: 1.0}), half_blind)
    ((found,),) = beam(model, ONE, 3, overlap_penalty=gamma)
    assert found.tokens == winner
    assert found.score == pytest.approx(score)


@pytest.mark.parametrize("penalty", ["coverage_penalty", "overlap_penalty"])
def test_padding_needs_no_coverage(penalty):
    model = random_table(1, source=2)
    together = beam(model, Batch.from_lists([[3, 4], [5, 6, 7, 8]]), 3, max_length=5, **{penalty: 0.7})[0]
    (alone,) = beam(model, Batch.from_lists([[3, 4]]), 3, max_length=5, **{penalty: 0.7})
    assert together[0].score == pytest.approx(alone[0].score)


def test_a_word_that_is_never_looked_at_costs_much_but_not_everything():
    model = Table(9, lambda sentence, words: {A: 0.5, EOS: 0.5}, lambda sentence, words: [1.0, 0.0])
    ((found,),) = beam(model, ONE, 1, coverage_penalty=1.0, max_length=1)
    assert found.score == pytest.approx(math.log(0.5) + math.log(1e-10))


def test_coverage_counts_the_mean_of_heads_and_is_not_returned_unasked():
    model = random_table(1)
    batch = Batch.from_lists([[3, 4, 5]])
    ((seen,),) = beam(model, batch, 3, coverage_penalty=0.7, max_length=5)
    ((unseen,),) = beam(model, batch, 3, coverage_penalty=0.7, max_length=5, attention=False)
    assert (seen.tokens, seen.score) == (unseen.tokens, unseen.score)
    assert set(seen.attention) == {"attention"}
    assert unseen.attention == {}


def test_hypotheses_that_do_not_end_come_after_those_that_do():
    model = Table(9, lambda sentence, words: {A: 0.9, EOS: 0.1})
    (found,) = beam(model, ONE, 2, nbest=2, max_length=3)
    # EOS is among the two best after each word; the likeliest of all, A A A, has no end
    assert tokens_of(found) == [[EOS], [A, EOS]]
    never = Table(9, lambda sentence, words: {A: 1.0} if words else {A: 0.7, B: 0.3})
    (found,) = beam(never, ONE, 2, nbest=2, length_penalty=1.0, max_length=3)
    assert tokens_of(found) == [[A, A, A], [B, A, A]]
    assert not any(one.finished for one in found)
    assert [one.score for one in found] == pytest.approx([math.log(0.7) / (8 / 6), math.log(0.3) / (8 / 6)])


def test_a_search_goes_on_while_a_live_hypothesis_is_the_likelier():
    model = Table(9, lambda sentence, words: {EOS: 0.9, B: 0.1} if words else {EOS: 0.45, A: 0.55})
    ((found,),) = beam(model, ONE, 2)
    assert found.tokens == [A, EOS]  # 0.495
    assert model.fed == 2, "a live hypothesis of 0.055 cannot exceed it"


def test_a_search_goes_on_while_a_longer_answer_could_still_win():
    def opinion(sentence, words):
        return {EOS: 0.5, A: 0.5} if not words else {A: 0.99, EOS: 0.01} if len(words) < 8 else {EOS: 1.0}

    model = Table(9, opinion)
    ((plain,),) = beam(model, ONE, 2, max_length=20)
    assert plain.tokens == [EOS]
    assert model.fed <= 2
    ((long,),) = beam(model, ONE, 2, length_penalty=1.0, max_length=20)
    assert long.tokens == [A] * 8 + [EOS]


def test_a_finished_sentence_is_not_changed_by_the_others():
    def opinion(sentence, words):
        if sentence == 3:
            return {EOS: 0.9, A: 0.1}
        return {A: 0.99, EOS: 0.01} if len(words) < 6 else {EOS: 1.0}

    model = Table(9, opinion)
    batch = Batch.from_lists([[3], [4]])
    together = beam(model, batch, 2, nbest=2, max_length=20)
    assert model.fed > 3
    for row, found in enumerate(together):
        (alone,) = beam(model, Batch.from_lists([[3 + row]]), 2, nbest=2, max_length=20)
        assert found == alone


def test_padding_and_beginning_are_never_written():
    model = Table(9, lambda sentence, words: {PAD: 0.5, BOS: 0.4, A: 0.06, EOS: 0.04})
    (found,) = beam(model, ONE, 4, nbest=4, max_length=4)
    assert {token for one in found for token in one.tokens} == {A, EOS}


def test_fewer_come_back_than_asked_where_there_are_no_more():
    model = Table(9, lambda sentence, words: {EOS: 1.0} if words else {A: 0.6, B: 0.4})
    (found,) = beam(model, ONE, 5, nbest=5)
    assert tokens_of(found) == [[A, EOS], [B, EOS]]


def test_a_beam_finds_required_words_in_the_list_of_constraints():
    model = Table(9, lambda sentence, words: {A: 0.5, EOS: 0.499, B: 0.001})
    ((found,),) = run(model, ONE, Beam(3), Limits(max_length=20, constraints=[Required([[[B]]])]))
    assert found.tokens == [B, EOS]


def test_numbers_of_float64_models_are_not_rounded():
    model = Table(9, lambda sentence, words: {A: 1 / 3, EOS: 2 / 3})
    ((plain,),) = beam(model, ONE, 2, max_length=9, min_length=7)
    ((asked,),) = beam(model, ONE, 2, max_length=9, min_length=7, required=[[[A]]])
    wanted = 7 * math.log(1 / 3) + math.log(2 / 3)
    assert plain.log_probability == pytest.approx(wanted, rel=1e-14)
    assert asked.log_probability == pytest.approx(wanted, rel=1e-14)
