"""A bulk prediction whose worker is killed, and then the run itself, ends with the bytes of an undisturbed one."""

import os
import signal
import sys
from pathlib import Path

import pytest

from helpers.processes import Run, children_of, quick_workers, quick_workers_here, wait_for
from helpers.recipes import sentences, write_lines
from saccade.bulk import predict_file

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and fork")
BATCH = 64
"""Rows of a batch: 32 times what are searched together."""


def workers_of(run):
    """The process numbers of a run's workers: the run has a fork server of its own, which is their parent."""
    return [worker for server in children_of(run.pid) for worker in children_of(server)]


def rows_done(out):
    path = out.with_name(f"{out.name}.unfinished") / "rows.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_a_killed_worker_and_a_killed_run_change_nothing(translator, tmp_path, monkeypatch):
    quick_workers(monkeypatch)
    source, out = write_lines(tmp_path / "in.txt", sentences(5000, seed=4)), tmp_path / "out.jsonl"
    command = ["predict", translator, "--file", source, "--out", out, "--workers", "2", "--batch-size", "2"]

    run = Run(tmp_path / "first", command, quick_workers_here)
    wait_for(lambda: rows_done(out) >= 2 * BATCH or run.poll() is not None)
    before = workers_of(run)
    assert len(before) == 2, run.text
    os.kill(before[0], signal.SIGKILL)
    reached = rows_done(out)
    wait_for(lambda: rows_done(out) >= reached + 20 * BATCH or run.poll() is not None)
    after = workers_of(run)
    assert len({*after} - {*before}) == 1, run.text  # in place of the killed one; the other goes on
    assert before[1] in after
    run.send(signal.SIGKILL)
    assert run.end() == -signal.SIGKILL, run.text
    assert "another one does its batch again" in run.text
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in after))
    assert not out.exists()

    again = Run(tmp_path / "second", command, quick_workers_here)
    assert again.end() == 0, again.text
    assert "out.jsonl has 5,000 rows (" in again.text
    predict_file(translator, source, tmp_path / "whole.jsonl", workers=1, batch_size=2)
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not out.with_name("out.jsonl.unfinished").exists()
