"""Tokenized corpora on disk: their content, when they are rebuilt, and that no partial one is left."""

import gc
import json
import threading
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.data import open_store
from saccade.data.example import Example, Links
from saccade.data.store import Column, clear, fingerprint
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.errors import DataError
from saccade.files import writing_folder

PAIRS = [("the black cat", "le chat noir"), ("the dog", "le chien"), ("yes , the cat", "oui , le chat")]


def tokenizer(texts, kind="word", **options):
    return Tokenizer.train(TokenizerConfig(kind=kind, **options), texts)


def both(kind="word", **options):
    source, target = zip(*PAIRS, strict=True)
    return Tokenizers(tokenizer(source * 3, kind, **options), tokenizer(target * 3, kind, **options))


def examples(pairs=PAIRS):
    return [Example(source=source, target=target) for source, target in pairs]


def rows(store, name):
    """A column as lists, read the slow way."""
    column = store.columns[name]
    starts = [0, *column.ends[:-1].tolist()]
    return [column.values[start:end].tolist() for start, end in zip(starts, column.ends.tolist(), strict=True)]


def forbidden():
    raise AssertionError("the examples were read")
    yield


@pytest.mark.parametrize("kind", ["word", "char", "bpe", "unigram"])
def test_every_example_is_kept_as_tokens(tmp_path, kind):
    tokenizers = both(kind)
    store = open_store(tmp_path, "key", examples(), tokenizers)
    assert len(store) == 3
    assert rows(store, "source") == tokenizers.source.tokens([source for source, _ in PAIRS])
    assert rows(store, "target") == tokenizers.target.tokens([target for _, target in PAIRS])
    assert store.lines.tolist() == [1, 2, 3]
    assert store.about == {"columns": ["source", "target"], "read": 3, "empty": 0, "too_long": 0}


def test_a_store_is_used_again_while_nothing_changed(tmp_path):
    first = open_store(tmp_path, "key", examples(), both())
    second = open_store(tmp_path, "key", forbidden(), both())
    assert rows(second, "source") == rows(first, "source")


def test_another_key_makes_another_store(tmp_path):
    open_store(tmp_path, "one", examples(), both())
    assert len(open_store(tmp_path, "two", examples(PAIRS[:1]), both())) == 1
    assert len(open_store(tmp_path, "one", forbidden(), both())) == 3


def test_fingerprints_tell_settings_apart(tmp_path):
    parts = ("train", {"size": 3, "kind": "bpe"}, [str(tmp_path), 120, 17])
    assert fingerprint(*parts) == fingerprint("train", {"kind": "bpe", "size": 3}, [tmp_path, 120, 17])
    assert len({fingerprint(*parts), fingerprint(*parts, None), fingerprint("valid", *parts[1:]), fingerprint()}) == 4


def test_empty_and_too_long_examples_are_counted_and_left_out(tmp_path):
    pairs = [("the cat", "le chat"), ("", "le chat"), ("the", " \t"), ("the " * 6, "le"), ("the", "le " * 5), ("", "")]
    store = open_store(tmp_path, "key", examples(pairs), both(), max_length=5)
    assert store.about | {"columns": None} == {"columns": None, "read": 6, "empty": 3, "too_long": 1}
    assert store.lines.tolist() == [1, 5]
    assert store.columns["target"].lengths.tolist() == [2, 5]


def test_line_numbers_go_on_over_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("saccade.data.store._CHUNK", 4)
    pairs = [("the cat", "le chat") if number % 3 else ("", "le") for number in range(1, 24)]
    store = open_store(tmp_path, "key", examples(pairs), both())
    assert store.lines.tolist() == [number for number in range(1, 24) if number % 3]
    assert store.about["read"] == 23
    assert rows(store, "target") == both().target.tokens(["le chat"]) * len(store)


@pytest.mark.parametrize("pairs", [[], [("", "")], [("the the the", "le")]])
def test_nothing_left_to_train_on(tmp_path, pairs):
    counts = (
        f"{len(pairs)} were read, {sum(not s for s, _ in pairs)} of them empty and {sum(len(s) > 2 for s, _ in pairs)}"
    )
    with pytest.raises(DataError, match=f"no example is left to train on: {counts} longer than 2 tokens"):
        open_store(tmp_path, "key", examples(pairs), both(), max_length=2)
    assert list(tmp_path.iterdir()) == []


