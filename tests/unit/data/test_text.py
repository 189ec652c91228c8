"""Text files: opening, decompressing, decoding, and the errors when that fails."""

import errno
import gzip
import io
import random
import sys
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from helpers.data import SUFFIXES, packed, put
from saccade.data import text
from saccade.data.text import LONGEST_LINE, find_file, lines, numbered, shorten, stem_suffix
from saccade.errors import ConfigError, DataError


def noise(rows):
    """Lines that do not compress well, so that a cut falls inside them."""
    numbers = random.Random(1)
    return "".join(f"{numbers.getrandbits(200):x}\n" for _ in range(rows))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_lines_come_without_their_ends(tmp_path, suffix):
    path = put(tmp_path / f"a.en{suffix}", "one\ntwo words\r\n\nétoile")
    assert list(lines(path)) == ["one", "two words", "", "étoile"]
    assert list(numbered(path)) == [(1, "one"), (2, "two words"), (3, ""), (4, "étoile")]


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85", "\r", "\x00", "\ufeff"])
def test_only_newlines_end_lines(tmp_path, inside):
    assert list(lines(put(tmp_path / "a.en", f"a{inside}b\nc\n"))) == [f"a{inside}b", "c"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_byte_order_mark_is_dropped_once_and_only_at_the_start(tmp_path, suffix):
    path = put(tmp_path / f"a.en{suffix}", b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n")
    assert list(lines(path)) == ["one", "\ufefftwo"]


def test_a_carriage_return_without_a_newline_stays(tmp_path):
    assert list(lines(put(tmp_path / "a.en", "a\r\r\nb\r"))) == ["a\r", "b\r"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("content", ["a\rb c\r\rd", "a\rb c\r\rd\r", "\ufeffa\rb c\r\rd"])
def test_old_mac_files_have_lines(tmp_path, suffix, content):
    path = put(tmp_path / f"a.en{suffix}", content)
    assert list(numbered(path)) == [(1, "a"), (2, "b c"), (3, ""), (4, "d")]


def test_mixed_line_ends(tmp_path):
    path = put(tmp_path / "a.txt", "a\r\nb\rc\nd\r\re\r\n")
    assert list(lines(path)) == ["a", "b\rc", "d\r\re"]  # CR inside a sentence must not misalign two files
    assert list(lines(path, any_end=True)) == ["a", "b", "c", "d", "", "e"]
    with pytest.raises(DataError, match=r"line 3 is not UTF-8: byte 0xff at byte 2 of the line"):
        list(lines(put(tmp_path / "b.txt", b"a\r\nb\rc\xff\n"), any_end=True))


@given(content=st.text(st.characters(codec="utf-8"), max_size=60), suffix=st.sampled_from(SUFFIXES))
def test_lines_joined_again_are_the_file(tmp_path_factory, content, suffix):
    path = put(tmp_path_factory.mktemp("text") / f"a{suffix}", content)
    ended = content if "\n" in content else content.replace("\r", "\n")
    expected = ended.replace("\r\n", "\n").removeprefix("\ufeff").removesuffix("\n")
    assert list(lines(path)) == (expected.split("\n") if content else [])


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_compressed_parts_may_follow_each_other(tmp_path, suffix):
    path = tmp_path / f"a.en{suffix}"
    path.write_bytes(packed(b"one\ntw", suffix) + packed(b"o\nthree\n", suffix))
    assert list(lines(path)) == ["one", "two", "three"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_line_may_be_very_long(tmp_path, suffix):
    path = put(tmp_path / f"a.en{suffix}", "x" * 5_000_000 + "\nend\n")
    assert [len(line) for line in lines(path)] == [5_000_000, 3]


def test_zstandard_of_long_distance_is_read(tmp_path):
    settings = zstandard.ZstdCompressionParameters(window_log=28, enable_ldm=True)
    path = tmp_path / "a.en.zst"
    buffer = io.BytesIO()
    with zstandard.ZstdCompressor(compression_params=settings).stream_writer(buffer, closefd=False) as writer:
        writer.write(b"one\ntwo\n")
    path.write_bytes(buffer.getvalue())
    assert list(lines(path)) == ["one", "two"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_memory_stays_flat(tmp_path, suffix):
    sentence = "the quick brown fox jumps over the lazy dog"
    path = put(tmp_path / f"a.en{suffix}", "".join(f"{number} {sentence}\n" for number in range(200_000)))
    list(lines(put(tmp_path / f"warm{suffix}", "imports are not counted\n")))
    tracemalloc.start()
    count = sum(1 for _ in lines(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 200_000
    assert peak < 2_000_000, f"the file has {200_000 * len(sentence):,} bytes and more"


def test_a_reader_that_stops_early_closes_the_file(tmp_path):
    path = put(tmp_path / "a.en.gz", "one\ntwo\n")
    reader = lines(path)
    assert next(reader) == "one"
    reader.close()  # an open file would raise a ResourceWarning, which is an error here


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_missing_file_is_named(tmp_path, suffix):
    with pytest.raises(DataError, match=rf"none\.en{suffix} does not exist\. Check the path"):
        list(lines(tmp_path / f"none.en{suffix}"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_folder_is_refused(tmp_path, suffix):
    (tmp_path / f"a{suffix}").mkdir()
    with pytest.raises(DataError, match=rf"a{suffix} is a folder, but a file is needed"):
        list(lines(tmp_path / f"a{suffix}"))


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # the superuser may read everything, so chmod would not do
    with pytest.raises(DataError, match=r"no permission to read .*a\.en\. Choose another place"):
        list(lines(tmp_path / "a.en"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_text_that_is_not_utf8_names_line_byte_and_remedy(tmp_path, suffix):
    path = put(tmp_path / f"a.fr{suffix}", "un\ndeux\nun café noir\n".encode("latin-1"))
    reader = lines(path)
    assert [next(reader), next(reader)] == ["un", "deux"]
    with pytest.raises(
        DataError, match=rf"a\.fr{suffix}, line 3 is not UTF-8: byte 0xe9 at byte 7 .*iconv -f LATIN1 -t UTF-8"
    ):
        next(reader)


def test_utf16_is_recognised(tmp_path):
    with pytest.raises(DataError, match=r"line 1 is not UTF-8: byte 0xff at byte 1 .*iconv -f UTF-16 -t UTF-8"):
        list(lines(put(tmp_path / "a.en", "one\n".encode("utf-16"))))


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_a_compressed_file_without_the_suffix_is_recognised(tmp_path, suffix):
    path = tmp_path / "a.en"
    path.write_bytes(packed(noise(50).encode(), suffix))
    with pytest.raises(DataError, match=rf"a\.en is not text: it looks compressed with \w+ \({suffix}\).*Rename it"):
        list(lines(path))


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_a_cut_file_names_the_line_it_reached(tmp_path, suffix):
    path = put(tmp_path / f"a.en{suffix}", noise(20_000))
    path.write_bytes(path.read_bytes()[:-200_000])
    seen = []
    with pytest.raises(DataError, match=rf"a\.en{suffix} is cut or damaged and breaks off in line \d+: ") as raised:
        seen.extend(lines(path))
    assert 1000 < len(seen) < 20_000
    assert f"line {len(seen) + 1}: " in str(raised.value)


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
@pytest.mark.parametrize("kept", [1, 5, -1])
def test_a_file_cut_anywhere_is_noticed(tmp_path, suffix, kept):
    path = put(tmp_path / f"a.en{suffix}", "one\ntwo\n")
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=r"is cut or damaged and breaks off in line [123]: "):
        list(lines(path))


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_a_file_that_was_never_compressed_is_noticed(tmp_path, suffix):
    path = tmp_path / f"a.en{suffix}"
    path.write_text("just some text\n")
    with pytest.raises(DataError, match=rf"a\.en{suffix} is cut or damaged and breaks off in line 1: \w.*\. Copy"):
        list(lines(path))


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_a_damaged_middle_is_noticed(tmp_path, suffix):
    path = put(tmp_path / f"a.en{suffix}", noise(5_000))
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 64] = bytes(64)
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"is cut or damaged and breaks off in line \d+|line \d+ is not UTF-8"):
        list(lines(path))


def test_nonsense_behind_a_good_header_is_noticed(tmp_path):
    path = put(tmp_path / "a.en.gz", "one\n")
    path.write_bytes(path.read_bytes()[:10] + b"\xff" * 50)
    with pytest.raises(DataError, match=r"a\.en\.gz is cut or damaged and breaks off in line 1: .*invalid block type"):
        list(lines(path))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file_has_no_lines(tmp_path, suffix):
    (tmp_path / f"a{suffix}").touch()
    for path in (tmp_path / f"a{suffix}", put(tmp_path / f"b{suffix}", "")):
        assert list(lines(path)) == []
        with pytest.raises(DataError, match=rf"{path.name} is empty\. A corpus needs at least one line"):
            list(numbered(path))


def test_zstandard_is_an_extra(tmp_path, monkeypatch):
    path = put(tmp_path / "a.en.zst", "one\n")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ConfigError, match=r"reading .*a\.en\.zst needs the extra 'zstd'\. .* -e '\.\[zstd\]'"):
        list(lines(path))
    assert list(lines(put(tmp_path / "a.en.gz", "one\n"))) == ["one"]


def test_an_extra_that_is_itself_broken_says_so(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import surely_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="surely_not_there"):
        text.import_extra("half_there", "some", "this")


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("a.tsv", ".tsv"), ("a.TSV.gz", ".tsv"), ("a.b.jsonl.zst", ".jsonl"), ("a.en", ".en"), ("a.xz", ""), ("a", "")],
)
def test_the_format_shows_under_the_compression(name, suffix):
    assert stem_suffix(Path("folder.tsv") / name) == suffix


def test_long_texts_are_cut_in_messages():
    assert shorten("short") == "'short'"
    assert shorten("x" * 40) == repr("x" * 40)
    assert shorten("x" * 41) == repr("x" * 39 + "…")


def test_half_a_character_is_refused():
    with pytest.raises(DataError, match=r"here holds half a character, \\ud83d\. Write the whole"):
        text.check_encodable("a\ud83d", "here")
    text.check_encodable("a😀", "here")


def test_compressed_bytes_are_read_in_small_bites(tmp_path):
    """A small gzip chunk with millions of newlines must not be unpacked at once."""
    path = tmp_path / "a.en.gz"
    path.write_bytes(gzip.compress(b"\n" * 10_000_000))
    reader = lines(path)
    next(reader)
    tracemalloc.start()
    for _ in range(100_000):
        next(reader)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_line_without_end_is_refused_before_it_is_in_memory(tmp_path, suffix):
    path = put(tmp_path / f"a.txt{suffix}", b"one\n" + bytes(2**24))
    found = lines(path, 2**20)
    assert next(found) == "one"
    tracemalloc.start()
    with pytest.raises(DataError, match=r"a\.txt.*, line 2 has more than 1,048,576 bytes\. Is it text"):
        next(found)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2**23
    assert lines.__defaults__ == (LONGEST_LINE,)


def test_the_longest_line_is_read_whole(tmp_path):
    path = put(tmp_path / "a.txt", b"12345\n1234\n12345")
    assert list(lines(path, 6)) == ["12345", "1234", "12345"]
    with pytest.raises(DataError, match="line 1 has more than 5 bytes"):
        list(lines(path, 5))


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_names_that_no_file_can_have(name):
    with pytest.raises(DataError, match=r"cannot be the name of a file \(.*\)\. Check the path"):
        list(lines(Path(name)))


def test_devices_have_no_lines_of_text():
    with pytest.raises(DataError, match="line 1 has more than"):
        list(lines(Path("/dev/zero")))


def test_a_file_that_needs_more_memory_than_there_is(tmp_path, monkeypatch):
    path = put(tmp_path / "a.xz", b"")

    def greedy(*_):
        raise MemoryError

    monkeypatch.setattr(text, "_opened", greedy)
    with pytest.raises(DataError, match=r"a\.xz needs more memory to be read than there is\. Compress it again"):
        list(lines(path))


def test_a_compressed_file_stands_in_for_one_that_is_not_there(tmp_path):
    wanted = tmp_path / "train.en"
    assert find_file(wanted) == wanted, "reading it raises the error"
    (tmp_path / "train.en.gz").mkdir()
    packed_one = put(tmp_path / "train.en.xz", "one\n")
    assert find_file(wanted) == packed_one
    assert list(lines(find_file(wanted))) == ["one"]
    assert find_file(put(wanted, "two\n")) == wanted
