"""Checkpoints: save and load, and errors for damaged ones."""

import errno
import logging
import os
import stat
from dataclasses import replace

import pytest
import safetensors.torch
import torch
from torch import nn
from torch.testing import assert_close

from helpers.models import tiny
from helpers.training import leftovers, same_weights
from saccade.errors import CheckpointError
from saccade.train import checkpoint
from saccade.train.checkpoint import Checkpoint
from saccade.train.progress import Saved
from saccade.train.schedules import build_optimizer
from saccade.train.train_config import TrainConfig


def state(value=1.0, ema=True, step=3):
    tensors = {"a.weight": torch.full((2, 3), value), "b": torch.tensor([value])}
    random = {"cpu-0": torch.get_rng_state()}
    progress = Saved(version=2, step=step, place=(1, 2), best=0.5, seconds=1.5, precision={"cpu": "32-true"})
    return Checkpoint(tensors, {"a.weight/step": torch.tensor(3.0)}, random, progress, tensors if ema else None)


@pytest.mark.parametrize("ema", [True, False])
def test_a_checkpoint_is_what_was_saved(tmp_path, ema):
    path = checkpoint.save(tmp_path, 3, state(ema=ema))
    found = checkpoint.load(path)
    assert path.name == "step-00000003"
    assert same_weights(found.weights, state().weights)
    assert same_weights(found.optimizer, state().optimizer)
    assert torch.equal(found.random["cpu-0"], torch.get_rng_state())
    assert found.progress == state().progress
    assert (found.ema is not None) is ema


def test_the_newest_is_found_by_its_number(tmp_path):
    assert checkpoint.latest(tmp_path / "missing") is None
    for step in (99_999_999, 100_000_000, 5):
        checkpoint.save(tmp_path, step, state())
    (tmp_path / "step-00000009").write_text("no folder")
    (tmp_path / "step-7").mkdir()
    assert [path.name for path in checkpoint.checkpoints(tmp_path)] == [
        "step-00000005", "step-99999999", "step-100000000"
    ]  # fmt: skip
    assert checkpoint.latest(tmp_path).name == "step-100000000"


