"""Language models: perplexity computed manually, and continuations of texts."""

import math

import pytest
import torch

from helpers.recipes import untrained
from saccade.batch import EOS, Batch
from saccade.data.example import Example
from saccade.errors import ConfigError, DataError
from saccade.models import MODELS
from saccade.runs.evaluation import examples_to_test, summarise
from saccade.search.search_config import SearchConfig

TEXTS = ["the cat sat down .", "a dog ran .", "the end"]


@pytest.fixture(scope="module")
def task():
    return untrained("language-modeling", {"preset": "lstmn", **MODELS["lstmn"].tiny})


def nats_by_hand(task, text):
    """Compute the loss word by word."""
    tokens = [*task.target.encode(text).tokens, EOS]
    with torch.no_grad():
        logs = torch.log_softmax(task.model(Batch.from_lists(targets=[tokens[:-1]])), -1)[0]
    return -sum(float(logs[place, token]) for place, token in enumerate(tokens)), len(tokens)


def test_perplexity_is_what_it_is_by_hand(task):
    found = task.evaluate([Example(target=text) for text in [*TEXTS, "", "  "]], SearchConfig())
    by_hand = [nats_by_hand(task, text) for text in TEXTS]
    nats, tokens = (sum(part) for part in zip(*by_hand, strict=True))
    words = sum(len(text.split()) + 1 for text in TEXTS)
    letters = sum(len(text) + 1 for text in TEXTS)
    assert found.metrics["loss"] == pytest.approx(nats / tokens, rel=1e-5)
    assert found.metrics["perplexity"] == pytest.approx(math.exp(nats / tokens), rel=1e-5)
    assert found.metrics["perplexity_per_word"] == pytest.approx(math.exp(nats / words), rel=1e-5)
    assert found.metrics["bits_per_character"] == pytest.approx(nats / math.log(2) / letters, rel=1e-5)
    assert found.details == {"sentences": 3, "tokens": tokens, "words": words}
    assert found.lengths == [5, 4, 2], "blank texts are left out"
    low, high = summarise(found)["bands"]["perplexity_per_word"]
    assert low <= found.metrics["perplexity_per_word"] <= high


def test_a_text_goes_on(task):
    short, long = task.predict(["the", "the cat sat down ."], SearchConfig(max_length=4))
    assert short.text.startswith("the")
    assert long.text.startswith("the cat sat down .")
    for found, read in ((short, 1), (long, 5)):
        assert len(found.tokens) <= read + 4, "a longer text in the batch does not allow more tokens"
    alone = task.predict(["the"], SearchConfig(max_length=4))[0]
    assert (alone.text, alone.score) == (short.text, pytest.approx(short.score, abs=1e-5))


def test_learned_positions_leave_room_for_so_many_tokens():
    tiny = MODELS["transformer-base"].tiny | {"positions": "learned", "max_length": 9}
    task = untrained("language-modeling", {"preset": "transformer-base", **tiny})
    (found,) = task.predict(["the cat sat"], SearchConfig())
    assert len(found.tokens) <= 9
    (found,) = task.predict(["the cat sat down . a dog ran"], SearchConfig())
    assert len(found.tokens) == 9


def test_a_prefix_is_the_input_itself(task):
    with pytest.raises(ConfigError, match=r"input is already the prefix of its answer: leave the prefix out"):
        task.predict(["the"], SearchConfig(), prefix="a")


def test_blank_text_is_nothing_to_evaluate_on(task, tmp_path):
    (tmp_path / "blank.txt").write_text("\n  \n")
    with pytest.raises(DataError, match=r"there is nothing to evaluate on: no example has any text"):
        examples_to_test(task.recipe, [tmp_path / "blank.txt"])
