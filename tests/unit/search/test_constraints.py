"""Constraints, alone and together, in every search."""

import math

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.search import beam, contains, greedy, lively_case, sample
from helpers.slow_search import Penalties, brute_force
from helpers.table_model import Table, random_table
from saccade.batch import EOS, PAD, Batch
from saccade.errors import ConfigError, DataError
from saccade.search import Constraint, MaximumLengths, MinimumLength, NoRepeat, Prefix

A, B, C, D = 4, 5, 6, 7
ONE = Batch.from_lists([[3, 4, 5]])
TWO = Batch.from_lists([[3, 4, 5], [4, 3]])


def by_sentence(model, batch, **limits):
    """All hypotheses of greedy search, beam search and sampling, by sentence."""
    generator = torch.Generator().manual_seed(0)
    kinds = (
        [[one] for one in greedy(model, batch, **limits)],
        beam(model, batch, 4, nbest=4, **limits),
        sample(model, batch, 4, generator=generator, **limits),
    )
    return [[one for kind in kinds for one in kind[row]] for row in range(batch.size)]


def words(one):
    return [token for token in one.tokens if token != EOS]


# Prefix


def test_each_sentence_begins_with_its_own_prefix():
    found = by_sentence(random_table(1), Batch.from_lists([[3], [4], [5]]), prefix=[[A, B], [], [C]], max_length=6)
    assert all(one.tokens[:2] == [A, B] for one in found[0])
    assert all(one.tokens[:1] == [C] for one in found[2])
    free = by_sentence(random_table(1), Batch.from_lists([[4]]), max_length=6)
    assert [one.tokens for one in found[1][:5]] == [one.tokens for one in free[0][:5]], "no requirement"


def test_the_words_of_a_prefix_count_in_the_probability():
    model = Table(8, lambda sentence, words: {A: 0.9, B: 0.1} if not words else {EOS: 0.5, A: 0.5})
    (found,) = greedy(model, ONE, prefix=[[B]])
    assert found.tokens == [B, EOS]
    assert found.log_probability == pytest.approx(math.log(0.1 * 0.5))


def test_a_prefix_is_followed_by_what_is_best_after_it():
    model = Table(8, lambda sentence, words: {C: 0.8, EOS: 0.2} if words == (A, B) else {EOS: 0.8, A: 0.1, B: 0.1})
    (found,) = greedy(model, ONE, prefix=[[A, B]])
    assert found.tokens == [A, B, C, EOS]


# Banned


def test_banned_words_and_phrases_never_come():
    model = random_table(2)
    banned = [[A], [B, C], [C, C, B]]
    free = by_sentence(model, TWO, max_length=7)
    assert any(contains(one.tokens, ban) for found in free for one in found for ban in banned)
    for found in by_sentence(model, TWO, max_length=7, banned=banned):
        for one in found:
            assert not any(contains(one.tokens, ban) for ban in banned)
            assert math.isfinite(one.log_probability)


def test_only_the_last_word_of_a_banned_phrase_is_refused_and_only_after_the_others():
    likes = {(): {A: 0.9, B: 0.1}, (A,): {B: 0.9, C: 0.1}, (B,): {B: 1.0}}
    model = Table(8, lambda sentence, words: likes.get(words, {EOS: 1.0}))
    assert greedy(model, ONE)[0].tokens == [A, B, EOS]
    assert greedy(model, ONE, banned=[[A, B]])[0].tokens == [A, C, EOS]
    assert greedy(model, ONE, banned=[[A]])[0].tokens == [B, B, EOS]


def test_a_word_can_be_banned_from_the_end():
    model = Table(8, lambda sentence, words: {A: 0.8, B: 0.2} if not words else {EOS: 0.7, B: 0.3})
    assert greedy(model, ONE)[0].tokens == [A, EOS]
    assert greedy(model, ONE, banned=[[A, EOS]])[0].tokens == [A, B, EOS]


# Lengths


