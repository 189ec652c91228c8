"""Chat: what the model reads, how replies are ranked, and their metrics by hand."""

import json
import logging
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.chat import TURNS, chat
from saccade.attention import Tape
from saccade.batch import BOS, EOS, Batch
from saccade.data.example import Example, Links
from saccade.data.familiar import familiar
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.errors import ConfigError, DataError
from saccade.metrics import distinct, dull_share
from saccade.prediction import NOTHING, AttentionMaps, Prediction, Side
from saccade.recipes import RecipeText
from saccade.runs.recipe import load_recipe, parse_recipe
from saccade.runs.training import train
from saccade.search.search_config import SearchConfig
from saccade.tasks import chat as module
from saccade.tasks.batching import in_batches
from saccade.tasks.forced import reply_losses
from saccade.tasks.inputs import DIALOGUE
from saccade.tasks.tracing import TraceOptions
from saccade.trace import Trace

HISTORY = {"turns": TURNS[:3]}


@pytest.fixture(autouse=True)
def _forget_warnings():
    module._log.cache_clear()


def test_words_of_all_turns_are_shown_each_with_its_turn():
    (found,) = chat().predict([HISTORY], SearchConfig(max_length=6))
    side = found.attention.source
    assert side.words == " ".join(TURNS[:3]).split()
    assert side.turn_of_word == [0] * 5 + [1] * 7 + [2] * 5
    assert side.turn_of[-1] == 3, "the end belongs to no turn"
    assert found.source == TURNS[2]
    by_turn = found.attention.by_turn()
    weights = found.attention.weights["attention"].mean(0)
    np.testing.assert_allclose(by_turn.sum(1), 1, atol=1e-5)
    np.testing.assert_allclose(
        by_turn[0], [weights[0][np.array(side.turn_of) == turn].sum() for turn in range(4)], atol=1e-6
    )
    plain = found.to_dict()
    assert plain["attention"]["turn_of"] == side.turn_of
    assert "notes" not in plain


def test_turns_may_be_typed_without_spaces_before_marks():
    made = chat()
    kept = Tokenizer.train(TokenizerConfig(kind="word", punctuation="keep"), TURNS)
    made.tokenizers = Tokenizers(kept, kept)
    history = made.opened({"turns": ["Hello, i AM Zorb.", "zorb.x is bee?,", "ant !. what?!"]}).value
    assert history.turns == ("hello , i am Zorb .", "zorb.x is bee ? ,", "ant !. what?!"), "there is no ! to be read"
    assert familiar(kept, "Hello, Zorb.") == ("Hello, Zorb.", ["Hello,", "Zorb."]), "elsewhere words stay whole"
    assert familiar(kept, "Hello, Zorb.", marks=True) == ("hello , Zorb .", ["Zorb"])


HIERARCHICAL = {
    "preset": "hred-attention",
    "embedding": 8,
    "encoder": {"width": 8},
    "turns": {"width": 6},
    "decoder": {"width": 10, "output_width": 8},
    "init": {"kind": "default", "embedding": 1.0},
}


@pytest.mark.parametrize("search", [{}, {"beam": 3}, {"beam": 3, "coverage_penalty": 0.5}, {"sample": True}])
def test_a_hierarchical_model_replies_and_its_turns_get_the_weights_of_its_attention_over_turns(search):
    task, history = chat(model=HIERARCHICAL), {"turns": TURNS[:3]}
    one, other = task.predict([history, {"turns": TURNS[:1]}], SearchConfig(max_length=6, **search))
    (alone,) = task.predict([{"turns": TURNS[:1]}], SearchConfig(max_length=6, **search))
    assert (other.text, other.score) == (alone.text, pytest.approx(alone.score, abs=1e-4))
    trace = task.trace(history, SearchConfig(max_length=6, **search), TraceOptions(detail=True))
    (site,) = trace.sites
    assert (site.score, site.formula) == ("additive", "log b[t, turn(s)] + log w[t, s]")
    weights = site.weights.unpack()[0]
    if not search.get("sample"):
        np.testing.assert_allclose(weights, one.attention.weights["attention"][0], atol=1e-4)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-3)
    read = task.read([task.opened(history)])
    inner = task.model.inner
    memory, tape = inner.encode(read.batch), Tape()
    inner.step(memory, inner.init_state(memory, 4), torch.tensor([BOS]), tape=tape)
    of_turns = memory.bank.turns.total(tape["attention"][:, 0])[0, 0].detach().numpy()
    assert len(of_turns) == 4, "three turns and the end"
    np.testing.assert_allclose(one.attention.by_turn()[0], of_turns, atol=1e-5)


def test_attention_without_turns_says_so():
    side = Side(["a"], ["a"], [0])
    maps = AttentionMaps(side, side, {"attention": np.ones((1, 1, 1))}, ("attention",))
    assert side.turn_of_word == []
    with pytest.raises(ConfigError, match="not over a dialogue"):
        maps.by_turn()


