"""JSON lines of summaries: sentences are joined, several summaries kept, mistakes named with their line."""

import json

import pytest

from saccade.data.forms import SUMMARIES
from saccade.errors import ConfigError, DataError


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


@pytest.mark.parametrize(
    "keys", [("article", "highlights"), ("document", "summary"), ("text", "summary"), ("source", "target")]
)
def test_the_keys_of_public_data_are_known(tmp_path, keys):
    records = [
        dict(zip(keys, parts, strict=True)) | {"id": "1"} for parts in (("One .\r\nTwo .", "a\n b"), ("Three", "c"))
    ]
    first, second = read(tmp_path, *records)
    assert (first.source, first.target) == ("One . Two .", "a b"), "lines become one"
    assert (second.source, second.target) == ("Three", "c")
    with pytest.raises(DataError, match=rf"line 2: '{keys[0]}' is null, but must be a text"):
        read(tmp_path, records[0], {keys[1]: "c"})


STORY = """
A goose has stopped the trains at Hallow Bridge

It sat on the rails for an hour , a driver said .\r

"Nobody dared to move it "\r\n
@highlight

A goose stopped the trains

@highlight\r

It was not moved .

"""


def test_a_story_is_an_article_and_its_highlights(tmp_path):
    path = tmp_path / "goose.story"
    path.write_bytes(STORY.encode())
    (one,) = SUMMARIES.read([path])
    assert one.source == (
        "A goose has stopped the trains at Hallow Bridge . It sat on the rails for an hour , a driver said . "
        '"Nobody dared to move it "'
    )
    assert one.target == "A goose stopped the trains . It was not moved ."


def test_folders_of_stories_follow_each_other_in_the_order_of_names(tmp_path):
    for name, text in (("x/b", "B\n@highlight\nb"), ("x/a", "A\n@highlight\na"), ("y/c", "@highlight\nc")):
        path = tmp_path / f"{name}.story"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "x" / "readme.txt").write_text("no story")
    found = list(SUMMARIES.read([tmp_path / "x", tmp_path / "y"]))
    assert [(one.source, one.target) for one in found] == [("A .", "a ."), ("B .", "b ."), ("", "c .")]
    with pytest.raises(ConfigError, match="no columns or keys"):
        SUMMARIES.read([tmp_path / "x"], keys={"source": "a", "target": "b"})


def test_what_is_no_story_is_named(tmp_path):
    path = tmp_path / "bare.story"
    path.write_text("An article .\n")
    with pytest.raises(DataError, match=r"bare\.story has no summary: write @highlight on a line"):
        list(SUMMARIES.read([path]))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty has no file named \*\.story"):
        list(SUMMARIES.read([tmp_path / "empty"]))
    path.write_bytes(b"caf\xe9\n@highlight\nx")
    with pytest.raises(DataError, match=r"bare\.story, line 1 is not UTF-8"):
        list(SUMMARIES.read([path]))


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
