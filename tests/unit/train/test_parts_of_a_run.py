"""Parts of a run that normally need several processes, a GPU or fp16: each alone, with a fake Fabric."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from helpers.jobs import Sentences
from helpers.jobs import run as run_job
from saccade.batch import Batch
from saccade.checksums import write_list
from saccade.data.batch_sampler import Cursor
from saccade.data.loader import TrainBatch
from saccade.errors import NumericsError
from saccade.train import checkpoint, loop
from saccade.train.progress import Progress
from saccade.train.train_config import TrainConfig
from saccade.train.update import UpdateResult

CPU = torch.device("cpu")


def a_run(folder, *, processes=1, rank=0, others=0, **settings):
    """Return a run without a model; `others`: what the other processes add in an all-reduce."""
    run = object.__new__(loop._Run)
    run.config, run.progress, run.checkpoints, run.stopping = TrainConfig(**settings), Progress(), folder, False
    run.fabric = SimpleNamespace(
        world_size=processes,
        global_rank=rank,
        device=CPU,
        all_reduce=lambda value, reduce_op: value + others if reduce_op == "sum" else None,
        broadcast=lambda value: value,
        _precision=SimpleNamespace(),
    )
    return run


def learnt(loss, norm, step=7):
    return UpdateResult(
        loss, norm, [TrainBatch(Batch.from_lists([[4]], [[4]]), 2, np.array([3]), 0.0, Cursor(0, 1))], step, 0.5
    )


def test_fp16_may_skip_some_updates_in_a_row(tmp_path):
    run = a_run(tmp_path, precision="fp16")
    for _ in range(2):
        for count in range(1, loop._SKIPS_ALLOWED):
            run._check(learnt(2.0, math.inf))
            assert run.progress.skipped == count
        run._check(learnt(2.0, 1.0))
        assert run.progress.skipped == 0, "a good one ends the row"
    for _ in range(1, loop._SKIPS_ALLOWED):
        run._check(learnt(2.0, math.inf))
    with pytest.raises(NumericsError, match=r"diverged at step 7: the loss is 2 and the gradient norm inf\. .*0\.5"):
        run._check(learnt(2.0, math.inf))


@pytest.mark.parametrize(
    ("precision", "loss", "norm"), [("fp16", math.nan, 1.0), ("bf16", 2.0, math.inf), ("fp32", 2.0, math.nan)]
)
def test_a_loss_that_is_none_and_other_precisions_skip_nothing(tmp_path, precision, loss, norm):
    with pytest.raises(NumericsError, match="diverged at step 7"):
        a_run(tmp_path, precision=precision)._check(learnt(loss, norm))


@pytest.mark.parametrize(
    ("mine", "others", "stops"), [(False, 0, None), (True, 0, "interrupted"), (False, 1, "interrupted")]
)
def test_all_processes_stop_where_one_is_asked_to(tmp_path, mine, others, stops):
    run = a_run(tmp_path, processes=3, others=others)
    run.stopping = mine
    assert run._reason_to_stop() == stops


def test_a_process_alone_asks_no_other(tmp_path):
    run = a_run(tmp_path, others=1)
    assert run._reason_to_stop() is None
    run.stopping = True
    assert run._reason_to_stop() == "interrupted"


@pytest.mark.parametrize(("step", "pauses"), [(5, False), (8, True), (9, True), (10, True), (11, False), (13, True)])
def test_updates_are_waited_for_where_something_is_made_of_them(tmp_path, step, pauses):
    run = a_run(tmp_path, steps=13, validate_every=8, checkpoint_every=9, log_every=10)
    run.progress.step = step
    assert run._must_flush() is pauses
    run.stopping = True
    assert run._must_flush()


def test_random_states_of_all_processes_are_gathered_in_their_order(tmp_path):
    own = torch.get_rng_state()
    others = torch.zeros(3, len(own), dtype=torch.int32)
    others[0], others[2] = 255, 7
    states = a_run(tmp_path, processes=3, rank=1, others=others)._random_states()
    assert list(states) == ["cpu-0", "cpu-1", "cpu-2"]
    assert torch.equal(states["cpu-1"], own)
    assert states["cpu-1"].dtype == torch.uint8
    assert (set(states["cpu-0"].tolist()), set(states["cpu-2"].tolist())) == ({255}, {7})


def test_each_process_takes_its_own_random_state_back(tmp_path):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    wanted = torch.rand(3)
    states = {"cpu-0": torch.zeros(3), "cpu-2": before}
    a_run(tmp_path, processes=3, rank=2)._restore_random(states, tmp_path)
    assert torch.equal(torch.rand(3), wanted)


def test_the_scale_of_fp16_is_among_the_circumstances(tmp_path):
    run = a_run(tmp_path, processes=2)
    run.precision, run.rounded = "16-mixed", True
    assert "scale" not in run._circumstances()
    run.fabric._precision.scaler = SimpleNamespace(state_dict=lambda: {"scale": 1024.0})
    found = run._circumstances()
    assert (found["scale"], found["world_size"]) == ({"scale": 1024.0}, 2)
    assert (found["precision"], found["rounded"]) == ({"cpu": "16-mixed"}, True)


def change_progress(folder, **changes):
    last = checkpoint.latest(folder / "checkpoints")
    saved = checkpoint.read_progress(last)
    (last / "progress.json").write_text(saved.model_copy(update=changes).model_dump_json())
    (last / "SHA256SUMS").unlink()
    write_list(last)


class Watched(Sentences):
    """Records whether batches are rounded, and the first random number of a run."""

    def loader(self, rank, ranks, *, rounded):
        self.rounded, self.drawn = rounded, torch.rand(()).item()
        return super().loader(rank, ranks, rounded=rounded)


def resumed(folder, **changes):
    run_job(Watched([[0]]), folder, steps=2)
    change_progress(folder, **changes)
    job = Watched([[0]])
    torch.manual_seed(99)
    run_job(job, folder, steps=3, resume=True, seed=4)
    return job


def test_another_number_of_processes_goes_on_with_numbers_of_its_own(tmp_path):
    torch.manual_seed(4)
    fresh = torch.rand(()).item()
    assert resumed(tmp_path / "other", world_size=2).drawn == fresh
    assert resumed(tmp_path / "same").drawn != fresh


def test_batches_stay_in_the_shapes_they_had(tmp_path):
    assert resumed(tmp_path / "few", rounded=True).rounded
    assert not resumed(tmp_path / "many", rounded=False).rounded


def test_a_scale_is_given_back_to_a_scaler_and_left_where_there_is_none(tmp_path, monkeypatch):
    given = []
    scaler = SimpleNamespace(load_state_dict=given.append, state_dict=dict)
    resumed(tmp_path / "without", scale={"scale": 512.0})
    run_job(Watched([[0]]), tmp_path / "with", steps=2)
    change_progress(tmp_path / "with", scale={"scale": 512.0})
    kind = type(loop.Fabric(accelerator="cpu")._precision)
    monkeypatch.setattr(kind, "scaler", scaler, raising=False)
    run_job(Watched([[0]]), tmp_path / "with", steps=3, resume=True)
    assert given == [{"scale": 512.0}]
