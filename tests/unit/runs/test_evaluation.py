"""Value, confidence interval and difference to another model come from the same sums."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.recipes import MODEL, sentences, untrained
from saccade.data.example import Example, Links
from saccade.metrics import TEXT_METRICS, sums_interval, text_statistics
from saccade.runs.evaluation import compare, summarise
from saccade.search.search_config import SearchConfig
from saccade.tasks.base import Evaluation
from saccade.tasks.translation import SHORT_ANSWERS, score_texts

lines = st.lists(st.sampled_from("ab"), min_size=1, max_size=6).map(" ".join)
corpora = st.lists(st.tuples(lines, lines, lines), min_size=1, max_size=5)


def evaluated(texts: list[str], references: list[str]) -> Evaluation:
    """Evaluate answers with the code that scores translations."""
    statistics, signatures, notes = score_texts(texts, references)
    metrics = {name: part.value for name, part in statistics.items()}
    lengths = [len(line.split()) for line in references]
    return Evaluation(metrics, {"signatures": signatures}, statistics, lengths, notes=notes)


@given(corpora)
@settings(max_examples=10, deadline=None)
def test_value_band_and_difference_are_of_one_formula(rows):
    one, other, references = (list(side) for side in zip(*rows, strict=True))
    first, second = evaluated(one, references), evaluated(other, references)
    bands, against = summarise(second)["bands"], compare([("one", first), ("other", second)])["models"][1]
    for metric in TEXT_METRICS:
        alone = text_statistics(metric, other, references)  # test_bootstrap checks the resamples
        band = sums_interval(alone.counts, alone.score)
        assert second.metrics[metric] == alone.total().value
        assert bands[metric] == [band.lower, band.upper]
        found = against["against_first"][metric]["difference"]
        assert found == second.metrics[metric] - first.metrics[metric]


def test_one_right_pair_of_two_words_has_bleu_0_with_a_band_of_0_and_a_note_that_says_why():
    found = evaluated(["a b"], ["a b"])
    assert found.metrics["bleu"] == 0
    assert summarise(found)["bands"]["bleu"] == [0, 0]
    assert found.notes == [SHORT_ANSWERS]
    assert evaluated(["a b", "a b c d"], ["a b", "a b c d"]).notes == []


def test_bins_of_short_sentences_are_scored_by_the_n_grams_they_have():
    found = evaluated(["a b", "a b c d e f"], ["a b", "a b c d e f"])
    assert [(entry.low, entry.score) for entry in found.by_length(bounds=[3, 6])] == [
        (1, pytest.approx(100)),
        (4, pytest.approx(100)),
    ]
    assert "|eff:yes|" in found.details["signatures"]["bleu_by_length"]
    assert "|eff:no|" in found.details["signatures"]["bleu"]


def examples_of(kind: str) -> list[Example]:
    if kind == "classification":
        return [Example(source=text, label=label) for text, label in (("good cat", "good"), ("bad dog", "bad"))]
    if kind == "language-modeling":
        return [Example(target=text) for text in ("the cat sat down .", "a dog ran .", "it is so .", "a cat .")]
    texts = sentences(6)
    links = [Links(frozenset((n, n) for n in range(len(text.split())))) for text in texts]
    return [Example(source=text, target=text.upper(), links=link) for text, link in zip(texts, links, strict=True)]


@pytest.mark.parametrize("kind", ["translation", "language-modeling", "classification"])
def test_every_metric_with_a_band_has_the_value_that_its_sums_have(kind):
    found = untrained(kind, MODEL).evaluate(examples_of(kind), SearchConfig(max_length=5))
    assert found.statistics
    for name, part in found.statistics.items():
        assert found.metrics[name] == part.score(part.counts.sum(0)), name
