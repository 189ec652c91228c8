"""Missing devices raise clear errors."""

import logging
import os
import subprocess
from contextlib import suppress
from types import SimpleNamespace

import pytest
import torch

from saccade.errors import CheckpointError, ConfigError, NumericsError, SaccadeError
from saccade.train.accelerators import find_accelerator, first_process
from saccade.train.devices import (
    _collect,
    _fabric,
    _quiet_end,
    _without_orphans,
    launched,
)
from saccade.train.train_config import TrainConfig


def gpus(monkeypatch, count):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


def test_auto_takes_the_best_there_is(monkeypatch):
    gpus(monkeypatch, 1)
    assert find_accelerator("auto") == "cuda"
    gpus(monkeypatch, 0)
    assert find_accelerator("auto") == "cpu"
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert find_accelerator("auto") == "mps"


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_a_device_that_is_not_there_is_refused(monkeypatch, name):
    gpus(monkeypatch, 0)
    with pytest.raises(ConfigError, match=f"{name} was asked for, but torch .* finds no such device here"):
        find_accelerator(name)


def start(**settings):
    with launched(TrainConfig(**settings), "32-true") as fabric:
        return fabric


def test_more_gpus_than_there_are_are_refused(monkeypatch):
    gpus(monkeypatch, 2)
    with pytest.raises(ConfigError, match=r"train\.devices is 3, but this machine has 2 GPUs"):
        start(device="cuda", devices=3)


def test_fsdp_needs_gpus():
    with pytest.raises(ConfigError, match=r"train\.strategy is fsdp, which needs GPUs\. Use ddp"):
        start(device="cpu", strategy="fsdp")


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_one_process_starts_in_silence_and_leaves_no_trace(precision, capfd):
    before, handler = dict(os.environ), logging.StreamHandler()
    logging.getLogger().addHandler(handler)
    try:
        with launched(TrainConfig(device="cpu"), precision) as fabric:
            assert fabric.world_size == 1
            assert fabric.device.type == "cpu"
    finally:
        logging.getLogger().removeHandler(handler)
    assert dict(os.environ) == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("cores", "most"), [(2, 64), (100, 100), (None, 64)])
def test_more_processes_than_a_processor_takes_are_refused(monkeypatch, cores, most):
    """The limit is the larger of a constant and the number of cores."""
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    with pytest.raises(ConfigError, match=rf"train\.devices is {most + 1}, but this machine takes {most} processes at"):
        _fabric(TrainConfig(device="cpu", devices=most + 1), "32-true")  # the test starts no process


def test_an_error_of_training_comes_out_as_it_is():
    for error in (RuntimeError("shapes differ"), RuntimeError("gloo: connection closed"), ZeroDivisionError()):
        with pytest.raises(type(error)) as told, launched(TrainConfig(device="cpu"), "32-true"):
            raise error
        assert told.value is error, "a single process has no others that could end"


def test_the_first_process_says_that_another_is_gone():
    fabric = SimpleNamespace(strategy=SimpleNamespace(launcher=None), world_size=2)
    for words in ("[gloo] closed", "NCCL error", "Connection reset by peer"):
        with pytest.raises(SaccadeError, match=r"another process of this training run ended.* continue with --resume"):
            fail_in(_without_orphans(fabric), RuntimeError(words))
    with pytest.raises(RuntimeError, match="shapes differ"):
        fail_in(_without_orphans(fabric), RuntimeError("shapes differ"))


def fail_in(context, error):
    with context:
        if error is not None:
            raise error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (None, 0),
        (ConfigError("told by the first"), 0),
        (NumericsError("told by the first"), 0),
        (CheckpointError("told by the first"), 0),
        (KeyboardInterrupt(), 0),
        (RuntimeError("gloo: connection closed"), 1),
    ],
)
def test_a_helper_ends_in_silence_where_the_first_process_tells(error, code):
    with pytest.raises(SystemExit) as end:
        fail_in(_quiet_end(), error)
    assert end.value.code == code


def test_an_error_of_a_helper_alone_is_told():
    with pytest.raises(RuntimeError, match="shapes differ"):
        fail_in(_quiet_end(), RuntimeError("shapes differ"))


class Helper:
    """A process that ends by itself, or only when it is killed."""

    def __init__(self, ends):
        self.ends, self.calls = ends, []

    def wait(self, patience=None):
        self.calls.append(("wait", patience))
        if not self.ends and ("kill",) not in self.calls:
            raise subprocess.TimeoutExpired("helper", patience)

    def kill(self):
        self.calls.append(("kill",))


def test_helpers_that_do_not_end_are_killed_and_waited_for():
    helpers = good, stuck = [Helper(True), Helper(False)]
    _collect(helpers, patience=3.0)
    assert helpers == [], "Fabric's own list is emptied"
    assert good.calls == [("wait", 3.0)]
    assert stuck.calls == [("wait", 3.0), ("kill",), ("wait", None)]


def test_a_training_waits_for_its_helpers_and_one_that_failed_does_not():
    for error, patience in ((None, 60.0), (ZeroDivisionError(), 0.0)):
        helper = Helper(True)
        fabric = SimpleNamespace(strategy=SimpleNamespace(launcher=SimpleNamespace(procs=[helper])), world_size=2)
        with suppress(ZeroDivisionError):
            fail_in(_without_orphans(fabric), error)
        assert helper.calls == [("wait", patience)]


@pytest.mark.parametrize(
    ("environment", "first"),
    [
        ({}, True),
        ({"RANK": "0", "LOCAL_RANK": "0"}, True),
        ({"RANK": "1"}, False),
        ({"RANK": "0", "NODE_RANK": "2"}, False),
        ({"SACCADE_LAUNCHER": "123"}, False),
    ],
)
def test_the_first_process_knows_itself(monkeypatch, environment, first):
    for name in ("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert first_process() is first
