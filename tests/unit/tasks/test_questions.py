"""Answers of a reader whose probabilities are set by hand: n-best spans, windows, no answer, and bad inputs."""

import json

import numpy as np
import pytest

import saccade
from helpers.asgi import application, ask, post
from helpers.asgi import run as asgi
from helpers.commands import run
from helpers.recipes import MODEL, recipe_of, write_folder
from saccade.api import Model
from saccade.corpora import CORPORA, stories
from saccade.data.forms import QUESTIONS
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.errors import ConfigError, DataError
from saccade.runs.corpus import Corpus
from saccade.runs.folder import build_task
from saccade.search import SearchConfig
from saccade.serve.models import Served
from saccade.tasks.batching import stream
from saccade.tasks.tracing import TraceOptions

PASSAGE = "Ada went to Rome. Ben stayed in Oslo, and Ada wrote."
QUESTION = "Where did Ada go?"
ASKED = {"question": QUESTION, "passage": PASSAGE}


def build(**reader):
    settings = {"task": "questions", "data": {"train": "unused.jsonl"}, "tokenizer": {"kind": "word"}, "model": MODEL}
    tokenizer = Tokenizer.train(TokenizerConfig(kind="word"), [PASSAGE, QUESTION])
    return build_task(recipe_of({**settings, "reader": reader}), Tokenizers(tokenizer, None))


def likely(task, monkeypatch, ends, none=-9.0):
    """Let the task find answers, whose log-probabilities are given by their first and last words, in any window."""

    def logs(windows, tape, start=None):
        found = np.full((len(windows), 2, max(window.size for window in windows) + 1), -20.0, np.float32)
        for row, window in enumerate(windows):
            found[row, :, window.size] = (none[row] if isinstance(none, list) else none) / 2
            for place, word in enumerate(window.passage.spelled):
                for (first, last), score in ends.items():
                    found[row, 0, place] = score / 2 if word == first else found[row, 0, place]
                    found[row, 1, place] = score / 2 if word == last else found[row, 1, place]
        return found

    monkeypatch.setattr(task, "_logs", logs)
    return task


def answers(found):
    return [(part.text, part.span) for part in (found, *found.alternatives)]


def test_the_best_spans_with_their_places(monkeypatch):
    task = likely(build(), monkeypatch, {("Rome", "Rome"): -1.0, ("stayed", "Oslo"): -2.0}, none=-50.0)
    (found,) = task.predict([ASKED], SearchConfig(beam=4, nbest=4), attention=False)
    best, *others = answers(found)
    assert best == ("Rome", (12, 16))
    assert found.score == pytest.approx(-1.0)
    assert ("stayed in Oslo", (22, 36)) in others
    assert ("Rome. Ben stayed in Oslo", (12, 36)) in others
    assert all(text == PASSAGE[slice(*span)] for text, span in others)
    assert [part.score for part in found.alternatives] == sorted((p.score for p in found.alternatives), reverse=True)


def test_an_answer_is_no_longer_than_the_longest(monkeypatch):
    task = likely(build(longest=2), monkeypatch, {("stayed", "Oslo"): -1.0})
    (found,) = task.predict([ASKED], SearchConfig(), attention=False)
    assert found.text != "stayed in Oslo"


@pytest.mark.parametrize(("margin", "text"), [(0.0, ""), (0.4, ""), (0.6, "Rome"), (-5.0, "")])
def test_no_answer_is_given_beyond_the_margin(monkeypatch, margin, text):
    task = likely(build(), monkeypatch, {("Rome", "Rome"): -1.5}, none=-1.0)
    (found,) = task.predict([ASKED], SearchConfig(no_answer=margin, nbest=2, beam=2), attention=False)
    assert found.text == text
    assert found.span == (None if text == "" else (12, 16))
    assert {"", "Rome"} == {found.text, found.alternatives[0].text}
    assert task.trace(ASKED, SearchConfig(no_answer=margin), TraceOptions()).text == text


