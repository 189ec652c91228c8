"""Text files in every compression."""

import gzip
import lzma

import zstandard

SUFFIXES = ["", ".gz", ".xz", ".zst"]


def packed(data, suffix):
    """Bytes as a file with that suffix holds them."""
    if suffix == ".gz":
        return gzip.compress(data)
    if suffix == ".xz":
        return lzma.compress(data, preset=0)  # higher ones ask the reader for a larger dictionary, 8 MiB at 6
    return zstandard.ZstdCompressor().compress(data) if suffix == ".zst" else data


def put(path, content):
    """Write text or bytes to a file, compressed as its suffix says; the path again."""
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(packed(data, path.suffix))
    return path
