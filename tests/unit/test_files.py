"""Atomic writes of files and folders."""

import errno
import os
import stat
from contextlib import contextmanager
from pathlib import Path

import pytest

from saccade import files
from saccade.errors import CheckpointError, DataError
from saccade.files import (
    default_cache,
    file_error,
    open_to_read,
    read_text,
    remove_drafts,
    remove_folder,
    sync,
    with_usual_mode,
    wrap_os_errors,
    write_atomically,
    writing,
    writing_folder,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def fail(number):
    def raises(*_, **__):
        raise OSError(number, os.strerror(number))

    return raises


def test_a_file_is_written_in_every_way(tmp_path):
    write_atomically(tmp_path / "new" / "text", "ä\n")
    write_atomically(tmp_path / "bytes", b"\x00\xff")
    write_atomically(tmp_path / "made", lambda draft: draft.write_text("by a function"))
    with writing(tmp_path / "lines") as file:
        file.write("one\r\n")
        assert not (tmp_path / "lines").exists()
    assert (tmp_path / "new" / "text").read_bytes() == "ä\n".encode()
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"
    assert (tmp_path / "made").read_text() == "by a function"
    assert (tmp_path / "lines").read_bytes() == b"one\r\n"
    assert names(tmp_path) == ["bytes", "lines", "made", "new"]


def _write_half_and_raise(write, error):
    write("half")
    raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_and_nothing_else(tmp_path, error):
    (tmp_path / "file").write_text("old")
    with pytest.raises(error), writing(tmp_path / "file") as file:
        _write_half_and_raise(file.write, error)
    with pytest.raises(error), writing_folder(tmp_path / "folder") as draft:
        _write_half_and_raise((draft / "part").write_text, error)
    assert (tmp_path / "file").read_text() == "old"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("where", ["fsync", "write"])
def test_a_full_disk_leaves_the_old_and_is_told(tmp_path, monkeypatch, where):
    write_atomically(tmp_path / "file", "old")
    if where == "fsync":
        monkeypatch.setattr(os, "fsync", fail(errno.ENOSPC))
    content = "new" if where == "fsync" else fail(errno.ENOSPC)
    with pytest.raises(CheckpointError, match=r"no room left on the disk for .*file\. What was there before is untouc"):
        write_atomically(tmp_path / "file", content)
    assert (tmp_path / "file").read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_folder_takes_the_place_of_the_old_one(tmp_path):
    for content in ("old", "new"):
        with writing_folder(tmp_path / "a" / "folder") as draft:
            (draft / content).write_text(content)
    assert names(tmp_path / "a" / "folder") == ["new"]
    assert names(tmp_path / "a") == ["folder"]


def test_two_writers_of_one_folder_do_not_collide(tmp_path):
    with writing_folder(tmp_path / "folder") as draft:
        (draft / "mine").write_text("1")
        with writing_folder(tmp_path / "folder") as other:
            (other / "theirs").write_text("2")
    assert names(tmp_path / "folder") == ["mine"]
    assert names(tmp_path) == ["folder"]


class Killed(BaseException):
    """Simulates the end of a process: no cleanup runs after it."""


@pytest.fixture
def killed(monkeypatch):
    """Call a function that is cut off at os.fsync or while a folder is deleted, as if the process had been killed."""

    def stop(*_, **__):
        raise Killed

    def run(act):
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", stop)
            patched.setattr("saccade.files._remove", stop)
            with pytest.raises(Killed):
                act()

    return run


def fill(path):
    with writing_folder(path) as draft:
        (draft / "x").write_text("half")


def test_what_killed_writers_left_is_removed(tmp_path, killed):
    for act in (
        lambda: write_atomically(tmp_path / "text", "half"),
        lambda: write_atomically(tmp_path / "made", lambda draft: (draft.parent / "scratch").write_text("half")),
        lambda: fill(tmp_path / "folder"),
    ):
        killed(act)
    fill(tmp_path / "old")
    killed(lambda: remove_folder(tmp_path / "old"))
    assert len(names(tmp_path)) == 4
    remove_drafts(tmp_path)
    assert names(tmp_path) == []
    remove_drafts(tmp_path / "missing")


def test_what_others_call_part_stays(tmp_path):
    theirs = [
        "film.part",
        ".film.part",
        ".film.0123abcd.part",
        "film.0123abcd.saccade.part",
        ".a.0123abcd.saccade.part.b",
    ]
    for name in theirs:
        (tmp_path / name).write_text("theirs")
    (tmp_path / ".folder.part").mkdir()
    remove_drafts(tmp_path)
    assert names(tmp_path) == sorted([*theirs, ".folder.part"])


@contextmanager
def umask(value):
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_files_get_the_mode_that_the_umask_gives(tmp_path, mask):
    def private(path):
        draft = path.with_name("private")
        draft.touch(0o600)
        draft.replace(path)

    with umask(mask):
        write_atomically(tmp_path / "text", "x")
        write_atomically(tmp_path / "made", lambda draft: with_usual_mode(draft, private))
        with writing(tmp_path / "lines") as file:
            file.write("x")
        fill(tmp_path / "folder")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    folder = modes.pop("folder")
    assert folder == 0o777 & ~mask
    assert modes == dict.fromkeys(("text", "made", "lines", "x"), 0o666 & ~mask)


def test_removing_a_folder_that_is_gone_is_no_error(tmp_path):
    (tmp_path / "folder").mkdir()
    remove_folder(tmp_path / "folder")
    remove_folder(tmp_path / "folder")
    assert names(tmp_path) == []


def write_lines(path):
    with writing(path) as file:
        file.write("x")


@pytest.mark.parametrize(
    ("write", "flushes"),
    [(lambda path: write_atomically(path, "x"), 1), (write_lines, 1), (fill, 2)],  # a folder's file, and the folder
)
def test_content_is_on_the_disk_before_its_name_and_then_the_name(tmp_path, monkeypatch, write, flushes):
    flushed = []
    monkeypatch.setattr(files, "sync", lambda path: flushed.append((path, (tmp_path / "here").exists())))
    write(tmp_path / "here")
    *content, last = flushed
    assert [named for _, named in content] == [False] * flushes
    assert all(str(path).startswith(str(tmp_path / ".here.")) for path, _ in content)
    assert last == (tmp_path, True)


def test_the_cache_is_where_the_system_wants_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "saccade"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_cache() == tmp_path / "home" / ".cache" / "saccade"


def test_a_file_system_that_cannot_flush_folders_is_forgiven(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", fail(errno.EINVAL))
    sync(tmp_path)
    monkeypatch.setattr(os, "fsync", fail(errno.EIO))
    with pytest.raises(OSError, match="Input/output"):
        sync(tmp_path)


@pytest.mark.parametrize(
    ("number", "kind", "message"),
    [
        (errno.ENOSPC, CheckpointError, "no room left on the disk for there"),
        (errno.EDQUOT, CheckpointError, "no room left on the disk for there"),
        (errno.EACCES, DataError, "no permission to write there"),
        (errno.EROFS, DataError, "no permission to write there"),
        (errno.ENOENT, DataError, "there cannot be written: its folder does not exist"),
        (errno.EISDIR, DataError, "there is a folder, but a file is needed"),
        (errno.ENOTDIR, DataError, "there lies inside something that is not a folder"),
        (errno.EIO, DataError, "cannot write there: Input/output error"),
    ],
)
def test_each_error_says_what_to_do(number, kind, message, tmp_path):
    found = file_error(OSError(number, os.strerror(number)), type(tmp_path)("there"), "write")
    assert isinstance(found, kind)
    assert message in str(found)


def test_a_file_in_the_way_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="lies inside something that is not a folder"):
        write_atomically(tmp_path / "file" / "x", "")
    with pytest.raises(DataError, match=r"cannot write .*x: Input/output error"), wrap_os_errors(tmp_path / "x"):
        fail(errno.EIO)()


def test_text_is_read_up_to_a_size(tmp_path):
    (tmp_path / "five").write_text("éléx")
    assert read_text(tmp_path / "five", 6, "a note") == "éléx"
    with pytest.raises(DataError, match=r"five has more than 5 bytes, the most that a note may have"):
        read_text(tmp_path / "five", 5, "a note")


def test_what_is_no_regular_file_is_read_only_where_that_is_meant(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(DataError, match="is a device or a pipe, but a regular file is needed"):
            open_to_read(path, regular=True)
    with open_to_read(Path("/dev/zero"), regular=False) as file:
        assert file.read(2) == b"\0\0"
    with pytest.raises(DataError, match="is a folder"):
        open_to_read(tmp_path, regular=True)
    with pytest.raises(DataError, match="cannot be the name of a file"):
        open_to_read(Path("a\0b"), regular=True)


def test_folders_on_the_way_are_made(tmp_path):
    write_atomically(tmp_path / "a" / "b" / "text", "x")
    write_lines(tmp_path / "c" / "d" / "lines")
    write_lines(tmp_path / "c" / "d" / "more")
    fill(tmp_path / "e" / "f" / "folder")
    assert names(tmp_path / "a" / "b") == ["text"]
    assert names(tmp_path / "c" / "d") == ["lines", "more"]
    assert names(tmp_path / "e" / "f") == ["folder"]


def test_a_folder_that_is_there_stays_where_it_is_not_to_be_replaced(tmp_path):
    for content in ("first", "second"):
        with writing_folder(tmp_path / "folder", replace=False) as draft:
            (draft / content).write_text(content)
    assert names(tmp_path / "folder") == ["first"]
    assert names(tmp_path) == ["folder"]


def test_a_file_that_is_missing_is_told_with_where_paths_start(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=rf"^none does not exist\. Check .*relative paths start from {tmp_path}\.$"):
        read_text(Path("none"), 5, "a note")
    assert str(file_error(OSError(errno.EPERM, ""), Path("there"))).startswith("no permission to read there.")
    assert str(file_error(OSError(errno.EEXIST, ""), Path("there"))).startswith(
        "there lies inside something that is not"
    )
    assert str(file_error(OSError("no number"), Path("there"))) == "cannot read there: no number."
