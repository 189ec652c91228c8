"""CPU threads for decoding, in subprocesses: the test process has one thread, which counts as set by the user."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from helpers.recipes import untrained, write_folder
from saccade import threads
from saccade.kernels.native import library

TESTS = Path(__file__).parent.parent
BEGIN = """
import os
import threading
from pathlib import Path
import torch
import saccade
from saccade import threads
from saccade.kernels.native.transformer import NativeDecoder
from saccade.kernels.packed import prepacked

prepacked._LEAST = 1  # this model is smaller than any that is worth packing
step, steps = NativeDecoder.step, []
def counted(self, *given, **more):
    steps.append(torch.get_num_threads())
    Path(marker).touch()
    return step(self, *given, **more)
NativeDecoder.step = counted
def answer(model):
    found = model("ant bee cat", max_length=9)
    looks = {site: weights.round(4).tolist() for site, weights in found.attention.weights.items()}
    return found.tokens, round(found.score, 3), looks
"""
needs_compiler = pytest.mark.skipif(library() is None, reason="no C compiler")
needs_openmp = pytest.mark.skipif(threads._openmp() is None, reason="torch has no OpenMP library that can be found")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    torch.manual_seed(1)
    settings = {
        "preset": "transformer-base",
        "width": 128,
        "feed_forward": 128,
        "layers": 2,
        "tied": False,
        "attention": {"heads": 4},
    }
    return write_folder(untrained("translation", settings), tmp_path_factory.mktemp("small"))


def run(folder, tmp_path, code, **environment):
    """What a new process with this code prints; the marker says whether the step in C ran."""
    given = {name: value for name, value in os.environ.items() if name not in threads._VARIABLES}
    given |= {"PYTHONPATH": os.pathsep.join([*sys.path]), **environment}
    marker = tmp_path / "reached"
    whole = f"folder, marker = {str(folder)!r}, {str(marker)!r}\n{BEGIN}\n{code}"
    done = subprocess.run([sys.executable, "-c", whole], env=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, marker.exists()


@needs_compiler
@needs_openmp
def test_a_small_model_decodes_with_one_thread_and_leaves_the_number_as_it_was(folder, tmp_path):
    code = """
threads.limit_threads(3)  # there may be one core alone
model = saccade.load(folder, device="cpu")
alone = answer(model)
assert torch.get_num_threads() == 3
assert steps and set(steps) == {1}, steps

try:
    model.task.predict(["ant"], model.search(), stop=lambda: 1 / 0)
except ZeroDivisionError:
    assert torch.get_num_threads() == 3

here, there = [], []
def work():
    threads.limit_threads(2)
    there.extend(answer(model) for _ in range(20))
    here.append(torch.get_num_threads())
workers = [threading.Thread(target=work) for _ in range(4)]
for worker in workers: worker.start()
for worker in workers: worker.join()
assert here == [2] * 4, here
assert torch.get_num_threads() == 3
assert there == [alone] * 80
fresh = []
worker = threading.Thread(target=lambda: fresh.append(torch.get_num_threads()))
worker.start(), worker.join()
assert fresh == [threads._at_import], fresh

del steps[:]
torch.set_num_threads(4)  # from now on a number of the user's
assert answer(model) == alone
assert not steps  # several threads take torch's operations
assert torch.get_num_threads() == 4
"""
    _, reached = run(folder, tmp_path, code)
    assert reached


@needs_compiler
@needs_openmp
@pytest.mark.parametrize("environment", [{"OMP_NUM_THREADS": "2"}, {}], ids=str)
def test_a_number_of_the_users_stays(folder, tmp_path, environment):
    """Whether the environment sets it or torch; and a large model takes all threads that saccade may use."""
    code = """
model = saccade.load(folder, device="cpu")
if "OMP_NUM_THREADS" in os.environ:
    threads.limit_threads(2)
else:
    small = threads.SMALL, threads.SMALL_FOR_FEW
    threads.SMALL = threads.SMALL_FOR_FEW = 9
    threads.limit_threads(2)
    answer(model)
    threads.SMALL, threads.SMALL_FOR_FEW = small
    torch.set_num_threads(2)
answer(model)
"""
    _, reached = run(folder, tmp_path, code, **environment)
    assert not reached


SERVE = """
import json
from saccade.serve.process import ModelProcess, remote_models
def main():
    threads.limit_threads(4)
    process = ModelProcess([Path(folder)], device="cpu", trust_code=False, close=lambda: None, threads=NUMBER)
    (served,) = remote_models([Path(folder)], process, trust_code=False)
    assert process._process.__class__.__name__ == "ForkProcess"
    try:
        print(json.loads(served.predict(["ant bee cat"], served.search({}), True, lambda: None)[0].body)["text"])
    finally:
        process.close()
main()
"""


@needs_compiler
@needs_openmp
@pytest.mark.skipif(sys.platform != "linux", reason="the process is not forked, so it has other functions")
@pytest.mark.parametrize(("number", "reaches"), [("None", True), ("2", False)])
def test_the_server_reaches_the_step_in_c(folder, tmp_path, number, reaches):
    import saccade

    out, reached = run(folder, tmp_path, SERVE.replace("NUMBER", number))
    assert reached == reaches
    assert out.strip() == saccade.load(folder, device="cpu")("ant bee cat").text.strip()


def test_the_size_counts_what_a_step_multiplies_by():
    model = nn.ModuleDict(
        {"words": nn.Embedding(9, 4), "layer": nn.Linear(4, 4), "output": nn.Linear(4, 9, bias=False)}
    )
    assert threads.weights_of_step(model) == 4 * 4 + 4 + 9 * 4
    tied = nn.ModuleDict({"words": nn.Embedding(9, 4), "output": nn.Linear(4, 9, bias=False)})
    tied.output.weight = tied.words.weight
    assert threads.weights_of_step(tied) == 9 * 4


@pytest.mark.parametrize(
    ("weights", "hypotheses", "small"),
    [(1 << 22, 500, True), ((1 << 22) + 1, 9, False), (1 << 23, 8, True), ((1 << 23) + 1, 1, False)],
)
def test_larger_models_count_as_small_for_few_hypotheses(monkeypatch, weights, hypotheses, small):
    monkeypatch.setattr(threads, "weights_of_step", lambda model: weights)
    assert threads._is_small(nn.Linear(1, 1), hypotheses) is small


def test_without_openmp_the_number_stays(monkeypatch):
    monkeypatch.setattr(threads, "_openmp", lambda: None)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    found = []
    monkeypatch.setattr(torch, "set_num_threads", found.append)
    with threads.decoding_threads(nn.Linear(1, 1), 1):
        assert found == []
    threads.limit_threads(3)
    assert found == [3]
