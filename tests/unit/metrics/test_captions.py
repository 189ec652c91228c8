"""Captions with several references: published examples, sacrebleu's own BLEU, and laws."""

from functools import cache
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from saccade.errors import ConfigError, DataError
from saccade.metrics import (
    CAPTION_METRICS,
    caption_bleu,
    caption_statistics,
    cider_d,
    paired,
    rouge_l,
    sums_interval,
)

HYPOTHESES = ["a dog runs on the grass", "two men ride horses", "", "the the the", "A cat, sleeping."]
REFERENCES = [
    ["a dog is running on grass", "the dog runs on the green grass", "a dog"],
    ["two men riding on horses", "men ride horses"],
    ["a bus on a street"],
    ["the boy throws the ball", "a boy"],
    ["a cat sleeping"],
]

captions = st.lists(st.sampled_from(["a", "b", "dog", "dogs", "on"]), max_size=7).map(" ".join)
images = st.lists(st.tuples(captions, st.lists(captions, min_size=1, max_size=3)), min_size=1, max_size=5)

SUMS = [name for name in CAPTION_METRICS if name != "cider_d"]  # whose rows depend on no other image


def precision(hypothesis, references, size):
    """The precision of n-grams of one size in BLEU's rows."""
    row = caption_bleu([hypothesis], [references], order=2).counts[0]
    return row[size - 1], row[size + 1]


def test_the_precisions_of_the_examples_in_the_paper_on_bleu():
    references = [
        "It is a guide to action that ensures that the military will forever heed Party commands.",
        "It is the guiding principle which guarantees the military forces always being under the command of the Party.",
        "It is the practical guide for the army always to heed the directions of the party.",
    ]
    good = "It is a guide to action which ensures that the military always obeys the commands of the party."
    bad = "It is to insure the troops forever hearing the activity guidebook that party direct."
    assert precision(good, references, 1) == (17, 18)
    assert precision(good, references, 2) == (10, 17)
    assert precision(bad, references, 1) == (8, 14)
    assert precision(bad, references, 2) == (1, 13)
    assert precision("the " * 7, ["The cat is on the mat.", "There is a cat on the mat."], 1) == (2, 7)


def test_bleu_with_and_without_the_penalty_for_brevity():
    # Five words where the nearest reference has six; 5 of 5, 4 of 4, 3 of 3 and 2 of 2 right.
    pair = ["the cat is on the"], [["the cat is on the mat", "a very long reference that is not near at all"]]
    assert caption_bleu(*pair).total().value == pytest.approx(exp(1 - 6 / 5))
    without = caption_bleu(*pair, brevity_penalty=False).total()
    assert without.value == 1
    assert without.signature == "caption-bleu|order:4|bp:no|smooth:none|tok:caption-words"


@pytest.mark.parametrize(("length", "factor"), [(3, exp(1 - 5 / 3)), (4, exp(1 - 5 / 4)), (5, 1), (6, 1), (7, 1)])
def test_only_captions_shorter_than_the_reference_are_penalized(length, factor):
    right = min(length, 5)  # of the words "a b c d e", then words that are wrong
    found = caption_bleu([" ".join("abcdexy"[:length])], [["a b c d e"]], order=1)
    assert found.total().value == pytest.approx(factor * right / length)


def test_the_shorter_of_two_lengths_that_are_equally_near():
    rows = caption_bleu(["a b c"], [["a b c d", "a b", "a"]], order=1).counts
    assert rows.tolist() == [[3, 3, 3, 2]]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@given(images)
def test_bleu_is_sacrebleus_without_smoothing(order, images):
    hypotheses, references = zip(*images, strict=True)
    most = max(map(len, references))
    streams = [[texts[i] if i < len(texts) else None for texts in references] for i in range(most)]
    own = BLEU(tokenize="none", smooth_method="none", max_ngram_order=order, force=True)
    expected = own.corpus_score(hypotheses, streams).score / 100
    assert caption_statistics(f"bleu{order}", hypotheses, references).total().value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("hypothesis", "expected"),
    [("police kill the gunman", 3 / 4), ("the gunman kill police", 2 / 4), ("the gunman police killed", 2 / 4)],
)
def test_the_examples_of_the_paper_on_rouge(hypothesis, expected):
    assert rouge_l([hypothesis], [["police killed the gunman"]], beta=1).total().value == pytest.approx(expected)


def test_rouge_takes_precision_and_recall_from_different_references():
    # "a b c d": all of it is in the long reference, P = 1, R = 1/2; the short one has R = 1, P = 1/4.
    found = rouge_l(["a b c d"], [["a b c d e f g h", "d"]])
    assert found.total().value == 1
    # With the long one alone: (1 + 1.44) · 1 · 0.5 / (0.5 + 1.44)
    alone = rouge_l(["a b c d"], [["a b c d e f g h"]]).total()
    assert alone.value == pytest.approx(1.22 / 1.94)
    assert alone.signature == "rouge-l|beta:1.2|tok:caption-words"


def slow_rouge(hypothesis, references):
    """By the recursive definition of the longest common subsequence."""

    @cache
    def common(left, right):
        if not left or not right:
            return 0
        if left[0] == right[0]:
            return 1 + common(left[1:], right[1:])
        return max(common(left[1:], right), common(left, right[1:]))

    words = tuple(hypothesis.split())
    others = [tuple(reference.split()) for reference in references]
    p = max(common(words, other) / max(1, len(words)) for other in others)
    r = max(common(words, other) / max(1, len(other)) for other in others)
    return 0.0 if p * r == 0 else (1 + 1.2**2) * p * r / (r + 1.2**2 * p)


