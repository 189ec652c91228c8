"""What a machine has not is refused in our own words."""

import logging
import os

import pytest
import torch

from saccade.errors import ConfigError
from saccade.train.devices import find_accelerator, launched
from saccade.train.settings import TrainConfig


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
        start(accelerator="cuda", devices=3)


def test_fsdp_needs_gpus():
    with pytest.raises(ConfigError, match=r"train\.strategy is fsdp, which needs GPUs\. Use ddp"):
        start(accelerator="cpu", strategy="fsdp")


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_one_process_starts_in_silence_and_leaves_no_trace(precision, capfd):
    before, handler = dict(os.environ), logging.StreamHandler()
    logging.getLogger().addHandler(handler)
    try:
        with launched(TrainConfig(accelerator="cpu"), precision) as fabric:
            assert fabric.world_size == 1
            assert fabric.device.type == "cpu"
    finally:
        logging.getLogger().removeHandler(handler)
    assert dict(os.environ) == before
    assert capfd.readouterr() == ("", "")
