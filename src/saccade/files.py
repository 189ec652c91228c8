"""Atomic writes of files and folders, and reads with errors that name the path and the remedy."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from saccade.errors import CheckpointError, DataError, SaccadeError

__all__ = [
    "default_cache",
    "file_error",
    "open_to_read",
    "read_text",
    "remove_drafts",
    "remove_folder",
    "sync",
    "with_usual_mode",
    "wrap_os_errors",
    "write_atomically",
    "writing",
    "writing_folder",
]

_DRAFT = re.compile(r"\..+\.[0-9a-f]{8}\.saccade\.part", re.DOTALL)
"""Names of unfinished files and folders of saccade; other programs leave `.part` files as well."""


def default_cache() -> Path:
    """Return the default cache folder, for tokenized data and compiled libraries."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "saccade"


def write_atomically(path: Path, content: str | bytes | Callable[[Path], None]) -> None:
    """Write a file under a temporary name, flush it to disk, then rename it.

    A process killed at any moment leaves the old file or the new one, never half of it. `content` may be a function
    that writes to the path it is given. That path lies in a temporary folder, since some libraries put temporary files
    beside their output.
    """
    draft = _beside(path)
    with wrap_os_errors(path), _removed_on_error(draft):
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            draft.mkdir()
            whole = draft / path.name
            content(whole)
        else:
            whole = draft
            draft.write_bytes(content.encode() if isinstance(content, str) else content)
        sync(whole)
        whole.replace(path)
        _remove(draft)
        sync(path.parent)


def with_usual_mode(path: Path, write: Callable[[Path], None]) -> None:
    """Call `write` to make a file, then give the file the permissions of a new one under the umask.

    Some libraries write to a private temporary file (mode 0600) and rename it. Another account, such as that of a
    server, could not read the result.
    """
    path.touch()
    mode = stat.S_IMODE(path.stat().st_mode)
    write(path)
    path.chmod(mode)


def open_to_read(path: Path, *, regular: bool) -> BinaryIO:
    """Open a file for reading; raise a DataError if that fails.

    `regular`: refuse pipes and devices, which may block or never end.
    """
    try:
        if not regular:
            return path.open("rb")
        # O_NONBLOCK: do not wait for a writer if it is a pipe
        file = os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb")
    except OSError as error:
        raise file_error(error, path) from error
    except ValueError as error:
        raise DataError(f"{str(path)!r} cannot be the name of a file ({error}). Check the path.") from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise DataError(f"{path} is a device or a pipe, but a regular file is needed. Copy its content to one.")
    return file


def read_text(path: Path, most: int, what: str) -> str:
    """Read the text of a regular file of at most `most` bytes; `what` names it in errors, such as "a recipe".

    Raises UnicodeDecodeError if the file is not UTF-8.
    """
    try:
        with open_to_read(path, regular=True) as file:
            data = file.read(most + 1)
    except OSError as error:
        raise file_error(error, path) from error
    if len(data) > most:
        raise DataError(f"{path} has more than {most:,} bytes, the most that {what} may have. Check that it is one.")
    return data.decode()


@contextmanager
def writing(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 file to write in parts; at the end, flush and rename it. Newlines are not translated."""
    draft = _beside(path)
    with wrap_os_errors(path), _removed_on_error(draft):
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("w", encoding="utf-8", newline="") as file:
            yield file
        sync(draft)
        draft.replace(path)
        sync(path.parent)


@contextmanager
def writing_folder(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """Make a temporary folder to fill; at the end, flush its files and rename it, replacing a folder of that name.

    Without `replace`, a folder that has the name by then stays. This is for results that several processes may make at
    the same time: all are equivalent, and another process may already be reading the first.
    """
    draft = _beside(path)
    with wrap_os_errors(path), _removed_on_error(draft):
        draft.mkdir(parents=True)
        yield draft
        for file in draft.iterdir():
            sync(file)
        sync(draft)
        _take_place(draft, path, replace)
        sync(path.parent)


def sync(path: Path) -> None:
    """Flush a file or folder to disk (fsync)."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems cannot sync folders
            raise
    finally:
        os.close(descriptor)


def remove_folder(path: Path) -> None:
    """Delete a folder atomically: rename it, then delete its content."""
    old = _beside(path)
    with suppress(FileNotFoundError):
        path.rename(old)
    _remove(old)


def remove_drafts(folder: Path) -> None:
    """Delete unfinished files that killed writers left in a folder; no other process may be writing there."""
    if folder.is_dir():
        for path in folder.iterdir():
            if _DRAFT.fullmatch(path.name):
                _remove(path)


def file_error(error: OSError, path: Path, doing: str = "read") -> SaccadeError:
    """Convert an OSError to a SaccadeError with the path and the remedy."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CheckpointError(
            f"there is no room left on the disk for {path}. What was there before is untouched. Free some space and "
            "run the same command again; a training run continues with --resume."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return DataError(f"no permission to {doing} {path}. Choose another place or change its permissions.")
    if error.errno == errno.ENOENT and doing == "write":
        return DataError(f"{path} cannot be written: its folder does not exist. Choose another path.")
    if error.errno == errno.ENOENT:
        return DataError(f"{path} does not exist. Check the path; relative paths start from {Path.cwd()}.")
    if error.errno == errno.EISDIR:
        return DataError(f"{path} is a folder, but a file is needed.")
    if error.errno in (errno.ENOTDIR, errno.EEXIST):  # a file stands where a folder should
        return DataError(f"{path} lies inside something that is not a folder. Choose another place.")
    return DataError(f"cannot {doing} {path}: {error.strerror or error}.")


def _take_place(draft: Path, path: Path, replace: bool) -> None:
    """Rename a folder to its final name; another process may be doing the same."""
    while True:
        if replace:
            remove_folder(path)
        try:
            draft.rename(path)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        if not replace:
            _remove(draft)
            return


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.saccade.part")


@contextmanager
def wrap_os_errors(path: Path) -> Iterator[None]:
    """Raise an OSError while writing a file as a SaccadeError."""
    try:
        yield
    except OSError as error:
        raise file_error(error, path, "write") from error


@contextmanager
def _removed_on_error(draft: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        _remove(draft)
        raise


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
