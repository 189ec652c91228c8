"""One training run per folder: a lock that the operating system releases when the process ends."""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from saccade.errors import ConfigError
from saccade.files import wrap_os_errors

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

__all__ = ["locked"]

_NAME = ".saccade.lock"


@contextmanager
def locked(folder: Path, run: str = "training run") -> Iterator[None]:
    """Hold the folder's lock; raise ConfigError if another run holds it. `run`: what it is called in messages.

    The lock is a flock on an open file. It ends with the process, even a killed one, so a leftover lock file does not
    block later runs. If the file system cannot lock, the run logs a warning and continues.
    """
    path, made = folder / _NAME, not folder.exists()
    with wrap_os_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = _open_and_lock(path, run)
    try:
        yield
    finally:
        with suppress(OSError):  # the folder may be deleted or read-only by now
            path.unlink(missing_ok=True)  # while still locked, so that this is never another run's file
        os.close(descriptor)
        if made:
            with suppress(OSError):  # fails, and keeps the folder, unless it is empty
                folder.rmdir()


def _open_and_lock(path: Path, run: str) -> int:
    """Open and lock the lock file; return its descriptor."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _lock(descriptor, path.parent, run) or _is(path, descriptor):
                _sign(descriptor)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the previous run deleted this file between open and lock: lock a new one


def _lock(descriptor: int, folder: Path, run: str) -> bool:
    """Lock an open file; return False if the file system cannot lock."""
    try:
        if fcntl is None:
            raise OSError(errno.ENOSYS, "no file locks on this system")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno == errno.EWOULDBLOCK:
            raise ConfigError(
                f"another {run}{_signature(descriptor)} is writing to {folder}. Wait until it has ended or stop "
                "it, or choose another --out."
            ) from None
        logging.getLogger("saccade").warning(
            "%s cannot be locked (%s); continuing without a lock. Start no second %s in this folder.",
            folder,
            error.strerror,
            run,
        )
        return False
    return True


def _is(path: Path, descriptor: int) -> bool:
    """Return whether the path still names the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _sign(descriptor: int) -> None:
    """Write process id and host into the lock file, for the error message in another process."""
    with suppress(OSError):  # not essential: a full disk is reported when the run writes its files
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)


def _signature(descriptor: int) -> str:
    """Return which process holds the lock, or an empty text if the file does not name one."""
    pid, _, host = os.pread(descriptor, 300, 0).decode("utf-8", "replace").strip().partition(" ")
    return f" (process {pid} on {host})" if pid.isdecimal() and host else ""