def test_a_window_without_an_answer_does_not_hide_that_of_another(monkeypatch):
    """Windows of four words overlap by two, so each answer is in one or two of them."""
    task = likely(build(window=4), monkeypatch, {("Oslo", "Oslo"): -1.0})
    count = len(task._windows(0, task.opened(ASKED).value))
    assert count > 3
    for none, text in (([-0.01] * (count - 1) + [-3.0], "Oslo"), ([-0.01] * count, "")):
        likely(task, monkeypatch, {("Oslo", "Oslo"): -1.0}, none=none)
        (found,) = task.predict([ASKED], SearchConfig(), attention=False)
        assert found.text == text
        trace = task.trace(ASKED, SearchConfig(), TraceOptions())
        assert trace.left_out[0].startswith(f"The passage is read in {count} windows")


def test_every_word_is_in_a_window_and_offsets_are_those_of_the_passage():
    task = build(window=5)
    windows = task._windows(0, task.opened(ASKED).value)
    seen = {offset for window in windows for offset in window.passage.offsets}
    assert seen == {*task.source.offsets([PASSAGE])[0]}
    assert all(window.size <= 5 for window in windows)
    for window in windows:
        assert [PASSAGE[begin:end] for begin, end in window.passage.offsets] == window.passage.spelled


BAD = [
    ({"question": QUESTION, "passage": ""}, "the passage is empty. Give a question and the passage that answers it."),
    ({"question": "  ", "passage": PASSAGE}, "the question is empty."),
    ({"question": QUESTION}, 'has no passage, but this model reads {"question": "…", "passage": "…"}.'),
    (PASSAGE, 'but this model reads {"question": "…", "passage": "…"}.'),
    ({**ASKED, "answer": "x"}, "has the field 'answer', but this model reads"),
    ({"question": QUESTION, "passage": "word " * 40_000}, "has 40,001 tokens, but this model reads at most 10,000"),
]


@pytest.mark.parametrize(("wrong", "said"), BAD, ids=lambda part: str(part)[:30])
def test_a_bad_input_is_named_and_nothing_else_is_lost(wrong, said):
    task, reasons = build(), []
    found = list(stream(task, [ASKED, wrong, ASKED], SearchConfig(), on_error=reasons.append))
    (why,) = reasons
    assert why.startswith("input 2")
    assert said in why
    assert "\n" not in why
    assert [part.text for part in found] == [found[0].text, "", found[0].text]
    assert found[0].source == QUESTION
    with pytest.raises(DataError, match="input 2"):
        list(stream(task, [ASKED, wrong], SearchConfig()))


def test_the_command_line_and_python_name_bad_inputs_too(capsys, tmp_path):
    folder = write_folder(build(), tmp_path / "model")
    lines = [json.dumps(ASKED), json.dumps({"question": QUESTION}), json.dumps(ASKED), "{"]
    (tmp_path / "asked.jsonl").write_text("".join(f"{line}\n" for line in lines))
    ran = run(capsys, "predict", folder, "--file", tmp_path / "asked.jsonl", "--nbest", 3, "--no-answer", 1000)
    first, second, third, fourth = ran.out[:-1].split("\n")
    assert (first, second, fourth) == (third, "", "")
    assert len(first.split("\t")) == 3
    assert all(part and part in PASSAGE for part in first.split("\t"))
    assert ran.code == 1
    assert ran.err.count("saccade: input") == 2
    assert "Traceback" not in ran.err
    model = saccade.load(folder, device="cpu")
    with pytest.raises(DataError, match="has no passage"):
        model({"question": QUESTION})
    assert model(ASKED).text == run(capsys, "predict", folder, QUESTION, PASSAGE).out.rstrip("\n")


def test_examples_are_mappings_and_others_are_refused():
    task = build()
    task.recipe = task.recipe.model_copy(update={"examples": [ASKED]})
    assert task.examples() == [{"input": ASKED}]
    settings = {"task": "questions", "data": {"train": "unused.jsonl"}, "model": MODEL}
    assert recipe_of({**settings, "examples": [ASKED]}).examples == [ASKED]
    with pytest.raises(ConfigError, match=r"examples.1: an example is 'why\?', but this model reads \{"):
        recipe_of({**settings, "examples": [ASKED, "why?"]})


