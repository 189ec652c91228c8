"""Checkpoints: everything needed to resume a killed run exactly, stored without pickle."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from saccade import checksums
from saccade.errors import CheckpointError
from saccade.files import remove_folder, with_usual_mode, writing_folder
from saccade.train.progress import Saved, parse_progress

__all__ = [
    "COPY_AGAIN",
    "Checkpoint",
    "average",
    "checkpoints",
    "latest",
    "load",
    "optimizer_tensors",
    "read_notes",
    "read_progress",
    "read_weights",
    "remove_old",
    "restore_optimizer",
    "restore_weights",
    "save",
    "weights_of",
    "without_retired",
    "write_weights",
]

_NAME = re.compile(r"step-(\d{8,})")
_PARTS = ("weights", "optimizer", "random")
Tensors = dict[str, Tensor]
COPY_AGAIN = f"Copy the model folder again. If you changed the file on purpose, delete {checksums.LIST} beside it."
"""The remedy in errors about a damaged file of a model folder."""


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run after a step: weights, optimizer state, RNG states by rank, and progress."""

    weights: Tensors
    optimizer: Tensors
    random: Tensors
    progress: Saved
    ema: Tensors | None = None


def save(folder: Path, step: int, state: Checkpoint) -> Path:
    """Write a checkpoint atomically, with checksums: it gets its name only when it is complete on disk."""
    path = folder / _name(step)
    with writing_folder(path) as draft:
        for name in (*_PARTS, "ema"):
            tensors = getattr(state, name)
            if tensors is not None:
                _save_tensors(draft / f"{name}.safetensors", tensors)
        (draft / "progress.json").write_text(state.progress.model_dump_json(), encoding="utf-8")
        checksums.write_list(draft)
    return path


def load(path: Path) -> Checkpoint:
    """Read a checkpoint; raise CheckpointError if it is damaged."""
    progress = read_progress(path)
    files = [path / f"{name}.safetensors" for name in _PARTS]
    if progress.version == 1:
        logging.getLogger("saccade").warning("%s is of an older version, without checksums; using it unchecked", path)
    elif unlisted := {"progress.json", *(file.name for file in files)} - checksums.listed(path):
        raise CheckpointError(f"{path / checksums.LIST} is missing or lacks {min(unlisted)}. {_remedy(path)}")
    ema = path / "ema.safetensors"
    weights, optimizer, random = map(read_weights, files)
    kept = ema.exists() or ema.name in checksums.listed(path)
    return Checkpoint(weights, optimizer, random, progress, read_weights(ema) if kept else None)


def read_progress(path: Path) -> Saved:
    """Read the progress of a checkpoint."""
    file, remedy = path / "progress.json", _remedy(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{file} cannot be read, so the checkpoint is incomplete ({error}). {remedy}") from error
    checksums.check(file, remedy)
    saved = parse_progress(text, str(file), remedy)
    if path.name != _name(saved.step):
        raise CheckpointError(f"{file} is damaged: it belongs to step {saved.step}. {remedy}")
    return saved


def checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints of a run, oldest first."""
    if not folder.is_dir():
        return []
    named = [(_NAME.fullmatch(path.name), path) for path in folder.iterdir() if path.is_dir()]
    return [path for _, path in sorted((int(name[1]), path) for name, path in named if name is not None)]


def latest(folder: Path) -> Path | None:
    """Return the newest checkpoint, or None."""
    found = checkpoints(folder)
    return found[-1] if found else None


def remove_old(folder: Path, keep: int) -> None:
    """Delete all but the newest `keep` checkpoints."""
    for path in checkpoints(folder)[:-keep]:
        remove_folder(path)


def average(folder: Path, count: int) -> Tensors:
    """Return the mean weights of the newest `count` checkpoints."""
    found = checkpoints(folder)[-count:]
    last = read_weights(found[-1] / "weights.safetensors")
    total = {name: tensor.double() for name, tensor in last.items()}
    for path in found[:-1]:
        older = read_weights(path / "weights.safetensors")
        for name in total:  # older checkpoints may hold retired weights too
            total[name] += older[name].double()
    return {name: (tensor / len(found)).to(last[name].dtype) for name, tensor in total.items()}


def write_weights(path: Path, weights: Tensors, notes: dict[str, str] | None = None) -> None:
    """Write tensors, and notes as safetensors metadata, to a file: atomically and with a checksum."""
    checksums.write_listed(path, lambda draft: _save_tensors(draft, weights, notes))


def read_weights(path: Path) -> Tensors:
    """Return the tensors of a file; compare it with its checksum if it has one."""
    if not path.exists():
        raise CheckpointError(f"{path} is missing, so the folder is incomplete. {_remedy(path.parent)}")
    checksums.check(path, _remedy(path.parent))
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"{path} is cut short or not a safetensors file ({error}). {_remedy(path.parent)}"
        ) from error


def read_notes(path: Path) -> dict[str, str]:
    """Return the notes (safetensors metadata) of a file that `read_weights` has checked."""
    with safe_open(path, "pt") as file:
        return file.metadata() or {}


def optimizer_tensors(optimizer: torch.optim.Optimizer, model: nn.Module) -> Tensors:
    """Return the optimizer's state tensors by `parameter name/key`."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    return {
        f"{names[parameter]}/{key}": torch.as_tensor(value).detach().cpu()
        for parameter, memory in optimizer.state.items()
        for key, value in memory.items()
        if value is not None
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, model: nn.Module, tensors: Tensors, where: str) -> None:
    """Load what `optimizer_tensors` returned into an optimizer; `where` names the checkpoint in errors."""
    parameters = dict(model.named_parameters())
    on_device = bool(optimizer.defaults.get("fused") or optimizer.defaults.get("capturable"))
    for entry, value in tensors.items():
        name, _, key = entry.rpartition("/")
        parameter = parameters.get(name)
        if parameter is None or value.shape not in (parameter.shape, torch.Size()):
            raise CheckpointError(
                f"{where} belongs to another model: its optimizer state has {entry}, which fits no parameter."
            )
        # only fused and capturable optimizers keep `step` on the device; other state is beside its parameter
        on_cpu = key == "step" and not on_device
        optimizer.state[parameter][key] = value.clone() if on_cpu else value.to(parameter.device).clone()


