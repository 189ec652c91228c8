"""Batches from a store equal slow reference batches; the prefetching thread ends with its reader."""

import gc
import queue
import threading
import time

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from helpers.data import open_store
from saccade.batch import EOS, NO_LABEL, Batch
from saccade.data import loader
from saccade.data.batch_sampler import BatchSampler, Cursor
from saccade.data.example import Example, Links
from saccade.data.loader import Loader, collate, count_rows, count_words, in_background, lengths_of
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.models import build_classifier, build_seq2seq
from saccade.train.objective import ClassLoss, WordLoss, losses_of
from saccade.train.terms import GuidedAlignment

WORDS = ["the", "black", "cat", "sat", "on", "a", "mat", "and", "then", "dog", "came"]
TOKENIZER = Tokenizer.train(TokenizerConfig(kind="bpe"), [" ".join(WORDS)] * 3)
ROWS = [3, 0, 7, 12]


def sentences(count=20, seed=0):
    chance = np.random.default_rng(seed)
    draw = lambda: " ".join(chance.choice(WORDS, chance.integers(1, 9)))  # noqa: E731
    made = []
    for _ in range(count):
        source, target = draw(), draw()
        sizes = len(source.split()), len(target.split())
        links = frozenset((int(chance.integers(sizes[0])), int(chance.integers(sizes[1]))) for _ in range(4))
        made.append(Example(source, target, links=Links(links)))
    return made


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path, "key", sentences(), Tokenizers(TOKENIZER, TOKENIZER), links=True)


def tokens(examples, side):
    return [TOKENIZER.encode(getattr(example, side)).tokens for example in examples]


def assert_same(batch, reference):
    for name in ("source", "source_mask", "target", "target_mask", "labels"):
        found, expected = getattr(batch, name), getattr(reference, name)
        assert (found is None) == (expected is None)
        if found is not None:
            assert_close(found, expected, rtol=0, atol=0)


@pytest.mark.parametrize("rows", [ROWS, [5], [19, 19, 0], list(range(20))])
def test_sentences_side_by_side(store, rows):
    chosen = [sentences()[row] for row in rows]
    batch = collate(store, np.array(rows))
    sources = [[*row, EOS] for row in tokens(chosen, "source")]
    assert_same(batch, Batch.from_lists(sources, tokens(chosen, "target")))


def test_a_text_alone(tmp_path):
    examples = [Example(target=example.target) for example in sentences()]
    store = open_store(tmp_path, "key", examples, Tokenizers(None, TOKENIZER))
    batch = collate(store, np.array(ROWS))
    links = batch.links
    assert_same(batch, Batch.from_lists(None, tokens([examples[row] for row in ROWS], "target")))
    assert links is None
    assert lengths_of(store).shape == (20, 1)


def test_labels(tmp_path):
    examples = [Example(source=example.source, label="ab"[row % 2]) for row, example in enumerate(sentences())]
    store = open_store(tmp_path, "key", examples, Tokenizers(TOKENIZER, None), ["a", "b"])
    batch = collate(store, np.array(ROWS))
    sources = [[*row, EOS] for row in tokens([examples[row] for row in ROWS], "source")]
    assert_same(batch, Batch.from_lists(sources, None, [1, 0, 1, 0]))
    assert count_rows(store, np.array(ROWS)) == 4


def test_gold_attention_against_a_slow_reference(store):
    batch = collate(store, np.array(ROWS))
    gold = batch.links
    assert gold.shape == (len(ROWS), batch.expected.shape[1], batch.source.shape[1])
    for place, row in enumerate(ROWS):
        example = sentences()[row]
        source, target = TOKENIZER.encode(example.source).words, TOKENIZER.encode(example.target).words
        for step in range(gold.shape[1]):
            linked = [
                step < len(target) and at < len(source) and (source[at], target[step]) in example.links.sure
                for at in range(gold.shape[2])
            ]
            expected = torch.tensor(linked, dtype=torch.float32)
            assert_close(gold[place, step], expected / max(sum(linked), 1))


def test_gold_attention_sums_to_one_or_zero_and_never_looks_at_padding(store):
    batch = collate(store, np.arange(20))
    gold = batch.links
    sums = gold.sum(-1)
    assert_close(sums, sums.round())
    assert set(sums.round().unique().tolist()) == {0.0, 1.0}
    assert not gold[~batch.source_mask[:, None].expand_as(gold)].any()
    assert not sums[~batch.expected_mask].any()
    assert not sums[batch.expected == EOS].any()


def test_answers_are_counted_with_their_ends(store):
    rows = np.array(ROWS)
    batch = collate(store, rows)
    assert count_words(store, rows) == int(batch.expected_mask.sum())
    assert count_words(store, rows[1:2]) == len(tokens(sentences()[:1], "target")[0]) + 1


