"""Images in folders and .zip archives, found by name and opened when needed."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.pictures import open_picture, read_limited
from saccade.errors import DataError
from saccade.files import file_error

__all__ = ["PictureFile", "PicturePlace"]


@dataclass(frozen=True)
class PictureFile:
    """An image in a file of its own, or inside an archive."""

    path: Path
    inside: str | None = None
    """The name of the archive's member."""

    @property
    def name(self) -> str:
        """The name in messages."""
        return str(self.path) if self.inside is None else f"{self.inside} in {self.path}"

    def load(self) -> NDArray[np.uint8]:
        """Load the image as (height, width, 3)."""
        source = self.path if self.inside is None else self._unpacked(self.inside)
        return open_picture(source, name=self.name)

    def stamp(self) -> list[Any]:
        """Return the path, and the file's size and time; these are absent if the file is missing."""
        return [str(self.path), self.inside, *_stamp(self.path)]

    def _unpacked(self, inside: str) -> bytes:
        archive = _archive(self.path)
        try:
            entry = archive.getinfo(inside)
            with archive.open(entry) as file:
                return read_limited(file, entry.file_size, self.name)
        except KeyError as error:
            raise DataError(
                f"{self.path} holds no image named {inside!r}. Check the name, or leave its captions out."
            ) from error
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise DataError(f"{self.name} is damaged ({error}). Copy or download the archive again.") from error
        except (RuntimeError, NotImplementedError) as error:  # encrypted, or an unsupported compression
            raise DataError(
                f"{self.name} cannot be unpacked ({error}). Pack the archive again without that."
            ) from error


class PicturePlace:
    """A folder or a .zip archive, and the images in it by name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._names: dict[str, str] | None = None
        if path.is_dir():
            return
        if path.exists() and not zipfile.is_zipfile(path):
            raise DataError(f"{path} holds no images: it is neither a folder nor a whole .zip archive. Name one.")
        self._names = _by_name(_archive(path).namelist())

    def picture(self, name: str) -> PictureFile:
        """Return the image of that name, even if it is missing. In an archive, `name` may omit the folder."""
        if self._names is None:
            return PictureFile(self.path / name)
        return PictureFile(self.path, self._names.get(name, name))


def _by_name(members: list[str]) -> dict[str, str]:
    """Map names in captions to members: by the full name, and by the last part where that is unique."""
    last: dict[str, list[str]] = {}
    for member in members:
        last.setdefault(PurePosixPath(member).name, []).append(member)
    return {name: found[0] for name, found in last.items() if len(found) == 1} | {name: name for name in members}


def _archive(path: Path) -> zipfile.ZipFile:
    return _opened_archive(path, *_stamp(path))


@lru_cache(maxsize=8)
def _opened_archive(path: Path, *stamp: int) -> zipfile.ZipFile:
    """Open an archive and keep it open, so that its list of members is read once; `stamp` detects a changed file."""
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise DataError(f"{path} is not a whole .zip archive ({error}). Copy or download it again.") from error
    except OSError as error:
        raise file_error(error, path) from error


def _stamp(path: Path) -> list[int]:
    try:
        status = path.stat()
    except (OSError, ValueError):  # missing, or an impossible file name
        return []
    return [status.st_size, status.st_mtime_ns]
