"""`auto` never crashes, whatever features the machine reports."""

import subprocess

import pytest
import torch

from saccade.errors import ConfigError
from saccade.train import loop, precision
from saccade.train.precision import choose_precision, cpu_bf16_pays
from saccade.train.train_config import TrainConfig


@pytest.fixture(autouse=True)
def no_memory():
    cpu_bf16_pays.cache_clear()
    yield
    cpu_bf16_pays.cache_clear()


def cpuinfo(path, flags):
    path.write_text(f"processor : 0\nflags\t: fpu {flags} sse\n")
    return path


def child(monkeypatch, result):
    """Make the probe end this way; count its calls."""
    calls = []

    def run(arguments, **options):
        calls.append(options["timeout"])
        if isinstance(result, Exception):
            raise result
        return subprocess.CompletedProcess(arguments, result)

    monkeypatch.setattr(subprocess, "run", run)
    return calls


@pytest.mark.parametrize(
    ("result", "pays"),
    [
        (0, True),
        (3, False),  # works, but is slow
        (1, False),  # not supported by torch
        (-4, False),  # killed by an unsupported instruction
        (subprocess.TimeoutExpired("python", 60), False),
        (OSError("no more processes"), False),
    ],
)
def test_a_child_finds_out(tmp_path, monkeypatch, result, pays):
    calls = child(monkeypatch, result)
    assert cpu_bf16_pays(cpuinfo(tmp_path / "cpuinfo", "amx_bf16")) is pays
    assert len(calls) == 1
    assert calls[0] is not None


def test_nobody_is_asked_where_the_cpu_says_no(tmp_path, monkeypatch):
    calls = child(monkeypatch, 0)
    assert not cpu_bf16_pays(cpuinfo(tmp_path / "cpuinfo", "avx2 avx512f"))
    assert not cpu_bf16_pays(tmp_path / "missing")
    assert calls == []


def test_the_answer_is_remembered(tmp_path, monkeypatch):
    calls = child(monkeypatch, 0)
    path = cpuinfo(tmp_path / "cpuinfo", "avx512_bf16")
    assert cpu_bf16_pays(path)
    assert cpu_bf16_pays(path)
    assert len(calls) == 1


def test_auto_on_a_cpu_follows_the_probe(monkeypatch):
    monkeypatch.setattr(precision, "cpu_bf16_pays", lambda: True)
    assert choose_precision("auto", "cpu") == "bf16-mixed"
    assert choose_precision("auto", "mps") == "32-true"
    assert choose_precision("auto", "cpu", processes=2) == "32-true"  # several processes might disagree
    monkeypatch.setattr(precision, "cpu_bf16_pays", lambda: False)
    assert choose_precision("auto", "cpu") == "32-true"


def test_auto_on_a_gpu_takes_what_it_can(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    assert choose_precision("auto", "cuda", processes=8) == "bf16-mixed"
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    assert choose_precision("auto", "cuda") == "32-true"


def test_what_is_named_is_taken():
    assert choose_precision("fp32", "cpu") == "32-true"
    assert choose_precision("bf16", "cpu") == "bf16-mixed"
    assert choose_precision("fp16", "cuda") == "16-mixed"


def test_fp16_is_refused_on_a_cpu():
    with pytest.raises(ConfigError, match=r"precision is fp16, which needs a GPU\. On a CPU use fp32"):
        choose_precision("fp16", "cpu")


def test_the_probe_is_a_program():
    compile(precision._PROBE, "probe", "exec")


def test_precision_is_chosen_for_the_devices_of_all_nodes(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(loop, "choose_precision", lambda *given: seen.append(given) or "fp32")
    assert loop._precision(TrainConfig(devices=2, nodes=3, device="cpu"), tmp_path, False) == "fp32"
    assert seen == [("auto", "cpu", 6)]
