"""Continuous batching: many sentences in a few rows get the same answers as one by one."""

import pytest
import torch

from helpers.pairwise import pairwise
from helpers.search import beam, greedy, lively_case, make_batch, make_model
from saccade.batch import Batch
from saccade.errors import NumericsError
from saccade.search import Beam, Greedy, SearchConfig, decode
from saccade.search.continuous_batching import continuous_search
from saccade.search.step_scores import top

NAMES = ["bahdanau", "luong-local-p", "transformer-base", "transformer-big"]


def many(count=23, seed=4):
    torch.manual_seed(seed)
    return make_batch(lengths=torch.randint(1, 9, (count,)).tolist())


def alone(batch, row):
    length = int(batch.source_mask[row].sum())
    return Batch(batch.source[row : row + 1, :length], batch.source_mask[row : row + 1, :length])


@pytest.mark.parametrize(
    ("name", "rows", "width"),
    [tuple(row.values()) for row in pairwise({"name": NAMES, "rows": [1, 4, 40], "width": [1, 3]})],
)
def test_every_sentence_gets_the_answer_it_gets_alone(name, rows, width):
    (model, _), batch = lively_case(name, "seq2seq"), many()
    lengths = [1 + (7 * row) % 19 for row in range(batch.size)]
    make = Greedy if width == 1 else lambda: Beam(width, length_penalty=0.6, nbest=2)
    found = continuous_search(model, batch, make, rows=rows, lengths=lengths)
    finished = set()
    for row, (got, length) in enumerate(zip(found, lengths, strict=True)):
        one = alone(batch, row)
        if width == 1:
            wanted = greedy(model, one, max_length=length, attention=False)
        else:
            wanted = beam(model, one, width, length_penalty=0.6, nbest=2, max_length=length, attention=False)[0]
        assert [part.tokens for part in got] == [part.tokens for part in wanted]
        assert [part.score for part in got] == pytest.approx([part.score for part in wanted], rel=1e-9)
        assert [part.finished for part in got] == [part.finished for part in wanted]
        assert [part.slots for part in got] == [part.slots for part in wanted]
        finished |= {part.finished for part in got}
    assert finished == {True, False}


class Three(Greedy):
    """The likeliest word for each of three hypotheses: all of them are the greedy answer."""

    width = 3


def test_several_that_walk_on_their_own_are_all_fed_the_beginning():
    (model, _), batch = lively_case("bahdanau", "seq2seq"), many(7)
    found = continuous_search(model, batch, Three, rows=3, lengths=[6] * 7)
    for row, got in enumerate(found):
        (wanted,) = greedy(model, alone(batch, row), max_length=6, attention=False)
        assert [part.tokens for part in got] == [wanted.tokens] * 3


def test_a_model_whose_sentences_cannot_be_replaced_does_not_flow():
    assert continuous_search(make_model("lstmn"), many(5), Greedy, rows=2, lengths=[4] * 5) is None


@pytest.mark.parametrize(
    "search",
    [
        SearchConfig(batch_size=4, max_length=6),
        SearchConfig(batch_size=4, max_length=6, beam=3, nbest=2),
        SearchConfig(batch_size=4, max_length=6, beam=3, coverage_penalty=0.2),
        SearchConfig(batch_size=4, max_length=6, beam=3, overlap_penalty=0.2),
        SearchConfig(batch_size=4, max_length=6, sample=True),
        SearchConfig(batch_size=4, max_length=6, min_length=2),
    ],
)
@pytest.mark.parametrize("limits", [{"attention": False}, {"attention": True}, {"attention": False, "prefix": True}])
@pytest.mark.parametrize("name", ["transformer-base", "lstmn"])
def test_more_sentences_than_are_searched_together(search, limits, name):
    model, batch = make_model(name), many(11)
    lengths = [6] * batch.size
    prefixes = [[3 + row % 3] for row in range(batch.size)] if limits.get("prefix") else None
    found = decode(model, batch, search, lengths=lengths, **limits | ({"prefix": prefixes} if prefixes else {}))
    for row, got in enumerate(found):
        own = {"prefix": [prefixes[row]]} if prefixes else {}
        wanted = decode(model, alone(batch, row), search, lengths=[6], **limits | own)[0]
        assert [one.tokens for one in got] == [one.tokens for one in wanted]
        assert [one.attention.keys() for one in got] == [one.attention.keys() for one in wanted]


def test_a_model_that_does_not_flow_reads_once():
    model, batch = make_model("lstmn"), many(5)
    read = []
    model.register_forward_hook(lambda *given: None)
    encode = model.encode
    model.encode = lambda *given, **options: (read.append(1), encode(*given, **options))[1]
    decode(model, batch, SearchConfig(batch_size=8, max_length=4), lengths=[4] * 5, attention=False)
    assert len(read) == 1


def test_a_broken_model_is_noticed():
    model, batch = make_model("transformer-base"), many(5)
    with torch.no_grad():
        model.output.bias[7] = 1e308
        model.output.weight[7] = 1e308
    with pytest.raises(NumericsError, match="predictions are NaN"):
        continuous_search(model, batch, Greedy, rows=2, lengths=[4] * 5)


@pytest.mark.parametrize("size", [7, 1000, 1024, 8000, 8191])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 10])
def test_the_greatest_are_found_in_blocks(size, count):
    torch.manual_seed(size + count)
    values = torch.randn(6, size)
    got, places = top(values, min(count, size))
    wanted = values.topk(min(count, size))
    assert torch.equal(got, wanted.values)
    assert torch.equal(places, wanted.indices)
    before = torch.randn(2, 3)
    together = (values.view(2, 3, size) + before[..., None]).flatten(1).topk(min(count, 3 * size))
    got, places = top(values.view(2, 3, size), min(count, 3 * size), before)
    assert torch.equal(got, together.values)
    assert torch.equal(places, together.indices)
