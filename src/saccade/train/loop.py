"""The training loop, on Lightning Fabric."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from saccade.data.batch_sampler import Cursor
from saccade.data.loader import Loader, TrainBatch
from saccade.errors import CheckpointError, NumericsError, unknown_name
from saccade.metrics.table import METRICS
from saccade.train import checkpoint
from saccade.train.accelerators import find_accelerator, torchrun_processes
from saccade.train.devices import Sharded, launched
from saccade.train.ema import Ema
from saccade.train.graphed_update import Graphs, graphs_fit
from saccade.train.interrupt import on_interrupt
from saccade.train.log import Log, TrainingCallback
from saccade.train.objective import mean_loss
from saccade.train.precision import choose_precision
from saccade.train.progress import Progress, Saved
from saccade.train.schedules import build_optimizer, learning_rate, steps_reached
from saccade.train.train_config import TrainConfig
from saccade.train.update import Updater, UpdateResult

__all__ = ["Job", "Outcome", "Progress", "fit"]

_SILENT = 0.1
"""Share of training without advice about attention, which starts out uniform."""
_SKIPS_ALLOWED = 50
"""Consecutive updates that fp16 may skip while its loss scaler searches for a scale."""


class Job(Protocol):
    """What the training loop needs: model, objective, data, validation and export."""

    model: nn.Module
    objective: Any
    """Holds the model and computes Losses, see `objective.losses_of`."""
    width: int
    """The model's width, for the noam schedule."""

    def loader(self, rank: int, ranks: int, *, rounded: bool) -> Loader:
        """Return the training batches of process `rank` of `ranks`; `rounded`: in few shapes, see BatchSampler."""

    def held_out(self) -> Iterable[TrainBatch]:
        """Return the batches to validate on."""

    def measure(self) -> dict[str, Any]:
        """Compute metrics on held-out data beside the loss, by name; `notes` is a list of sentences for the user."""

    def facts(self) -> dict[str, Any]:
        """Return facts on data and model, such as sizes, for the progress display."""

    def export(self, weights: checkpoint.Tensors) -> None:
        """Write the model folder's weights."""


@dataclass(frozen=True)
class Outcome:
    """How training ended; `why` is finished, early, time or interrupted."""

    why: str
    progress: Progress


def fit(
    job: Job, config: TrainConfig, folder: Path, *, resume: bool = False, watcher: TrainingCallback | None = None
) -> Outcome:
    """Train a job's model; write checkpoints, log and weights to the folder."""
    config = config.model_copy(update=torchrun_processes())
    precision = _precision(config, folder / "checkpoints", resume)
    with launched(config, precision) as fabric:
        return _Run(job, config, folder, watcher or TrainingCallback(), fabric, precision).go(resume)


def _precision(config: TrainConfig, folder: Path, resume: bool) -> str:
    """Choose the number format; a resumed run with precision auto keeps its earlier choice for this device type."""
    accelerator, last = find_accelerator(config.device), checkpoint.latest(folder) if resume else None
    if last is not None and config.precision == "auto":
        kept = checkpoint.read_progress(last).precision
        if accelerator in kept:
            return kept[accelerator]
    return choose_precision(config.precision, accelerator, config.devices * config.nodes)


