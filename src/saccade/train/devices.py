"""Devices: launch Fabric with one process per device."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import Any

import torch
from lightning_fabric import Fabric
from lightning_fabric.strategies.ddp import DDPStrategy
from lightning_fabric.strategies.fsdp import FSDPStrategy
from torch import Tensor
from torch.distributed.checkpoint import state_dict as distributed
from torch.distributed.fsdp import FullyShardedDataParallel

from saccade.errors import CheckpointError, ConfigError, NumericsError, SaccadeError
from saccade.train.accelerators import LAUNCHER, find_accelerator
from saccade.train.train_config import TrainConfig

__all__ = ["Sharded", "launched"]

_WAIT = timedelta(hours=2)
"""Timeout of collective operations; validation on one rank may take a while."""
_PROCESSES = 64
"""CPU processes that are always allowed; a machine with more cores allows one per core."""


@contextmanager
def launched(config: TrainConfig, precision: str) -> Iterator[Fabric]:
    """Launch Fabric as the recipe says, one process per device; `precision` is a Fabric name.

    Helpers are the processes that Fabric starts for this training run. They exit at the end of the block: only the
    first process returns and prints. If it fails or is killed, the helpers end too.
    """
    launcher = os.environ.pop(LAUNCHER, None)
    if launcher is not None:
        _end_with(int(launcher))
    fabric = _fabric(config, precision)
    with _environment_for_helpers() if launcher is None else nullcontext(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="lightning_fabric")
        fabric.launch()
    with _without_orphans(fabric) if launcher is None else _quiet_end():
        yield fabric


def _fabric(config: TrainConfig, precision: str) -> Fabric:
    logging.getLogger("lightning_fabric").setLevel(logging.ERROR)  # it logs every process it starts
    accelerator, processes = find_accelerator(config.device), config.devices * config.nodes
    found = {"cuda": torch.cuda.device_count(), "mps": 1}.get(accelerator, max(_PROCESSES, os.cpu_count() or 1))
    if config.devices > found:
        what = f"takes {found} processes at most" if accelerator == "cpu" else f"has {found} GPUs"
        raise ConfigError(f"train.devices is {config.devices}, but this machine {what}. Lower it.")
    strategy: Any = "auto"
    if config.strategy == "fsdp":
        if accelerator != "cuda":
            raise ConfigError("train.strategy is fsdp, which needs GPUs. Use ddp.")
        strategy = FSDPStrategy(state_dict_type="full", timeout=_WAIT)
    elif config.strategy == "ddp" or processes > 1:
        strategy = DDPStrategy(timeout=_WAIT)
    return Fabric(
        accelerator=accelerator,
        devices=config.devices,
        num_nodes=config.nodes,
        strategy=strategy,
        precision=precision,  # type: ignore[arg-type]
    )


@contextmanager
def _environment_for_helpers() -> Iterator[None]:
    """Pass the launcher's process id to helpers; afterwards remove all variables set inside.

    Fabric sets variables for its helpers. Left behind, they would make the next training run wait for those helpers.
    """
    before = dict(os.environ)
    os.environ[LAUNCHER] = str(os.getpid())
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]


def _end_with(launcher: int) -> None:
    """End this process when the process `launcher` has ended for any reason; a thread polls for it."""

    def watch() -> None:
        while os.getppid() == launcher:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, name="saccade-launcher-watch", daemon=True).start()


@contextmanager
def _quiet_end() -> Iterator[None]:
    """Exit a helper process; it prints no errors that the first process reports too."""
    try:
        yield
    except (CheckpointError, ConfigError, NumericsError, KeyboardInterrupt) as error:
        raise SystemExit(0) from error
    except RuntimeError as error:
        if _lost(error):
            raise SystemExit(1) from error
        raise
    raise SystemExit(0)


@contextmanager
def _without_orphans(fabric: Fabric) -> Iterator[None]:
    """Make sure, in the first process, that all helpers have ended when the block ends."""
    launcher: Any = fabric.strategy.launcher
    helpers: list[subprocess.Popen[bytes]] = getattr(launcher, "procs", [])
    try:
        yield
        _collect(helpers, patience=60.0)
    except RuntimeError as error:
        if fabric.world_size > 1 and _lost(error):
            raise SaccadeError(
                "another process of this training run ended, so it cannot continue. The other process's error message, "
                "if any, is above; without one it was killed, perhaps for its memory. The last checkpoint is complete: "
                "continue with --resume."
            ) from error
        raise
    finally:
        _collect(helpers, patience=0.0)
        if launcher is not None and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


def _collect(helpers: list[subprocess.Popen[bytes]], patience: float) -> None:
    """Wait `patience` seconds for each helper, then kill it."""
    mine = list(helpers)
    helpers.clear()  # so that Fabric, which kills the first process when a helper fails, stops watching them
    for helper in mine:
        try:
            helper.wait(patience)
        except subprocess.TimeoutExpired:
            helper.kill()
            helper.wait()


def _lost(error: RuntimeError) -> bool:
    """Return whether an error means that another process has ended."""
    return isinstance(error, torch.distributed.DistError) or bool(re.search(r"(?i)gloo|nccl|connection", str(error)))


class Sharded:
    """Gathers weights and optimizer state that FSDP has sharded over devices, and shards them again."""

    _whole = distributed.StateDictOptions(full_state_dict=True, cpu_offload=True)

    def whole(self, objective: Any) -> AbstractContextManager[None]:
        """Gather all weights on every device, so that the model can be used without its FSDP wrapper."""
        return FullyShardedDataParallel.summon_full_params(objective._forward_module, writeback=False)

    def weights(self, objective: Any) -> dict[str, Tensor]:
        """Return the model's weights by name."""
        state: Any = distributed.get_model_state_dict(objective._forward_module, options=self._whole)
        return {name.removeprefix("model."): tensor for name, tensor in state.items()}

    def optimizer(self, objective: Any, optimizer: Any) -> dict[str, Tensor]:
        """Return the optimizer's state tensors by `parameter name/key`."""
        return {
            f"{name.removeprefix('model.')}/{key}": torch.as_tensor(value)
            for name, memory in self._memory(objective, optimizer)["state"].items()
            for key, value in memory.items()
        }

    def restore(self, objective: Any, optimizer: Any, weights: dict[str, Tensor], memory: dict[str, Tensor]) -> None:
        """Load what `weights` and `optimizer` returned."""
        named: Any = {f"model.{name}": tensor for name, tensor in weights.items()}
        distributed.set_model_state_dict(objective._forward_module, named, options=self._whole)
        state = self._memory(objective, optimizer)
        for entry, value in memory.items():
            name, _, key = entry.rpartition("/")
            state["state"].setdefault(f"model.{name}", {})[key] = value
        distributed.set_optimizer_state_dict(objective._forward_module, optimizer.optimizer, state, options=self._whole)

    def _memory(self, objective: Any, optimizer: Any) -> Any:
        return distributed.get_optimizer_state_dict(objective._forward_module, optimizer.optimizer, options=self._whole)
