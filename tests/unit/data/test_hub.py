"""Data sets of the Hub, with a stand-in for the library."""

import sys
from types import ModuleType

import pytest

from saccade.data.example import Example, Links
from saccade.data.hub import hub
from saccade.errors import ConfigError, DataError


@pytest.fixture
def library(monkeypatch):
    """A function that makes the library load these records, or raise this error; it returns the calls made."""

    def install(records):
        calls = []

        def load_dataset(*args, **options):
            calls.append((args, options))
            if isinstance(records, Exception):
                raise records
            return records

        module = ModuleType("datasets")
        module.load_dataset = load_dataset
        monkeypatch.setitem(sys.modules, "datasets", module)
        return calls

    return install


def test_words_are_counted_from_0_where_nothing_else_is_said(library):
    library([{"en": "a cat", "fr": "un chat", "gold": "0-0 1-1"}])
    (example,) = hub("some/corpus", None, "train", {"source": "en", "target": "fr", "links": "gold"})
    assert example.links.sure == {(0, 0), (1, 1)}


def test_columns_become_an_example(library):
    calls = library([{"en": "a cat", "fr": "un chat", "gold": "1-1 2p2", "id": 7}])
    columns = {"source": "en", "target": "fr", "links": "gold"}
    links = Links(frozenset({(0, 0)}), frozenset({(1, 1)}))
    assert list(hub("some/corpus", "en-fr", "train", columns, first_word=1)) == [
        Example("a cat", "un chat", None, links)
    ]
    assert calls == [(("some/corpus", "en-fr"), {"split": "train", "streaming": True})]


def test_a_dot_looks_inside(library):
    library([{"translation": {"en": "a cat", "de": "eine Katze"}}, {"translation": {"en": "", "de": ""}}])
    found = list(hub("wmt", None, "train", {"source": "translation.de", "target": "translation.en"}))
    assert found == [Example("eine Katze", "a cat"), Example("", "")]


def test_labels_may_be_numbers(library):
    library([{"sentence": "fine", "label": 1}])
    assert list(hub("sst2", None, "train", {"source": "sentence", "label": "label"})) == [Example("fine", label="1")]


def test_records_are_taken_as_they_arrive(library):
    def endless():
        while True:
            yield {"text": "again"}

    library(endless())
    reader = hub("endless", None, "train", {"target": "text"})
    assert [next(reader), next(reader)] == [Example(target="again")] * 2


def test_links_may_be_absent(library):
    library([{"en": "a", "fr": "b"}])
    assert list(hub("c", None, "train", {"source": "en", "target": "fr", "links": "gold"})) == [Example("a", "b")]


def test_the_library_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    said = r"the data set 'some/corpus' of the Hub needs the extra 'hub'\. .* -e '\.\[hub\]'"
    with pytest.raises(ConfigError, match=said):
        hub("some/corpus", None, "train", {"target": "text"})


def test_missing_columns_are_named_beside_those_present(library):
    library([{"translation": {"en": "a", "fr": "b"}, "id": 3}])
    said = r"wmt/fr-en has no column 'en', 'translation\.de'. It has: translation\.en, translation\.fr, id\."
    with pytest.raises(ConfigError, match=said):
        list(hub("wmt", "fr-en", "train", {"source": "en", "target": "translation.de"}))


def test_unknown_fields_are_refused_at_once(library):
    library([])
    with pytest.raises(ConfigError, match=r"field 'sorce' does not exist. Did you mean 'source'"):
        hub("wmt", None, "train", {"sorce": "en"})


def test_values_that_are_no_text_name_the_record(library):
    library([{"text": "fine"}, {"text": None}])
    with pytest.raises(DataError, match="corpus, test 2: 'text' must be text, but is null"):
        list(hub("corpus", None, "test", {"target": "text"}))


def test_an_empty_split_is_refused(library):
    library([])
    with pytest.raises(DataError, match="corpus is empty: its split 'test' has no record"):
        list(hub("corpus", None, "test", {"target": "text"}))


def test_what_the_library_raises_names_the_data_set(library):
    library(FileNotFoundError("no such data set"))
    said = r"cannot read the split 'test' of a/b: FileNotFoundError: no such data set. Check the names"
    with pytest.raises(DataError, match=said):
        list(hub("a", "b", "test", {"target": "text"}))


def test_a_connection_that_breaks_on_the_way_names_the_data_set(library):
    def broken():
        yield {"text": "fine"}
        raise ConnectionError("gone")

    library(broken())
    reader = hub("a", None, "train", {"target": "text"})
    assert next(reader) == Example(target="fine")
    with pytest.raises(DataError, match="cannot read the split 'train' of a: ConnectionError: gone"):
        next(reader)