def test_old_ones_are_removed(tmp_path):
    for step in (1, 2, 3, 4):
        checkpoint.save(tmp_path, step, state())
    checkpoint.remove_old(tmp_path, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000003", "step-00000004"]


def test_the_average_is_the_mean_of_the_newest(tmp_path):
    for step, value in ((1, 100.0), (2, 1.0), (3, 2.0), (4, 6.0)):
        checkpoint.save(tmp_path, step, state(value))
    mean = checkpoint.average(tmp_path, 3)
    assert_close(mean, {"a.weight": torch.full((2, 3), 3.0), "b": torch.tensor([3.0])})
    assert_close(checkpoint.average(tmp_path, 1)["b"], torch.tensor([6.0]))


def test_an_older_checkpoint_may_hold_more_weights_than_the_average_needs(tmp_path):
    old, new = state(1.0), state(3.0)
    checkpoint.save(tmp_path, 1, replace(old, weights=old.weights | {"retired": torch.ones(2)}))
    checkpoint.save(tmp_path, 2, new)
    mean = checkpoint.average(tmp_path, 2)
    assert mean.keys() == new.weights.keys()
    assert all(torch.equal(mean[name], (old.weights[name] + new.weights[name]) / 2) for name in mean)


def test_an_average_of_more_than_there_are_is_the_mean_of_those_there_are(tmp_path):
    for step, value in ((1, 1.0), (2, 5.0)):
        checkpoint.save(tmp_path, step, state(value))
    assert_close(checkpoint.average(tmp_path, 3)["b"], torch.tensor([3.0]))


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_tensors_get_the_mode_that_the_umask_gives(tmp_path, mask):
    before = os.umask(mask)
    try:
        checkpoint.save(tmp_path, 1, state())
        checkpoint.write_weights(tmp_path / "model.safetensors", state().weights)
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*") if path.is_file()}
    assert modes == {0o666 & ~mask}


def full(number_of_files):
    """Simulate a disk that is full after a number of files."""
    real, count = safetensors.torch.save_file, iter(range(100))

    def save(tensors, path):
        if next(count) < number_of_files:
            return real(tensors, path)
        path.write_bytes(b"half")
        raise safetensors.SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    return save


@pytest.mark.parametrize("files", [0, 1, 3])
def test_a_full_disk_keeps_the_one_before(tmp_path, monkeypatch, files):
    checkpoint.save(tmp_path, 1, state(step=1))
    monkeypatch.setattr(checkpoint, "save_file", full(files))
    with pytest.raises(CheckpointError, match=r"no room left on the disk for .*step-00000002.*--resume"):
        checkpoint.save(tmp_path, 2, state(2.0))
    assert leftovers(tmp_path) == []
    assert same_weights(checkpoint.load(checkpoint.latest(tmp_path)).weights, state().weights)


def test_a_disk_that_is_full_when_it_is_flushed_keeps_the_one_before(tmp_path, monkeypatch):
    checkpoint.save(tmp_path, 1, state())

    def fsync(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(CheckpointError, match="no room left"):
        checkpoint.save(tmp_path, 2, state(2.0))
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]


def test_an_error_of_safetensors_without_a_number_is_told_too(tmp_path, monkeypatch):
    def save(tensors, path):
        raise safetensors.SafetensorError("header too large")

    monkeypatch.setattr(checkpoint, "save_file", save)
    with pytest.raises(Exception, match=r"cannot write .*model.*header too large"):
        checkpoint.write_weights(tmp_path / "model.safetensors", {})


NAMES = [
    "SHA256SUMS",
    "ema.safetensors",
    "optimizer.safetensors",
    "progress.json",
    "random.safetensors",
    "weights.safetensors",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_with_a_flipped_bit_is_refused(tmp_path, name):
    path = checkpoint.save(tmp_path, 3, state())
    assert sorted(file.name for file in path.iterdir()) == NAMES
    file = path / name
    whole = file.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 40)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        with pytest.raises(CheckpointError, match=rf"{name} is damaged or was changed"):
            checkpoint.load(path)
    file.write_bytes(whole)
    checkpoint.load(path)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("length", [None, 0, -1])
def test_a_checkpoint_that_lacks_something_is_refused(tmp_path, name, length):
    path = checkpoint.save(tmp_path, 3, state())
    file = path / name
    file.unlink() if length is None else file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(CheckpointError, match=rf"{name} (is missing|is damaged|cannot be read)"):
        checkpoint.load(path)


def test_a_damaged_checkpoint_is_named_with_what_to_do(tmp_path):
    for step in (99_999_999, 100_000_000, 100_000_001):
        checkpoint.save(tmp_path, step, state(step=step))
    first, second, _ = checkpoint.checkpoints(tmp_path)
    for path, remedy in (
        (second, rf"Delete {second} to resume from step-99999999\."),
        (first, r"There is no older checkpoint: .* another --out\."),
    ):
        (path / "weights.safetensors").write_bytes(b"")
        with pytest.raises(CheckpointError, match=remedy):
            checkpoint.load(path)
    with pytest.raises(CheckpointError, match="step-100000000"):
        checkpoint.average(tmp_path, 2)


def test_a_checkpoint_in_the_place_of_another_step_is_refused(tmp_path):
    path = checkpoint.save(tmp_path, 3, state()).rename(tmp_path / "step-00000004")
    with pytest.raises(CheckpointError, match=r"progress\.json is damaged: it belongs to step 3\."):
        checkpoint.load(path)


def older_form(path):
    """Make a checkpoint as versions without checksums wrote it."""
    (path / "SHA256SUMS").unlink()
    (path / "progress.json").write_text(state().progress.model_dump_json(exclude={"version", "scale"}))


def test_a_checkpoint_of_the_older_form_is_used_and_reported(tmp_path, caplog):
    path = checkpoint.save(tmp_path, 3, state(ema=False))
    older_form(path)
    with caplog.at_level(logging.WARNING, "saccade"):
        found = checkpoint.load(path)
    assert same_weights(found.weights, state().weights)
    assert found.progress.place == (1, 2)
    assert caplog.messages == [f"{path} is of an older version, without checksums; using it unchecked"]
    (path / "weights.safetensors").write_bytes(b"half")
    with pytest.raises(CheckpointError, match=r"weights\.safetensors is cut short or not a safetensors file"):
        checkpoint.load(path)


def step(model, optimizer):
    optimizer.zero_grad()
    sum(parameter.square().sum() for parameter in model.parameters()).backward()
    optimizer.step()


@pytest.mark.parametrize("name", ["adam", "adamw", "adadelta", "sgd"])
def test_an_optimiser_goes_on_as_if_it_had_not_been_saved(name):
    config = TrainConfig(optimizer=name, lr=0.1, momentum=0.5, weight_decay=0.1)
    one, other = nn.Linear(3, 2), nn.Linear(3, 2)
    optimizer = build_optimizer(one, config)
    for _ in range(3):
        step(one, optimizer)
    kept = {key: tensor.clone() for key, tensor in checkpoint.optimizer_tensors(optimizer, one).items()}
    other.load_state_dict(one.state_dict())
    again = build_optimizer(other, config)
    checkpoint.restore_optimizer(again, other, kept, "FILE")
    step(one, optimizer)
    step(other, again)
    assert same_weights(one.state_dict(), other.state_dict())


@pytest.mark.parametrize("entry", [{"moon/exp_avg": torch.ones(2, 3)}, {"weight/exp_avg": torch.ones(3)}])
def test_the_optimizer_state_of_another_model_is_refused(entry):
    model = nn.Linear(3, 2)
    with pytest.raises(
        CheckpointError, match=rf"FILE belongs to another model: its optimizer state has {next(iter(entry))}"
    ):
        checkpoint.restore_optimizer(build_optimizer(model, TrainConfig()), model, entry, "FILE")


def test_tied_weights_are_written_once_and_restored_everywhere(tmp_path):
    model = nn.ModuleDict({"one": nn.Linear(2, 2, bias=False), "other": nn.Linear(2, 2, bias=False)})
    model["other"].weight = model["one"].weight
    model.register_buffer("kept", torch.ones(1))
    model.register_buffer("derived", torch.ones(1), persistent=False)
    weights = {name: tensor.clone() for name, tensor in checkpoint.weights_of(model).items()}
    assert sorted(weights) == ["kept", "one.weight"]
    checkpoint.write_weights(tmp_path / "model.safetensors", weights)
    with torch.no_grad():
        model["other"].weight.zero_()
    checkpoint.restore_weights(model, checkpoint.read_weights(tmp_path / "model.safetensors"), "file")
    assert torch.equal(model["other"].weight, weights["one.weight"])


def test_weights_of_another_model_are_refused():
    model = tiny("bahdanau")
    weights = checkpoint.weights_of(model)
    name, other = next(iter(weights)), {name: tensor for name, tensor in weights.items() if "encoder" not in name}
    with pytest.raises(CheckpointError, match=r"FILE belongs to another model: it lacks encoder\."):
        checkpoint.restore_weights(model, other, "FILE")
    with pytest.raises(CheckpointError, match="it holds extra, which the model does not have"):
        checkpoint.restore_weights(model, weights | {"extra": torch.ones(1)}, "FILE")
    wide = {key: torch.ones(3, 77) if "encoder" in key else tensor for key, tensor in weights.items()}
    with pytest.raises(CheckpointError, match=r"FILE belongs to another model: encoder.* is \(3, 77\), but"):
        checkpoint.restore_weights(model, wide, "FILE")
    assert name in weights


def test_another_vocabulary_is_told_as_such():
    model = tiny("bahdanau")
    weights = {
        name: torch.cat([tensor, tensor[:4]]) if name.startswith("output") else tensor
        for name, tensor in checkpoint.weights_of(model).items()
    }
    with pytest.raises(
        CheckpointError, match=r"vocabulary does not match: FILE has 15 words in output.*tokenizer has 11"
    ):
        checkpoint.restore_weights(model, weights, "FILE")
