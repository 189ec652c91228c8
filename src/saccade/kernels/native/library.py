"""Build writer.c with the machine's C compiler, once per processor, and load it."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import logging
import os
import platform
import shutil
import stat
import subprocess
from pathlib import Path

from saccade.errors import SaccadeError
from saccade.files import default_cache, write_atomically

__all__ = ["coarse_products", "library"]

_SOURCE = Path(__file__).with_name("writer.c")
_FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-std=gnu11", "-fPIC", "-shared")
_PATIENCE = 120
"""Time limit for the compiler, in seconds."""


@functools.cache
def library() -> ctypes.CDLL | None:
    """Return the functions of writer.c, or None if they cannot be built or loaded; log the reason."""
    try:
        path = _built()
        loaded = ctypes.CDLL(str(path))
    except (OSError, RuntimeError, ValueError, SaccadeError, subprocess.SubprocessError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        logging.getLogger("saccade").info("CPU kernels in C are not used: %s", reason)
        return None
    for name in ("best", "checksum", "encode", "product"):
        getattr(loaded, name).restype = None
    place, number = ctypes.c_void_p, ctypes.c_int  # declared types let a call pass addresses as plain integers
    loaded.product.argtypes = [place, place, number, place, place, place, number, place]
    return loaded


def coarse_products() -> bool:
    """Return whether the C code has an int8 matmul on this processor."""
    loaded = library()
    return loaded is not None and bool(loaded.coarse_products())


class _Missing(RuntimeError):
    """The library cannot be built or must not be loaded."""


def _built() -> Path:
    """Return the shared library, built if missing; a hash of everything it depends on is part of its name."""
    if os.name != "posix":
        raise _Missing("they are built only on POSIX systems")
    compiler = next((found for name in (os.environ.get("CC"), "cc", "gcc", "clang") if (found := _which(name))), None)
    if compiler is None:
        raise _Missing("there is no C compiler")
    source = _SOURCE.read_bytes()
    key = hashlib.sha256(b"\0".join([source, *(part.encode() for part in (compiler, *_FLAGS, _processor()))]))
    path = default_cache() / "native" / f"writer-{key.hexdigest()[:20]}.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.parent.chmod(0o700)
        write_atomically(path, lambda draft: _compile(compiler, draft))
    _check_ours(path)
    return path


def _which(name: str | None) -> str | None:
    return shutil.which(name) if name else None


def _compile(compiler: str, out: Path) -> None:
    command = [compiler, *_FLAGS, "-o", str(out), str(_SOURCE), "-lm"]
    done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip() or "no error message"
        raise _Missing(f"{compiler} cannot build them: {reason.splitlines()[0]}")
    out.chmod(0o700)


def _check_ours(path: Path) -> None:
    """Raise an error if another user could have written the library."""
    for place in (path, path.parent):
        facts = place.stat()
        if facts.st_uid != os.getuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise _Missing(f"{place} can be written by others")


def _processor() -> str:
    """Return a description of the processor for the hash: different machines may share a cache folder."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    features = {line for line in lines if line.startswith(("flags", "Features", "model name", "CPU part"))}
    return f"{platform.machine()} {platform.processor()} {sorted(features)}"
