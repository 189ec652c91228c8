"""Accelerators: which device to use, and which process of a run this is; without importing Fabric, which is slow."""

from __future__ import annotations

import os

import torch

from saccade.errors import ConfigError

__all__ = ["LAUNCHER", "RANKS", "find_accelerator", "first_process", "torchrun_processes"]

LAUNCHER = "SACCADE_LAUNCHER"
"""Environment variable with the process id of the launcher; set in the helper processes it starts."""

RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")
"""Environment variables in which launchers pass the rank; all are 0 or unset in the first process."""


def first_process() -> bool:
    """Return True in the process that writes the files of a run; works before Fabric is launched."""
    return LAUNCHER not in os.environ and all(os.environ.get(name, "0") == "0" for name in RANKS)


def torchrun_processes() -> dict[str, int]:
    """Return the processes of each node and the nodes, as settings of `train`, if torchrun started this process."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return {}
    here = int(os.environ["LOCAL_WORLD_SIZE"])
    return {"devices": here, "nodes": int(os.environ["WORLD_SIZE"]) // here}


def find_accelerator(wanted: str) -> str:
    """Return the accelerator that a recipe names; `auto` picks the best available one."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if wanted == "auto":
        return "cuda" if there["cuda"] else "mps" if there["mps"] else "cpu"
    if not there[wanted]:
        raise ConfigError(
            f"{wanted} was asked for, but torch {torch.__version__} finds no such device here. "
            "Use device auto or cpu, or install a torch build for your GPU."
        )
    return wanted