def test_lengths_have_their_ends(store):
    expected = [[len(row) + 1 for row in tokens(sentences(), side)] for side in ("source", "target")]
    assert lengths_of(store).T.tolist() == expected
    assert lengths_of(store).dtype == np.uint16


def test_lengths_beyond_sixteen_bits(tmp_path):
    examples = [Example("the", "the " * 2**16), Example("the", "cat")]
    store = open_store(tmp_path, "key", examples, Tokenizers(TOKENIZER, TOKENIZER), max_length=10**9)
    assert lengths_of(store).tolist() == [[2, len(TOKENIZER.encode("the " * 2**16).tokens) + 1], [2, 2]]


def test_an_epoch_is_every_sentence_once(store):
    loader = Loader(store, BatchSampler(lengths_of(store), 40))
    loads = list(loader.epoch(2))
    assert sorted(line for load in loads for line in load.lines.tolist()) == list(range(1, 21))
    assert [load.place for load in loads] == [Cursor(2, number) for number in range(1, len(loads) + 1)]
    for load, rows in zip(loads, loader.plan.epoch(2), strict=True):
        assert_same(load.batch, collate(store, rows))
        assert load.tokens == int(load.batch.expected_mask.sum())
        assert load.padding == loader.plan.padding(rows)
        assert load.weight == 1.0


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_processes_share_every_batch(store, ranks):
    plan = BatchSampler(lengths_of(store), 30)
    everyone = [list(Loader(store, plan, rank, ranks).epoch()) for rank in range(ranks)]
    borrowed = 0
    for loads, rows in zip(zip(*everyone, strict=True), plan.epoch(0), strict=True):
        assert len({(load.tokens, load.place, load.padding) for load in loads}) == 1
        assert loads[0].tokens == count_words(store, rows)
        counted = [load for load in loads if load.weight]
        assert sorted(line for load in counted for line in load.lines) == sorted(rows + 1)
        assert sum(int(load.batch.expected_mask.sum()) for load in counted) == loads[0].tokens
        for load in loads:
            if load.weight == 0:
                borrowed += 1
                assert load.lines.tolist() == [rows[0] + 1]
                assert load.batch.size == 1
    assert (borrowed > 0) == (ranks > 2)


def test_from_a_place_on_in_the_background(store):
    loader = Loader(store, BatchSampler(lengths_of(store), 40))
    stream = loader(Cursor())
    whole = [next(stream) for _ in range(9)]
    stream.close()
    resumed = loader(whole[3].place)
    for expected in whole[4:]:
        found = next(resumed)
        assert found.place == expected.place
        assert_same(found.batch, expected.batch)
    resumed.close()
    assert_no_thread()


def assert_no_thread():
    assert not [thread for thread in threading.enumerate() if thread.name == "saccade-loader"]


@pytest.mark.parametrize("depth", [1, 4])
def test_order_is_kept(depth):
    assert list(in_background(lambda: iter(range(100)), depth)) == list(range(100))
    assert_no_thread()


def test_it_fetches_ahead_but_not_too_far(monkeypatch):
    refused, fetched = threading.Event(), []

    class Watched(queue.Queue):
        """Records when it was full for as long as a writer waits."""

        def put(self, item, block=True, timeout=None):
            try:
                super().put(item, block, timeout)
            except queue.Full:
                refused.set()
                raise

    monkeypatch.setattr(loader.queue, "Queue", Watched)
    stream = in_background(lambda: (fetched.append(number) or number for number in range(100)), depth=3)
    assert next(stream) == 0
    assert refused.wait(10)
    assert len(fetched) == 5  # one was read, three are in the queue, one waits for room
    stream.close()
    assert_no_thread()


def test_errors_are_raised_in_the_reader_after_what_came_before():
    def broken():
        yield 1
        yield 2
        raise ValueError("line 3")

    stream = in_background(broken)
    assert [next(stream), next(stream)] == [1, 2]
    with pytest.raises(ValueError, match="line 3"):
        next(stream)
    assert_no_thread()


def test_errors_before_the_first_item():
    def make():
        raise ValueError("at once")

    with pytest.raises(ValueError, match="at once"):
        next(in_background(make))
    assert_no_thread()


def endless():
    number = 0
    while True:
        yield number
        number += 1


def test_the_thread_ends_with_a_reader_that_stops():
    for item in in_background(endless):
        if item == 3:
            break
    gc.collect()
    assert_no_thread()


def test_the_thread_ends_with_a_reader_that_fails():
    def read():
        for item in in_background(endless):
            if item == 3:
                raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        read()
    gc.collect()
    assert_no_thread()


