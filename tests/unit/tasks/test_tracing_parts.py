"""Parts of a trace, compared with manual results: sides, beams, limits of vectors, and options."""

from types import SimpleNamespace

import numpy as np
import pytest

from helpers.recipes import untrained
from saccade.attention import SCORES
from saccade.errors import ConfigError
from saccade.models import MODELS
from saccade.prediction import Side
from saccade.search import Hypothesis
from saccade.search.history import Kept
from saccade.search.search_config import SearchConfig
from saccade.tasks import tracing
from saccade.tasks.tracing import TraceOptions, plain_side

TARGET = Side(["a", "##b", "c", "<eos>"], ["ab", "c"], [0, 0, 1, 2])
"""Two words in three subwords, and EOS, which belongs to no word."""
DEAD = float("-inf")


def test_weights_may_add_up_to_all_there_is_in_a_step_and_no_further():
    asked = [(0, 0, 0.25), (0, 1, 0.75), (1, 0, 1.0), (2, 0, 0.0)]
    steering = TraceOptions(pull=asked).steering(["site"], 2)
    assert steering is not None
    with pytest.raises(ConfigError, match=r"the weights pulled in step 1 add up to 1\.001, but the maximum is 1"):
        TraceOptions(pull=[*asked, (1, 1, 0.001)]).steering(["site"], 2)


def test_a_weight_that_is_pulled_twice_to_a_place_is_the_later_one():
    assert TraceOptions(pull=[(0, 0, 0.9), (0, 0, 0.2), (0, 1, 0.8)]).steering(["site"], 2) is not None


def test_places_are_those_of_the_source():
    assert TraceOptions(block=[0]).steering(["site"], 2) is not None
    assert TraceOptions(pull=[(0, 1, 0.5)]).steering(["site"], 2) is not None
    assert TraceOptions(force=[5]).steering([], 0) is None
    for wishes in (TraceOptions(block=[2]), TraceOptions(pull=[(0, 2, 0.5)])):
        with pytest.raises(ConfigError, match="name the source token 2, but there are 0 to 1"):
            wishes.steering(["site"], 2)


def test_the_last_step_can_be_pulled_and_none_after_it():
    TraceOptions(pull=[(4, 0, 0.5)]).check_steps(5)
    with pytest.raises(ConfigError, match="pull names step 7, but the answer ends after 5 steps: 0 to 4"):
        TraceOptions(pull=[(5, 0, 0.5), (7, 0, 0.5), (1, 0, 0.5)]).check_steps(5)


def test_options_are_told_where_they_are_not_the_plainest():
    search = SearchConfig(beam=3, batch_size=7)
    assert TraceOptions().options(search) == {"beam": 3}
    told = TraceOptions(force=(1,), block=(2,), pull=((0, 1, 0.5),)).options(SearchConfig())
    assert told == {"force": [1], "block": [2], "pull": [[0, 1, 0.5]]}


def test_the_end_is_a_mark_and_words_are_not():
    side = plain_side(TARGET, "ab c")
    assert (side.text, side.tokens, side.words, side.word_of) == ("ab c", TARGET.tokens, TARGET.words, TARGET.word_of)
    assert side.marks == [3]
    assert plain_side(Side(["a"], ["a"], [0]), "a").marks == []


def test_a_decoder_looks_back_at_its_words_one_later():
    sides = {}
    assert tracing._written(sides, TARGET, 4) == "written"
    made = sides["written"]
    assert made.tokens == ["<bos>", "a", "##b", "c"]
    assert (made.words, made.word_of, made.marks) == (["<bos>", "ab", "c"], [0, 1, 1, 2], [0])
    assert made.text == "<bos> ab c"
    assert tracing._written(sides, TARGET, 4) == "written"
    assert list(sides) == ["written"]


def test_decoders_that_start_from_different_things_have_a_side_each():
    sides = {}
    names = [tracing._written(sides, TARGET, columns) for columns in (4, 6, 4, 6)]
    assert names == ["written", "written-2", "written", "written-2"]
    assert len(sides["written-2"].tokens) == 6
    assert sides["written-2"].tokens[2:4] == ["<bos>", "a"]
    assert sides["written-2"].marks == [0, 1, 2]


