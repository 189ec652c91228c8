"""Set oneDNN's instruction limit before torch runs its first matmul."""

import os
from pathlib import Path

_VARIABLE = "ONEDNN_MAX_CPU_ISA"


def keep_onednn_off_amx(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Keep oneDNN from using AMX instructions on a virtual CPU that advertises them.

    Some hypervisors report the AMX flags but do not support the instructions. A bf16 matmul then kills the process with
    SIGILL, which `except` cannot catch. oneDNN reads the variable at its first use, so this works even if torch is
    already imported. On virtual machines with working AMX, bf16 and int8 matmuls get slower. A value that is already
    set stays: set the variable to AVX512_CORE_AMX to use AMX.
    """
    if _VARIABLE in os.environ:
        return
    try:
        text = cpuinfo.read_text(errors="replace")
    except OSError:  # not Linux
        return
    flags = {flag for line in text.splitlines() if line.startswith("flags") for flag in line.split()}
    if {"amx_bf16", "hypervisor"} <= flags:
        os.environ[_VARIABLE] = "AVX512_CORE_BF16"
