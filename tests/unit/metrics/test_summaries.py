"""Summaries: worked examples, agreement with rouge-score's own interface, and property tests."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from saccade.data import text
from saccade.errors import ConfigError, DataError
from saccade.metrics import METRICS, ROUGE, novelty, repeated_trigrams, rouge, summary_length, sums_interval
from saccade.metrics.summaries import _scorer

SUMMARIES = ["the gunman killed police", "a storm , a storm", "", "Nine people died."]
REFERENCES = [
    ["police killed the gunman"],
    ["storm hits town", "a storm hit the town"],
    ["nothing"],
    ["nine died", "9 died", "none"],
]
words = st.lists(st.sampled_from(["a", "storm", "storms", "hits", "town", "."]), max_size=8).map(" ".join)
examples = st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=3)), min_size=1, max_size=5)


def values(hypotheses, references, **options):
    return {name: part.total().value for name, part in rouge(hypotheses, references, **options).items()}


def test_rouge_of_a_worked_example():
    # Four words of four; of three bigrams "the gunman" is right; the longest common subsequences have two words.
    found = values(SUMMARIES[:1], REFERENCES[:1])
    assert found == {"rouge1": 100, "rouge2": pytest.approx(100 / 3), "rougeL": 50}


def test_f1_weighs_precision_and_recall_alike():
    # P = 2/2 and R = 2/6 in words, P = 1/1 and R = 1/5 in bigrams.
    found = values(["a storm"], [["a storm hits the old town"]])
    assert found["rouge1"] == found["rougeL"] == pytest.approx(100 * 2 * (1 / 3) / (4 / 3))
    assert found["rouge2"] == pytest.approx(100 * 2 * (1 / 5) / (6 / 5))


def test_the_best_reference_counts_for_each_metric_by_itself():
    # The first is better in words (3 of 3 and 3 of 3), the second in bigrams (2 of 2 and 2 of 3).
    found = values(["red big barn"], [["barn big red", "red big barn burns"]])
    assert found["rouge1"] == 100
    assert found["rouge2"] == pytest.approx(100 * 2 * (2 / 3) / (5 / 3))


def test_words_are_compared_by_their_stems():
    assert values(["storms killing"], [["storm killed"]])["rouge2"] == 100
    assert values(["storms killing"], [["storm killed"]], stemmer=False)["rouge1"] == 0


def test_case_and_punctuation_do_not_count():
    assert values(["A storm, in town!"], [["a Storm in town"]]) == dict.fromkeys(ROUGE, 100)


def test_a_summary_that_is_a_reference_gets_all_and_an_empty_one_nothing():
    assert values(["storm hits town"], [["other", "storm hits town"]]) == dict.fromkeys(ROUGE, 100)
    assert values([""], [["storm"]]) == values(["storm"], [[""]]) == dict.fromkeys(ROUGE, 0)


@given(examples)
def test_rouge_is_that_of_the_package(examples):
    hypotheses, references = zip(*examples, strict=True)
    scorer = RougeScorer([*ROUGE], use_stemmer=True)
    for name, part in rouge(hypotheses, references).items():
        best = [
            max(scorer.score(target, text)[name].fmeasure for target in texts)
            for text, texts in zip(hypotheses, references, strict=True)
        ]
        np.testing.assert_allclose(part.counts, [(100 * value, 1) for value in best])
        assert part.total().value == pytest.approx(100 * np.mean(best))


def test_the_signature_names_the_settings():
    signature = rouge(["a"], [["a"]])["rougeL"].signature
    assert signature.startswith("rougeL|f1|stemmer:yes|references:best|rouge-score:0.")


def test_new_words_and_bigrams_of_a_worked_example():
    source = "A storm hit the town . Nine people died ."
    # "kills" is new; "storm kills" and "kills nine" are new bigrams, "nine people" is not.
    assert novelty(["Storm kills nine people"], [source]).counts.tolist() == [[1, 4]]
    assert novelty(["Storm kills nine people"], [source], size=2).counts.tolist() == [[2, 3]]
    assert novelty(["kills kills"], [source]).total().value == 1
    assert novelty([source], [source], size=2).total().value == 0


def test_novelty_is_a_share_of_all_words():
    found = novelty(["a b", "c d e f"], ["a", "c d e"])
    assert found.total().value == pytest.approx(2 / 6)
    assert found.signature == "novelty|n:1|tok:caption-words"


def test_repeated_trigrams_of_a_worked_example():
    # the the the the the: three trigrams, two of them a repetition. a b c a b c: abc bca cab abc.
    found = repeated_trigrams(["the the the the the", "a b c a b c", "a b c d", "a b", ""])
    assert found.counts.tolist() == [[2, 3], [1, 4], [0, 2], [0, 0], [0, 0]]
    assert found.total().value == pytest.approx(3 / 9)


def test_length_counts_words():
    found = summary_length(["A storm, in town!", "", "it 's late ."])
    assert found.counts.tolist() == [[4, 1], [0, 1], [3, 1]]
    assert found.total().value == pytest.approx(7 / 3)


def test_nothing_to_share_is_zero():
    assert novelty([""], ["a"]).total().value == 0
    assert repeated_trigrams(["a"]).total().value == 0


def every(hypotheses, references):
    sources = [texts[0] for texts in references]
    return {
        **rouge(hypotheses, references),
        "novel_words": novelty(hypotheses, sources),
        "novel_bigrams": novelty(hypotheses, sources, size=2),
        "repeated_trigrams": repeated_trigrams(hypotheses),
        "summary_length": summary_length(hypotheses),
    }


def test_every_metric_has_a_row_and_bands():
    for name, part in every(SUMMARIES, REFERENCES).items():
        assert name in METRICS
        band = sums_interval(part.counts, part.score, samples=50)
        assert band.lower <= band.score == part.total().value <= band.upper


def test_a_resample_scores_as_the_text_it_stands_for():
    counts = np.array([2, 0, 1, 3])
    drawn = np.repeat(np.arange(4), counts)
    part = every([SUMMARIES[i] for i in drawn], [REFERENCES[i] for i in drawn])
    for name, whole in every(SUMMARIES, REFERENCES).items():
        assert whole.score(counts @ whole.counts) == pytest.approx(part[name].total().value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rouge(["a", "b"], [["a"]]), "2 summaries for 1 references"),
        (lambda: rouge([], []), "0 summaries to measure"),
        (lambda: rouge("a", [["a"]]), "summaries are one text"),
        (lambda: rouge(["a"], "a"), "references are one text"),
        (lambda: rouge(["a", "b"], [["a"], "b"]), r"references of summary 1 are one text. Write \[text\]"),
        (lambda: rouge(["a"], [[]]), "references of summary 0 are none"),
        (lambda: novelty(["a"], ["a", "b"]), "1 summaries for 2 sources"),
        (lambda: repeated_trigrams("a"), "summaries are one text"),
        (lambda: summary_length([]), "0 summaries"),
    ],
)
def test_what_cannot_be_compared_is_refused(call, message):
    with pytest.raises(DataError, match=message):
        call()


def test_an_impossible_size_is_refused():
    with pytest.raises(ConfigError, match="size is 0, but must be 1 or more: 1 for words"):
        novelty(["a"], ["a"], size=0)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(text.importlib, "import_module", missing)
    _scorer.cache_clear()
    with pytest.raises(ConfigError, match=r"ROUGE needs the extra 'metrics'\. .* -e '\.\[metrics\]'"):
        rouge(["a"], [["a"]])


def test_metrics_do_not_load_rouge_before_it_is_used():
    code = "import sys, saccade.metrics; assert not {'rouge_score', 'nltk', 'absl'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)
