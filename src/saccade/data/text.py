"""Text files line by line: UTF-8, plain or compressed, with one line of bounded length in memory at a time."""

from __future__ import annotations

import gzip
import importlib
import io
import json
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from saccade.errors import ConfigError, DataError, install_extra
from saccade.files import file_error, open_to_read

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = [
    "COMPRESSIONS",
    "LONGEST_LINE",
    "check_encodable",
    "decoded_lines",
    "find_file",
    "import_extra",
    "lines",
    "numbered",
    "shorten",
    "shown",
    "stem_suffix",
]

LONGEST_LINE = 16 << 20
"""Maximum bytes of a line. A sentence has hundreds; a longer line is not text, or has lost its line ends."""
COMPRESSIONS = (".gz", ".xz", ".zst")
"""Suffixes of files that are decompressed while they are read."""

_BOM = "\ufeff"
_FOREIGN = {b"\x1f\x8b": "gzip (.gz)", b"\xfd7zXZ\x00": "xz (.xz)", b"\x28\xb5\x2f\xfd": "Zstandard (.zst)"}
"""First bytes of compressed files, to recognize one whose suffix is missing."""
_FEED = 1024
"""Compressed bytes passed to Zstandard at a time: 4 bytes can expand to 128 KiB, and larger chunks are no faster."""


def find_file(path: Path) -> Path:
    """Return the file of that name, or else its compressed version: train.en.gz if there is no train.en."""
    if path.exists():
        return path
    packed = [path.with_name(path.name + suffix) for suffix in COMPRESSIONS]
    return next((other for other in packed if other.is_file()), path)


def lines(path: Path, longest: int = LONGEST_LINE, *, any_end: bool = False) -> Iterator[str]:
    """Yield the lines of a UTF-8 file without line ends; .gz, .xz and .zst are decompressed.

    LF and CR LF end a line. CR alone does with `any_end`, and in a file without LF, as old Mac programs wrote. The
    other line ends of Unicode, such as U+2028, may occur inside a sentence, and so may CR; splitting there would
    misalign the two sides of a corpus. A byte order mark at the start is dropped. A line of more than `longest` bytes
    raises DataError before it is in memory.
    """
    number = 1
    try:
        with _opened(path) as file:
            for number, line in enumerate(decoded_lines(file, str(path), longest, any_end=any_end), 1):
                yield line
                number += 1  # an error from here on is in the next line
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, _BadZstandard) as error:
        raise DataError(
            f"{path} is cut or damaged and breaks off in line {number}: {_sentence(error)} Copy, download or compress "
            "it again."
        ) from error
    except MemoryError as error:  # a header may require gigabytes for decompression
        raise DataError(f"{path} needs more memory to be read than there is. Compress it again, with less.") from error
    except OSError as error:
        raise file_error(error, path) from error


def decoded_lines(file: BinaryIO, name: str, longest: int = LONGEST_LINE, *, any_end: bool = False) -> Iterator[str]:
    """Yield the lines of an open file, as `lines` does; `name` is its name in messages."""
    path, number = Path(name), 0
    while raw := file.readline(longest + 1):
        if len(raw) > longest:
            raise DataError(
                f"{path}, line {number + 1} has more than {longest:,} bytes. Is it text, with a sentence on every line?"
            )
        any_end = any_end or (number == 0 and not raw.endswith(b"\n"))
        for part in _parts(raw, any_end=any_end):
            number += 1
            line = _decoded(part, path, number)
            yield line.removeprefix(_BOM) if number == 1 else line


def _parts(raw: bytes, *, any_end: bool) -> list[bytes]:
    """Return a line without its end; with `any_end`, the lines in it that end with CR."""
    if raw.endswith(b"\n"):
        raw = raw[:-2] if raw.endswith(b"\r\n") else raw[:-1]
    elif any_end and raw.endswith(b"\r"):
        raw = raw[:-1]
    return raw.split(b"\r") if any_end else [raw]


