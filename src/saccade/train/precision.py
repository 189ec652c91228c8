"""Precision: choose the number format of training."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import torch

from saccade.errors import ConfigError

__all__ = ["choose_precision", "cpu_bf16_pays"]

_FABRIC = {"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}
_PROBE = """
import time, torch, saccade
from torch.nn import GELU, LayerNorm, Linear, Sequential
layers = Sequential(Linear(256, 1024), GELU(), Linear(1024, 256), LayerNorm(256))
x = torch.randn(1024, 256)
def seconds(half):
    best = 9e9
    for _ in range(5):
        begin = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            loss = layers(x).square().mean()
        loss.backward()
        best = min(best, time.perf_counter() - begin)
    return best
raise SystemExit(0 if seconds(True) < 0.6 * seconds(False) else 3)
"""
"""Times a training step in fp32 and bf16; exits with 0 if bf16 is fast enough to justify its lower precision."""


def choose_precision(name: str, accelerator: str, processes: int = 1) -> str:
    """Return Fabric's name for a recipe's precision; `auto` is bf16 if it works and is faster, else fp32.

    Several CPU processes use fp32: each would measure for itself, and they might disagree.
    """
    if name == "auto":
        if accelerator == "cuda":
            name = "bf16" if torch.cuda.is_bf16_supported() else "fp32"
        else:
            name = "bf16" if accelerator == "cpu" and processes == 1 and cpu_bf16_pays() else "fp32"
    if name == "fp16" and accelerator == "cpu":
        raise ConfigError("train.precision is fp16, which needs a GPU. On a CPU use fp32, or bf16 where it is fast.")
    return _FABRIC[name]


@cache
def cpu_bf16_pays(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Return whether bf16 matmuls work and are faster on this CPU.

    Some virtual CPUs advertise bf16 instructions but kill a process that uses them, so a subprocess tries them.
    """
    try:
        flags = cpuinfo.read_text(errors="replace")
    except OSError:
        return False
    if "amx_bf16" not in flags and "avx512_bf16" not in flags:
        return False
    try:
        child = subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return child.returncode == 0