def test_an_example_without_a_side_it_needs(tmp_path):
    with pytest.raises(DataError, match="example 2 has no target, which this task needs"):
        open_store(tmp_path, "key", [*examples(PAIRS[:1]), Example(source="the")], both())


def test_a_text_alone(tmp_path):
    store = open_store(
        tmp_path, "key", [Example(target="le chat"), Example(target="oui")], Tokenizers(None, both().target)
    )
    assert list(store.columns) == ["target"]
    assert rows(store, "target") == both().target.tokens(["le chat", "oui"])


def test_labels(tmp_path):
    labelled = [Example(source="the cat", label="b"), Example(source="", label="a"), Example(source="yes", label="a")]
    store = open_store(tmp_path, "key", labelled, Tokenizers(both().source, None), ["a", "b"])
    assert list(store.columns) == ["source", "label"]
    assert rows(store, "label") == [[1], [0]]


@pytest.mark.parametrize("label", ["c", None])
def test_an_unknown_label(tmp_path, label):
    labelled = [Example(source="the", label="a"), Example(source="cat", label=label)]
    with pytest.raises(DataError, match=f"example 2 has the label {label!r}. The training data have only: a, b"):
        open_store(tmp_path, "key", labelled, Tokenizers(both().source, None), ["a", "b"])


def slow_token_links(links, source, target):
    """Every pair of tokens whose words are linked."""
    return {
        (s, t)
        for s, source_word in enumerate(source.words)
        for t, target_word in enumerate(target.words)
        if (source_word, target_word) in links.sure
    }


@pytest.mark.parametrize("kind", ["word", "char", "bpe", "unigram"])
def test_links_between_words_become_links_between_tokens(tmp_path, kind):
    links = [Links(frozenset({(0, 0), (1, 2), (2, 1)}), frozenset({(0, 1)})), None, Links(frozenset({(3, 3)}))]
    given = [Example(*pair, links=link) for pair, link in zip(PAIRS, links, strict=True)]
    tokenizers = both(kind)
    store = open_store(tmp_path, "key", given, tokenizers, links=True)
    for row, (pair, link) in enumerate(zip(PAIRS, links, strict=True)):
        source, target = tokenizers.source.encode(pair[0]), tokenizers.target.encode(pair[1])
        found = list(zip(*[iter(rows(store, "links")[row])] * 2, strict=True))
        assert len(found) == len(set(found))
        assert set(found) == (slow_token_links(link, source, target) if link else set())


def test_links_of_words_that_signs_split(tmp_path):
    tokenizers = Tokenizers(tokenizer(["the agreement"]), tokenizer(["l'accord"]))
    given = [Example("the agreement", "l'accord", links=Links(frozenset({(0, 0), (1, 0)})))]
    store = open_store(tmp_path, "key", given, tokenizers, links=True)
    found = zip(*[iter(rows(store, "links")[0])] * 2, strict=True)
    assert sorted(found) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_corpus_without_any_link(tmp_path):
    store = open_store(tmp_path, "key", examples(), both(), links=True)
    assert len(store.columns["links"].values) == 0
    assert store.columns["links"].lengths.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("size", "dtype"), [(2**16, np.uint16), (2**16 + 1, np.int32)])
def test_numbers_are_as_wide_as_the_vocabulary_needs(tmp_path, size, dtype):
    words = [f"w{number}" for number in range(size - 4)]
    wide = tokenizer(words, punctuation="keep")
    assert len(wide) == size
    last = wide.pieces([size - 1])[0]
    store = open_store(tmp_path, "key", examples([("the cat", last)]), Tokenizers(both().source, wide))
    assert store.columns["source"].values.dtype == np.uint16
    assert store.columns["target"].values.dtype == dtype
    assert rows(store, "target") == [[size - 1]]


def test_files_are_plain_numpy_arrays_mapped_into_memory(tmp_path):
    store = open_store(tmp_path, "key", examples(), both())
    for path in sorted((tmp_path / "key").glob("*.npy")):
        array = np.load(path, mmap_mode="r")
        assert isinstance(array, np.memmap)
        assert array.ndim == 1
        assert np.array_equal(array, np.load(path))
    assert isinstance(store.columns["source"].values, np.memmap)
    assert isinstance(store.lines, np.memmap)