def test_a_text_is_a_single_turn():
    task = chat()
    one, other = task.predict([TURNS[0], {"turns": [TURNS[0]]}], SearchConfig(max_length=6))
    assert (one.text, one.score) == (other.text, pytest.approx(other.score))
    tokens = task.read([TURNS[0]]).batch.source[0].tolist()
    assert (tokens[0], tokens[-1]) == (BOS, EOS)
    assert task.length(TURNS[0]) == len(tokens)


def test_what_was_left_out_is_said_in_the_answer_in_the_trace_and_once_in_the_log(caplog):
    task = chat(chat={"tokens": 14})
    with caplog.at_level(logging.WARNING, "saccade"):
        found = task.predict([HISTORY, HISTORY], SearchConfig(max_length=6))
        trace = task.trace(HISTORY, SearchConfig(max_length=6), TraceOptions())
        task.predict([{"turns": [*TURNS, *TURNS]}], SearchConfig(max_length=6))
    note = "The oldest 1 turn was left out: the history is longer than the model reads."
    assert found[0].notes == found[1].notes == [note]
    assert found[0].to_dict()["notes"] == [note]
    assert trace.left_out == [note]
    assert len(caplog.messages) == 1
    assert "only its end is read" in caplog.messages[0]
    side = trace.sides["source"]
    assert side.text == " ".join(TURNS[1:3])
    assert side.turn_of == [0] * 8 + [1] * 6 + [2]
    assert side.marks == [0, 8, 14]
    assert side.plain().turn_of == side.turn_of


def test_a_broken_turn_of_in_a_file_is_refused():
    trace = chat().trace(HISTORY, SearchConfig(max_length=6), TraceOptions()).model_dump()
    trace["sides"]["source"]["turn_of"].pop()
    with pytest.raises(ValueError, match="turn_of has 20 numbers for 21 tokens"):
        Trace.model_validate(trace)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"turns": "hello"}, "is {'turns': 'hello'}, but this model reads a text or"),
        ({"turns": ["a", 3]}, "but this model reads a text or"),
        ({"turn": ["a"]}, "but this model reads a text or"),
        ({"turns": ["a"], "more": 1}, "has the field 'more'"),
        ({"turns": ["a", " "]}, "the last of the turns, which is missing"),
        ({"turns": []}, "the last of the turns, which is missing"),
    ],
)
def test_what_is_no_dialogue(given, why):
    assert why in DIALOGUE.fault(given)


def test_lines_are_json_or_a_text():
    assert DIALOGUE.of_line('{"turns": ["a"]}') == {"turns": ["a"]}
    assert DIALOGUE.of_line("{hello} there") == "{hello} there"
    assert DIALOGUE.of_line("[1]") == "[1]"
    assert DIALOGUE.fault("{hello} there") is None
    assert DIALOGUE.fault({"turns": ["", "a"]}) is None


def test_mutual_information_ranks_by_what_the_history_adds():
    task = chat(chat={"mutual": 0.5, "candidates": 4, "without_history": 0.1})
    plain = chat()
    plain.model.load_state_dict(task.model.state_dict())
    search = SearchConfig(beam=4, nbest=4, max_length=6)
    before, after = (
        [found, *found.alternatives] for found in (one.predict([HISTORY], search)[0] for one in (plain, task))
    )
    assert sorted(part.text for part in before) == sorted(part.text for part in after)
    alone = task.read([{"turns": [""]}] * 4).batch
    replies = [task.target.encode(part.text).tokens for part in after]
    losses = reply_losses(task.model, alone, replies)[:, 0]
    logs = [_log_probability(task, part) for part in after]
    values = [log + 0.5 * loss for log, loss in zip(logs, losses, strict=True)]
    assert values == sorted(values, reverse=True)
    greedy = task.predict([HISTORY], SearchConfig(max_length=6))[0]
    assert (greedy.text, greedy.alternatives) == (after[0].text, [])


def _log_probability(task, found):
    read = task.read([HISTORY], sides=False)
    ended = found.tokens[-1] == "<eos>"
    tokens = task.spelling(task.opened(HISTORY)).encode(found.text).tokens
    if ended:
        return -float(reply_losses(task.model, read.batch, [tokens])[0, 0])
    with torch.no_grad():
        words = Batch.from_lists(targets=[tokens])
        logs = task.model(replace(read.batch, target=words.target, target_mask=words.target_mask))[0]
    return float(sum(logs[step, token] for step, token in enumerate(tokens)))


def faults(**settings):
    given = {"task": "chat", "data": {"train": "x.jsonl"}, **settings}
    with pytest.raises(ConfigError) as error:
        parse_recipe(RecipeText(given, "test"))
    return str(error.value)


def test_faults_of_recipes():
    assert "set chat.without_history to 0.1" in faults(chat={"mutual": 0.5})
    assert "exceed data.max_length, 256" in faults(chat={"tokens": 300})
    assert "articles has texts with summaries, but chat needs dialogues" in faults(data={"corpus": "articles"})


