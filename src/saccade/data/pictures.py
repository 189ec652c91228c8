"""Images: checked, decoded to RGB, and resized to a square.

Every image becomes height × width × 3 bytes. The EXIF orientation is applied, transparent pixels are laid over white,
and gray, palette, 16-bit and CMYK images are converted to RGB. The content of a file decides its format, not its name.
An image is decoded only if its header is within the limits.
"""

from __future__ import annotations

import importlib
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from saccade.data.example import Box
from saccade.data.text import import_extra
from saccade.errors import ConfigError, DataError, ShapeError
from saccade.files import file_error, open_to_read

__all__ = [
    "MAX_BYTES",
    "MAX_PIXELS",
    "Fitting",
    "Frame",
    "fit",
    "frame",
    "open_picture",
    "read_limited",
]

MAX_BYTES = 32 * 10**6
"""Maximum size of an image file in bytes."""
MAX_PIXELS = 50 * 10**6
"""Maximum width times height of an image."""
Fitting = Literal["crop", "pad", "squash"]
"""How an image becomes a square: its center alone, all of it with gray bars, or all of it stretched."""
_FITTINGS = ("crop", "pad", "squash")
_BAR = 128
"""Gray value of the bars, near the mean of all images."""

_FORMATS = ("JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF", "PPM")
"""Accepted formats. Pillow's other formats call external programs or have little-tested decoders."""
_ORIENTATION, _BITS, _MEANING = 0x0112, 0x0102, 0x0106
"""TIFF tags: orientation, bits per sample, and photometric interpretation, where 0 means that 0 is white."""
_lock = threading.Lock()


def open_picture(
    source: Path | bytes, *, name: str | None = None, max_bytes: int = MAX_BYTES, max_pixels: int = MAX_PIXELS
) -> NDArray[np.uint8]:
    """Decode an image to (height, width, 3); `name` is its name in messages, by default the path."""
    name = name or (str(source) if isinstance(source, Path) else "the image")
    data = source if isinstance(source, bytes) else _read(source, name, max_bytes)
    _check_bytes(len(data), name, max_bytes)
    library = _pillow(f"opening {name}")
    with _opened(library, data, name, max_pixels) as (image, orientation):
        try:
            image.load()
            if image.format == "PNG" and "transparency" in image.info:
                _scale_transparent(image, data[24], name)
            array = _colours(library, image)
        except DataError:
            raise
        except Exception as error:  # decoders raise exceptions of many types
            raise DataError(
                f"{name} is cut or damaged and cannot be decoded ({_reason(error)}). Copy, download or save it again."
            ) from error
    return np.ascontiguousarray(_turned(array, orientation))


def read_limited(file: Any, size: int, name: str, max_bytes: int = MAX_BYTES) -> bytes:
    """Read an open file that claims `size` bytes; raise DataError beyond `max_bytes`, even if the claim is false."""
    _check_bytes(size, name, max_bytes)
    data: bytes = file.read(max_bytes + 1)
    _check_bytes(len(data), name, max_bytes)
    return data


@dataclass(frozen=True)
class Frame:
    """How an image was fitted into a square: `scale` and `shift` of fractions, horizontal and vertical."""

    scale: tuple[float, float]
    shift: tuple[float, float]

    def box(self, box: Box) -> Box | None:
        """Map a box of the original to fractions of the square; return None if nothing of it is left."""
        return _clipped(*(value * self.scale[i % 2] + self.shift[i % 2] for i, value in enumerate(box)))

    def back(self, box: Box) -> Box | None:
        """Map a box of the square to fractions of the original; return None if it lies in the bars."""
        return _clipped(*((value - self.shift[i % 2]) / self.scale[i % 2] for i, value in enumerate(box)))


def frame(shape: tuple[int, ...], size: int, how: Fitting = "crop") -> Frame:
    """Return the frame of an image with this height and width: how `fit` transforms its boxes."""
    (left, top, right, bottom), (x, y, wide, high) = _plan(shape, size, how)
    scale = shape[1] / (right - left) * wide / size, shape[0] / (bottom - top) * high / size
    shift = x / size - left / shape[1] * scale[0], y / size - top / shape[0] * scale[1]
    return Frame(scale, shift)


def fit(picture: NDArray[np.uint8], size: int, how: Fitting = "crop") -> NDArray[np.uint8]:
    """Resize an image to (size, size, 3), with antialiasing."""
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8 or not picture.size:
        raise ShapeError(
            f"an image must be bytes of (height, width, 3), but is {picture.dtype} of {tuple(picture.shape)}."
        )
    region, (x, y, wide, high) = _plan(picture.shape, size, how)
    if picture.shape[:2] == (size, size):
        return picture
    library = _pillow("resizing images")
    small = library.fromarray(picture).resize((wide, high), library.Resampling.BICUBIC, box=region)
    if (wide, high) == (size, size):
        return np.asarray(small, np.uint8)
    square = np.full((size, size, 3), _BAR, np.uint8)
    square[y : y + high, x : x + wide] = np.asarray(small)
    return square


