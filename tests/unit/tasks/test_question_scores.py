"""Scores of answers: the official rules by hand, groups, and attention to the evidence."""

import numpy as np
import pytest

from saccade.data.example import Example
from saccade.data.tokenizer import Tokenizer, TokenizerConfig
from saccade.metrics import answer_scores
from saccade.metrics.questions import normalized_answer
from saccade.prediction import AttentionMaps, Prediction, Side
from saccade.runs.evaluation import summarise
from saccade.tasks.question_scores import evaluated, question_word

PASSAGE = "Ada took the hat. Ben saw it. Ada went to Rome."
TOKENIZER = Tokenizer.train(TokenizerConfig(kind="word"), [PASSAGE])
(OFFSETS,) = TOKENIZER.offsets([PASSAGE])
WORDS = [PASSAGE[begin:end] for begin, end in OFFSETS]
HAT, SAW, WENT = (0, 17), (18, 29), (30, 47)
ROME = (42, 46)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Cat", "cat"),
        ("a  cat,\nan owl", "cat owl"),
        ("theory of an answer", "theory of answer"),
        ("U.S.A.", "usa"),
        ("the", ""),
        ("another-thing", "anotherthing"),
        ("1,000 %", "1000"),
    ],
)
def test_answers_are_compared_without_case_articles_and_punctuation(text, normal):
    assert normalized_answer(text) == normal


@pytest.mark.parametrize(
    ("answer", "references", "f1", "exact"),
    [
        ("the Eiffel Tower!", ["Eiffel tower"], 100, 100),
        ("Eiffel", ["Eiffel Tower"], 2 / 3 * 100, 0),
        ("in the big red house", ["red house", "house"], 2 / 3 * 100, 0),  # the best of both: 2 of 4 and 2 of 2 words
        ("big big house", ["big house"], 80, 0),  # a word counts as often as both have it
        ("house", ["home", "house"], 100, 100),
        ("cat", ["dog"], 0, 0),
        ("", [], 100, 100),
        ("cat", [], 0, 0),
        ("", ["cat"], 0, 0),
        ("the", [], 100, 100),  # nothing but an article
    ],
)
def test_exact_match_and_f1_by_hand(answer, references, f1, exact):
    found = answer_scores([answer], [references])
    assert found["f1"].total().value == pytest.approx(f1)
    assert found["exact"].total().value == exact


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("Where is it?", "where"),
        ("In which room?", "which"),
        ("Name it.", "other"),
        ("The whole, what's that?", "what"),
    ],
)
def test_question_words(question, word):
    assert question_word(question) == word


def example(question="Where is the hat?", span=ROME, evidence=(HAT, WENT)):
    text = PASSAGE[slice(*span)] if span else ""
    parts = {"references": (text,), "spans": (span,)} if span else {}
    return Example(source=PASSAGE, question=question, target=text, evidence=evidence, **parts)


def prediction(span, hops):
    """An answer, and the words that the hops attended to."""
    tokens = [*WORDS, "<eos>"]
    weights = np.full((len(hops), len(tokens)), 0.01)
    for row, place in enumerate(hops):
        weights[row, place] = 0.9
    maps = {"answer": np.zeros((1, 2, len(tokens))), **{f"hops.{n}": row[None, None] for n, row in enumerate(weights)}}
    between = {site: ("target" if site == "answer" else "summary", "source") for site in maps}
    attention = AttentionMaps(Side(tokens, [], []), Side([], [], []), maps, ("answer",), between)
    return Prediction("" if span is None else PASSAGE[slice(*span)], -1.0, [], attention, None, span=span)


def metrics(examples, predictions):
    return evaluated(examples, predictions, tokenizer=TOKENIZER).metrics


def test_where_the_answer_was_found():
    other = (5, 8)  # in the evidence, but not where the answer is
    found = [prediction(span, []) for span in (ROME, WENT, other, None)]
    for one, pointed in zip(found, (1, 1, 0, 0), strict=True):
        assert metrics([example()], [one])["pointing"] == pointed
    plain = evaluated([example(evidence=())], [prediction((30, 33), [])])
    assert plain.metrics["pointing"] == 1, "without evidence, the sentence of the answer is found by its punctuation"
    assert "support" not in plain.metrics
    assert list(plain.groups) == ["question word"]
    assert metrics([example(span=None, evidence=())], [prediction(None, [])])["pointing"] == 0


def test_which_sentences_were_looked_at():
    hat, ben, went, end = WORDS.index("hat"), WORDS.index("Ben"), WORDS.index("went"), len(WORDS)
    for span, hops, support, precision in [
        (ROME, [hat, went], 1, 1),
        (ROME, [hat, hat], 1, 1),  # the answer itself counts as attention to the last sentence
        (ROME, [went, went], 0.5, 1),
        (ROME, [ben, end], 0.5, 0),
        (None, [hat, ben], 0.5, 0.5),
    ]:
        found = metrics([example()], [prediction(span, hops)])
        assert (found["support"], found["support_precision"]) == (support, precision), hops


def test_a_passage_of_several_windows_is_left_out_of_the_looks():
    cut = prediction(ROME, [1])
    cut = Prediction("Rome", -1.0, [], AttentionMaps(Side(["a"], [], []), Side([], [], []), {}, ()), None, span=ROME)
    both = evaluated([example(), example()], [prediction(ROME, [0]), cut], tokenizer=TOKENIZER)
    assert both.statistics["support"].counts.tolist() == [[2, 2], [0, 0]]


def test_metrics_of_each_group_in_the_report():
    examples = [example(), example("Who took it?", (0, 3), (HAT,)), example("Who went?", (30, 33), (WENT,))]
    predictions = [prediction(ROME, []), prediction((0, 3), []), prediction((18, 21), [])]
    report = summarise(evaluated(examples, predictions, tokenizer=TOKENIZER))
    words = report["by_group"]["question word"]
    assert list(words) == ["who", "where"]
    assert (words["who"]["examples"], words["who"]["metrics"]["exact"]) == (2, 50)
    assert words["where"]["metrics"]["f1"] == 100
    assert words["who"]["bands"]["exact"] == [0, 100]
    facts = report["by_group"]["sentences of evidence"]
    assert {name: group["examples"] for name, group in facts.items()} == {"1": 2, "2": 1}
    assert sum(entry["count"] if "count" in entry else entry["sentences"] for entry in report["by_length"]) == 3