def test_no_sentence_ends_before_min_length_or_after_max_length():
    model = random_table(3, end=4.0)
    assert any(len(words(one)) < 3 for found in by_sentence(model, TWO, max_length=5) for one in found)
    for found in by_sentence(model, TWO, min_length=3, max_length=5):
        for one in found:
            assert 3 <= len(words(one)) <= 5
            assert len(one.tokens) <= 5
            assert one.finished == (one.tokens[-1] == EOS)
            assert one.finished or len(one.tokens) == 5


def test_min_length_one_below_max_length_leaves_one_length():
    for found in by_sentence(random_table(3, end=9.0), TWO, min_length=4, max_length=5):
        for one in found:
            assert len(words(one)) == 4 or not one.finished


@pytest.mark.parametrize(("limits", "sizes"), [({}, [2, 5]), ({"max_length": 3}, [2, 3]), ({"max_length": 9}, [2, 5])])
def test_each_sentence_has_its_own_maximum_beside_that_of_all(limits, sizes):
    never = Table(8, lambda sentence, words: {A: 0.6, B: 0.4})
    for found, size in zip(by_sentence(never, TWO, max_lengths=[2, 5], **limits), sizes, strict=True):
        assert {len(one.tokens) for one in found} == {size}
        assert not any(one.finished for one in found)


@pytest.mark.parametrize("search", [greedy, beam, sample])
def test_maximum_lengths_too_many_or_too_few(search):
    for lengths in ([3], [3, 4, 5]):
        with pytest.raises(DataError, match=f"there are {len(lengths)} lengths for 2 sentences. Pass one each"):
            search(random_table(1), TWO, max_lengths=lengths)


@pytest.mark.parametrize(
    "rule", [MinimumLength(2), MaximumLengths([3, 1]), Prefix([[A, B], [C]])], ids=lambda rule: type(rule).__name__
)
def test_a_rule_rests_just_where_it_changes_nothing(rule):
    for count in range(5):
        logs, written = torch.zeros(2, 1, 8), torch.full((2, 1, count), A)
        same = torch.equal(rule(logs.clone(), written, 5 - count), logs)
        assert rule.rests(count) is same


# Required


def test_a_required_word_lands_where_the_beam_likes_it_best():
    def opinion(sentence, words):
        return {C: 0.3, A: 0.5, EOS: 0.2} if words == (A, A) else {A: 0.7, EOS: 0.29, C: 0.01}

    model = Table(8, opinion)
    ((found,),) = beam(model, ONE, 4, required=[[[C]]], max_length=12)
    assert found.tokens == [A, A, C, EOS]
    assert found.log_probability == pytest.approx(math.log(0.7 * 0.7 * 0.3 * 0.29))


def test_a_required_word_that_is_never_likely_does_not_make_the_answer_longer():
    model = Table(9, lambda sentence, words: {A: 0.25, B: 0.2, D: 0.15, 8: 0.1, EOS: 0.299, C: 0.001})
    for width in (2, 3, 5):
        ((found,),) = beam(model, ONE, width, required=[[[C]]], max_length=40)
        assert found.tokens == [C, EOS]


def test_a_beam_wide_enough_for_everything_finds_all_that_has_the_phrase():
    model = random_table(5, vocabulary=6)
    wanted = [one for one in brute_force(model, ONE, 4, Penalties()) if one.finished and contains(one.tokens, [A, B])]
    (found,) = beam(model, ONE, 81, nbest=81, required=[[[A, B]]], max_length=4)
    assert [tuple(one.tokens) for one in found if one.finished] == [one.tokens for one in wanted]
    assert all(contains(one.tokens, [A, B]) for one in found)


def test_sentences_without_requirements_are_searched_as_ever():
    model = random_table(6)
    together = beam(model, TWO, 3, nbest=3, required=[[[A]], []], max_length=6)
    (free,) = beam(model, Batch.from_lists([[4, 3, 3]]), 3, nbest=3, max_length=6)
    assert [one.tokens for one in together[1]] == [one.tokens for one in free]
    assert all(contains(one.tokens, [A]) for one in together[0])


