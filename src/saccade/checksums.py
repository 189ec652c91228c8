"""Checksums of the files in a folder, to detect damaged files.

The list is SHA256SUMS in the form of the sha256sum tool, which can check it too (`sha256sum -c SHA256SUMS`). Its last
line, a comment to that tool, is the checksum of the list itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from saccade.errors import CheckpointError
from saccade.files import file_error, open_to_read, read_text, write_atomically

__all__ = ["LIST", "check", "listed", "write_list", "write_listed"]

LIST = "SHA256SUMS"
_LONGEST = 1 << 20
"""Maximum bytes of a list."""
Entries = list[tuple[str, str]]
"""(SHA-256, file name). A file that was being replaced when its writer was killed has two entries: old and new."""


def write_list(folder: Path) -> None:
    """Write the list for all files of a new folder that no other process reads yet."""
    entries = sorted((path.name, _digest(path)) for path in folder.iterdir())
    (folder / LIST).write_text(_dump([(digest, name) for name, digest in entries]), encoding="utf-8")


def write_listed(path: Path, content: str | Callable[[Path], None]) -> None:
    """Write a file atomically and list it; a process killed at any moment leaves a file that the list names.

    Only one process at a time may write listed files to a folder.
    """

    def write(draft: Path) -> None:
        content(draft) if callable(content) else draft.write_bytes(content.encode())
        entry = (_digest(draft), path.name)
        _replace_list(path.parent, [*(known for known in _read(path.parent) or [] if known != entry), entry])

    write_atomically(path, write)
    *others, newest = _read(path.parent) or []
    _replace_list(path.parent, [*(entry for entry in others if entry[1] != path.name), newest])


def check(path: Path, remedy: str) -> bool:
    """Compare a file with its checksum; raise CheckpointError, with the remedy, if they differ.

    Return False if there is no checksum: the folder has no list, or the list does not name the file.
    """
    known = _read(path.parent)
    while known is not None and any(name == path.name for _, name in known):
        if (_digest(path), path.name) in known:
            return True
        before, known = known, _read(path.parent)
        if known == before:  # otherwise a training run has replaced file and list in the meantime
            raise CheckpointError(f"{path} is damaged or was changed: its checksum is not the one in {LIST}. {remedy}")
    return False


def listed(folder: Path) -> set[str]:
    """Return the names in a folder's list; empty without a list."""
    return {name for _, name in _read(folder) or []}


def _digest(path: Path) -> str:
    try:
        with open_to_read(path, regular=True) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    except OSError as error:
        raise file_error(error, path) from error


def _replace_list(folder: Path, entries: Entries) -> None:
    if entries != _read(folder):
        write_atomically(folder / LIST, _dump(entries))


def _dump(entries: Entries) -> str:
    text = "".join(f"{digest}  {name}\n" for digest, name in entries)
    return f"{text}# {hashlib.sha256(text.encode()).hexdigest()} of the lines above\n"


def _read(folder: Path) -> Entries | None:
    """Read and verify the list of a folder; None without a list."""
    path = folder / LIST
    if not path.exists():
        return None
    try:
        text = read_text(path, _LONGEST, "a list of checksums")
    except UnicodeDecodeError:
        text = ""
    lines = [line.partition("  ") for line in text.split("\n")[:-2]]
    entries = [(digest, name) for digest, _, name in lines]
    if _dump(entries) != text:
        raise CheckpointError(
            f"{path} is damaged or was changed: its last line is not the checksum of the lines above. Copy the folder "
            f"again, or delete {LIST} if you are sure that the other files are whole."
        )
    return entries