class Letters:
    """A tokenizer of letters."""

    def pieces(self, tokens):
        return ["abcdef"[token] for token in tokens]


def beams(*steps):
    return tracing._beams(Letters(), Hypothesis([1, 2], -1.0, -1.0, False, slots=[0, 1], beams=list(steps)))


def test_places_of_a_beam_that_hold_nothing_are_empty():
    found = beams(Kept([1, 4], [0, 0], [-0.5, DEAD]), Kept([3, 2], [0, 0], [-2.0, -1.0]))
    first, second = found.steps
    assert (found.width, found.best) == (2, [0, 1])
    assert (first.tokens, first.texts, first.scores) == ([1, -1], ["b", ""], [-0.5, 0.0])
    assert (second.tokens, second.texts, second.scores) == ([3, 2], ["d", "c"], [-2.0, -1.0])
    assert second.parents == [0, 0]


def test_the_end_of_the_answer_takes_the_place_of_the_worst_hypothesis():
    steps = [Kept([1, 4], [0, 0], [-0.5, -0.7]), Kept([2, 3], [0, 0], [-1.5, -2.0]), Kept([5, 5], [0, 1], [-3.0, -3.0])]
    found = tracing._beams(Letters(), Hypothesis([4, 0], -1.0, -0.9, True, slots=[1], beams=steps))
    assert (len(found.steps), found.best) == (2, [1, 0])
    last = found.steps[-1]
    assert (last.tokens, last.parents, last.scores) == ([0, 2], [1, 0], [-0.9, -1.5])


def test_a_search_that_kept_one_hypothesis_has_no_beams():
    assert beams() is None
    assert beams(Kept([1], [0], [-0.5])) is None


def site(name, rows, columns):
    return SimpleNamespace(name=name, weights=SimpleNamespace(shape=(1, rows, columns)))


def test_vectors_are_kept_while_there_is_room_for_all_of_a_site(monkeypatch):
    """The decoder's vectors have 2 x 3 numbers; each site has a 2 x 4 query, and a 3 x 4 key and value."""
    own = {"state": np.ones((2, 3))}
    kinds = ("query", "key", "value")
    notes = {f"{name}.{kind}": np.ones((1, 5, 4)) for name in ("first", "second") for kind in kinds}
    sites = [site("first", 2, 3), site("second", 2, 3), site("third", 2, 3)]
    every = [f"{name}.{kind}" for name in ("first", "second") for kind in kinds]

    def kept(room):
        monkeypatch.setattr(tracing, "MOST_NUMBERS", room)
        found, left_out = tracing._vectors(own, notes, sites)
        assert found["state"].shape == [2, 3]
        return [name for name in found if name != "state"], left_out

    assert kept(6 + 64) == (every, [])
    told = "The queries, keys and values of {} were left out: they are too many for a file."
    assert kept(6 + 63) == (every[:3], [told.format("second")])
    assert kept(6 + 31) == ([], [told.format("first"), told.format("second")])
    monkeypatch.setattr(tracing, "MOST_NUMBERS", 1000)
    found, _ = tracing._vectors(own, notes, sites)
    assert (found["first.query"].shape, found["first.key"].shape) == ([1, 2, 4], [1, 3, 4])


def test_layers_scores_and_formulas_are_named_as_users_know_them():
    assert (tracing._layer("decoder.layers.12.self"), tracing._layer("decoder.attention")) == (12, None)

    class Own:
        """A user-defined score."""

    class Told:
        """A score of a user.

        e[t, s] = q[t] · k[s] + 1
        """

    assert tracing._name(Own(), SCORES) == "Own"
    assert (tracing._formula(Own()), tracing._formula(Told())) == ("Own", "q · k + 1")


def test_making_a_trace_leaves_the_model_as_it_was():
    settings = {"preset": "bahdanau", **MODELS["bahdanau"].tiny}
    task = untrained("translation", settings)
    for training in (True, False):
        task.model.train(training)
        task.trace("ant bee", SearchConfig(max_length=3), TraceOptions())
        assert task.model.training is training
