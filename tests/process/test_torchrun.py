"""Two nodes of two processes on one machine, by torchrun: one is killed, and another number of processes resumes."""

import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from helpers.processes import Run, children_of, wait_for
from helpers.training import leftovers, log_of, steps_logged, write_recipe

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and fork")
NODES = PROCESSES = 2


def torchrun(node, port, words):
    """Be the agent that `torchrun` is on one node, with processes that are forks: they need not import torch again."""
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(
        NODES,
        NODES,
        PROCESSES,
        rdzv_backend="static",
        rdzv_endpoint=f"127.0.0.1:{port}",
        rdzv_configs={"rank": node},
        run_id="none",
        max_restarts=0,
        monitor_interval=0.05,
        start_method="fork",
    )
    elastic_launch(config, saccade)(words)
    sys.exit(0)


def saccade(words):
    from saccade.cli import main

    try:
        main(words)
    except SystemExit as end:
        if end.code:
            raise


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_two_nodes_are_killed_and_resumed_by_one_process(tmp_path):
    options = {"steps": 40, "tokens_per_batch": 32, "checkpoint_every": 4, "validate_every": 20, "ema": 0.9}
    recipe, out = write_recipe(tmp_path, **options), tmp_path / "out"
    words, port = ["train", str(recipe), "--out", str(out)], free_port()
    nodes = [Run(tmp_path / f"node {node}", [], torchrun, (node, port, words)) for node in range(NODES)]
    wait_for(lambda: steps_logged(out) >= 10 or any(node.poll() is not None for node in nodes))
    processes = [children_of(node.pid) for node in nodes]
    os.kill(processes[1][-1], signal.SIGKILL)
    assert [node.end() != 0 for node in nodes] == [True, True], [node.text for node in nodes]
    assert not any(Path(f"/proc/{process}").exists() for pair in processes for process in pair)
    reached = steps_logged(out)
    assert 10 <= reached < 40

    resumed = Run(tmp_path / "resumed", [*words, "--resume"])
    assert resumed.end() == 0, resumed.text
    assert "resuming from step" in resumed.text
    whole = Run(tmp_path / "printed", ["train", recipe, "--out", tmp_path / "whole"])
    assert whole.end() == 0, whole.text
    for mine, alone in zip(log_of(out), log_of(tmp_path / "whole"), strict=True):
        for name in ("loss", "valid"):
            assert mine.get(name) == pytest.approx(alone.get(name), abs=1e-3)
        assert mine["step"] == alone["step"]
    assert leftovers(out) == []


def test_two_nodes_do_what_one_process_does_and_say_it_once(tmp_path):
    recipe, port = write_recipe(tmp_path, steps=10), free_port()
    words = ["train", str(recipe), "--out", str(tmp_path / "two")]
    nodes = [Run(tmp_path / f"node {node}", [], torchrun, (node, port, words)) for node in range(NODES)]
    assert [node.end() for node in nodes] == [0, 0], [node.text for node in nodes]
    assert nodes[0].text.count("Trained for 10 steps") == 1
    # torch itself may warn when the first node ends before the second
    assert not any(word in nodes[1].text for word in ("training:", "step ", "Trained", "saccade:"))