class _Run:
    """One training run, from its start or from a checkpoint."""

    def __init__(
        self, job: Job, config: TrainConfig, folder: Path, watcher: TrainingCallback, fabric: Fabric, precision: str
    ) -> None:
        self.job, self.config, self.folder, self.fabric, self.precision = job, config, folder, fabric, precision
        self.checkpoints = folder / "checkpoints"
        self.watcher = watcher if fabric.is_global_zero else TrainingCallback()
        torch.manual_seed(config.seed + self.fabric.global_rank)
        self.sharded: Sharded | None = Sharded() if config.strategy == "fsdp" else None
        self.rounded = graphs_fit(config, fabric)
        optimizer = build_optimizer(job.objective, config, fabric.device if self.rounded else None)
        self.objective, self.optimizer = self.fabric.setup(job.objective, optimizer)
        self.ema = None if config.ema is None else Ema(job.model, config.ema)
        graphs = Graphs(fabric.device) if self.rounded else None
        self.updater = Updater(fabric, self.objective, self.optimizer, config, self._on_update, graphs)
        self.progress = Progress()
        self.stopping = False
        self.group: list[TrainBatch] = []
        self.loss = math.nan  # mean since the last log entry
        self.rate = 0.0  # learning rate of the last update
        self.began = time.perf_counter()

    def go(self, resume: bool) -> Outcome:
        if resume:
            self._restore()
        self.log = Log(
            self.folder, self.progress.step, silent=not self.fabric.is_global_zero, loggers=self.config.loggers
        )
        loader = self.job.loader(self.fabric.global_rank, self.fabric.world_size, rounded=self.rounded)
        self.watcher.on_train_begin(self.config.steps, self.progress.step, self.job.facts())
        try:
            with on_interrupt(self._stop):
                why = self._train(loader)
            self._finish(why)
        finally:
            self.log.close()
            self.watcher.on_train_end()
        return Outcome(why, self.progress)

    def _train(self, loader: Loader) -> str:
        config, progress = self.config, self.progress
        if self._late():
            return "time"
        loads = loader(Cursor(*progress.place))
        self.objective.train()
        self.began = time.perf_counter() - progress.seconds
        try:
            while progress.step < config.steps:
                group = list(islice(loads, config.accumulate))
                self._update(group)
                if self._must_flush():
                    self.updater.finish()
                self._count_time()
                self._report()
                validated = progress.step % config.validate_every == 0 or progress.step == config.steps
                if validated:
                    self._validate()
                why = self._reason_to_stop()
                if why == "time" and not validated:
                    self.updater.finish()
                    self._validate()
                if why is not None or progress.step % config.checkpoint_every == 0:
                    self._save()
                if why is not None:
                    return why
        finally:
            loads.close()  # type: ignore[attr-defined]
        return "finished"

    def _stop(self) -> None:
        if self.stopping:
            raise KeyboardInterrupt
        self.stopping = True
        self.watcher.note("Finishing this step and writing a checkpoint; press Ctrl-C again not to wait.")

    def _must_flush(self) -> bool:
        """Return whether pending updates must be flushed before what comes next, such as a validation."""
        config, step = self.config, self.progress.step
        every = (config.validate_every, config.checkpoint_every, config.log_every)
        return self.stopping or step == config.steps or any(step % steps == 0 for steps in every)

    def _reason_to_stop(self) -> str | None:
        """Return why to stop after this step, or None; all processes return the same."""
        config, progress = self.config, self.progress
        stopping = self.stopping if self.fabric.world_size == 1 else self._any(self.stopping)
        if progress.step >= config.steps:
            return "finished"
        if config.patience is not None and progress.stale >= config.patience:
            return "early"
        return "time" if self._late() else "interrupted" if stopping else None

    def _any(self, mine: bool) -> bool:
        """Return whether the flag is set in any process."""
        flag: Any = torch.tensor(float(mine), device=self.fabric.device)
        return bool(self.fabric.all_reduce(flag, reduce_op="sum"))

    def _late(self) -> bool:
        return self.config.minutes is not None and self.progress.seconds >= 60 * self.config.minutes

    def _count_time(self) -> None:
        seconds = time.perf_counter() - self.began
        if self.config.minutes is not None:  # learning rates depend on it, so all processes use one clock
            seconds = self.fabric.broadcast(seconds)
        self.progress.seconds = seconds

    def _update(self, group: list[TrainBatch]) -> None:
        """Run one optimizer step on the summed gradients of a group of batches."""
        progress, tokens = self.progress, sum(load.tokens for load in group)
        progress.step += 1
        reached = steps_reached(progress.step, self.config, progress.seconds)
        self.job.objective.progress(reached / self.config.steps)
        self.job.objective.take_turn(progress.step)
        self.rate = self._rate()
        self.updater.update(group, progress.step, self.rate)
        if self.ema is not None:
            self.ema.update()
        progress.place, progress.tokens = (*group[-1].place,), progress.tokens + tokens

    def _on_update(self, result: UpdateResult) -> None:
        """Check the result of an update and add it to the sums for the log."""
        self._check(result)
        since, group = self.progress.since_log, result.group
        since["loss"] += result.loss * result.tokens
        since["tokens"] += result.tokens
        since["padding"] += sum(load.padding for load in group) / len(group)
        since["n"] += 1
        self.loss = since["loss"] / since["tokens"]

    def _check(self, result: UpdateResult) -> None:
        """Raise if the loss or the gradient is NaN or infinite, before such weights are saved."""
        progress, loss, norm = self.progress, result.loss, result.norm
        self.group = result.group
        if math.isfinite(loss) and math.isfinite(norm):
            progress.skipped = 0
            return
        progress.skipped += 1
        if self.config.precision == "fp16" and math.isfinite(loss) and progress.skipped < _SKIPS_ALLOWED:
            return  # the scaler skips this update and lowers its scale
        raise self._diverged(f"the loss is {loss:g} and the gradient norm {norm:g}", result.step, result.rate)

    def _diverged(self, how: str, step: int, rate: float) -> NumericsError:
        lines = sorted(int(line) for load in self.group for line in load.lines)
        shown = ", ".join(map(str, lines[:12])) + (f" and {len(lines) - 12} more" if len(lines) > 12 else "")
        last = checkpoint.latest(self.checkpoints)
        kept = f"The last good checkpoint is {last}" if last else "No checkpoint had been written yet"
        return NumericsError(
            f"training diverged at step {step}: {how}. The batch holds the sentences {shown} of the training "
            f"data. {kept}. Lower train.lr (it was {rate:g} here), set train.max_grad_norm, or "
            "warm up longer, and look at these sentences if it happens there again."
        )

    def _rate(self) -> float:
        progress = self.progress
        return learning_rate(progress.step, self.config, self.job.width, progress.halvings, progress.seconds)

    def _report(self) -> None:
        progress, config = self.progress, self.config
        since, step = progress.since_log, progress.step
        speed = progress.tokens / max(progress.seconds, 1e-9)
        left = progress.seconds / step * (config.steps - step)
        if config.minutes is not None:
            left = min(left, 60 * config.minutes - progress.seconds)
        entry = {
            "step": step,
            "loss": self.loss,
            "lr": self.rate,
            "tokens": progress.tokens,
            "tokens_per_second": speed,
        }
        self.watcher.step({**entry, "seconds_left": max(left, 0.0)})
        if step % config.log_every == 0 or step == config.steps:
            entry |= {"epoch": progress.place[0], "padding": since["padding"] / since["n"], "seconds": progress.seconds}
            self.log.write(entry | self.job.objective.numbers())
            progress.since_log = Progress().since_log

    def _validate(self) -> None:
        progress, config = self.progress, self.config
        self.objective.eval()
        whole = nullcontext() if self.sharded is None else self.sharded.whole(self.objective)
        with torch.no_grad(), self._own_random_numbers(), self._averaged(), whole:
            # all ranks use rank 0's metrics: rounding must not make them disagree on the best step
            loss = mean_loss(self.job.objective, self.job.held_out(), self.fabric.device)
            metrics = self.fabric.broadcast({"loss": loss, **self.job.measure()})
        self.objective.train()
        notes = metrics.pop("notes", [])
        if progress.step < _SILENT * config.steps:
            notes = []
        if config.metric not in metrics:
            raise unknown_name("train.metric", config.metric, metrics)
        value = float(metrics[config.metric])
        lower = config.metric in METRICS and METRICS[config.metric].better == "lower"
        better = progress.best is None or (value < progress.best if lower else value > progress.best)
        better = better and math.isfinite(value)
        if better:
            progress.best, progress.best_step, progress.stale = value, progress.step, 0
            self._export_own()
        else:
            progress.stale += 1
            if config.schedule == "plateau" and progress.stale % (config.plateau_patience + 1) == 0:
                progress.halvings += 1
        entry = {"step": progress.step, "seconds": progress.seconds, "valid": metrics}
        entry |= {"notes": notes} if notes else {}
        self.log.write(entry)
        self.watcher.validated({**entry, "best": better})
        for note in notes:
            self.watcher.note(note)
        self._count_time()

    def _finish(self, why: str) -> None:
        if why == "interrupted":
            return
        if self.config.average:
            self._export(
                checkpoint.average(self.checkpoints, self.config.average) if self.fabric.is_global_zero else {}
            )
        elif self.progress.best is None:
            self._export_own()

    def _export_own(self) -> None:
        with self._averaged():
            self._export(self._weights())

    def _export(self, weights: checkpoint.Tensors) -> None:
        if self.fabric.is_global_zero:
            self.job.export(weights)
        self.fabric.barrier()

    def _weights(self) -> checkpoint.Tensors:
        """Return the model's weights; raise if any is NaN or infinite."""
        sharded = self.sharded
        weights = checkpoint.weights_of(self.job.model) if sharded is None else sharded.weights(self.objective)
        if not all(bool(torch.isfinite(tensor).all()) for tensor in weights.values()):
            how = "the update was so large that weights are NaN or infinite"
            raise self._diverged(how, self.progress.step, self.rate)
        return weights

    def _save(self) -> None:
        self.updater.finish()
        optimizer = (
            self.sharded.optimizer(self.objective, self.optimizer)
            if self.sharded is not None
            else checkpoint.optimizer_tensors(self.optimizer.optimizer, self.job.model)
        )
        state = checkpoint.Checkpoint(
            self._weights(),
            optimizer,
            self._random_states(),
            Saved(**self.progress.model_dump(), **self._circumstances()),
            None if self.ema is None else self.ema.tensors(),
        )
        if self.fabric.is_global_zero:
            checkpoint.save(self.checkpoints, self.progress.step, state)
            checkpoint.remove_old(self.checkpoints, self.config.keep_checkpoints)
        self.fabric.barrier()

    def _restore(self) -> None:
        path = checkpoint.latest(self.checkpoints)
        if path is None:
            return
        state = checkpoint.load(path)
        saved = state.progress
        if sum(saved.place) > saved.step * self.config.accumulate:
            raise CheckpointError(
                f"{path} is damaged: {saved.step} steps cannot have reached {saved.place} in the data."
            )
        self.rounded = saved.rounded  # the saved place counts batches, so the batches must be cut as before
        if not self.rounded:
            self.updater.graphs = None  # without rounding, shapes rarely repeat
        self.progress = Progress(**saved.model_dump(include=set(Progress.model_fields)))
        if self.sharded is not None:
            weights = checkpoint.without_retired(self.job.model, state.weights)
            self.sharded.restore(self.objective, self.optimizer, weights, state.optimizer)
        else:
            checkpoint.restore_weights(self.job.model, state.weights, str(path))
            checkpoint.restore_optimizer(self.optimizer.optimizer, self.job.model, state.optimizer, str(path))
        if self.ema is not None:
            self.ema.restore(state.ema or {}, str(path))
        if saved.scale is not None and (scaler := getattr(self.fabric._precision, "scaler", None)) is not None:
            scaler.load_state_dict(saved.scale)
        if saved.world_size == self.fabric.world_size:
            self._restore_random(state.random, path)

    def _restore_random(self, random: checkpoint.Tensors, path: Path) -> None:
        rank = self.fabric.global_rank
        try:
            torch.set_rng_state(random[f"cpu-{rank}"])
            if self.fabric.device.type == "cuda" and f"cuda-{rank}" in random:
                torch.cuda.set_rng_state(random[f"cuda-{rank}"], self.fabric.device)
        except (KeyError, RuntimeError, TypeError) as error:
            raise CheckpointError(f"{path} is damaged: its random state of process {rank} cannot be used.") from error

    def _random_states(self) -> checkpoint.Tensors:
        own = {"cpu": torch.get_rng_state()}
        if self.fabric.device.type == "cuda":
            own["cuda"] = torch.cuda.get_rng_state(self.fabric.device)
        if self.fabric.world_size == 1:
            return {f"{name}-0": tensor for name, tensor in own.items()}
        return {
            f"{name}-{rank}": row for name, tensor in own.items() for rank, row in enumerate(self._gathered(tensor))
        }

    def _gathered(self, state: Tensor) -> Tensor:
        """Gather the bytes (N,) of each process -> (processes, N)."""
        rows = torch.zeros(self.fabric.world_size, len(state), dtype=torch.int32, device=self.fabric.device)
        rows[self.fabric.global_rank] = state
        found: Any = self.fabric.all_reduce(rows, reduce_op="sum")
        return found.to("cpu", torch.uint8)  # type: ignore[no-any-return]

    def _circumstances(self) -> dict[str, Any]:
        scaler = getattr(self.fabric._precision, "scaler", None)
        return {
            "version": 2,
            "world_size": self.fabric.world_size,
            "precision": {self.fabric.device.type: self.precision},
            "rounded": self.rounded,
            **({} if scaler is None else {"scale": scaler.state_dict()}),
        }

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        if self.ema is None:
            yield
        else:
            with self.ema.applied():
                yield

    @contextmanager
    def _own_random_numbers(self) -> Iterator[None]:
        """Fork the RNG: draws inside leave the random numbers of training unchanged."""
        with torch.random.fork_rng(devices=[self.fabric.device] if self.fabric.device.type == "cuda" else []):
            yield
