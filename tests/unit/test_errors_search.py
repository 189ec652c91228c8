"""Errors of a search: each message, its numbers, and that it is raised before the first step."""

import re

import pytest
import torch

from helpers.search import beam, greedy, make_batch, make_model, sample
from helpers.table_model import Table
from saccade.batch import BOS, EOS, PAD, Batch
from saccade.config import merge
from saccade.errors import ConfigError, DataError, NumericsError, ShapeError
from saccade.models import MODELS, Ensemble, build_classifier, build_language_model, build_seq2seq
from saccade.search import Beam, Limits, Required, run

TWO = Batch.from_lists([[3, 4], [5, 6]])
SEARCHES = {"greedy": greedy, "beam": beam, "sample": sample}


@pytest.fixture
def model():
    model = Table(12, lambda sentence, words: {4: 0.5, EOS: 0.5}, lambda sentence, words: [1.0, 0.0])
    yield model
    assert model.fed == 0, "refused before any step"


@pytest.fixture(params=SEARCHES)
def search(request):
    return SEARCHES[request.param]


def says(*parts):
    """A pattern for a message that has all the parts, in this order."""
    return "(?s)" + ".*".join(re.escape(str(part)) for part in parts)


# Errors of strategies


@pytest.mark.parametrize("width", [0, -3])
def test_a_beam_without_width(model, width):
    with pytest.raises(ConfigError, match=says(f"width is {width}", "at least 1")):
        beam(model, TWO, width)


@pytest.mark.parametrize(("nbest", "width"), [(6, 5), (0, 4), (2, 1)])
def test_more_answers_than_beams(model, nbest, width):
    with pytest.raises(ConfigError, match=says(f"nbest is {nbest}", f"width {width}", f"1 to {width}")):
        beam(model, TWO, width, nbest=nbest)


def test_a_penalty_that_is_a_reward(model):
    with pytest.raises(ConfigError, match=says("coverage_penalty is -0.5", "0 or more")):
        beam(model, TWO, coverage_penalty=-0.5)


def test_no_samples(model):
    with pytest.raises(ConfigError, match=says("samples is 0", "at least 1")):
        sample(model, TWO, 0)


@pytest.mark.parametrize("temperature", [0, -1.0, float("nan"), float("inf")])
def test_a_temperature_without_meaning(model, temperature):
    with pytest.raises(ConfigError, match=says(f"temperature is {temperature}", "above 0")):
        sample(model, TWO, temperature=temperature)


@pytest.mark.parametrize("top_k", [0, -2])
def test_no_words_to_draw_from(model, top_k):
    with pytest.raises(ConfigError, match=says(f"top_k is {top_k}", "at least 1")):
        sample(model, TWO, top_k=top_k)


@pytest.mark.parametrize("top_p", [0, 2, -0.1, 1.5, float("nan")])
def test_a_share_that_is_none(model, top_p):
    with pytest.raises(ConfigError, match=says(f"top_p is {top_p}", "above 0 and at most 1")):
        sample(model, TWO, top_p=top_p)


def test_a_strategy_of_ones_own_without_width(model):
    strategy = Beam(1)
    strategy.width = 0
    with pytest.raises(ConfigError, match=says("width is 0", "at least 1")):
        run(model, TWO, strategy, Limits(max_length=3))


# Lengths


@pytest.mark.parametrize("max_length", [0, -1])
def test_no_room_for_a_word(model, search, max_length):
    with pytest.raises(ConfigError, match=says(f"max_length is {max_length}", "at least 1")):
        search(model, TWO, max_length=max_length)


@pytest.mark.parametrize(("least", "most"), [(5, 5), (7, 4), (1, 1)])
def test_a_minimum_above_the_maximum(model, search, least, most):
    with pytest.raises(
        ConfigError, match=says(f"min_length is {least}", f"max_length {most}", f"at least {least + 1}")
    ):
        search(model, TWO, min_length=least, max_length=most)


@pytest.mark.parametrize("kind", ["seq2seq", "language"])
def test_learned_positions_that_end_before_max_length(search, kind, monkeypatch):
    settings = {"width": 8, "feed_forward": 12, "layers": 1, "attention": {"heads": 2}}
    settings |= {"positions": "learned", "max_length": 7}
    if kind == "language":
        model, batch = build_language_model("transformer-base", 9, **settings), Batch.blank(2)
    else:
        model, batch = build_seq2seq("transformer-base", 9, 9, **settings), TWO
    step = model.step
    monkeypatch.setattr(model, "step", lambda *args, **more: pytest.fail("a step was taken"))
    with pytest.raises(ShapeError, match=says("8 long", "end at 7")):
        search(model, batch, max_length=8)
    monkeypatch.setattr(model, "step", step)
    search(model, batch, max_length=7)


