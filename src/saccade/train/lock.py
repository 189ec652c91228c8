"""One training run per folder: a lock that the operating system releases however the run ends."""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from saccade.errors import ConfigError
from saccade.files import told

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

__all__ = ["locked"]

_NAME = ".saccade.lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; raise ConfigError if another run holds it.

    The lock belongs to an open file (flock), so that it ends with the process, even with a killed one, and a lock file
    that is left behind blocks nobody. Where the file system cannot lock, a warning says so and the run goes on.
    """
    path, made = folder / _NAME, not folder.exists()
    with told(path):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = _open_and_lock(path)
    try:
        yield
    finally:
        with suppress(OSError):  # a folder that is gone or has become read-only needs no unlocking
            path.unlink(missing_ok=True)  # while it is locked, so that this is never another run's file
        os.close(descriptor)
        if made:
            with suppress(OSError):  # it stays unless it is empty
                folder.rmdir()


def _open_and_lock(path: Path) -> int:
    """The descriptor of the lock file, locked."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _lock(descriptor, path.parent) or _is(path, descriptor):
                _sign(descriptor)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the run that held the lock has just ended and removed this file: lock a new one


def _lock(descriptor: int, folder: Path) -> bool:
    """Lock an open file; False where locking is not possible."""
    try:
        if fcntl is None:
            raise OSError(errno.ENOSYS, "no file locks on this system")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno == errno.EWOULDBLOCK:
            raise ConfigError(
                f"another training run{_signature(descriptor)} is writing to {folder}. Wait until it has ended or stop "
                "it, or choose another --out."
            ) from None
        logging.getLogger("saccade").warning(
            "%s cannot be locked (%s); continuing without a lock. Start no second training run in this folder.",
            folder,
            error.strerror,
        )
        return False
    return True


def _is(path: Path, descriptor: int) -> bool:
    """True if the name still belongs to the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _sign(descriptor: int) -> None:
    """Note which process holds the lock, for the message that another one gets."""
    with suppress(OSError):  # a full disk is reported by the first file that matters
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)


def _signature(descriptor: int) -> str:
    """Which process holds the lock, if it says so."""
    pid, _, host = os.pread(descriptor, 300, 0).decode("utf-8", "replace").strip().partition(" ")
    return f" (process {pid} on {host})" if pid.isdecimal() and host else ""
