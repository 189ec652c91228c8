"""Bulk prediction by Ray: the bytes of the local engine, also when an actor is killed, and then the run."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.commands import program
from helpers.processes import wait_for
from helpers.recipes import sentences, write_lines
from saccade.bulk import predict_file

pytest.importorskip("ray.data", reason="needs the extra ray")
pytestmark = pytest.mark.timeout(900)
BATCH = 64
"""Rows of a batch: 32 times what are searched together."""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_lines(tmp_path_factory.mktemp("source") / "in.txt", [*sentences(5000, seed=4), "ant " * 20_000])


@pytest.fixture(scope="module")
def whole(translator, source):
    """The output of an undisturbed run of the local engine."""
    out = source.with_name("whole.jsonl")
    assert predict_file(translator, source, out, workers=1, batch_size=2).failed == 1
    return out


def begin(translator, source, out, *more):
    words = ("--file", source, "--out", out, "--batch-size", 2, "--engine", "ray", "--workers", 2, *more)
    return program("predict", translator, *words, stdin=None, stdout=subprocess.DEVNULL)


def parent_of(pid):
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def actors_of(process):
    """The process numbers of a run's actors; Ray's server, a child of the run, starts them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            named = path.read_text().startswith("ray::_Actor")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if named and parent_of(parent_of(path.parent.name)) == process.pid:
            found.append(int(path.parent.name))
    return found


def rows_done(out):
    path = out.with_name(f"{out.name}.unfinished") / "rows.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_a_killed_actor_and_a_killed_run_change_nothing(translator, source, whole, tmp_path):
    out = tmp_path / "out.jsonl"
    process = begin(translator, source, out)
    wait_for(lambda: rows_done(out) >= 2 * BATCH, process)
    before = actors_of(process)
    assert len(before) == 2
    os.kill(before[0], signal.SIGKILL)
    while not set(actors_of(process)) - {*before}:  # Ray starts another one
        time.sleep(0.5)
    reached = rows_done(out)
    wait_for(lambda: rows_done(out) >= reached + 4 * BATCH, process)
    process.kill()
    process.communicate()
    assert not out.exists()
    kept = rows_done(out)

    process = begin(translator, source, out)
    _, said = process.communicate(timeout=280)
    assert process.returncode == 1, said  # a row failed
    assert f"out.jsonl has 5,001 rows ({kept // BATCH * BATCH:,} of them by an earlier run); 1 failed" in said.decode()
    assert out.read_bytes() == whole.read_bytes()
    assert not out.with_name("out.jsonl.unfinished").exists()


def test_a_run_of_one_engine_is_finished_by_the_other(translator, source, whole, tmp_path):
    out = tmp_path / "out.jsonl"
    process = begin(translator, source, out)
    wait_for(lambda: rows_done(out) >= 2 * BATCH, process)
    process.kill()
    process.communicate()
    done = predict_file(translator, source, out, workers=1, batch_size=2)
    assert done.kept >= 2 * BATCH
    assert out.read_bytes() == whole.read_bytes()


def test_what_ray_cannot_do_is_an_error(translator, source, tmp_path):
    process = begin(translator, source, tmp_path / "out.jsonl", "--device", "cuda")
    _, said = process.communicate(timeout=280)
    assert process.returncode == 2
    assert b"there are 2 workers, but Ray has 0 GPUs" in said or b"torch" in said
    assert b"Traceback" not in said


def test_a_cluster_that_does_not_answer_is_an_error(translator, source, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    process = begin(translator, source, tmp_path / "out.jsonl")
    _, said = process.communicate(timeout=280)
    assert process.returncode == 2
    assert b"no Ray cluster answers at 127.0.0.1:1" in said
    assert b"Traceback" not in said


def test_predictor_in_ray_data(translator, tmp_path):
    """As in the guide: Ray Data gives tables of arrays and takes the columns that are added."""
    code = """
import sys, ray
from saccade.bulk import Predictor
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
data = ray.data.from_items([{"line": 1, "text": "ant bee"}, {"line": 2, "text": None}, {"line": 3, "text": "dog"}])
found = data.map_batches(Predictor, fn_constructor_args=[sys.argv[1]], concurrency=1).take_all()
assert [(row["line"], row["output"]) for row in found] == [(1, "ANT BEE"), (2, ""), (3, "DOG")], found
assert "reads text" in found[1]["error"], found
"""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    words = [sys.executable, "-c", code, str(translator)]
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert ran.returncode == 0, ran.stderr