def _plan(shape: tuple[int, ...], size: int, how: Fitting) -> tuple[Box, tuple[int, int, int, int]]:
    """Return the part of an image to take (left, top, right, bottom) and its place (x, y, width, height)."""
    if how not in _FITTINGS:
        raise ConfigError(f"an image cannot be fitted by {how!r}. Choose crop, pad or squash.")
    if size < 1:
        raise ConfigError(f"images of {size} × {size} pixels are asked for. Ask for 1 or more.")
    high, wide = shape[:2]
    if how == "crop":
        side = min(high, wide)
        left, top = (wide - side) / 2, (high - side) / 2
        return (left, top, left + side, top + side), (0, 0, size, size)
    whole = (0.0, 0.0, float(wide), float(high))
    if how == "squash":
        return whole, (0, 0, size, size)
    scale = size / max(high, wide)
    new_wide, new_high = max(1, round(wide * scale)), max(1, round(high * scale))
    return whole, ((size - new_wide) // 2, (size - new_high) // 2, new_wide, new_high)


def _clipped(x0: float, y0: float, x1: float, y1: float) -> Box | None:
    x0, y0, x1, y1 = max(x0, 0.0), max(y0, 0.0), min(x1, 1.0), min(y1, 1.0)
    return (x0, y0, x1, y1) if x0 < x1 and y0 < y1 else None


def _read(path: Path, name: str, max_bytes: int) -> bytes:
    try:
        with open_to_read(path, regular=True) as file:
            return read_limited(file, path.stat().st_size, name, max_bytes)
    except OSError as error:
        raise file_error(error, path) from error


def _check_bytes(size: int, name: str, max_bytes: int) -> None:
    if size == 0:
        raise DataError(f"{name} is empty: it has no bytes. Copy or download it again, or leave it out.")
    if size > max_bytes:
        raise DataError(
            f"{name} has more than {max_bytes / 1e6:g} MB, the most that is opened. Save it smaller; networks use "
            "a few hundred pixels."
        )


def _pillow(purpose: str) -> Any:
    import_extra("PIL", "images", purpose)
    return importlib.import_module("PIL.Image")


@contextmanager
def _opened(library: Any, data: bytes, name: str, max_pixels: int) -> Iterator[tuple[Any, int]]:
    """Open an image whose header is valid and within the limits; yield it with its EXIF orientation."""
    with _lock, warnings.catch_warnings():  # other header warnings are irrelevant
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", library.DecompressionBombWarning)
        try:
            image = library.open(BytesIO(data), formats=_FORMATS)
        except (library.DecompressionBombError, library.DecompressionBombWarning) as error:
            most = min(max_pixels, library.MAX_IMAGE_PIXELS)  # Pillow has its own limit
            raise _too_large(name, "far more pixels", most) from error
        except Exception as error:
            raise DataError(
                f"{name} is not an image that can be opened: its content is none of {', '.join(_FORMATS)}, or its "
                "header is damaged or declares no pixels. Save it as PNG or JPEG, or leave it out."
            ) from error
        wide, high = image.size
        try:
            if wide * high > max_pixels:
                raise _too_large(name, f"{wide} × {high} pixels, more", max_pixels)
            orientation = _orientation(image)
        except BaseException:
            image.close()
            raise
    with image:
        yield image, orientation


def _too_large(name: str, size: str, max_pixels: int) -> DataError:
    return DataError(
        f"{name} has {size} than the {max_pixels / 1e6:g} million that are decoded. Make it smaller first."
    )


def _orientation(image: Any) -> int:
    if image.format == "TIFF":  # Pillow applies TIFF orientation itself
        return 1
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except Exception:  # EXIF data may be damaged in an intact image
        return 1


def _turned(array: NDArray[np.uint8], orientation: int) -> NDArray[np.uint8]:
    """Apply an EXIF orientation: transpose 5 to 8, then flip columns (2, 3, 6, 7) and rows (3, 4, 7, 8)."""
    if orientation in (5, 6, 7, 8):
        array = array.transpose(1, 0, 2)
    if orientation in (2, 3, 6, 7):
        array = array[:, ::-1]
    if orientation in (3, 4, 7, 8):
        array = array[::-1]
    return array


def _scale_transparent(image: Any, bits: int, name: str) -> None:
    """Scale a PNG's transparent gray value from the bit depth of the file to 8 bits; reject 16-bit RGB."""
    if image.mode == "RGB" and bits == 16:
        raise DataError(
            f"{name} has 16 bits per channel and one transparent color, which cannot be distinguished from its "
            "neighbors at 8 bits. Save it with 8 bits or with an alpha channel."
        )
    if image.mode == "L":
        image.info["transparency"] = image.info["transparency"] * 255 // (2**bits - 1)


def _colours(library: Any, image: Any) -> NDArray[np.uint8]:
    """Convert an image of any mode to RGB."""
    if image.mode.startswith("I") or image.mode == "F":
        return np.repeat(_grey(image)[..., None], 3, axis=2)
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert(image.mode.upper()) if image.mode in ("La", "RGBa") else image
        image = image.convert("RGBA")
        white = library.new("RGBA", image.size, (255, 255, 255, 255))
        image = library.alpha_composite(white, image)
    return np.asarray(image.convert("RGB"), np.uint8)


def _grey(image: Any) -> NDArray[np.uint8]:
    """Scale gray of 16 bits or more, or of floats, to bytes; Pillow keeps the values of the file."""
    notes = image.tag_v2 if image.format == "TIFF" else {}
    values = np.nan_to_num(np.asarray(image, np.float32))
    if image.mode == "F":
        most = 1 if values.max() <= 1 else 255
    elif image.mode.startswith("I;16"):
        most = 2 ** notes.get(_BITS, (16,))[0] - 1
    else:
        most = 65535 if values.max() > 255 else 255
    grey = (np.clip(values, 0, most) * (255 / most)).round()
    if notes.get(_MEANING) == 0:
        grey = 255 - grey
    if "transparency" in image.info:
        grey[values == image.info["transparency"]] = 255
    return np.asarray(grey, np.uint8)


def _reason(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__