def numbered(path: Path, longest: int = LONGEST_LINE, *, any_end: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, from 1; raise DataError if the file is empty."""
    number = 0
    for number, line in enumerate(lines(path, longest, any_end=any_end), 1):
        yield number, line
    if number == 0:
        raise DataError(f"{path} is empty. A corpus needs at least one line.")


def stem_suffix(path: Path) -> str:
    """Return the suffix that gives the format: `.tsv` for `train.TSV.gz`."""
    inner = Path(path.stem) if path.suffix.lower() in COMPRESSIONS else path
    return inner.suffix.lower()


def shorten(text: str, width: int = 40) -> str:
    """Quote a text for a message; cut it if it is long."""
    return repr(_cut(text, width))


def shown(value: object, width: int = 40) -> str:
    """Write a value as JSON for a message; cut it if it is long."""
    return _cut(json.dumps(value, ensure_ascii=False, default=repr), width)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def check_encodable(text: str, where: str) -> None:
    """Raise DataError for lone surrogates, which JSON escapes can contain but UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = ord(text[error.start])
        raise DataError(f"{where} holds half a character, \\u{half:04x}. Write the whole character.") from error


def import_extra(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an optional extra; raise ConfigError if it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:  # the module exists, but one of its imports does not
            raise
        raise ConfigError(f"{purpose} needs the extra {extra!r}. {install_extra(extra)}") from error


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading its decompressed bytes."""
    with cast(io.BufferedReader, open_to_read(path, regular=False)) as file:
        suffix = path.suffix.lower()
        if suffix not in COMPRESSIONS or not file.peek(1):  # an empty file is empty text in every format
            yield file
        elif suffix == ".gz":
            with gzip.GzipFile(fileobj=file) as inside:
                yield cast(BinaryIO, inside)
        elif suffix == ".xz":
            with lzma.LZMAFile(file) as inside_xz:
                yield cast(BinaryIO, inside_xz)
        else:
            with io.BufferedReader(_Zstandard(file, path)) as inside_zst:
                yield cast(BinaryIO, inside_zst)


class _BadZstandard(Exception):
    """Replaces zstandard.ZstdError, which cannot be imported without the extra."""


class _Zstandard(io.RawIOBase):
    """Reads consecutive Zstandard frames. The library's own reader accepts truncated files."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._library = import_extra("zstandard", "zstd", f"reading {path}")
        self._file = file
        self._frame: Any = None  # None between frames
        self._compressed = b""
        self._plain = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        while not self._plain:
            if not self._compressed:
                self._compressed = self._file.read(_FEED)
            if not self._compressed:
                if self._frame is not None:
                    raise EOFError("the file ends inside a Zstandard frame")
                return 0
            self._plain = memoryview(self._decompressed())
        target = memoryview(buffer).cast("B")
        count = min(len(target), len(self._plain))
        target[:count] = self._plain[:count]
        self._plain = self._plain[count:]
        return count

    def _decompressed(self) -> bytes:
        if self._frame is None:
            # files of `zstd --long=31` need more memory than the library allows by default
            self._frame = self._library.ZstdDecompressor(max_window_size=2**31).decompressobj()
        try:
            plain: bytes = self._frame.decompress(self._compressed)
        except self._library.ZstdError as error:
            raise _BadZstandard(str(error)) from error
        self._compressed = b""
        if self._frame.eof:
            self._compressed, self._frame = self._frame.unused_data, None
        return plain


def _decoded(raw: bytes, path: Path, number: int) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise DataError(_not_utf8(error, path, number)) from error


def _not_utf8(error: UnicodeDecodeError, path: Path, number: int) -> str:
    start = error.object[:8]
    if number == 1:
        for magic, form in _FOREIGN.items():
            if start.startswith(magic):
                return f"{path} is not text: it looks compressed with {form}, but its name does not say so. Rename it."
    utf16 = number == 1 and start.startswith((b"\xff\xfe", b"\xfe\xff"))
    return (
        f"{path}, line {number} is not UTF-8: byte 0x{error.object[error.start]:02x} at byte {error.start + 1} of the "
        f"line. Convert the file first: iconv -f {'UTF-16' if utf16 else 'LATIN1'} -t UTF-8, with the encoding it was "
        "written in."
    )


def _sentence(error: Exception) -> str:
    return str(error).rstrip(".") + "."
