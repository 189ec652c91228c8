"""A chat model on the server: the history travels with the request, and limits hold."""

import json

import pytest

from helpers.asgi import application, post, run
from helpers.chat import TURNS, chat
from saccade.api import Model
from saccade.serve.models import Served


@pytest.fixture(scope="module")
def model():
    return Served("tiny", Model(chat(chat={"tokens": 14})))


def asked(model, given, path="/v1/predict", **settings):
    return run(post(application(model, **settings), given, path=path))


def test_the_history_travels_with_the_request(model):
    got = asked(model, {"inputs": [{"turns": TURNS[:3]}, TURNS[0]], "attention": True})
    assert got.status == 200
    first, second = got.json["predictions"]
    direct = Model(chat(chat={"tokens": 14}))({"turns": TURNS[:3]})
    assert (first["text"], first["source"]) == (direct.text, TURNS[2])
    assert first["notes"] == direct.notes
    assert first["attention"]["turn_of"] == direct.attention.source.turn_of
    assert second["source"] == TURNS[0]
    assert "notes" not in second
    trace = asked(model, {"input": {"turns": TURNS[:3]}}, "/v1/trace")
    assert trace.json["sides"]["source"]["turn_of"] == direct.attention.source.turn_of


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/trace"])
def test_too_many_turns_are_one_paragraph(model, path):
    got = asked(model, {"input": {"turns": ["ant"] * 500}}, path)
    assert got.status == 422
    message = got.json["error"]["message"]
    assert message == "The input has 500 turns, but this server reads at most 200. Send the newest ones."
    assert asked(model, {"input": {"turns": ["ant"] * 200}}, path).status == 200
    assert asked(model, {"input": {"turns": ["ant"] * 500}}, path, max_turns=500).status == 200


def test_a_turn_of_any_length_keeps_its_end(model):
    got = asked(model, {"input": {"turns": ["ant " * 20_000]}})
    assert got.status == 200
    assert "beginning of the newest turn" in got.json["predictions"][0]["notes"][0]
    assert asked(model, {"input": {"turns": ["ant " * 20_000]}}, max_body=1000).status == 413


@pytest.mark.parametrize("turns", [[], ["a", ""], "a", [["a"]], None])
def test_what_is_no_dialogue_is_refused(model, turns):
    got = asked(model, {"input": {"turns": turns}})
    assert got.status == 422
    assert "The input is" in got.json["error"]["message"]


def test_the_model_says_what_it_reads(model):
    assert model.facts()["input"] == "dialogue"
    assert json.dumps(model.facts()["examples"]) == "[]"