def test_guided_hops_need_hops():
    settings = {"task": "questions", "data": {"train": "unused.jsonl"}, "model": MODEL}
    tokenizer = Tokenizer.train(TokenizerConfig(kind="word"), [PASSAGE])
    guided = {**settings, "objective": {"guided_hops": {"weight": 1.0}}}
    with pytest.raises(ConfigError, match=r"guided_hops needs a reader with hops.*Raise reader\.hops"):
        build_task(recipe_of(guided), Tokenizers(tokenizer, None)).objective()
    task = build_task(recipe_of({**guided, "reader": {"hops": 1}}), Tokenizers(tokenizer, None))
    assert [term.name for term in task.objective().terms] == ["guided_hops"]
    assert "evidence" in [feature.name for feature in task.features(None)]
    assert "evidence" not in [feature.name for feature in build(hops=1).features(None)]


def test_evaluate_prints_the_groups_and_the_report_has_their_intervals(capsys, tmp_path):
    folder = write_folder(build(hops=2), tmp_path / "model")
    corpus = list(stories("valid", 12, min_length=30, max_length=40, unanswerable=0.2))
    (path,) = QUESTIONS.write(corpus, tmp_path, "asked", ())
    ran = run(capsys, "evaluate", folder, path)
    assert ran.code == 0, ran.err
    rows = [line.split() for line in ran.out.splitlines()]
    assert ["question", "word", "examples", "f1", "exact", "pointing", "support", "support_precision"] in rows
    report = json.loads((folder / "report-asked.json").read_text())
    groups = report["by_group"]["sentences of evidence"]
    assert sum(group["examples"] for group in groups.values()) == 12
    assert set(groups) == {str(len(example.evidence)) for example in corpus}
    where = report["by_group"]["question word"]["where"]
    assert ["where", str(where["examples"])] in [row[:2] for row in rows]
    assert where["bands"]["f1"][0] <= where["metrics"]["f1"] <= where["bands"]["f1"][1]


def test_the_hops_of_an_evaluation_are_those_of_the_model():
    """The metric is computed here by hand, from the attention of each prediction."""
    task = build(hops=2)
    corpus = list(stories("valid", 10, min_length=30, max_length=40))
    found = task.evaluate(corpus, SearchConfig())
    seen = 0
    for example, one in zip(corpus, task.predict([task.given(each) for each in corpus], SearchConfig()), strict=True):
        (offsets,) = task.source.offsets([example.source])
        ends = [one.attention.weights[f"hops.{number}"][0, 0].argmax() for number in range(2)]
        begins = [offsets[end][0] for end in ends if end < len(offsets)] + ([one.span[0]] if one.span else [])
        seen += sum(any(first <= begin < last for begin in begins) for first, last in example.evidence)
    assert found.statistics["support"].counts.sum(0).tolist() == [seen, sum(len(each.evidence) for each in corpus)]


def test_stories_with_and_without_unanswerable_questions_are_cached_apart(tmp_path):
    data = {"corpus": "stories", "size": 30, "held_out": 5, "cache": str(tmp_path)}
    found = {}
    for share in (0.0, 0.5, 0.0):
        settings = {"task": "questions", "data": {**data, "unanswerable": share}, "model": MODEL}
        found[share] = list(Corpus(recipe_of(settings)).examples("train"))
        assert found[share] == list(stories("train", 30, unanswerable=share))
    assert found[0.0] != found[0.5]


def test_examples_are_served_as_requests_that_work(tmp_path):
    """An example of the corpus, sent back as it came, is answered and traced."""
    settings = {"task": "questions", "data": {"corpus": "stories"}, "tokenizer": {"kind": "word"}, "model": MODEL}
    tokenizer = Tokenizer.train(TokenizerConfig(kind="word"), [example.source for example in stories("valid", 20)])
    app = application(Served("asked", Model(build_task(recipe_of(settings), Tokenizers(tokenizer, None)))))
    (served,) = asgi(ask(app, "GET", "/v1/models")).json["models"]
    assert served["input"] == "question"
    assert served["examples"] == [{"input": given} for given in CORPORA["stories"].examples]
    for example in served["examples"]:
        (found,) = asgi(post(app, example)).json["predictions"]
        assert found["text"] == example["input"]["passage"][slice(*found["span"])]
        assert asgi(post(app, example, "/v1/trace")).json["text"] == found["text"]
        (none,) = asgi(post(app, {**example, "options": {"no_answer": -1000}})).json["predictions"]
        assert (none["text"], none.get("span")) == ("", None)