def test_the_thread_ends_with_a_forgotten_stream():
    stream = in_background(endless)
    next(stream)
    holder = [stream]
    holder.append(holder)  # only the garbage collector frees it
    del stream, holder
    gc.collect()
    assert_no_thread()


def test_a_stream_may_be_collected_by_its_own_thread():
    """Garbage collection runs in any thread, so possibly in the one that the stream waits for."""
    holder = {}
    closed = threading.Event()

    def make():
        yield 1
        holder.pop("stream").close()
        closed.set()
        yield 2

    ready = threading.Event()

    def waiting():
        items = make()
        yield next(items)
        ready.wait(10)
        yield from items

    holder["stream"] = in_background(waiting)
    assert next(holder["stream"]) == 1
    ready.set()
    assert closed.wait(10)
    ends = time.monotonic() + 10
    while time.monotonic() < ends and any(t.name == "saccade-loader" for t in threading.enumerate()):
        time.sleep(0.01)
    assert_no_thread()


def test_a_stream_that_nobody_reads_starts_nothing():
    stream = in_background(endless)
    assert_no_thread()
    stream.close()


def test_more_padding_than_needed_changes_no_loss(store):
    plain = collate(store, np.array(ROWS))
    count, source, target = 7, plain.source.shape[1] + 3, plain.target.shape[1] + 2
    wide = collate(store, np.array(ROWS), (count, source, target - 1))
    assert wide.source.shape == (count, source)
    assert wide.target.shape == (count, target)
    torch.manual_seed(0)
    model = build_seq2seq(
        "bahdanau", len(TOKENIZER), len(TOKENIZER), embedding=4, encoder={"width": 4}, decoder={"width": 8}
    ).double()
    objective = WordLoss(model, terms=[GuidedAlignment(weight=0.5)], label_smoothing=0.1).eval()
    one, other = losses_of(objective, plain), losses_of(objective, wide)
    assert_close(one.total, other.total)
    assert_close(one.plain, other.plain)


def test_sentences_that_are_padding_see_all_pictures_in_turn(tmp_path):
    """Batch norms count padding rows, so these must repeat the batch's images."""
    captions = [Example(target=words) for words in ("the cat", "a dog", "the mat")]
    store = open_store(tmp_path, "key", captions, Tokenizers(None, TOKENIZER), pictures=[2, 0, 1])
    batch = collate(store, np.array([0, 1, 2]), (8, 6))
    assert batch.pictures.flatten().tolist() == [2, 0, 1, 2, 0, 1, 2, 0]
    assert batch.target_mask[3:, 1:].sum() == 0
    assert collate(store, np.array([2, 0])).pictures.flatten().tolist() == [1, 2]


def test_sentences_that_are_padding_have_no_label(tmp_path):
    labelled = [Example("the cat", label="good"), Example("a dog", label="bad")]
    store = open_store(tmp_path, "key", labelled, Tokenizers(TOKENIZER, None), ["bad", "good"])
    batch = collate(store, np.array([0, 1]), (3, 8))
    assert batch.labels.tolist() == [1, 0, NO_LABEL]
    torch.manual_seed(0)
    model = build_classifier("lstmn", len(TOKENIZER), 2, embedding=4, width=4)
    losses = [
        losses_of(ClassLoss(model, label_smoothing=0.1).eval(), part)
        for part in (batch, collate(store, np.array([0, 1])))
    ]
    assert_close(*(part.total for part in losses))


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_processes_have_equal_shapes_where_batches_are_rounded(store, ranks):
    plan = BatchSampler(lengths_of(store), 90, rounded=True)
    everyone = [list(Loader(store, plan, rank, ranks).epoch()) for rank in range(ranks)]
    for loads, rows in zip(zip(*everyone, strict=True), plan.epoch(0), strict=True):
        sentences, source, target = plan.shape(rows)
        for load in loads:
            assert load.batch.source.shape == (-(-sentences // ranks), source)
            assert load.batch.target.shape == (-(-sentences // ranks), target + 1)
        counted = [load for load in loads if load.weight]
        assert sum(int(load.batch.expected_mask.sum()) for load in counted) == loads[0].tokens


def test_the_longest_sentence_decides_how_many_bytes_lengths_have(tmp_path):
    words = Tokenizer.train(TokenizerConfig(kind="word"), ["a"])
    for tokens, dtype in ((2**16 - 2, np.uint16), (2**16 - 1, np.int32)):
        one = [Example(target="a " * tokens)]
        store = open_store(tmp_path, str(tokens), one, Tokenizers(None, words), max_length=10**9)
        assert lengths_of(store).tolist() == [[tokens + 1]]
        assert lengths_of(store).dtype == dtype
