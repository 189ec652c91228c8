"""Traces agree with the search: same answer, same attention, and the requested interventions."""

import numpy as np
import pytest
import torch

from helpers.recipes import MODEL, untrained
from saccade.api import Model
from saccade.batch import BOS, PAD
from saccade.errors import ConfigError, DataError
from saccade.models import MODELS
from saccade.trace import Trace

TEXT = "ant bee cat dog"
PRESETS = [
    "bahdanau",
    "luong-general",
    "luong-local-p",
    "transformer-base",
    "lstmn",
    "self-attentive-rnn",
    "sutskever",
    "gnmt",
]


def preset(name, **more):
    return {"preset": name, **MODELS[name].tiny, **({"tied": False} if "transformer" in name else {}), **more}


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("name", PRESETS)
def test_a_trace_shows_what_the_prediction_showed(name, beam):
    model = Model(untrained("translation", preset(name)))
    found, trace = model(TEXT, beam=beam, max_length=6), model.trace(TEXT, beam=beam, max_length=6)
    assert (trace.text, trace.score) == (found.text, pytest.approx(found.score, abs=1e-5))
    assert Trace.parse(trace.dump()) == trace
    seen = trace.attention
    assert sorted(seen.sites) == sorted(found.attention.sites)
    for site in found.attention.sites:
        for words in (True, False):
            np.testing.assert_allclose(
                seen.matrix(site, words=words), found.attention.matrix(site, words=words), atol=1e-3
            )


@pytest.mark.parametrize("name", ["bahdanau", "transformer-base"])
def test_weights_are_the_softmax_of_the_scores_and_candidates_hold_the_choice(name):
    trace = Model(untrained("translation", preset(name))).trace(TEXT, detail=True)
    for site in trace.sites:
        scores = np.nan_to_num(site.scores.unpack(), nan=-np.inf)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        np.testing.assert_allclose(shares / shares.sum(-1, keepdims=True), site.weights.unpack(), atol=1e-3)
        assert site.formula in ("v · tanh(W q + U k + b)", "q · k / √D")
    for step in trace.steps:
        assert step.candidates[0][2] == max(log for *_, log in step.candidates)
        assert step.token in [token for token, *_ in step.candidates], "greedy search takes a likely one"
        assert sum(np.exp(log) for *_, log in step.candidates) < 1 + 1e-5
        for vector, norm in step.norms.items():
            row = trace.vectors[vector].unpack()[trace.steps.index(step)]
            assert np.linalg.norm(row) == pytest.approx(norm, rel=0.05)
    sizes = {len(trace.vectors[name].shape) for name in trace.vectors if "." in name}
    assert sizes <= {3}
    assert any(name.endswith(".query") for name in trace.vectors) == (name == "transformer-base")


def test_a_place_that_is_blocked_twice_is_blocked_once(model):
    assert model.trace(TEXT, block=[0, 0, 0, 0, 0]).attention.matrix(words=False)[:, 1:].sum() > 0


def test_what_is_never_written_is_no_candidate():
    """PAD and BOS may have the highest logits; the other tokens share the probability."""
    model = Model(untrained("translation", MODEL))
    with torch.no_grad():
        model.task.model.output.bias[[PAD, BOS]] = 50.0
    trace = model.trace(TEXT, max_length=3)
    assert trace.steps
    for step in trace.steps:
        assert not {PAD, BOS} & {token for token, *_ in step.candidates}
        assert len(step.candidates) == min(10, len(model.task.target) - 2)


@pytest.mark.parametrize(
    ("name", "task", "seeds"), [("transformer-base", "translation", 0), ("lstmn", "language-modeling", 0)]
)
def test_what_a_decoder_started_from_is_marked(name, task, seeds):
    trace = Model(untrained(task, preset(name))).trace("the cat", max_length=5)
    written = trace.sides["written"]
    assert written.marks == list(range(seeds + 1))
    assert [written.tokens[mark] for mark in written.marks] == ["<source>"] * seeds + ["<bos>"]
    assert written.tokens[seeds + 1 :] == trace.sides["target"].tokens[: len(written.tokens) - seeds - 1]


def test_beams_lead_to_the_answer(model):
    trace = model.trace(TEXT, beam=3)
    words = [step.text for step in trace.steps]
    assert trace.beams.width == 3
    path = [trace.beams.steps[t].texts[slot] for t, slot in enumerate(trace.beams.best)]
    assert path == words, "the end too"
    assert len(trace.beams.steps) == len(words)
    likelihoods = np.cumsum([step.log_probability for step in trace.steps])
    scores = [trace.beams.steps[t].scores[slot] for t, slot in enumerate(trace.beams.best)]
    np.testing.assert_allclose(scores, likelihoods, atol=1e-4)
    for step in trace.beams.steps:
        assert all((token == -1) == (score == 0.0) for token, score in zip(step.tokens, step.scores, strict=True))
    for t in range(1, len(path)):
        assert trace.beams.steps[t].parents[trace.beams.best[t]] == trace.beams.best[t - 1]
    assert model.trace(TEXT).beams is None


