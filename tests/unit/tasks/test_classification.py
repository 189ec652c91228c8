"""Classification: accuracy and F1 computed manually, ranked labels, and insufficient data."""

import pytest

from helpers.recipes import untrained
from saccade.data.example import Example
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.errors import ConfigError, DataError
from saccade.models import MODELS
from saccade.runs.evaluation import check_comparable, examples_to_test
from saccade.search.search_config import SearchConfig
from saccade.tasks.classification import Classification

SAID = {"good cat": "good", "bad dog": "bad", "good dog": "bad", "so": "so-so", "cat": "good"}
GOLD = ["good", "bad", "good", "bad", "good"]


class Parrot(Classification):
    """Returns a given label."""

    def predict(self, texts, search, *, attention=True, prefix=None, stop=None):
        found = super().predict(texts, search, attention=attention)
        return [
            type(each)(SAID.get(each.source, "bad"), each.score, each.tokens, each.attention, each.source)
            for each in found
        ]


@pytest.fixture(scope="module")
def task():
    return untrained("classification", {"preset": "bahdanau", **MODELS["bahdanau"].tiny})


def test_accuracy_and_f1_by_hand(task):
    parrot = Parrot(task.recipe, task.tokenizers)
    examples = [Example(source=text, label=label) for text, label in zip(SAID, GOLD, strict=True)]
    found = parrot.evaluate(examples, SearchConfig())
    assert found.metrics["accuracy"] == pytest.approx(3 / 5)
    # good: 2 right of 2 predicted and 3 gold; bad: 1 of 2 and 2; so-so: predicted once, never gold
    good, bad = 2 * 2 / (2 + 3), 2 * 1 / (2 + 2)
    assert found.metrics["macro_f1"] == pytest.approx((good + bad + 0) / 3)
    assert found.details["classes"]["good"] == pytest.approx({"precision": 1, "recall": 2 / 3, "f1": good, "gold": 3})
    assert found.details["confusion"] == ((1, 0, 1), (1, 2, 0), (0, 0, 0))
    assert found.lengths == [2, 2, 2, 1, 1]


def test_a_label_that_training_did_not_have_counts_as_wrong(task):
    found = task.evaluate([Example(source="good", label="splendid"), Example(source="", label="bad")], SearchConfig())
    assert found.details["classes"]["splendid"]["recall"] == 0
    assert found.details["examples"] == 2


def test_labels_are_ranked_and_their_probabilities_are_whole(task):
    import math

    (found,) = task.predict(["good cat"], SearchConfig(beam=3, nbest=3))
    ranked = [found, *found.alternatives]
    assert sorted(each.text for each in ranked) == ["bad", "good", "so-so"]
    assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)
    assert sum(math.exp(each.score) for each in ranked) == pytest.approx(1, abs=1e-5)
    assert task.predict(["good cat"], SearchConfig())[0].alternatives == []


def test_what_stands_beside_a_text_does_not_change_its_label(task):
    texts = ["good cat", "bad", "good good good bad dog cat"]
    together = task.predict(texts, SearchConfig())
    for text, found in zip(texts, together, strict=True):
        (alone,) = task.predict([text], SearchConfig())
        assert (alone.text, alone.score) == (found.text, pytest.approx(found.score, abs=1e-5))


@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_without_attention_pooling_there_is_nothing_to_show(pooling):
    model = {"preset": "bahdanau", **MODELS["bahdanau"].tiny}
    task = untrained("classification", model, classifier={"pooling": pooling})
    (found,) = task.predict(["good cat"], SearchConfig())
    assert not found.attention


def test_mistakes_are_told(task, tmp_path):
    with pytest.raises(ConfigError, match=r"a label cannot be given a prefix: leave the prefix out"):
        task.predict(["good"], SearchConfig(), prefix="b")
    tokenizer = Tokenizer.train(TokenizerConfig(kind="word"), ["a"], "text")
    with pytest.raises(DataError, match=r"have the labels \['only'\], but there must be two or more"):
        Classification(task.recipe, Tokenizers(tokenizer, None, ["only"]))
    with pytest.raises(
        ConfigError, match=r"models of different tasks cannot be compared: classification, language-modeling"
    ):
        check_comparable([task, untrained("language-modeling", {"preset": "lstmn", **MODELS["lstmn"].tiny})])
    (tmp_path / "test.tsv").write_text("good\tcat\nbad\tdog\n")
    assert [e.label for e in examples_to_test(task.recipe, [tmp_path / "test.tsv"])] == ["good", "bad"]