def said(monkeypatch, answers):
    found = [Prediction(text, 0.0, text.split(), AttentionMaps(NOTHING, NOTHING, {}, ())) for text in answers]
    monkeypatch.setattr("saccade.tasks.chat.in_batches", lambda *_, **__: found)


EXAMPLES = [
    Example(turns=tuple(TURNS[:3]), target="your name is ant .", links=Links(frozenset({(3, 3)}), frozenset({(6, 3)}))),
    Example(turns=(TURNS[1],), target="hello bee , i am zorblax .", links=Links(frozenset({(5, 1)}))),
]


def test_metrics_by_hand(monkeypatch):
    task, answers = chat(), ["your name is ant", "hello ant ."]
    said(monkeypatch, answers)
    found = task.evaluate(EXAMPLES, SearchConfig())
    assert found.metrics["slots"] == pytest.approx(1 / 2), "ant is written, bee is not"
    assert found.metrics["exact"] == pytest.approx(50), "punctuation does not count"
    # your name is ant: 4 of 4 and 4; hello ant against hello bee i am zorblax: 1 of 2 and 5
    assert found.metrics["f1"] == pytest.approx(100 * (1 + 2 / 7) / 2)
    assert found.metrics["reply_length"] == pytest.approx(3)
    assert found.metrics["distinct_1"] == distinct(answers, 1)
    assert found.metrics["dull"] == dull_share(answers) == 0
    assert found.details["references"]["reply_length"] == pytest.approx((4 + 5) / 2)
    assert found.details["slots_by_distance"] == {"1": {"share": 0, "slots": 1}, "3": {"share": 1, "slots": 1}}
    assert found.details["unknown_tokens"] == 1, "zorblax"
    assert found.lengths == [17, 7]
    losses = [
        float(
            reply_losses(task.model, task.read([task.given(each)]).batch, [task.target.encode(each.target).tokens])[
                0, 0
            ]
        )
        for each in EXAMPLES
    ]
    assert found.metrics["perplexity_per_word"] == pytest.approx(math.exp(sum(losses) / (6 + 8)), rel=1e-4)
    assert found.metrics["perplexity"] == pytest.approx(math.exp(sum(losses) / (6 + 8)), rel=1e-4)
    assert set(found.statistics) <= set(found.metrics)


def test_pointing_is_the_turn_with_most_attention(monkeypatch):
    task = chat()
    said(monkeypatch, ["a", "b"])
    found = task.evaluate(EXAMPLES, SearchConfig())
    first, second = (part.by_turn() for part in task.attend(EXAMPLES))
    right = [int(first[3].argmax()) in (0, 1), int(second[1].argmax()) == 0]
    assert found.metrics["pointing"] == pytest.approx(sum(right) / 2)
    distances = found.details["pointing_by_distance"]
    assert distances["3"]["share"] == right[0]
    assert distances["1"]["share"] == right[1]


def test_a_turn_that_was_left_out_is_not_pointed_at(monkeypatch):
    task = chat(chat={"turns": 1})
    said(monkeypatch, ["a", "b"])
    found = task.evaluate(EXAMPLES, SearchConfig())
    assert found.details["pointing_by_distance"]["3"]["share"] == 0


def test_without_links_there_are_no_slots(monkeypatch):
    said(monkeypatch, ["a"])
    found = chat(output="words").evaluate([Example(turns=("my name",), target="ant .")], SearchConfig())
    assert not {"slots", "pointing"} & set(found.metrics)


def test_only_replies_with_words_are_tested():
    examples = [Example(turns=("a",), target=" "), EXAMPLES[0], Example(target="a")]
    assert module.Chat.testable(examples) == [EXAMPLES[0]]


def test_dailydialog_takes_its_first_steps(tmp_path):
    line = "Hi , how are you ? __eou__ Fine , thanks . And you ? __eou__ Fine too . __eou__\n"
    for name in ("train", "validation"):
        (tmp_path / f"dialogues_{name}.txt").write_text(line * 12)
    recipe = load_recipe("dailydialog", [f"data.folder={tmp_path}", f"data.cache={tmp_path}/cache", *SMALL])
    assert train(recipe, tmp_path / "model").progress.step == 2
    assert json.loads((tmp_path / "model" / "log.jsonl").read_text().splitlines()[-1])["valid"]["loss"] > 0


SMALL = [
    "train.steps=2",
    "train.validate_every=2",
    "train.device=cpu",
    "train.precision=fp32",
    "train.metric=loss",
    "tokenizer.size=null",
    "model.embedding=16",
    "model.encoder.width=16",
    "model.decoder.width=16",
    "model.decoder.output_width=16",
]


def test_an_input_of_many_is_refused_by_its_number():
    with pytest.raises(DataError, match=r"input 2 is \{'turns': 3\}"):
        in_batches(chat(), ["ant", {"turns": 3}], SearchConfig())
