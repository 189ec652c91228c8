"""Bulk prediction inside other engines: rows keep their place, and one that fails says why."""

import doctest

import numpy as np
import pytest

from saccade.bulk import Predictor, predictor
from saccade.errors import ConfigError, DataError


def test_the_example_of_the_docstring():
    found = doctest.testmod(predictor)
    assert (found.attempted, found.failed) == (1, 0)


def test_rows_keep_their_place_and_their_columns(translator, model):
    predictor = Predictor(translator, beam=2)
    texts = np.array(["ant bee", "", "dog"])
    found = predictor({"line": np.array([3, 4, 5]), "text": texts})
    assert found["output"] == ["ANT BEE", "", "DOG"]
    assert found["error"] == ["", "", ""]
    assert found["score"] == [pytest.approx(one.score, abs=1e-5) for one in model(texts, beam=2)]
    assert found["line"].tolist() == [3, 4, 5]
    assert predictor({"text": []})["output"] == []


def test_a_row_that_fails_costs_no_other_row(translator):
    found = Predictor(translator)({"text": ["ant", 5, "ant " * 20_000, "bee"]})
    assert found["output"] == ["ANT", "", "", "BEE"]
    assert found["error"][0] == found["error"][3] == ""
    assert "is 5, but this model reads text" in found["error"][1]
    assert "20,001 tokens" in found["error"][2]


class Table(dict):
    """What Predictor needs of a DataFrame."""

    def __getitem__(self, name):
        return np.array(super().__getitem__(name))

    def assign(self, **columns):
        return {**self, **columns}


def test_tables_of_pandas(translator):
    (found,) = Predictor(translator).tables([Table(text=["cat", "dog"], line=[1, 2])])
    assert (found["output"], found["line"]) == (["CAT", "DOG"], [1, 2])


def test_what_is_wrong_for_every_row_is_refused(translator):
    with pytest.raises(ConfigError, match=r"beem.* Did you mean 'beam'"):
        Predictor(translator, beem=3)
    with pytest.raises(DataError, match=r"the table has no column 'text'\. It has: line\."):
        Predictor(translator)({"line": [1]})
