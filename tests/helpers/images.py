"""Images as arrays, as bytes and as files."""

import io
import struct
import zlib

import numpy as np
from PIL import Image

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def quarters(high=8, wide=12):
    """An image with four quarters: red and green above, blue and white below."""
    picture = np.zeros((high, wide, 3), np.uint8)
    picture[: high // 2, : wide // 2], picture[: high // 2, wide // 2 :] = RED, GREEN
    picture[high // 2 :, : wide // 2], picture[high // 2 :, wide // 2 :] = BLUE, WHITE
    return picture


def encoded(picture, form="PNG", **options):
    """An array or a Pillow image as the bytes of a file."""
    image = Image.fromarray(picture) if isinstance(picture, np.ndarray) else picture
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def put_picture(path, picture=None, form="PNG"):
    """Write an image to a file; return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(quarters() if picture is None else picture, form))
    return path


def png(wide, high, *, bits=8, kind=2, line=None, clear=()):
    """A PNG with a line of pixels, or else little more than the header, which may declare any size.

    kind: 0 for grey, 2 for colours; clear: the colour that is transparent.
    """
    header = struct.pack(">IIBBBBB", wide, high, bits, kind, 0, 0, 0)
    body = zlib.compress(b"" if line is None else b"\0" + line)
    colour = [(b"tRNS", struct.pack(f">{len(clear)}H", *clear))] if clear else []
    parts = [(b"IHDR", header), *colour, (b"IDAT", body), (b"IEND", b"")]
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
