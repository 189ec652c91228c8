"""Associative recall: answer with the word that followed this one earlier, which needs attention."""

from typing import Any

import pytest

from helpers.learning import FIRST, look_back, look_back_accuracy, look_back_loss, teach
from saccade.models import build_language_model

WORDS, PAIRS, WIDTH = 4, 3, 48
START = {"kind": "default", "embedding": 1.0}


def learn(preset: str, **settings: Any) -> float:
    """The accuracy after training on one to three pairs, asked about three."""
    model = build_language_model(preset, FIRST + 2 * WORDS, embedding=WIDTH, init=START, **settings)
    examples = look_back(1, 128, words=WORDS, pairs=(1, PAIRS))
    teach(model, examples, steps=800, goal=0.03, loss_of=look_back_loss)
    return look_back_accuracy(model, *next(look_back(2, 300, words=WORDS, pairs=(PAIRS, PAIRS))))


@pytest.mark.parametrize(("preset", "settings"), [("self-attentive-rnn", {"keep_state": True}), ("lstmn", {})])
def test_attention_over_the_past_learns_it(preset, settings):
    assert learn(preset, width=WIDTH, **settings) > 0.95


def test_a_plain_lstm_of_the_same_width_does_not():
    decoder = {"cell": "lstm", "width": WIDTH, "layers": 1}
    assert learn("sutskever", decoder=decoder) < 0.9