@pytest.mark.parametrize(
    ("required", "shortest"),
    [
        ([[A]], 1),
        ([[A, B]], 2),
        ([[A, B], [B, C]], 3),  # A B C
        ([[B, C], [A, B]], 3),
        ([[A, B], [A, C]], 4),
        ([[A], [A, B], [A, B, C]], 3),  # one within the other
        ([[B], [A, B, C]], 3),
        ([[A], [A]], 1),  # twice the same is once
        ([[A, A]], 2),
        ([[A, A], [A, A, B]], 3),
        ([[A, B, A], [B, A, B]], 4),  # A B A B
        ([[A, B], [C, D], [B, C]], 4),  # A B C D
        ([[]], 0),
    ],
    ids=str,
)
def test_required_phrases_just_fit(required, shortest):
    """Required words are improbable, so each search postpones them until the room is just enough."""
    model = Table(9, lambda sentence, words: {8: 0.9, A: 0.02, B: 0.02, C: 0.02, D: 0.02, EOS: 0.02})
    for max_length in (shortest + 1, shortest + 3):
        (found,) = by_sentence(model, ONE, required=[required], max_length=max_length)
        for one in found:
            in_time = one.tokens[: max_length - 1]
            assert all(contains(in_time, phrase) for phrase in required), "with room left for the end"


def test_a_phrase_that_was_begun_and_dropped_still_fits():
    """After A B the model prefers 8: a search that counts only one missing word could allow 8 for too long."""
    likes = {(): {A: 0.9, 8: 0.1}, (A,): {B: 0.9, 8: 0.1}}
    model = Table(9, lambda sentence, words: likes.get(words, {8: 0.9, A: 0.02, B: 0.02, C: 0.02, EOS: 0.04}))
    for max_length in range(4, 9):
        (found,) = by_sentence(model, ONE, required=[[[A, B, C]]], max_length=max_length)
        for one in found:
            assert contains(one.tokens, [A, B, C])


def test_required_words_that_may_not_stand_together_are_kept_apart():
    model = Table(9, lambda sentence, words: {A: 0.5, B: 0.2, 8: 0.1, EOS: 0.2})
    (found,) = by_sentence(model, ONE, required=[[[A], [B]]], banned=[[A, B], [B, A]], max_length=4)
    for one in found:
        assert contains(one.tokens, [A])
        assert contains(one.tokens, [B])
        assert not contains(one.tokens, [A, B])
        assert not contains(one.tokens, [B, A])


def test_a_required_word_that_a_rule_of_ones_own_forbids_gives_way():
    def never(log_probabilities, written, steps_left):
        log_probabilities[..., C] = -torch.inf
        return log_probabilities

    (found,) = by_sentence(random_table(3, end=5.0), ONE, required=[[[C]]], constraints=[never], max_length=5)
    for one in found:
        assert len(one.tokens) == 5
        assert not {C, EOS} & set(one.tokens)
        assert not one.finished


phrases = st.lists(st.lists(st.integers(3, 7), min_size=1, max_size=3), max_size=3)


@settings(max_examples=80)
@example(seed=0, required=[[4, 5], [5, 4]], banned=[[4, 4], [5, 6]], prefix=[5], room=0, shortest=0)
@given(
    seed=st.integers(0, 1000),
    required=phrases,
    banned=st.lists(st.lists(st.integers(3, 9), min_size=1, max_size=3), max_size=3),
    prefix=st.lists(st.integers(3, 9), max_size=4),
    room=st.integers(0, 3),
    shortest=st.integers(0, 2),
)
def test_everything_that_is_asked_together_holds_together(seed, required, banned, prefix, room, shortest):
    """Words 10 and 11 are in no phrase, so there is always something to write between them."""
    banned = [ban for ban in banned if not any(contains(phrase, ban) for phrase in [*required, prefix])]
    max_length = len(prefix) + sum(len(phrase) + 1 for phrase in required) + 1 + room
    min_length = min(shortest, max_length - 1)
    model = random_table(seed, vocabulary=12)
    (found,) = by_sentence(
        model,
        Batch.from_lists([[3, 4, 5]]),
        required=[required],
        banned=banned,
        prefix=[prefix],
        min_length=min_length,
        max_length=max_length,
    )
    assert len(found) == 9
    for one in found:
        assert one.tokens[: len(prefix)] == prefix
        assert all(contains(one.tokens[: max_length - 1], phrase) for phrase in required), one
        assert not any(contains(one.tokens, ban) for ban in banned), one
        assert len(words(one)) >= min_length
        assert one.finished or len(one.tokens) == max_length
        assert math.isfinite(one.score)


