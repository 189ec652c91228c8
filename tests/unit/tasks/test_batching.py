"""Bulk prediction: in order, in bounded memory, flushed on request."""

import tracemalloc

import pytest
import torch

from helpers.recipes import sentences
from saccade.errors import DataError
from saccade.prediction import Prediction
from saccade.search.search_config import SearchConfig
from saccade.tasks.batching import _loads, blank, in_batches, stream
from saccade.tasks.inputs import IMAGE, TEXT


class Echo:
    """A task that answers with its input and records its batches."""

    longest = 100
    takes_many = False
    reads = TEXT
    device = torch.device("cpu")

    def __init__(self):
        self.asked = []

    def lengths(self, texts):
        return [len(text.split()) + 1 for text in texts]

    def opened(self, text):
        return text

    def predict(self, texts, search, *, attention=True, prefix=None, stop=None):
        self.asked.append(list(texts))
        return [Prediction(text.upper(), 0.0, [], blank(text).attention, text) for text in texts]


def texts_of(found):
    return [prediction.text for prediction in found]


def test_answers_come_in_the_order_of_inputs_and_batches_are_of_like_lengths():
    task, texts = Echo(), sentences(5000)
    assert texts_of(stream(task, texts, SearchConfig(batch_size=8))) == [text.upper() for text in texts]
    assert all(len(batch) <= 8 for batch in task.asked)
    spread = [max(map(len, batch)) - min(map(len, batch)) for batch in task.asked]
    assert sum(spread) / len(spread) < 8


@pytest.mark.parametrize(
    ("device", "attention", "settings", "most"),
    [
        ("cpu", False, {}, 32),
        ("cuda", False, {}, 256),
        ("cuda", False, {"beam": 5}, 256),
        ("cuda", False, {"beam": 40, "nbest": 40}, 64),
        ("cuda", False, {"beam": 1000}, 32),
        ("cuda", True, {}, 32),
        ("cuda", True, {"batch_size": 100}, 100),
        ("cpu", False, {"batch_size": 100}, 100),
    ],
)
def test_a_gpu_is_filled_unless_somebody_says_how_many_or_wants_to_see_attention(device, attention, settings, most):
    task = Echo()
    task.device = torch.device(device)
    list(stream(task, ["w"] * 1000, SearchConfig(**settings), attention=attention))
    assert max(map(len, task.asked)) == most


def test_few_pictures_at_a_time():
    task = Echo()
    task.device, task.reads = torch.device("cuda"), IMAGE
    list(stream(task, ["w"] * 1000, SearchConfig()))
    assert max(map(len, task.asked)) == 32


def test_a_batch_has_no_more_tokens_than_memory_is_meant_for():
    task = Echo()
    task.longest = 10_000
    in_batches(task, ["w " * 4000] * 5 + ["w"] * 40, SearchConfig(batch_size=32))
    assert sorted(len(batch) for batch in task.asked) == [1, 2, 2, 8, 32]


def test_empty_inputs_have_empty_answers_and_do_not_reach_the_model():
    task = Echo()
    assert texts_of(stream(task, ["", "a", "  \t", "\u2003", "b"], SearchConfig())) == ["", "A", "", "", "B"]
    assert task.asked == [["a", "b"]]
    assert list(stream(task, [], SearchConfig())) == []
    assert not blank("x").attention
    assert blank("x").source == "x"


def test_none_means_answer_now():
    asked = []

    def lines():
        for text in ("a", "b", None, None, "c", None):
            asked.append(text)
            yield text

    found = stream(Echo(), lines(), SearchConfig())
    assert next(found).text == "A"
    assert asked == ["a", "b", None]
    assert next(found).text == "B"
    assert next(found).text == "C"
    assert asked == ["a", "b", None, None, "c", None]
    assert list(found) == []


def test_what_is_too_long_is_refused_by_its_number():
    task, told = Echo(), []
    texts = ["a", "w " * 200, "b", "w " * 300]
    assert texts_of(stream(task, texts, SearchConfig(), on_error=told.append)) == ["A", "", "B", ""]
    assert sorted(told) == [
        "input 2 has 201 tokens, but this model reads at most 100. Split it.",
        "input 4 has 301 tokens, but this model reads at most 100. Split it.",
    ]
    with pytest.raises(DataError, match=r"input \d has \d01 tokens, but this model reads at most 100\. Split it"):
        in_batches(task, texts, SearchConfig())


def test_memory_stays_flat():
    def peak(count):
        tracemalloc.start()
        for _ in stream(Forgetful(), (f"input {number} " * 5 for number in range(count)), SearchConfig(batch_size=4)):
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(300)
    assert peak(6000) < 1.5 * peak(600)


class Forgetful(Echo):
    def predict(self, texts, search, *, attention=True, prefix=None, stop=None):
        found = super().predict(texts, search)
        self.asked.clear()
        return found


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 3, 32])
def test_loads_hold_every_batch_once_and_end_with_small_ones(workers, count):
    batches = [[(90 - number, number, "long")] for number in range(2)]  # small, because the input is long
    batches += [[(50 - number, 10 * number + place, "x") for place in range(4)] for number in range(1, count + 1)]
    loads = _loads(batches, 4, workers)
    assert sorted(entry for load in loads for entry in load) == sorted(entry for batch in batches for entry in batch)
    assert [len(load) for load in loads[:2]] == [1, 1], "batches of long inputs are not joined"
    if count == 32 and workers > 1:
        large = loads[2 : 2 + workers]
        assert max(map(len, large)) - min(map(len, large)) <= 4
        assert len(loads[-1]) == 4
