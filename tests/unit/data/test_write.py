"""Corpora written to disk: read back the same, and complete or absent."""

import errno
import sys
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from saccade import files
from saccade.corpora import scenes
from saccade.data.example import Example, Links
from saccade.data.forms import CAPTIONS, LABELS, PAIRS, TEXT
from saccade.data.write import write_captions, write_labelled, write_pairs, write_text
from saccade.errors import CheckpointError, ConfigError, DataError

fits = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=30).filter(
    lambda text: not text.endswith("\r")
)
without_tab = fits.map(lambda text: text.replace("\t", "\u2028"))
odd = "a\u2028b\x0bc\x85d\re\tf\x00 😀"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@given(st.lists(st.tuples(fits, fits), min_size=1, max_size=5))
@example([(odd, "\ufeff" + odd), ("", "\ufeff")])
@example([("\ufeff\ufeff", "")])
def test_pairs_are_read_back(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("pairs")
    corpus = [Example(source=source, target=target) for source, target in rows]
    assert list(PAIRS.read(write_pairs(corpus, folder, "train"))) == corpus
    assert names(folder) == ["train.en", "train.fr"]


@given(st.lists(st.tuples(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 2)))), min_size=1, max_size=4), st.data())
def test_links_are_read_back(tmp_path_factory, rows, data):
    folder = tmp_path_factory.mktemp("links")
    corpus = []
    for (links,) in rows:
        sure = data.draw(st.sets(st.sampled_from(sorted(links)))) if links else set()
        corpus.append(Example("a b c d e", "f g h", links=Links(frozenset(sure), frozenset(links - sure))))
    paths = write_pairs(iter(corpus), folder, "test", ("de", "ro"))
    assert [path.name for path in paths] == ["test.de", "test.ro", "test.align"]
    assert list(PAIRS.read(paths)) == corpus


@given(st.lists(fits, min_size=1, max_size=5))
@example([odd])
def test_text_alone_is_read_back(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("text")
    corpus = [Example(target=row) for row in rows]
    assert list(TEXT.read(write_text(corpus, folder, "train"))) == corpus
    assert names(folder) == ["train.en"]


@given(st.lists(st.tuples(without_tab.filter(bool), without_tab), min_size=1, max_size=5))
def test_labels_are_read_back(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("labels")
    corpus = [Example(label=label, source=source) for label, source in rows]
    assert list(LABELS.read(write_labelled(corpus, folder, "valid"))) == corpus
    assert names(folder) == ["valid.tsv"]


def test_what_stands_in_the_files(tmp_path):
    write_pairs([Example("a b", "c", links=Links.parse("0-0 1-0P"))] * 2, tmp_path / "new" / "folder", "x")
    contents = {path.name: path.read_bytes() for path in (tmp_path / "new" / "folder").iterdir()}
    assert contents == {"x.en": b"a b\na b\n", "x.fr": b"c\nc\n", "x.align": b"0-0 1-0P\n0-0 1-0P\n"}


def test_nothing_is_kept_in_memory(tmp_path):
    corpus = (Example(f"{number} some words in a row", "quelques mots") for number in range(100_000))
    tracemalloc.start()
    write_pairs(corpus, tmp_path, "train")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize(
    ("write", "second", "said"),
    [
        (write_pairs, Example(source="a"), "example 2 has no target to write"),
        (write_pairs, Example(target="a"), "example 2 has no source to write"),
        (write_pairs, Example("a\nb", "c"), r"example 2: its source holds a line end .*: 'a\\nb'"),
        (write_pairs, Example("a", "c\r"), r"example 2: its target holds a line end .*: 'c\\r'"),
        (write_pairs, Example("a", "\udc00"), r"example 2: its target holds half a character, \\udc00"),
        (write_pairs, Example("a", "b", links=Links.parse("")), "example 2 has links, but those before it have none"),
        (write_text, Example(source="a"), "example 2 has no target to write"),
        (write_labelled, Example(source="a"), "example 2 has no label to write"),
        (write_labelled, Example(source="a\tb", label="1"), r"example 2 holds a tab, .*: 'a\\tb'"),
        (write_labelled, Example(source="a", label="1\t"), r"example 2 holds a tab, .*: '1\\t'"),
    ],
)
def test_examples_that_cannot_be_written_leave_the_old_files(tmp_path, write, second, said):
    good = Example("a", "b", "1")
    paths = write([good], tmp_path, "train")
    before = {path: path.read_bytes() for path in paths}
    with pytest.raises(DataError, match=said):
        write([Example("new", "new", "new"), second], tmp_path, "train")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_links_must_not_end_on_the_way(tmp_path):
    with pytest.raises(DataError, match="example 2 has no links, but those before it have some"):
        write_pairs([Example("a", "b", links=Links.parse("0-0")), Example("a", "b")], tmp_path, "train")
    assert names(tmp_path) == []


@pytest.mark.parametrize("write", [write_pairs, write_text, write_labelled])
def test_an_empty_corpus_is_not_written(tmp_path, write):
    with pytest.raises(DataError, match=r"there is no example to write to \S+train\.(en|tsv)"):
        write([], tmp_path, "train")
    assert names(tmp_path) == []


@pytest.mark.parametrize("sides", [("en", "en"), ("align", "fr"), ("en", "align")])
def test_sides_that_would_share_a_file_are_refused(tmp_path, sides):
    with pytest.raises(ConfigError, match=f"sides '{sides[0]}' and '{sides[1]}' must differ .* from 'align'"):
        write_pairs([Example("a", "b")], tmp_path, "train", sides)


def test_a_stream_is_written_under_another_name_until_it_is_whole(tmp_path):
    path = tmp_path / "a.txt"
    with files.writing(path) as file:
        file.write("one\r\ntwo\n")
        assert not path.exists()
    assert path.read_bytes() == b"one\r\ntwo\n"
    assert names(tmp_path) == ["a.txt"]


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "sync", full)
    with pytest.raises(CheckpointError, match=r"no room left on the disk for \S+train\.en"):
        write_text([Example(target="a")], tmp_path, "train")
    assert names(tmp_path) == []


def test_a_place_that_is_no_folder_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"file/train\.en lies inside something that is not a folder"):
        write_text([Example(target="a")], tmp_path / "file", "train")


def test_captions_and_their_pictures_are_read_back(tmp_path):
    corpus = list(scenes("train", 3))
    written, images = write_captions(iter(corpus), tmp_path, "train")
    assert names(images) == ["000000.png", "000001.png", "000002.png"]
    found = list(CAPTIONS.read([written]))
    for one, again in zip(corpus, found, strict=True):
        assert (again.target, again.references, again.boxes) == (one.target, one.references, one.boxes)
        assert (again.image.load() == one.image.load()).all()


def test_captions_without_boxes_have_none_when_read_back(tmp_path):
    first = next(scenes("train", 1))
    written, _ = write_captions([Example(target="a café", image=first.image)], tmp_path, "train")
    (again,) = CAPTIONS.read([written])
    assert (again.target, again.boxes) == ("a café", None)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (Example(target="a"), "example 4 has no image"),
        (Example(image=next(scenes("train", 1)).image), "example 2 has no target to write"),
    ],
)
def test_captions_that_cannot_be_written_leave_nothing(tmp_path, broken, message):
    rows = [*list(scenes("test", 1))[:3], broken]
    with pytest.raises(DataError, match=message):
        write_captions(rows, tmp_path, "train")
    assert names(tmp_path) == []


def test_writing_pictures_without_the_library_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ConfigError, match=r"writing images needs the extra 'images'\. .*pip install"):
        write_captions([], tmp_path, "train")
