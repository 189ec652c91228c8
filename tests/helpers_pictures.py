"""Pictures as bytes and files."""

import io

import numpy as np
from PIL import Image

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def quarters(high=8, wide=12):
    """A picture whose four quarters differ: red and green above, blue and white below."""
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
    """Write a picture to a file; the path again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(quarters() if picture is None else picture, form))
    return path
