"""Options of single sentences stay with them in every search loop."""

import pytest
import torch
from pydantic import ValidationError

from helpers.search import beam, greedy, lively_case, make_model, sample
from saccade.batch import UNK, Batch
from saccade.errors import ConfigError, Interruption
from saccade.search import Banned, Limits, MinimumLength
from saccade.search.decoding import _generators, _large, decode
from saccade.search.search_config import SearchConfig

SENTENCES = 5


@pytest.fixture
def model():
    return lively_case("bahdanau", "seq2seq")[0]


def sources(count=SENTENCES):
    return Batch.from_lists([[4 + row % 3, 5, *[4 + row // 3 % 3] * (row % 3)] for row in range(count)])


def words(found):
    return [[hypothesis.tokens for hypothesis in row] for row in found]


def test_constraints_of_the_caller_hold_where_lengths_differ(model):
    batch, search = sources(), SearchConfig()
    free = decode(model, batch, search, lengths=[9] * SENTENCES)
    word = free[0][0].tokens[0]
    for lengths in ([9] * SENTENCES, [9, 8, 9, 8, 9]):
        found = decode(model, batch, search, lengths=lengths, constraints=[Banned([[word]])])
        assert not any(word in hypothesis.tokens for row in found for hypothesis in row)


@pytest.mark.parametrize("lengths", [[9] * SENTENCES, [9, 8, 7, 8, 9]])
@pytest.mark.parametrize("together", [1, 2, 5])
def test_what_is_asked_of_a_sentence_goes_with_it(model, together, lengths):
    batch = sources()
    limits = {
        "prefix": [[4 + row % 3] for row in range(SENTENCES)],
        "required": [[[4 + (row + 1) % 3, 5]] for row in range(SENTENCES)],
    }
    search = SearchConfig(beam=2, batch_size=together)
    found = decode(model, batch, search, lengths=lengths, constraints=[MinimumLength(4)], **limits)
    for row, answers in enumerate(found):
        one, end = Batch(batch.source[row : row + 1], batch.source_mask[row : row + 1]), lengths[row : row + 1]
        own = {name: [asked[row]] for name, asked in limits.items()}
        alone = decode(model, one, search, lengths=end, constraints=[MinimumLength(4)], **own)
        assert words([answers]) == words(alone)
        assert answers[0].tokens[0] == 4 + row % 3
        assert len(answers[0].tokens) > 4


@pytest.mark.parametrize("options", [{}, {"beam": 3, "nbest": 3}, {"sample": True, "nbest": 9}])
def test_no_answer_has_unknown_words_if_they_are_not_wanted(model, options):
    with torch.no_grad():
        model.output.bias[UNK] = 8.0
    found = {
        unknown: decode(model, sources(), SearchConfig(max_length=5, unknown=unknown, **options))
        for unknown in (True, False)
    }
    has = {key: [UNK in one.tokens for row in rows for one in row] for key, rows in found.items()}
    assert any(has[True])
    assert not any(has[False])
    asked = decode(model, sources(), SearchConfig(max_length=5, unknown=False), prefix=[[UNK]] * SENTENCES)
    assert [row[0].tokens[0] for row in asked] == [UNK] * SENTENCES, "a prefix is written as it is given"


def test_a_rule_for_all_sentences_keeps_them_together(model):
    seen = []

    def rule(logs, written, left):
        seen.append(len(logs))
        return logs

    decode(model, sources(), SearchConfig(batch_size=2), lengths=[5] * SENTENCES, constraints=[rule])
    assert set(seen) == {SENTENCES}


def test_pictures_are_cut_with_their_sentences():
    model, batch = make_model("bahdanau"), sources()
    read, encode = [], model.encode
    model.encode = lambda batch, **options: read.append(batch.pictures) or encode(batch, **options)
    batch = Batch(batch.source, batch.source_mask, pictures=torch.arange(SENTENCES).view(-1, 1, 1, 1))
    decode(model, batch, SearchConfig(batch_size=2), lengths=[5] * SENTENCES)
    assert torch.cat(read).flatten().tolist() == list(range(SENTENCES))


def test_the_parts_of_a_batch_have_no_columns_that_are_padding_throughout():
    model, read = make_model("bahdanau"), []
    encode = model.encode
    model.encode = lambda batch, **options: read.append(tuple(batch.source.shape)) or encode(batch, **options)
    batch = Batch.from_lists([[4, 5], [4], [4, 5, 6, 4], [5, 6, 4]])
    decode(model, batch, SearchConfig(batch_size=2), lengths=[3] * 4)
    assert read == [(2, 2), (2, 4)]


def test_a_language_model_continues_more_beginnings_than_are_searched_together():
    model, _ = lively_case("bahdanau", "language")
    prefix = [[4], [5, 6], [4, 4, 5]]
    found = decode(model, Batch.blank(3), SearchConfig(batch_size=2), lengths=[7] * 3, prefix=prefix)
    assert [row[0].tokens[: len(start)] for row, start in zip(found, prefix, strict=True)] == prefix
    alone = [decode(model, Batch.blank(1), SearchConfig(), lengths=[7], prefix=[start])[0] for start in prefix]
    assert words(found) == words(alone)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_each_picture_has_chance_of_its_own(dtype):
    torch.manual_seed(1)
    pictures = torch.randint(0, 255, (3, 4, 4, 3)).to(dtype)
    draws = [[g.initial_seed() for g in _generators(Batch(pictures=part), 1, None, torch.device("cpu"))] for part in (
        pictures, pictures[[2, 0]], pictures[1:2],
    )]  # fmt: skip
    assert len(set(draws[0])) == 3
    assert draws[1] == [draws[0][2], draws[0][0]]
    assert draws[2] == [draws[0][1]]


BOUNDS = {
    "beam": ([1, 1000], [0, 1001]),
    "length_penalty": ([0.0, 100.0], [-0.1, 101.0]),
    "coverage_penalty": ([0.0, 1e6], [-0.1, 1e7]),
    "overlap_penalty": ([0.0, 1e6], [-0.1, 1e7]),
    "temperature": ([1e-3, 1e3], [0.0, 1001.0]),
    "top_k": ([1, None], [0]),
    "top_p": ([0.01, 1.0, None], [0.0, 1.01]),
    "seed": ([0, 2**63 - 1], [-1, 2**63]),
    "max_length": ([1, 100_000, None], [0, 100_001]),
    "min_length": ([0, 100_000], [-1, 100_001]),
    "batch_size": ([1, None], [0]),
}
"""Of each setting: the nearest values that are allowed, and those that are not."""


@pytest.mark.parametrize("name", BOUNDS)
def test_settings_keep_to_their_bounds(name):
    allowed, refused = BOUNDS[name]
    assert [getattr(SearchConfig(**{name: value}), name) for value in allowed] == allowed
    for value in refused:
        with pytest.raises(ValidationError, match=name):
            SearchConfig(**{name: value})


def test_a_beam_gives_no_more_answers_than_it_has_hypotheses():
    assert SearchConfig(beam=3, nbest=3).nbest == 3
    with pytest.raises(ValidationError, match="nbest is 4, but a beam of 3 finds at most 3: raise beam"):
        SearchConfig(beam=3, nbest=4)
    assert SearchConfig(sample=True, nbest=1000).nbest == 1000
    for nbest in (0, 1001):
        with pytest.raises(ValidationError, match="nbest"):
            SearchConfig(sample=True, nbest=nbest)


@pytest.mark.parametrize("limits", [{}, {"attention": False}])
def test_unless_told_otherwise_a_search_is_greedy(model, limits):
    batch = sources()
    wanted = [[one.tokens] for one in greedy(model, batch, max_length=9)]
    assert words(decode(model, batch, SearchConfig(), lengths=[9] * SENTENCES, **limits)) == wanted


GPU = torch.device("cuda")


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, 256),
        ({"beam": 10}, 256),
        ({"beam": 20}, 128),  # 2560 hypotheses
        ({"beam": 20, "nbest": 20}, 128),
        ({"sample": True, "nbest": 40}, 64),
        ({"beam": 500}, 32),
        ({"batch_size": 7}, 7),
    ],
)
def test_a_gpu_is_filled_with_sentences(settings, wanted):
    assert SearchConfig(**settings).together(GPU, large=False) == wanted


def test_large_sentences_and_those_of_a_processor_are_few():
    assert SearchConfig().together(GPU, large=True) == SearchConfig().together(torch.device("cpu"), large=False) == 32
    assert SearchConfig(batch_size=50).together(GPU, large=True) == 50


@pytest.mark.parametrize(
    ("asked", "pictures", "wanted"),
    [({}, False, 32), ({"attention": False}, False, 256), ({"attention": False}, True, 32), ({}, True, 32)],
)
def test_attention_and_pictures_make_sentences_large(asked, pictures, wanted):
    batch = Batch(pictures=torch.zeros(1, 2, 2, 3)) if pictures else sources(1)
    large = _large(batch, Limits.parse(asked))
    assert SearchConfig().together(torch.device("meta"), large=large) == wanted


def test_a_minimum_that_leaves_the_shortest_answer_no_end_is_refused(model):
    batch = sources(2)
    with pytest.raises(ConfigError, match=r"min_length is 4 words, but max_length 4 leaves no room .* at least 5\."):
        decode(model, batch, SearchConfig(min_length=4), lengths=[9, 4])
    assert all(len(row[0].tokens) >= 4 for row in decode(model, batch, SearchConfig(min_length=4), lengths=[9, 5]))


@pytest.mark.parametrize("together", [1, 8])
def test_no_answer_is_longer_than_the_model_has_places_for(model, together):
    batch = sources(4)
    for limits in ({}, {"attention": False}):
        found = decode(model, batch, SearchConfig(batch_size=together), lengths=[9, 2, 9, 9], room=3, **limits)
        assert [len(row[0].tokens) <= most for row, most in zip(found, (3, 2, 3, 3), strict=True)] == [True] * 4


class Stopped(Interruption):
    pass


class Patience:
    """A `stop` that raises in its n-th call."""

    def __init__(self, patience):
        self.patience, self.asked = patience, 0

    def __call__(self):
        self.asked += 1
        if self.asked == self.patience:
            raise Stopped


SEARCHES = {
    "greedy": lambda model, batch, **limits: greedy(model, batch, **limits),
    "beam": lambda model, batch, **limits: beam(model, batch, 3, **limits),
    "sample": lambda model, batch, **limits: sample(model, batch, 2, **limits),
    "flow": lambda model, batch, max_length, stop: decode(
        model, batch, SearchConfig(batch_size=2), lengths=[max_length] * batch.size, attention=False, stop=stop
    ),
}


@pytest.mark.parametrize("way", SEARCHES)
def test_stop_is_asked_before_every_step_and_ends_the_search(way):
    model, batch = lively_case("bahdanau", "seq2seq")
    patience = Patience(3)
    with pytest.raises(Stopped):
        SEARCHES[way](model, batch, max_length=8, stop=patience)
    assert patience.asked == 3
    calm = Patience(None)
    found = SEARCHES[way](model, batch, max_length=8, stop=calm)
    longest = max(len(h.tokens) for row in found for h in (row if isinstance(row, list) else [row]))
    assert calm.asked >= min(longest, 8) > 2


@pytest.mark.parametrize(
    ("option", "place"),
    [
        ({"max_length": 3}, r"SearchConfig\(max_length=…\)"),
        ({"min_length": 3}, r"SearchConfig\(min_length=…\)"),
        ({"precision": "int8"}, r"SearchConfig\(precision=…\)"),
        ({"max_lengths": [3, 3]}, "lengths="),
    ],
)
def test_what_belongs_to_the_config_is_refused_as_an_option(model, option, place):
    with pytest.raises(ConfigError, match=f"Pass it as {place}"):
        decode(model, sources(2), **option)
