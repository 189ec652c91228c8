"""JSON lines of summaries: sentences are joined, several summaries kept, mistakes named with their line."""

import json

import pytest

from saccade.data.forms import SUMMARIES
from saccade.errors import DataError


def read(tmp_path, *records, keys=None):
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    return list(SUMMARIES.read([path], keys=keys))


def test_lists_are_sentences_and_summaries(tmp_path):
    first, second = read(
        tmp_path,
        {"source": [" One. ", "Two."], "target": ["a", "b"], "title": "t"},
        {"source": "Three.", "target": "c"},
    )
    assert (first.source, first.target, first.references) == ("One. Two.", "a", ("a", "b"))
    assert (second.source, second.target, second.references) == ("Three.", "c", ())
    assert (first.title, second.title) == ("t", None)


def test_other_keys(tmp_path):
    (one,) = read(tmp_path, {"article": "A.", "highlights": ["h"]}, keys={"source": "article", "target": "highlights"})
    assert (one.source, one.target, one.references) == ("A.", "h", ())


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"source": [], "target": "a"}, r"texts\.jsonl, line 1: 'source' is \[\], but must be a text or a list"),
        ({"source": "a", "target": [1]}, r"'target' is \[1\], but must be a text"),
        ({"source": "a"}, "'target' is null, but must be a text"),
    ],
)
def test_what_is_no_text_is_named(tmp_path, record, said):
    with pytest.raises(DataError, match=said):
        read(tmp_path, record)


def test_pairs_of_files(tmp_path):
    for name, text in (("a", "x y\n"), ("b", "y\n"), ("c", "1-0\n")):
        (tmp_path / name).write_text(text)
    (one,) = SUMMARIES.read([tmp_path / name for name in "abc"])
    assert (one.source, one.target, one.links.sure) == ("x y", "y", {(1, 0)})