# Words


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_prefix_too_many_or_too_few(model, search, count):
    with pytest.raises(DataError, match=says(f"{count} prefixes", "2 sentences")):
        search(model, TWO, prefix=[[4]] * count)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_requirements_too_many_or_too_few(model, search, count):
    with pytest.raises(DataError, match=says(f"{count} of 2 sentences")):
        search(model, TWO, required=[[[4]]] * count)


@pytest.mark.parametrize("word", [12, 99, -1, PAD, BOS])
def test_words_the_model_does_not_have(model, search, word):
    with pytest.raises(DataError, match=says(f"prefix word {word} ", "3..11")):
        search(model, TWO, prefix=[[], [5, word]])
    with pytest.raises(DataError, match=says(f"banned word {word} ", "2..11")):
        search(model, TWO, banned=[[4], [5, word]])
    with pytest.raises(DataError, match=says(f"required word {word} ", "3..11")):
        search(model, TWO, required=[[], [[5, word]]])


def test_an_end_before_the_end(model, search):
    with pytest.raises(DataError, match=says(f"prefix word {EOS} ", "3..11")):
        search(model, TWO, prefix=[[], [5, EOS]])
    with pytest.raises(DataError, match=says(f"required word {EOS} ", "3..11")):
        search(model, TWO, required=[[], [[5, EOS]]])


def test_no_end_at_all(model, search):
    with pytest.raises(ConfigError, match=says(f"word {EOS}", "cannot be banned", "min_length")):
        search(model, TWO, banned=[[4], [EOS]])


def test_words_where_phrases_belong(model, search):
    with pytest.raises(DataError, match=says("banned holds word 7", "[7]")):
        search(model, TWO, banned=[[5], 7])
    with pytest.raises(DataError, match=says("required holds word 8", "[8]")):
        search(model, TWO, required=[[], [8]])
    with pytest.raises(DataError, match=says("prefix holds word 9", "[9]")):
        search(model, TWO, prefix=[9, 9])


# Contradictory options


def test_a_phrase_both_banned_and_required(model, search):
    with pytest.raises(ConfigError, match=says("sentence 1 requires, [5, 6], contains [5, 6]", "banned")):
        search(model, TWO, required=[[[4]], [[7], [5, 6]]], banned=[[8], [5, 6]])
    with pytest.raises(ConfigError, match=says("sentence 0 requires, [4, 5, 6], contains [5]", "banned")):
        search(model, TWO, required=[[[4, 5, 6]], []], banned=[[5]])
    with pytest.raises(ConfigError, match=says("sentence 0 requires, [6, 7], contains [7]", "banned")):
        run(model, TWO, Beam(2), Limits(max_length=9, constraints=[Required([[[6, 7]], []], banned=[[7]])]))


def test_a_phrase_both_banned_and_in_a_prefix(model, search):
    with pytest.raises(ConfigError, match=says("prefix of sentence 1, [4, 5, 6], contains [5, 6]", "banned")):
        search(model, TWO, prefix=[[], [4, 5, 6]], banned=[[5, 6]])


def test_a_prefix_longer_than_the_answer(model, search):
    with pytest.raises(ConfigError, match=says("sentence 1 has 3 words", "max_length 3", "at least 4")):
        search(model, TWO, prefix=[[], [4, 5, 6]], max_length=3)


@pytest.mark.parametrize(
    ("prefix", "required", "words"),
    [
        ([], [[4, 5], [6]], 3),
        ([], [[4, 5], [5, 6]], 3),  # overlapping
        ([7, 8], [[4, 5]], 4),
        ([7, 4], [[4, 5]], 3),  # begun in the prefix
    ],
)
def test_more_required_than_there_is_room_for(model, search, prefix, required, words):
    with pytest.raises(ConfigError, match=says(f"sentence 1 needs {words} words", f"max_length {words}", words + 1)):
        search(model, TWO, prefix=None if not prefix else [[], prefix], required=[[], required], max_length=words)


def test_room_for_all_that_is_required_and_the_words_between():
    model = Table(12, lambda sentence, words: {4: 0.3, 5: 0.3, 8: 0.1, EOS: 0.3})
    limits = {"required": [[], [[4], [5]]], "banned": [[4, 5], [5, 4]]}
    with pytest.raises(ConfigError, match=says("sentence 1 needs 3 words", "max_length 3", "at least 4")):
        greedy(model, TWO, max_length=3, **limits)
    assert model.fed == 0
    assert {4, 5} <= set(greedy(model, TWO, max_length=4, **limits)[1].tokens)


# Models


def test_a_model_that_does_not_write(search):
    classifier = build_classifier("transformer-base", 9, 3, width=8, feed_forward=12, layers=1, attention={"heads": 2})
    with pytest.raises(ConfigError, match=says("Seq2Seq", "given a Classifier")):
        search(classifier, TWO)