def test_force_block_and_pull(model):
    free = model.trace(TEXT)
    forced = model.trace(TEXT, force=[free.steps[1].token])
    assert forced.text.split()[0] == "BEE"
    assert forced.options["force"] == [free.steps[1].token]
    blocked = model.trace(TEXT, block=[0])
    assert (blocked.attention.matrix(words=False)[:, 0] == 0).all()
    assert blocked.text != free.text
    pulled = model.trace(TEXT, pull=[(0, 2, 1.0)])
    assert pulled.attention.matrix(words=False)[0, 2] == pytest.approx(1, abs=1e-4)
    assert pulled.text.split()[0] == "CAT"


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"block": [9]}, "name the source token 9, but there are 0 to 4"),
        ({"block": range(5)}, "every source token is blocked"),
        ({"block": [*range(5), 0]}, "every source token is blocked"),
        ({"pull": [(0, -1, 0.5)]}, "name the source token -1"),
        ({"pull": [(0, 1, 1.5)]}, "weight 1.5 in step 0"),
        ({"pull": [(-1, 1, 0.5)]}, "in step -1"),
        ({"pull": [(0, 1, 0.5)], "block": [1]}, "source token 1 is blocked, so no weight can be pulled"),
        ({"pull": [(2, 1, 0.7), (2, 0, 0.7)]}, "pulled in step 2 add up to 1.400"),
        ({"pull": [(0, 1, 0.5), (5, 1, 0.5)]}, "pull names step 5, but the answer ends after 5 steps: 0 to 4"),
    ],
)
def test_invalid_interventions(model, wishes, message):
    with pytest.raises(ConfigError, match=message):
        model.trace(TEXT, **wishes)


def test_inputs_that_cannot_be(model):
    with pytest.raises(DataError, match="one text that is not empty"):
        model.trace("  ")
    with pytest.raises(DataError, match=r"has 10,101 tokens"):
        model.trace("ant " * 10_100)
    with pytest.raises(ConfigError, match="nothing to block or to pull"):
        Model(untrained("translation", preset("sutskever"))).trace(TEXT, block=[0])


@pytest.mark.parametrize("name", ["lstmn", "self-attentive-rnn", "transformer-base", "bahdanau"])
def test_language_models_look_back_at_what_they_wrote(name):
    trace = Model(untrained("language-modeling", preset(name))).trace("the cat", max_length=5)
    assert trace.text.startswith("the cat")
    assert "source" not in trace.sides
    for site in trace.sites:
        assert (site.rows, site.columns) == ("target", "written")
        weights = site.weights.unpack()
        assert np.triu(weights[0], 1).max(initial=0) == 0, "no query sees later tokens"
    assert len(trace.steps) == len(trace.sides["target"].tokens)


@pytest.mark.parametrize("pooling", ["mean", "attention"])
def test_classifiers_weigh_their_labels(pooling):
    model = Model(untrained("classification", preset("lstmn"), classifier={"pooling": pooling}))
    trace = model.trace("good ant")
    (step,) = trace.steps
    assert {text for _, text, _ in step.candidates} == {"bad", "good", "so-so"}
    assert step.text == trace.text == model("good ant").text
    kinds = {(site.rows, site.columns) for site in trace.sites}
    assert ("target", "source") in kinds if pooling == "attention" else kinds == {("source", "source")}
    with pytest.raises(ConfigError, match="nothing to force"):
        model.trace("good", force=[1])


def test_a_text_that_never_ends_is_traced_as_far_as_it_goes():
    model = Model(untrained("translation", MODEL))
    trace = model.trace(TEXT, max_length=3, min_length=2)
    assert len(trace.steps) == 3
    assert trace.attention.matrix(words=False).shape == (3, 5)


def test_a_text_that_is_too_long_for_a_trace_is_refused(monkeypatch):
    """The check runs before packing."""
    model = Model(untrained("translation", MODEL))
    assert model.trace(TEXT, max_length=4, min_length=3).sites[0].weights.shape == [1, 4, 5]
    monkeypatch.setattr("saccade.trace.packed.MOST", 25)
    model.trace(TEXT, max_length=4, min_length=3)
    monkeypatch.setattr("saccade.trace.packed.MOST_TOTAL", 49)
    with pytest.raises(DataError, match=r"here there are 50, and 25 in one\. Trace a shorter text\."):
        model.trace(TEXT, max_length=4, min_length=3)


def test_long_inputs_leave_details_out_and_say_so():
    big = preset("transformer-base", width=64, layers=4, attention={"heads": 4})
    trace = Model(untrained("translation", big)).trace("ant " * 300, max_length=300, min_length=290, detail=True)
    assert any("were left out" in sentence for sentence in trace.left_out)
    assert trace.sites[0].weights.levels == 255
    assert len(trace.dump()) < 3_000_000


def test_a_trace_says_that_its_words_were_chosen_with_int8_weights():
    model = Model(untrained("translation", preset("transformer-base")))
    said = ["Words were chosen with int8 weights; what is shown is computed in full precision."]
    assert model.trace(TEXT, max_length=5, precision="int8").left_out == said
    assert model.trace(TEXT, max_length=5).left_out == []
    steered = model.trace(TEXT, max_length=5, precision="int8", block=[1])
    assert steered.left_out == [], "then the model's own step chose them"
