"""Arrays in .npz files: read without unpickling and with a size limit, written atomically."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError
from saccade.files import file_error, write_atomically

__all__ = ["read_arrays", "write_arrays"]


def read_arrays(path: Path, names: Sequence[str], most: int) -> dict[str, NDArray[Any]]:
    """Read some arrays of a .npz file; raise DataError if one is missing, damaged, of objects, or has too many bytes.

    The header of each array is checked against the size of its file before memory is allocated.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: _array(archive, name, path, most) for name in names}
    except OSError as error:
        raise file_error(error, path) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError) as error:
        raise DataError(f"{path} is no whole .npz file ({error}). Copy or download it again.") from error


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> Path:
    """Write arrays to a compressed .npz file, and return its path."""
    write_atomically(path, lambda draft: np.savez_compressed(draft, **arrays))
    return path


def _array(archive: zipfile.ZipFile, name: str, path: Path, most: int) -> NDArray[Any]:
    try:
        entry = archive.getinfo(f"{name}.npy")
    except KeyError as error:
        held = ", ".join(Path(each).stem for each in archive.namelist()[:9]) or "nothing"
        raise DataError(f"{path} has no array {name!r}. It has: {held}.") from error
    with archive.open(entry) as file:
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(file)
        size = math.prod(shape) * dtype.itemsize
        if dtype.hasobject:
            raise DataError(f"{path} has Python objects as {name}, which are not read. Save numbers or texts.")
        if size > min(most, entry.file_size):
            raise DataError(f"{path} claims {size / 1e9:,.3f} GB of {name}; at most {most / 1e9:g} GB are read.")
    with archive.open(entry) as file:
        found: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        return found
