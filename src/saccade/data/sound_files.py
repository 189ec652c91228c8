"""Open sound: the path or the bytes of a file, or an array of samples.

.wav files need no library. Others (FLAC, Ogg Vorbis and Opus, MP3, AIFF) and rare .wav encodings need soundfile, from
the extra `sound`. The content of a file decides its format, not its name. Channels are averaged.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.riff import is_wave, wave_samples
from saccade.data.sounds import Sound
from saccade.data.text import import_extra
from saccade.errors import ConfigError, DataError
from saccade.files import file_error, open_to_read

__all__ = ["MAX_BYTES", "MAX_SECONDS", "array_sound", "import_soundfile", "mono", "open_sound"]

MAX_BYTES = 256 * 10**6
"""Maximum size of a sound file in bytes: 22 minutes at 48 kHz, 16 bits and two channels."""
MAX_SECONDS = 600
"""Maximum duration of a recording."""
_RATES = (1000, 768_000)
_CHANNELS = 64
_SIGNATURES = (b"RIFF", b"RF64", b"riff", b"fLaC", b"OggS", b"ID3", b"FORM", b"caff", b".snd")
"""First bytes of the formats that soundfile opens. MP3 frames begin with eleven 1 bits."""
_WHAT = "WAV, FLAC, Ogg, MP3, AIFF, CAF or AU"


def open_sound(
    source: str | Path | bytes | bytearray | memoryview,
    *,
    name: str | None = None,
    max_bytes: int = MAX_BYTES,
    max_seconds: float = MAX_SECONDS,
) -> Sound:
    """Read a recording as one channel, at its own rate; `name` is its name in messages, by default the path."""
    if isinstance(source, bytes | bytearray | memoryview):
        name, data = name or "the sound", bytes(source)
    else:
        name, data = name or str(source), _read(Path(source), name or str(source), max_bytes)
    _check_bytes(len(data), name, max_bytes)
    if is_wave(data):
        layout, samples = wave_samples(data, name)
        if layout.known:
            return _mono(samples, layout.rate, name, max_seconds)
    elif not data.startswith(_SIGNATURES) and not (data[0] == 0xFF and data[1:2] >= b"\xe0"):
        raise DataError(
            f"{name} is not a sound that can be opened: its content is none of {_WHAT}. Convert it, or leave it out."
        )
    samples, rate = _by_library(data, name, max_seconds)
    return _mono(samples, rate, name, max_seconds)


def array_sound(samples: NDArray[Any], rate: int, *, max_seconds: float = MAX_SECONDS) -> Sound:
    """Convert an array of samples (n,) or (n, channels), floats in [-1, 1] or signed integers, to one channel."""
    scale = 2.0 ** (8 * samples.itemsize - 1) if samples.dtype.kind == "i" else 1.0
    plain = samples.reshape(len(samples), -1)
    return _mono((plain / scale).astype(np.float32), rate, "the array of samples", max_seconds)


def _read(path: Path, name: str, max_bytes: int) -> bytes:
    try:
        with open_to_read(path, regular=True) as file:
            _check_bytes(path.stat().st_size, name, max_bytes)
            return file.read(max_bytes + 1)
    except OSError as error:
        raise file_error(error, path) from error


def _check_bytes(size: int, name: str, max_bytes: int) -> None:
    if size == 0:
        raise DataError(f"{name} is empty: it has no bytes. Copy or record it again, or leave it out.")
    if size > max_bytes:
        raise DataError(f"{name} has more than {max_bytes / 1e6:g} MB, the most that is opened. Cut it into parts.")


def import_soundfile(name: str) -> Any:
    """Import soundfile; raise DataError if it is not installed, since one file must not stop a run over many."""
    try:
        return import_extra("soundfile", "sound", f"opening {name}")
    except ConfigError as error:
        raise DataError(str(error)) from error


def _by_library(data: bytes, name: str, max_seconds: float) -> tuple[NDArray[np.float32], int]:
    """Decode a file with soundfile: check its header first, and decode at most `max_seconds`."""
    library = import_soundfile(name)
    try:
        with library.SoundFile(BytesIO(data)) as file:
            rate, channels = int(file.samplerate), int(file.channels)
            _check_shape(rate, channels, name)
            most = int(max_seconds * rate)
            if file.frames > most:
                raise _too_long(file.frames / rate, name, max_seconds)
            samples = file.read(most + 1, dtype="float32", always_2d=True)
    except DataError:
        raise
    except Exception as error:  # decoders raise exceptions of many types
        why = str(error).rstrip(".") or type(error).__name__
        raise DataError(f"{name} is cut or damaged and cannot be decoded ({why}). Copy or record it again.") from error
    return samples, rate


def _mono(samples: NDArray[np.float32], rate: int, name: str, max_seconds: float) -> Sound:
    """Check samples (n, channels) and average the channels."""
    _check_shape(rate, samples.shape[1], name)
    if len(samples) == 0:
        raise DataError(f"{name} holds no samples. Record it again, or leave it out.")
    if len(samples) > max_seconds * rate:
        raise _too_long(len(samples) / rate, name, max_seconds)
    return Sound(mono(samples, rate, name), rate)


def mono(samples: NDArray[np.float32], rate: int, name: str) -> NDArray[np.float32]:
    """Average the channels of samples (n, channels); raise DataError if they cannot be a recording."""
    _check_shape(rate, samples.shape[1], name)
    if not np.isfinite(samples).all():
        raise DataError(f"{name} has samples that are NaN or infinite. Record or convert it again.")
    return samples.mean(1, dtype=np.float32)  # type: ignore[no-any-return]


def _check_shape(rate: int, channels: int, name: str) -> None:
    if not _RATES[0] <= rate <= _RATES[1]:
        raise DataError(f"{name} has {rate:,} samples a second, but must have {_RATES[0]:,} to {_RATES[1]:,}.")
    if channels > _CHANNELS:
        raise DataError(f"{name} has {channels} channels, but at most {_CHANNELS} are read. Mix it down.")


def _too_long(seconds: float, name: str, max_seconds: float) -> DataError:
    return DataError(
        f"{name} lasts {seconds:,.0f} s, but at most {max_seconds:,.0f} s are read. Cut it into parts, or let saccade "
        "predict --window 10 do so."
    )
