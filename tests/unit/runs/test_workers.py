"""Workers give the same answers as one process."""

import pytest
import torch

import saccade
from saccade.errors import ConfigError
from saccade.runs import workers
from saccade.runs.workers import Workers
from saccade.search.search_config import SearchConfig


def test_two_workers_answer_as_one_process_in_order(translator):
    model = saccade.load(translator)
    texts = ["ant bee", "", "cat", "dog ant bee cat", "bee bee"] * 20
    alone = [prediction.text for prediction in model.stream(texts, batch_size=8)]
    assert [prediction.text for prediction in model.stream(texts, batch_size=8, workers=2)] == alone
    assert alone[0] == "ANT BEE"
    assert alone[1] == ""


def test_nobody_does_no_work(translator):
    with pytest.raises(ConfigError, match="workers is 0, but must be at least 1"):
        Workers(translator, 0)


def test_in_a_worker_the_model_has_one_thread_and_answers(translator, monkeypatch):
    done = []
    monkeypatch.setattr(torch, "set_num_threads", lambda count: done.append(count))
    predict = workers._load(translator, False)
    assert done == [1]
    (found,) = predict(["ant bee"], SearchConfig(), False, None)
    assert found.text == "ANT BEE"
    (begun,) = predict(["ant bee"], SearchConfig(), True, "DOG")
    assert begun.text.startswith("DOG")
    assert begun.attention
