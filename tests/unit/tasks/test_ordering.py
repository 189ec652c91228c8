"""Ordering: forms of input, evaluation, and recipes that make no sense."""

import numpy as np
import pytest

from helpers.tasks import ordering
from saccade.data.example import Example
from saccade.data.tokenizer import Tokenizers
from saccade.errors import ConfigError, DataError
from saccade.recipes import RecipeText
from saccade.runs.recipe import parse_recipe
from saccade.search import SearchConfig
from saccade.tasks.ordering import Ordering


def recipe(tmp_path, **changes):
    return parse_recipe(RecipeText({**ordering(tmp_path, 4), **changes}, "test"))


@pytest.fixture
def task(tmp_path):
    return Ordering(recipe(tmp_path), Tokenizers(None, None))


def test_texts_arrays_and_json_are_one_input(task):
    found = task.predict(["0.5,0.25 1,0", "[[0.5, 0.25], [1, 0]]", np.array([[0.5, 0.25], [1, 0]])], SearchConfig())
    assert len({one.text for one in found}) == 1
    assert found[0].score == pytest.approx(found[1].score) == pytest.approx(found[2].score)
    assert found[0].attention.source.words == ["0.5,0.25", "1,0"]
    assert found[0].attention.weights["attention"].shape == (1, 3, 3)


def test_the_rows_of_attention_are_the_answer(task):
    (found,) = task.predict(["0.5,0.25 1,0 0.3,0.3"], SearchConfig())
    peaks = found.attention.weights["attention"][0].argmax(1) + 1
    assert found.text.split() == [str(place) for place in peaks[:-1]]
    assert peaks[-1] == 4
    assert found.tokens == [*found.text.split(), "<eos>"]


@pytest.mark.parametrize("given", [np.zeros((2, 2, 2)), np.zeros((0, 2)), np.array(["a"]), 7, [1, 2]])
def test_what_is_no_input_is_refused(task, given):
    assert task.reads.fault(given)


def test_numbers_may_be_a_flat_array(tmp_path):
    task = Ordering(recipe(tmp_path, points={"dimensions": 1}), Tokenizers(None, None))
    assert task.opened(np.array([0.5, 1.5])).value.tolist() == [[0.5], [1.5]]
    with pytest.raises(DataError, match=r"point 1 of .* has 2 numbers, but needs 1"):
        task.opened("1,2")


@pytest.mark.parametrize(
    ("answer", "names"),
    [("sequence", {"exact"}), ("hull", {"exact", "valid", "area"}), ("tour", {"exact", "valid", "tour_length"})],
)
def test_each_kind_of_answer_has_its_metrics(tmp_path, answer, names):
    task = Ordering(recipe(tmp_path, points={"answer": answer, "choose": "every"}), Tokenizers(None, None))
    sources = ["0,0 1,0 1,1 0,1", "0,0 1,0 0,1"]
    answers = [one.text for one in task.predict(sources, SearchConfig())]
    examples = [Example(source=source, target=text) for source, text in zip(sources, answers, strict=True)]
    found = task.evaluate(examples, SearchConfig())
    assert set(found.metrics) == names
    assert found.metrics["exact"] == 1.0
    assert found.lengths == [4, 3]
    wrong = [Example(source=one.source, target="1") for one in examples]
    assert task.evaluate(wrong, SearchConfig()).metrics["exact"] == 0.0


def test_answers_are_as_long_as_their_input_unless_positions_may_repeat(tmp_path):
    lengths = {}
    for choose in ("any", "once", "every"):
        task = Ordering(recipe(tmp_path, points={"choose": choose}), Tokenizers(None, None))
        lengths[choose] = task.positions(5)
    assert lengths == {"any": (5, 10), "once": (5, 5), "every": (5, 5)}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"points": {"dimensions": 1, "answer": "hull"}}, "a hull is in the plane: set points.dimensions to 2"),
        ({"train": {"word_dropout": 0.1}}, "ordering has positions instead of words: set it to 0"),
        ({"train": {"label_smoothing": 0.1}}, "ordering has positions instead of words: set it to 0"),
        ({"model": {"preset": "bahdanau"}}, "bahdanau reads texts, but ordering reads points. Choose pointer-network"),
        ({"data": {"corpus": "reading"}}, "reading has texts, but ordering needs points with an order"),
    ],
)
def test_recipes_that_make_no_sense(tmp_path, changes, said):
    with pytest.raises(ConfigError, match=said):
        recipe(tmp_path, **changes)


def test_the_corpus_offers_inputs_to_try(tmp_path):
    task = Ordering(recipe(tmp_path, data={"corpus": "salesman"}), Tokenizers(None, None))
    assert task.examples()
    assert all(task.opened(one["input"]).value.shape[1] == 2 for one in task.examples())
    own = Ordering(recipe(tmp_path, examples=["1,2 3,4"]), Tokenizers(None, None))
    assert own.examples() == [{"input": "1,2 3,4"}]
    assert Ordering(recipe(tmp_path), Tokenizers(None, None)).examples() == []