@given(lengths=st.lists(st.integers(0, 4), min_size=1, max_size=6), data=st.data())
def test_rows_of_a_column_against_a_slow_reference(tmp_path_factory, lengths, data):
    folder = tmp_path_factory.mktemp("column")
    ends = np.cumsum(lengths)
    np.save(folder / "x.npy", np.arange(ends[-1], dtype=np.uint16))
    np.save(folder / "x.ends.npy", ends)
    column = Column(folder, "x")
    assert len(column) == len(lengths)
    assert column.lengths.tolist() == lengths
    numbers = data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=5))
    values, found = column.rows(np.array(numbers))
    assert found.tolist() == [lengths[number] for number in numbers]
    assert values.tolist() == [v for number in numbers for v in range(ends[number] - lengths[number], ends[number])]


@pytest.mark.parametrize("error", [DataError("line 2 is broken"), KeyboardInterrupt()])
def test_a_writer_that_breaks_off_leaves_nothing(tmp_path, error):
    def broken():
        yield from examples()
        raise error

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a file left open would warn
        with pytest.raises(type(error)):
            open_store(tmp_path, "key", broken(), both())
        gc.collect()
    assert list(tmp_path.iterdir()) == []
    assert len(open_store(tmp_path, "key", examples(), both())) == 3


def test_no_store_has_its_name_before_it_is_whole(tmp_path):
    def watched():
        yield from examples()
        assert not (tmp_path / "key").exists()

    open_store(tmp_path, "key", watched(), both())
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("damage", ["about.json", "source.npy", "target.ends.npy"])
@pytest.mark.parametrize("how", ["gone", "cut", "nonsense"])
def test_a_damaged_store_is_made_anew(tmp_path, damage, how):
    open_store(tmp_path, "key", examples(), both())
    file = tmp_path / "key" / damage
    if how == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-5] if how == "cut" else b"{}")
    store = open_store(tmp_path, "key", examples(), both())
    assert rows(store, "target") == both().target.tokens([target for _, target in PAIRS])


def test_two_writers_of_one_store(tmp_path):
    """Both build the store at once; the first to finish wins, and the other reads its store."""
    inside = threading.Barrier(2, timeout=30)
    stores = []

    def slow():
        inside.wait()
        yield from examples()

    def work():
        stores.append(open_store(tmp_path, "key", slow(), both()))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(store) for store in stores] == [3, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_the_slower_writer_does_not_pull_the_store_from_under_the_readers(tmp_path):
    def slower():
        yield from examples()
        open_store(tmp_path, "key", examples(), both())
        (tmp_path / "key" / "mark").write_text("the first")

    assert len(open_store(tmp_path, "key", slower(), both())) == 3
    assert (tmp_path / "key" / "mark").read_text() == "the first"
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize(("replace", "kept"), [(True, "second"), (False, "first")])
def test_a_folder_that_is_there_already(tmp_path, replace, kept):
    for content in ("first", "second"):
        with writing_folder(tmp_path / "made", replace=replace) as draft:
            (draft / "file").write_text(content)
    assert (tmp_path / "made" / "file").read_text() == kept
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_memory_stays_flat_while_a_store_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("saccade.data.store._CHUNK", 128)
    tokenizers = both()
    peaks = []
    for key, count in (("few", 512), ("many", 8192)):
        tracemalloc.start()
        open_store(tmp_path, key, (Example(*PAIRS[0]) for _ in range(count)), tokenizers)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.2


def test_clearing_the_cache(tmp_path):
    cache = tmp_path / "cache"
    open_store(cache, "key", examples(), both())
    (cache / "tokenizer.json").write_text(json.dumps({}))
    size = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
    assert clear(cache) == size > 0
    assert not cache.exists()
    assert clear(cache) == 0


def test_chunks_in_which_nothing_is_kept_leave_no_trace(tmp_path, monkeypatch):
    monkeypatch.setattr("saccade.data.store._CHUNK", 2)
    pairs = [("", ""), ("", ""), ("the cat", "le chat"), ("", ""), ("", ""), ("", ""), ("the", "le chien")]
    store = open_store(tmp_path, "key", examples(pairs), both())
    assert store.lines.tolist() == [3, 7]
    assert rows(store, "source") == both().source.tokens(["the cat", "the"])
    assert rows(store, "target") == both().target.tokens(["le chat", "le chien"])


def test_pictures_are_numbered_through_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("saccade.data.store._CHUNK", 2)
    captions = [Example(target=text) for text in ("le chat", "oui", "", "le chien", "le chat noir")]
    store = open_store(tmp_path, "key", captions, Tokenizers(None, both().target), pictures=[4, 4, 7, 9, 2])
    assert rows(store, "picture") == [[4], [4], [9], [2]]
