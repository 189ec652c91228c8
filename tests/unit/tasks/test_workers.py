"""Workers answer as one process would."""

import pytest

import saccade
from saccade.errors import ConfigError
from saccade.tasks.workers import Workers


def test_two_workers_answer_as_one_process_in_order(translator):
    model = saccade.load(translator)
    texts = ["ant bee", "", "cat", "dog ant bee cat", "bee bee"] * 20
    alone = [prediction.text for prediction in model.stream(texts, batch=8)]
    assert [prediction.text for prediction in model.stream(texts, batch=8, workers=2)] == alone
    assert alone[0] == "ANT BEE"
    assert alone[1] == ""


def test_nobody_does_no_work(translator):
    with pytest.raises(ConfigError, match="workers is 0, but at least 1 must do the work"):
        Workers(translator, 0)
