"""Builds writer.c with the compiler that is there, once for a machine, and loads it."""

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
"""Seconds for the compiler."""


@functools.cache
def library() -> ctypes.CDLL | None:
    """The functions of writer.c, or None where they cannot be had; a log entry says why."""
    try:
        path = _built()
        loaded = ctypes.CDLL(str(path))
    except (OSError, RuntimeError, ValueError, SaccadeError, subprocess.SubprocessError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        logging.getLogger("saccade").info("CPU kernels in C are not used: %s", reason)
        return None
    for name in ("best", "checksum", "encode", "product"):
        getattr(loaded, name).restype = None
    place, number = ctypes.c_void_p, ctypes.c_int  # with types told once, a call takes addresses as they are
    loaded.product.argtypes = [place, place, number, place, place, place, number, place]
    return loaded


def coarse_products() -> bool:
    """Whether there are products of eight bits among them."""
    loaded = library()
    return loaded is not None and bool(loaded.coarse_products())


class _Missing(RuntimeError):
    """Something that building needs is not there."""


def _built() -> Path:
    """The shared library, made unless it is there; it has the name of all that it depends on."""
    if os.name != "posix":
        raise _Missing("they are built on POSIX systems alone")
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
        told = done.stderr.decode("utf-8", "replace").strip() or "it does not say why"
        raise _Missing(f"{compiler} cannot build them: {told.splitlines()[0]}")
    out.chmod(0o700)


def _check_ours(path: Path) -> None:
    """Refuse to load what somebody else could have put there."""
    for place in (path, path.parent):
        facts = place.stat()
        if facts.st_uid != os.getuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise _Missing(f"{place} can be written by others")


def _processor() -> str:
    """What the code is built for: a folder of caches may be shared by machines that differ."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    told = {line for line in lines if line.startswith(("flags", "Features", "model name", "CPU part"))}
    return f"{platform.machine()} {platform.processor()} {sorted(told)}"
