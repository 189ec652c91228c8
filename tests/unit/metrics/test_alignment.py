"""Links from attention, and their error rate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.data.example import Links
from saccade.errors import ConfigError, DataError, NumericsError, ShapeError
from saccade.metrics import align, alignment_error_rate, alignment_statistics, best_shift, error_rate
from saccade.metrics.alignment import AlignmentScore, ShiftReport

link_sets = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)
corpora = st.lists(st.tuples(link_sets, link_sets, link_sets), min_size=1, max_size=5)


def corpus(triples):
    """Predicted links and gold ones; a first sentence with a sure link, so that there is something to find."""
    predicted = [links for links, _, _ in triples] + [frozenset({(0, 0)})]
    gold = [Links(sure, maybe - sure) for _, sure, maybe in triples] + [Links(frozenset({(0, 0)}))]
    return predicted, gold


def one_hot(positions, width):
    return np.eye(width)[positions]


def test_a_worked_example():
    first = Links.parse("0-0 1-1 2-3 2-2P 3-3P")
    said = {(0, 0), (1, 2), (2, 3), (3, 3)}  # 2 sure, 3 possible, 4 links, 3 sure ones wanted
    score = alignment_error_rate([said], [first])
    assert score.error_rate == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert (score.precision, score.recall) == (3 / 4, pytest.approx(2 / 3))
    assert (score.links, score.sentences) == (4, 1)


def test_the_corpus_is_counted_as_one():
    gold = [Links.parse("0-0 1-1 2-3 2-2P 3-3P"), Links.parse("0-1")]
    said = [{(0, 0), (1, 2), (2, 3), (3, 3)}, {(0, 1), (1, 0)}]
    score = alignment_error_rate(said, gold)  # 2 + 1 sure, 3 + 1 possible, 4 + 2 links, 3 + 1 wanted
    assert score.error_rate == pytest.approx(1 - 7 / 10)
    assert (score.precision, score.recall) == (pytest.approx(4 / 6), 3 / 4)
    assert alignment_statistics(said, gold).tolist() == [[2, 3, 4, 3], [1, 1, 2, 1]]


def test_saying_nothing_misses_everything():
    score = alignment_error_rate([set()], [Links.parse("0-0 1-1")])
    assert (score.error_rate, score.precision, score.recall) == (1.0, 1.0, 0.0)


def test_only_possible_links_may_all_be_left_out():
    score = alignment_error_rate([set()], [Links.parse("0-0P")])
    assert (score.error_rate, score.precision, score.recall) == (0.0, 1.0, 1.0)


@given(corpora)
def test_the_error_rate_lies_between_0_and_1(triples):
    score = alignment_error_rate(*corpus(triples))
    assert 0 <= score.error_rate <= 1
    assert 0 <= score.precision <= 1
    assert 0 <= score.recall <= 1


@given(corpora)
def test_sure_links_with_any_possible_ones_are_perfect(triples):
    _, gold = corpus(triples)
    assert alignment_error_rate([links.sure for links in gold], gold).error_rate == 0
    assert alignment_error_rate([links.possible for links in gold], gold).error_rate == 0


@given(corpora, st.randoms())
def test_the_order_of_sentences_changes_nothing(triples, random):
    pairs = list(zip(*corpus(triples), strict=True))
    before = alignment_error_rate(*zip(*pairs, strict=True))
    random.shuffle(pairs)
    assert alignment_error_rate(*zip(*pairs, strict=True)) == before


@given(corpora)
def test_without_possible_links_it_is_one_minus_f1(triples):
    predicted, gold = corpus(triples)
    sure = [Links(links.sure) for links in gold]
    score = alignment_error_rate(predicted, sure)
    both = score.precision + score.recall
    assert score.error_rate == pytest.approx(1 - (2 * score.precision * score.recall / both if both else 0))


@given(corpora)
def test_summed_statistics_give_the_error_rate(triples):
    predicted, gold = corpus(triples)
    assert error_rate(alignment_statistics(predicted, gold).sum(0)) == alignment_error_rate(predicted, gold).error_rate


def test_each_target_word_gets_its_heaviest_source_word():
    weights = [[0.1, 0.7, 0.2], [0.5, 0.3, 0.2], [0.0, 0.0, 0.0], [0.4, 0.4, 0.2]]
    assert align(weights) == {(1, 0), (0, 1), (0, 3)}  # no link for the empty row, the first of equals


def test_a_shift_reads_a_later_row():
    weights = one_hot([2, 0, 1, 3], 4)
    assert align(weights, shift=1) == {(0, 0), (1, 1), (3, 2)}
    assert align(weights, shift=-1) == {(2, 1), (0, 2), (1, 3)}


def test_words_leaves_the_row_of_the_end_out():
    weights = one_hot([2, 0, 1], 3)
    assert align(weights, words=2) == {(2, 0), (0, 1)}
    assert align(weights, words=2, shift=1) == {(0, 0), (1, 1)}


def test_nothing_to_align_has_no_links():
    assert align([]) == set()
    assert align([[], []]) == set()
    assert align(np.zeros((0, 3))) == set()


def test_attention_to_the_word_fed_in_is_found_out():
    gold = [Links.parse("0-0 1-1 2-2"), Links.parse("1-0 0-1")]
    late = [one_hot([2, 0, 1, 2], 3), one_hot([0, 1, 0], 2)]  # each row attends to the previous word
    report = best_shift(late, gold)
    assert report.best == 1
    assert report.scores[1].error_rate == 0
    assert report.scores[0].error_rate == 1
    assert report.gain == 1
    warning = report.warning()
    assert "fed into a step (alignment error rate 0.00 with shift 1)" in warning
    assert "a step predicts (1.00 with shift 0)" in warning
    assert "shift=1" in warning


def test_attention_to_the_predicted_word_needs_no_warning():
    report = best_shift([one_hot([0, 1, 2, 2], 3)], [Links.parse("0-0 1-1 2-2")])
    assert (report.best, report.gain, report.warning()) == (0, 0, None)
    assert report.scores[0].links == report.scores[1].links == 3  # the row of EOS is no word


def test_the_expected_shift_is_the_first_asked_for():
    report = best_shift([one_hot([0, 1, 2, 2], 3)], [Links.parse("0-0 1-1 2-2")], shifts=(1, 0))
    assert (report.expected, report.best) == (1, 0)
    assert report.gain == pytest.approx(2 / 3)  # only the last word is right with shift 1
    assert "a step predicts (alignment error rate 0.00 with shift 0)" in report.warning()


@pytest.mark.parametrize(("words", "warns"), [(100, False), (10, True)])
def test_a_small_gain_is_no_reason_to_warn(words, warns):
    rows = one_hot([1] + [0] * words, 2)  # only the first row attends to the wrong word, and shift 1 does not read it
    report = best_shift([rows], [Links(frozenset((0, t) for t in range(words)))])
    assert (report.best, report.gain) == (1, pytest.approx(1 / words))
    assert (report.warning() is not None) == warns


def test_the_gain_is_the_difference_of_two_rates():
    report = best_shift([one_hot([2, 0, 1, 0], 3)], [Links.parse("0-0 1-1 2-2")])
    assert {shift: score.error_rate for shift, score in report.scores.items()} == {0: 1.0, 1: pytest.approx(1 / 3)}
    assert report.gain == pytest.approx(2 / 3)


def test_equal_rates_keep_the_expected_shift():
    report = best_shift([np.ones((3, 1))], [Links.parse("0-0 0-1")], shifts=(1, 0))
    assert (report.best, report.expected) == (1, 1)


def test_other_shifts_are_named_in_words():
    report = best_shift([one_hot([2, 2, 0, 1], 3)], [Links.parse("0-0 1-1")], shifts=(0, 2))
    assert report.best == 2
    assert "the word 2 steps before the predicted one" in report.warning()


def test_unequal_numbers_are_refused():
    with pytest.raises(DataError, match="2 alignments for 1 gold"):
        alignment_error_rate([set(), set()], [Links.parse("0-0")])
    with pytest.raises(DataError, match="0 alignments"):
        alignment_error_rate([], [])
    with pytest.raises(DataError, match="1 matrices for 2 gold"):
        best_shift([np.ones((2, 2))], [Links.parse("0-0")] * 2)


def test_gold_without_links_is_refused():
    with pytest.raises(DataError, match="of 2 sentences have 0 links"):
        alignment_error_rate([{(0, 0)}, set()], [Links(frozenset())] * 2)


def test_no_shifts_are_refused():
    with pytest.raises(ConfigError, match="0 shifts"):
        best_shift([np.ones((2, 2))], [Links.parse("0-0")], shifts=())


def test_a_matrix_without_a_row_for_the_end_is_noticed():
    with pytest.raises(
        DataError, match=r"sentence 1: the gold link 1-1 .* 2 source and 1 target words.*one for the end"
    ):
        best_shift([np.ones((2, 2)), np.ones((2, 2))], [Links.parse("0-0"), Links.parse("0-0 1-1")])
    with pytest.raises(DataError, match=r"link 5-0 .* 2 source"):
        best_shift([np.ones((2, 2))], [Links.parse("5-0")])
    with pytest.raises(ShapeError, match="matrix of sentence 0 has 0 rows"):
        best_shift([np.ones((0, 2))], [Links(frozenset())])


def test_other_shapes_are_refused():
    with pytest.raises(ShapeError, match=r"is \(2, 3, 4\), but must be \(T, S\)"):
        align(np.ones((2, 3, 4)))
    with pytest.raises(ShapeError, match=r"is \(2, 0, 4\), but must be \(T, S\)"):
        align(np.ones((2, 0, 4)))
    with pytest.raises(ShapeError, match="differ in length"):
        align([[1.0], [0.5, 0.5]])


def test_nan_is_refused_with_its_row():
    with pytest.raises(NumericsError, match=r"row 1 of an attention matrix \(2, 2\) has NaN"):
        align([[1, 0], [0, float("nan")]])


def test_a_gain_of_five_hundredths_is_enough_to_warn():
    rates = {0: 0.05, 1: 0.0}
    scores = {shift: AlignmentScore(rate, 1.0, 1.0, 20, 1) for shift, rate in rates.items()}
    assert "(0.05 with shift 0)" in ShiftReport(scores, expected=0, best=1).warning()


@pytest.mark.parametrize("link", ["2-0", "0-3"])
def test_the_word_after_the_last_lies_outside(link):
    matrix = np.ones((4, 2))  # three words and the end, two source words
    assert best_shift([matrix], [Links.parse("1-2")]).scores[0].links == 3
    with pytest.raises(DataError, match=f"the gold link {link} lies outside its 2 source and 3 target words"):
        best_shift([matrix], [Links.parse(link)])
