"""Arrays of bytes in the IDX format of MNIST, as published or compressed with gzip."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError
from saccade.files import file_error

__all__ = ["read_idx"]

_MOST = 10**9
"""Maximum bytes of an array."""
_BYTES = 8
"""The code of unsigned bytes."""


def read_idx(path: Path, axes: int) -> NDArray[np.uint8]:
    """Read an array of bytes with this number of axes; the header is checked before memory is allocated."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            head = file.read(4)
            sizes = np.frombuffer(file.read(4 * axes), ">i4").tolist()
            if head != bytes([0, 0, _BYTES, axes]) or len(sizes) != axes or min(sizes) < 0:
                raise DataError(f"{path} is no IDX file of bytes with {axes} axes. Copy or download it again.")
            count = math.prod(sizes)
            if count > _MOST:
                raise DataError(f"{path} claims {count / 1e9:,.1f} GB; at most {_MOST / 1e9:g} GB are read.")
            data = file.read(count + 1)
    except (zlib.error, EOFError, ValueError) as error:
        raise DataError(f"{path} is damaged ({error}). Copy or download it again.") from error
    except OSError as error:
        raise file_error(error, path) from error
    if len(data) != count:
        has = "more" if len(data) > count else f"{len(data):,}"
        raise DataError(f"{path} should have {count:,} bytes after its header, but has {has}. Copy it again.")
    return np.frombuffer(data, np.uint8).reshape(sizes)