@given(images)
def test_rouge_the_slow_way_gives_the_same(images):
    hypotheses, references = zip(*images, strict=True)
    found = rouge_l(hypotheses, references)
    assert found.counts[:, 0] == pytest.approx([slow_rouge(*image) for image in images])
    assert found.total().value == pytest.approx(np.mean([slow_rouge(*image) for image in images]))


@pytest.mark.parametrize("metric", CAPTION_METRICS)
@given(images, st.randoms())
def test_the_order_of_references_changes_nothing(metric, images, random):
    hypotheses, references = zip(*images, strict=True)
    shuffled = [random.sample(texts, len(texts)) for texts in references]
    expected = caption_statistics(metric, hypotheses, references).counts
    np.testing.assert_allclose(caption_statistics(metric, hypotheses, shuffled).counts, expected, atol=1e-12)


@pytest.mark.parametrize("metric", CAPTION_METRICS)
@given(images)
def test_references_given_twice_change_nothing(metric, images):
    hypotheses, references = zip(*images, strict=True)
    expected = caption_statistics(metric, hypotheses, references).counts
    twice = caption_statistics(metric, hypotheses, [texts * 2 for texts in references]).counts
    np.testing.assert_allclose(twice, expected, atol=1e-12)


@pytest.mark.parametrize("metric", CAPTION_METRICS)
@given(images)
def test_scores_keep_to_their_range(metric, images):
    value = caption_statistics(metric, *zip(*images, strict=True)).total().value
    assert 0 <= value <= (10 if metric == "cider_d" else 1) + 1e-9


@pytest.mark.parametrize("metric", ["bleu1", "bleu2", "bleu3", "bleu4", "rouge_l"])
@given(st.lists(st.lists(st.sampled_from("abc"), min_size=4, max_size=8).map(" ".join), min_size=1, max_size=4))
def test_a_caption_that_is_one_of_the_references_gets_one(metric, texts):
    references = [[text, "something else"] for text in texts]
    assert caption_statistics(metric, texts, references).total().value == pytest.approx(1)


@pytest.mark.parametrize("metric", SUMS)
def test_a_resample_scores_as_the_text_it_stands_for(metric):
    counts = np.array([2, 0, 1, 3, 1])
    drawn = np.repeat(np.arange(5), counts)
    whole = caption_statistics(metric, HYPOTHESES, REFERENCES)
    part = caption_statistics(metric, [HYPOTHESES[i] for i in drawn], [REFERENCES[i] for i in drawn])
    assert whole.score(counts @ whole.counts) == pytest.approx(part.total().value)


@pytest.mark.parametrize("metric", CAPTION_METRICS)
def test_bands_and_comparisons_take_the_rows(metric):
    good = caption_statistics(metric, [texts[0] for texts in REFERENCES], REFERENCES)
    poor = caption_statistics(metric, HYPOTHESES, REFERENCES)
    band = sums_interval(poor.counts, poor.score, samples=50)
    assert band.lower <= band.upper
    assert band.score == poor.total().value
    assert paired(good.counts, poor.counts, good.score, samples=50).difference > 0


def test_captions_without_words_score_nothing():
    for metric in CAPTION_METRICS:
        assert caption_statistics(metric, ["", "...", "a"], [["a b"], ["b"], [""]]).total().value == 0
        assert caption_statistics(metric, [""], [[""]]).total().value == 0


def test_case_and_punctuation_do_not_count():
    for metric in CAPTION_METRICS:
        plain = caption_statistics(metric, ["a dog runs on grass", "cats"], [["a dog runs on grass"], ["a cat"]])
        noisy = caption_statistics(metric, ["A dog runs, on GRASS!", "Cats."], [["“A dog” runs on grass."], ["A cat"]])
        assert noisy.total() == plain.total()


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        (["a", "b"], [["a"]], "2 captions for the references of 1 images"),
        ([], [], "0 captions to compare"),
        ("a", [["a"]], "captions are one text"),
        (["a"], "a", "references are one text"),
        (["a", "b"], [["a"], "b"], r"references of image 1 are one text. Write \[text\]"),
        (["a", "b"], [["a"], []], "image 1 has 0 references"),
        (["a", None], [["a"], ["b"]], "caption of image 1 is None, but must be text"),
        (["a"], [["a", 7]], "a reference of image 0 is 7, but must be text"),
    ],
)
@pytest.mark.parametrize("metric", CAPTION_METRICS)
def test_what_cannot_be_compared_is_refused(metric, hypotheses, references, message):
    with pytest.raises(DataError, match=message):
        caption_statistics(metric, hypotheses, references)


def test_unknown_names_and_impossible_numbers_are_refused():
    with pytest.raises(ConfigError, match=r"caption metric 'cider'.*Did you mean 'cider_d'"):
        caption_statistics("cider", ["a"], [["a"]])
    with pytest.raises(ConfigError, match="order is 0, but must be 1 or more"):
        caption_bleu(["a"], [["a"]], order=0)
    with pytest.raises(ConfigError, match="beta is 0, but must be above 0"):
        rouge_l(["a"], [["a"]], beta=0)


def test_options_reach_the_metric():
    assert "bp:no" in caption_statistics("bleu2", ["a"], [["a"]], brevity_penalty=False).signature
    assert "order:2" in caption_statistics("bleu2", ["a"], [["a"]]).signature
    assert (
        caption_statistics("cider_d", ["a"], [["a"]], sigma=2).signature == cider_d(["a"], [["a"]], sigma=2).signature
    )