def weights_of(model: nn.Module) -> Tensors:
    """Return parameters and persistent buffers by name, on the CPU; tied parameters appear once."""
    names = dict(model.named_parameters()) | {
        name: buffer for name, buffer in model.named_buffers() if name in model.state_dict()
    }
    return {name: tensor.detach().cpu().contiguous() for name, tensor in names.items()}


def without_retired(model: nn.Module, weights: Tensors) -> Tensors:
    """Drop weights that only older versions of the model had."""
    retired: frozenset[str] = getattr(model, "retired_weights", frozenset())
    return {name: tensor for name, tensor in weights.items() if name not in retired}


def restore_weights(model: nn.Module, weights: Tensors, where: str) -> None:
    """Load weights into a model; `where` names the file in errors."""
    weights = without_retired(model, weights)
    own = dict(model.named_parameters()) | {
        name: buffer for name, buffer in model.named_buffers() if name in model.state_dict()
    }
    missing, foreign = sorted(own.keys() - weights.keys()), sorted(weights.keys() - own.keys())
    if missing or foreign:
        what = f"lacks {missing[0]}" if missing else f"holds {foreign[0]}, which the model does not have"
        raise CheckpointError(f"{where} belongs to another model: it {what}. Use the recipe it was trained with.")
    for name, tensor in weights.items():
        if own[name].shape != tensor.shape:
            raise CheckpointError(_misfit(name, tuple(tensor.shape), tuple(own[name].shape), where))
    with torch.no_grad():
        for name, tensor in weights.items():
            own[name].copy_(tensor)


def _name(step: int) -> str:
    return f"step-{step:08d}"


def _remedy(folder: Path) -> str:
    """Return the remedy for a damaged file in a checkpoint or a model folder."""
    if not _NAME.fullmatch(folder.name):
        return COPY_AGAIN
    found = checkpoints(folder.parent)
    if folder in found[1:]:
        return f"Delete {folder} to resume from {found[found.index(folder) - 1].name}."
    return "There is no older checkpoint: copy this one again, or start a new run in another --out."


def _misfit(name: str, found: tuple[int, ...], wanted: tuple[int, ...], where: str) -> str:
    if "embedding" in name or name.startswith("output"):
        return (
            f"the vocabulary does not match: {where} has {found[0]} words in {name}, but the tokenizer "
            f"has {wanted[0]}. Put the tokenizer.json that the model was trained with beside it."
        )
    return f"{where} belongs to another model: {name} is {found}, but the recipe needs {wanted}."


def _save_tensors(path: Path, tensors: Tensors, notes: dict[str, str] | None = None) -> None:
    try:
        whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
        options = {} if notes is None else {"metadata": notes}
        with_usual_mode(path, lambda file: save_file(whole, file, **options))
    except SafetensorError as error:
        raise _as_os_error(error, path) from error


def _as_os_error(error: SafetensorError, path: Path) -> OSError:
    """Convert to OSError: safetensors gives the errno only in the text of its message."""
    number = re.search(r"os error (\d+)", str(error))
    return OSError(int(number[1]) if number else 0, str(error), str(path))
