"""Sounds for tests."""

import struct

import numpy as np


def tone(pitch=440.0, seconds=0.5, rate=16000, noise=0.0, seed=0):
    times = np.arange(round(seconds * rate)) / rate
    return (0.5 * np.sin(2 * np.pi * pitch * times) + np.random.default_rng(seed).normal(0, noise, len(times))).astype(
        np.float32
    )


def wav(samples, rate=16000, *, kind=1, bits=16, extensible=False, data_size=None):
    """The bytes of a .wav file of samples (n,) or (n, channels)."""
    samples = np.asarray(samples, np.float64)
    samples = samples[:, None] if samples.ndim == 1 else samples
    channels = samples.shape[1]
    if kind == 3:
        body = samples.astype(f"<f{bits // 8}").tobytes()
    elif bits == 8:
        body = np.clip(np.rint(samples * 128) + 128, 0, 255).astype(np.uint8).tobytes()
    else:
        most = 2 ** (bits - 1)
        whole = np.clip(np.rint(samples * most), -most, most - 1).astype("<i8")
        body = b"".join(int(n).to_bytes(8, "little", signed=True)[: bits // 8] for n in whole.ravel())
    frame = channels * bits // 8
    chunk = struct.pack("<HHIIHH", 0xFFFE if extensible else kind, channels, rate, rate * frame, frame, bits)
    if extensible:
        chunk += struct.pack("<HHIH", 22, bits, 0, kind) + bytes(14)
    said = len(body) if data_size is None else data_size
    parts = b"fmt " + struct.pack("<I", len(chunk)) + chunk + b"LIST" + struct.pack("<I", 3) + b"abc\0"
    parts += b"data" + struct.pack("<I", said) + body
    return b"RIFF" + struct.pack("<I", 4 + len(parts)) + b"WAVE" + parts