# User-defined rules


class NoRepeats(Constraint):
    """Forbids repeated words; records its arguments."""

    def __init__(self):
        self.checked, self.calls = None, []

    def check(self, sentences, vocabulary, max_length):
        self.checked = (sentences, vocabulary, max_length)

    def __call__(self, log_probabilities, written, steps_left):
        self.calls.append((tuple(log_probabilities.shape), tuple(written.shape), steps_left))
        return log_probabilities.scatter(-1, written, -torch.inf) if written.shape[-1] else log_probabilities


def test_a_constraint_of_ones_own_is_checked_and_obeyed():
    rule = NoRepeats()
    found = beam(random_table(4, vocabulary=9), TWO, 3, nbest=3, constraints=[rule], max_length=5)
    assert rule.checked == (2, 9, 5)
    assert rule.calls[:2] == [((2, 3, 9), (2, 3, 0), 5), ((2, 3, 9), (2, 3, 1), 4)]
    for one in (one for some in found for one in some):
        assert len(set(one.tokens)) == len(one.tokens)


def test_a_plain_function_is_a_constraint():
    def only_even(log_probabilities, written, steps_left):
        log_probabilities[..., 3::2] = -torch.inf
        return log_probabilities

    for found in by_sentence(random_table(4, vocabulary=9), TWO, constraints=[only_even], max_length=6):
        for one in found:
            assert all(token % 2 == 0 for token in one.tokens)


# When nothing is left


def dead_after(count, sentence=None):
    """A rule after which nothing may be written once there are `count` words, in one sentence or in all."""

    def rule(log_probabilities, written, steps_left):
        if written.shape[-1] >= count:
            log_probabilities[slice(None) if sentence is None else sentence] = -torch.inf
        return log_probabilities

    return rule


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_hypothesis_stops_unfinished_where_nothing_may_be_written(count):
    model = random_table(7)
    both = by_sentence(model, TWO, constraints=[dead_after(count)], min_length=4, max_length=8)
    for found, words in zip(both, (3, 2), strict=True):
        assert len(found) == (9 if count else 6)  # there is one empty answer: a beam has it once
        for one in found:
            assert len(one.tokens) == count
            assert PAD not in one.tokens
            assert not one.finished
            assert math.isfinite(one.score)
            assert one.attention["attention"].shape == (1, count, words)


@pytest.mark.parametrize("search", [greedy, beam, sample])
def test_where_nothing_may_be_written_no_further_step_is_taken(search):
    model = random_table(7)
    search(model, ONE, constraints=[dead_after(2)], min_length=4, max_length=20)
    assert model.fed == 3, "two words, and the step in which there was none left"


def test_a_sentence_that_cannot_go_on_does_not_disturb_the_others():
    model = random_table(7)
    found = by_sentence(model, TWO, constraints=[dead_after(2, sentence=0)], min_length=4, max_length=8)
    free = by_sentence(model, TWO, min_length=4, max_length=8)
    assert all(len(one.tokens) == 2 for one in found[0])
    assert [one.tokens for one in found[1][:5]] == [one.tokens for one in free[1][:5]]


