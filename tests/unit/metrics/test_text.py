"""BLEU, chrF and TER: worked examples, and agreement with sacrebleu's own interface."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER

from saccade.errors import ConfigError, DataError
from saccade.metrics import TEXT_METRICS, bleu, chrf, ter, text_statistics

HYPOTHESES = ["the cat sat on the mat", "a b d", "", "Hello , world .", "short", "the the the the the"]
REFERENCES = ["the cat is on the mat", "a b c d", "nothing came", "Hello, world.", "a short one", "the cat"]

OWN = {"bleu": BLEU, "chrf": CHRF, "ter": TER}
sentences = st.lists(st.sampled_from(["a", "b", "c", "Dog", "cat.", "é", ","]), max_size=7).map(" ".join)
pairs = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=6)


def test_bleu_of_a_worked_example():
    # 5 of 6 words, 3 of 5 pairs, 1 of 4 triples, 0 of 3 fours, the last smoothed to a half; equal lengths.
    expected = 100 * (5 / 6 * 3 / 5 * 1 / 4 * (1 / 2) / 3) ** (1 / 4)
    assert bleu(HYPOTHESES[:1], REFERENCES[:1]).value == pytest.approx(expected)


def test_bleu_punishes_brevity():
    expected = 100 * np.exp(1 - 6 / 5)  # all n-grams right, 5 words for 6
    assert bleu(["the cat is on the"], ["the cat is on the mat"]).value == pytest.approx(expected)


def test_chrf_of_a_worked_example():
    # 1 of 2 letters and 0 of 1 pairs, in both directions: precision = recall = F = (1/2 + 0) / 2
    assert chrf(["ab"], ["ac"]).value == pytest.approx(25.0)


def test_ter_counts_edits_and_moves():
    assert ter(["a b d"], ["a b c d"]).value == pytest.approx(25.0)
    assert ter(["c d a b"], ["a b c d"]).value == pytest.approx(25.0)  # one block moved
    assert ter(["a b c d"], ["a b c d"]).value == 0.0


@pytest.mark.parametrize("metric", TEXT_METRICS)
@given(pairs)
def test_summed_statistics_give_the_score_of_sacrebleu(metric, pairs):
    hypotheses, references = [list(side) for side in zip(*pairs, strict=True)]
    own = OWN[metric]()
    expected = own.corpus_score(hypotheses, [references])
    total = text_statistics(metric, hypotheses, references).total()
    assert total.value == expected.score
    assert total.signature == str(own.get_signature())


@pytest.mark.parametrize("metric", TEXT_METRICS)
def test_a_resample_scores_as_the_text_it_stands_for(metric):
    counts = np.array([2, 0, 1, 3, 0, 1])
    statistics = text_statistics(metric, HYPOTHESES, REFERENCES)
    drawn = np.repeat(np.arange(6), counts)
    expected = OWN[metric]().corpus_score([HYPOTHESES[i] for i in drawn], [[REFERENCES[i] for i in drawn]]).score
    assert statistics.score(counts @ statistics.counts) == expected


@pytest.mark.parametrize("metric", TEXT_METRICS)
@given(pairs, st.randoms())
def test_the_order_of_sentences_changes_nothing(metric, pairs, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)
    values = {text_statistics(metric, *zip(*order, strict=True)).total().value for order in (pairs, shuffled)}
    assert len(values) == 1


def test_options_reach_sacrebleu_and_the_signature():
    assert "tok:13a" in bleu(["a"], ["a"]).signature
    assert "tok:char|" in bleu(["a"], ["a"], tokenize="char").signature
    assert bleu(["A B C D"], ["a b c d"], lowercase=True).value == pytest.approx(100)
    assert bleu(["A B C D"], ["a b c d"]).value == 0
    assert chrf(["AB"], ["ab"]).value == 0
    assert chrf(["AB"], ["ab"], lowercase=True).value == pytest.approx(100)
    assert "nw:2" in chrf(["a"], ["a"], word_order=2).signature
    assert ter(["A"], ["a"]).value == 0
    assert ter(["A"], ["a"], case_sensitive=True).value == 100


def test_short_sentences_need_the_effective_order():
    assert bleu(["a b"], ["a b"]).value == 0
    assert bleu(["a b"], ["a b"], effective_order=True).value == pytest.approx(100)


def test_text_that_looks_tokenised_is_no_reason_to_speak(capfd, caplog):
    lines = ["tokenised text ."] * 150
    BLEU().corpus_score(lines, [lines])
    assert "forgot to detokenize" in caplog.text  # what must not happen
    caplog.clear()
    capfd.readouterr()
    for score in (bleu, chrf, ter):
        score(lines, lines)
    assert caplog.text == ""
    assert capfd.readouterr() == ("", "")


def test_unequal_numbers_are_refused():
    with pytest.raises(DataError, match="2 hypotheses for 3 references"):
        bleu(["a", "b"], ["a", "b", "c"])


def test_nothing_to_compare_is_refused():
    with pytest.raises(DataError, match="0 hypotheses and 0 references"):
        chrf([], [])


def test_one_text_is_no_list():
    with pytest.raises(DataError, match=r"references are one text.*\[text\]"):
        ter(["a"], "a")


def test_what_is_no_text_is_refused_with_its_place():
    with pytest.raises(DataError, match="hypothesis 1 is None"):
        bleu(["a", None], ["a", "b"])
    with pytest.raises(DataError, match="reference 0 is 7"):
        bleu(["a"], [7])


def test_unknown_names_get_the_nearest():
    with pytest.raises(ConfigError, match=r"text metric 'blue'.*Did you mean 'bleu'"):
        text_statistics("blue", ["a"], ["a"])
    with pytest.raises(ConfigError, match=r"BLEU tokenizer '13b'.*Did you mean '13a'"):
        bleu(["a"], ["a"], tokenize="13b")
    with pytest.raises(ConfigError, match="word_order is -1"):
        chrf(["a"], ["a"], word_order=-1)