@pytest.mark.parametrize("name", ["sutskever", "cho"])
def test_coverage_of_a_source_that_is_not_looked_at(name, monkeypatch):
    model = make_model(name)
    monkeypatch.setattr(model, "step", lambda *args, **more: pytest.fail("a step was taken"))
    with pytest.raises(ConfigError, match=says("coverage_penalty", "RecurrentSeq2Seq has none", "0")):
        beam(model, TWO, coverage_penalty=0.2)
    with pytest.raises(ConfigError, match="overlap_penalty"):
        beam(model, TWO, overlap_penalty=0.2)


def test_an_ensemble_over_several_vocabularies():
    with pytest.raises(ConfigError, match=says("one vocabulary", "[9, 8, 9]")):
        Ensemble([make_model("cho"), make_model("cho", vocabulary=8), make_model("bahdanau")])


def test_an_ensemble_of_nobody():
    with pytest.raises(ConfigError, match=says("one vocabulary", "no words")):
        Ensemble([])


def test_an_ensemble_with_an_unknown_mean():
    with pytest.raises(ConfigError, match=says("average 'probability'", "Did you mean 'probabilities'?")):
        Ensemble([make_model("cho")], "probability")


# Numbers


@pytest.mark.parametrize("name", ["bahdanau", "lstmn", "transformer-base"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_parameters_that_are_no_numbers(search, name, bad):
    model = make_model(name)
    with torch.no_grad():
        model.output.weight[4, :3] = bad
    size = model.output.weight.numel()
    with pytest.raises(NumericsError, match=says("parameter output.weight holds 3 ", f"of {size}")):
        search(model, make_batch(), max_length=4)


def test_parameters_of_a_member_that_are_no_numbers(search):
    members = [make_model("cho"), make_model("bahdanau")]
    with torch.no_grad():
        members[1].output.bias[5] = float("nan")
    with pytest.raises(NumericsError, match=says("parameter members.1.output.bias holds 1 ", "of 9")):
        search(Ensemble(members), make_batch(), max_length=4)


def test_a_word_whose_embedding_is_no_number_is_noticed_before_it_is_written(search):
    model = make_model("bahdanau")
    with torch.no_grad():
        model.target_embedding.weight[7] = float("nan")
    with pytest.raises(NumericsError, match=says("parameter target_embedding.weight holds 6 ", "of 54")):
        search(model, make_batch(), max_length=4, banned=[[7]])


@pytest.mark.parametrize(
    ("name", "settings", "parameter"),
    [
        ("luong-local-p", {}, "attention.window.weight"),  # with a NaN center the window silently hides every key
        ("bahdanau", {"attention": {"align": "hard"}}, "attention.score.v"),
        ("bahdanau", {"attention": {"align": "sparsemax"}}, "attention.score.v"),
    ],
)
def test_parameters_that_hide_behind_an_align_or_a_window_are_noticed(search, name, settings, parameter):
    model = build_seq2seq(name, 9, 9, **merge(MODELS[name].tiny, settings))
    with torch.no_grad():
        dict(model.named_parameters())[parameter].fill_(float("nan"))
    with pytest.raises(NumericsError, match=says(f"parameter {parameter} holds ")):
        search(model, make_batch(), max_length=4)
    model(Batch.from_lists([[4, 5]], [[5]]))  # no raw error of torch in training either


def test_what_is_no_batch(search):
    with pytest.raises(DataError, match=r"reads a Batch, but was given a list.*Batch\.from_lists"):
        search(make_model("bahdanau"), [[4, 5]], max_length=4)


def test_a_compiled_model(search):
    with pytest.raises(ConfigError, match=r"given a OptimizedModule.*Pass the model itself"):
        search(torch.compile(make_model("bahdanau")), make_batch(), max_length=4)


def test_predictions_that_are_no_numbers_though_all_parameters_are(search):
    model = make_model("bahdanau").float()
    with torch.no_grad():
        model.output.weight.fill_(3e38)
    with pytest.raises(NumericsError, match="NaN though its parameters are finite"):
        search(model, make_batch(), max_length=4)


def test_an_option_that_does_not_exist(search, model):
    with pytest.raises(ConfigError, match=r"search option 'max_len' does not exist. Did you mean 'max_length'"):
        search(model, TWO, max_len=4)


def test_a_vocabulary_without_an_end():
    with pytest.raises(ConfigError, match=r"end token \(2\), but its vocabulary has 2 words"):
        build_language_model("bahdanau", 2)


@pytest.mark.parametrize("penalty", ["length_penalty", "coverage_penalty", "overlap_penalty"])
def test_penalties_that_are_no_numbers(model, penalty):
    with pytest.raises(ConfigError, match=f"{penalty} is nan"):
        beam(model, TWO, **{penalty: float("nan")})


def test_a_negative_minimum(search, model):
    with pytest.raises(ConfigError, match="min_length is -3"):
        search(model, TWO, min_length=-3)
