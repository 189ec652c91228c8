"""The one thing that must happen before torch multiplies its first matrices."""

import os
from pathlib import Path

_VARIABLE = "ONEDNN_MAX_CPU_ISA"


def keep_onednn_off_amx(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Tell oneDNN to leave the AMX tiles alone on a virtual CPU that advertises them.

    Some hypervisors pass the AMX flags on without the instructions behind them; there a bf16 matrix
    product ends the process with SIGILL, which no `except` can catch. oneDNN reads the variable when it
    is first used, so setting it here is in time even if torch was imported earlier. Only bf16 and int8
    products on virtual machines with working AMX lose speed; who wants it back sets the variable to
    AVX512_CORE_AMX, since a value already there is left alone.
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