def test_a_beam_prefers_hypotheses_that_can_go_on():
    def no_way_on_after_a(log_probabilities, written, steps_left):
        if written.shape[-1]:
            dead = written[..., :1] == A
            log_probabilities = log_probabilities.masked_fill(dead, -torch.inf)
        return log_probabilities

    model = Table(8, lambda sentence, words: {A: 0.9, B: 0.1} if not words else {C: 0.5, EOS: 0.5})
    (found,) = beam(model, ONE, 2, nbest=2, constraints=[no_way_on_after_a], max_length=4)
    assert [one.tokens for one in found] == [[B, EOS], [B, C, EOS]]
    ((alone,),) = beam(model, ONE, 1, constraints=[no_way_on_after_a], max_length=4)
    assert (alone.tokens, alone.finished) == ([A], False)


def test_answers_from_a_list_are_all_there_is():
    """A rule that allows only known answers: no partial one is returned, even if more were requested."""
    answers = [[A, B, EOS], [A, EOS], [C, A, EOS]]

    def known(log_probabilities, written, steps_left):
        allowed = torch.zeros_like(log_probabilities, dtype=torch.bool)
        for row, some in enumerate(written.tolist()):
            for slot, begun in enumerate(some):
                for answer in answers:
                    if answer[: len(begun)] == begun and len(begun) < len(answer):
                        allowed[row, slot, answer[len(begun)]] = True
        return log_probabilities.masked_fill(~allowed, -torch.inf)

    (found,) = beam(random_table(9), ONE, 5, nbest=5, constraints=[known], max_length=6)
    assert sorted(one.tokens for one in found) == sorted(answers)
    assert greedy(random_table(9), ONE, constraints=[known], max_length=6)[0].tokens in answers


def test_of_several_maximum_lengths_the_shortest_counts():
    model, batch = lively_case("bahdanau", "seq2seq")
    lengths = [1 + row % 2 for row in range(batch.size)]
    rules = [MaximumLengths(lengths), MaximumLengths([3 - length for length in lengths])]
    for hypothesis in greedy(model, batch, max_length=9, constraints=rules):
        assert len(hypothesis.tokens) <= 1


# NoRepeat


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_run_of_words_stands_twice(size):
    model = random_table(3)
    free = by_sentence(model, TWO, max_length=12, min_length=9)
    found = by_sentence(model, TWO, max_length=12, min_length=3, constraints=[NoRepeat(size)])
    for hypotheses in found:
        for one in hypotheses:
            runs = [tuple(words(one)[start : start + size]) for start in range(len(words(one)) - size + 1)]
            assert len(set(runs)) == len(runs)
    repeated = [tuple(one.tokens[at : at + size]) for one in free[0] for at in range(len(one.tokens) - size + 1)]
    assert len(set(repeated)) < len(repeated), "without it runs repeat"


def test_only_the_word_that_completes_a_run_is_forbidden():
    logs = torch.zeros(1, 2, 9)
    written = torch.tensor([[[A, B, C, A, B], [A, A, B, D, A]]])
    allowed = NoRepeat(3)(logs, written, 5)[0] > -math.inf
    assert [place for place in range(9) if not allowed[0, place]] == [C]
    assert allowed[1].all()
    allowed = NoRepeat(2)(logs, written, 5)[0] > -math.inf
    assert [place for place in range(9) if not allowed[0, place]] == [C]
    assert [place for place in range(9) if not allowed[1, place]] == [A, B]
    assert [place for place in range(9) if NoRepeat(1)(logs, written, 5)[0, 1, place] == -math.inf] == [A, B, D]
    assert NoRepeat(6)(logs, written, 5) is logs
    assert NoRepeat(5).rests(4)
    assert not NoRepeat(5).rests(5)


def test_the_end_may_always_follow():
    logs, written = torch.zeros(1, 1, 6), torch.tensor([[[A, B, A]]])
    assert (NoRepeat(1)(logs, written, 1)[..., : EOS + 1] == 0).all()


def test_a_run_has_a_word():
    with pytest.raises(ConfigError, match="no_repeat_ngram is 0"):
        greedy(random_table(1), ONE, constraints=[NoRepeat(0)])
