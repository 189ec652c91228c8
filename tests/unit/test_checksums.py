"""Lists of checksums: writers make them, readers verify them, and they are complete at any moment."""

import shutil
import subprocess

import pytest

from saccade import checksums
from saccade.checksums import check, listed, write_list, write_listed
from saccade.errors import CheckpointError, DataError


def text_of(folder):
    return (folder / "SHA256SUMS").read_text()


def test_a_listed_file_is_checked(tmp_path):
    write_listed(tmp_path / "a", "one")
    write_listed(tmp_path / "b", lambda draft: draft.write_text("two"))
    assert check(tmp_path / "a", "Copy it.")
    assert check(tmp_path / "b", "Copy it.")
    assert listed(tmp_path) == {"a", "b"}
    (tmp_path / "a").write_text("onf")
    with pytest.raises(
        CheckpointError, match=r"/a is damaged or was changed: its checksum is not the .*SUMS\. Copy it\."
    ):
        check(tmp_path / "a", "Copy it.")
    assert check(tmp_path / "b", "Copy it.")


def test_without_a_list_there_is_nothing_to_compare(tmp_path):
    (tmp_path / "a").write_text("one")
    assert not check(tmp_path / "a", "")
    assert listed(tmp_path) == set()
    write_listed(tmp_path / "b", "two")
    assert not check(tmp_path / "a", "")


def test_all_files_of_a_folder_are_listed(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).write_text(name)
    write_list(tmp_path)
    assert [line.split("  ")[1] for line in text_of(tmp_path).splitlines()[:-1]] == ["a", "b"]
    assert check(tmp_path / "a", "")


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs sha256sum")
def test_the_tool_of_that_name_checks_the_list_too(tmp_path):
    for _ in range(2):
        write_listed(tmp_path / "a", "one")
        write_listed(tmp_path / "b", "two")
    done = subprocess.run(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b"a: OK\nb: OK\n"


def test_every_bit_of_the_list_counts(tmp_path):
    write_listed(tmp_path / "a", "one")
    path = tmp_path / "SHA256SUMS"
    whole = path.read_bytes()
    spoiled = [whole[:place] + bytes([byte ^ 1 << place % 8]) + whole[place + 1 :] for place, byte in enumerate(whole)]
    for text in [*spoiled, *(whole[:length] for length in range(len(whole))), whole + b"\n", whole + whole]:
        path.write_bytes(text)
        with pytest.raises(CheckpointError, match=r"SHA256SUMS is damaged or was changed: its last line is not"):
            check(tmp_path / "a", "")


class Killed(BaseException):
    """Simulates the end of a process: no code runs after it."""


@pytest.mark.parametrize("writes", range(4))
def test_a_writer_killed_at_any_moment_leaves_a_file_that_the_list_knows(tmp_path, monkeypatch, writes):
    path = tmp_path / "a"
    write_listed(path, "old")
    real, left = checksums.write_atomically, iter(range(writes))

    def write(place, content):
        if next(left, None) is None:
            raise Killed
        real(place, content)

    monkeypatch.setattr(checksums, "write_atomically", write)
    try:
        write_listed(path, "new")
    except Killed:
        assert writes < 3  # the file itself, the list with old and new, the list with the new alone
    assert check(path, "")
    assert path.read_text() == ("old" if writes < 2 else "new")
    monkeypatch.undo()
    write_listed(path, "newest")
    assert check(path, "")
    assert len(text_of(tmp_path).splitlines()) == 2
    path.write_text("old")
    with pytest.raises(CheckpointError, match="damaged"):
        check(path, "")


def test_a_file_that_is_replaced_while_it_is_read_is_not_damaged(tmp_path, monkeypatch):
    path = tmp_path / "a"
    write_listed(path, "old")
    real, versions = checksums._digest, iter(["newer", "newest"])

    def digest(read):
        text = next(versions, None)
        if text is not None:  # a training run writes a better model between list and file
            with monkeypatch.context() as patched:
                patched.setattr(checksums, "_digest", real)
                write_listed(path, text)
        return real(read)

    monkeypatch.setattr(checksums, "_digest", digest)
    assert check(path, "")
    assert path.read_text() == "newest"


def test_what_cannot_be_read_is_an_error_of_ours(tmp_path):
    write_listed(tmp_path / "a", "one")
    (tmp_path / "a").unlink()
    with pytest.raises(DataError, match="a does not exist"):
        check(tmp_path / "a", "")
    (tmp_path / "SHA256SUMS").unlink()
    (tmp_path / "SHA256SUMS").mkdir()
    with pytest.raises(DataError, match="SHA256SUMS is a folder"):
        check(tmp_path / "a", "")
