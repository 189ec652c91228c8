"""log.jsonl: complete lines only, and a resumed run drops later lines."""

import errno
import importlib.machinery
import json
import sys
import types
from pathlib import Path

import pytest

from saccade.errors import CheckpointError, ConfigError
from saccade.train.log import Log, TrainingCallback


def lines(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def fill(folder, *steps):
    log = Log(folder)
    for step in steps:
        log.write({"step": step, "loss": 1.0 / step})
    log.close()


def test_the_log_is_there_before_the_first_line(tmp_path):
    Log(tmp_path / "new").close()
    assert (tmp_path / "new" / "log.jsonl").read_text() == ""


def test_a_resumed_log_forgets_what_came_after(tmp_path):
    fill(tmp_path, 1, 2, 3, 4)
    log = Log(tmp_path, 2)
    log.write({"step": 3, "loss": 9.0})
    assert lines(tmp_path) == [{"step": 1, "loss": 1.0}, {"step": 2, "loss": 0.5}, {"step": 3, "loss": 9.0}]


@pytest.mark.parametrize("tail", [b'{"step": 1, "lo', b'{"step": 2}', b'{"step": 1, "notes": ["caf\xc3', b"[1]\n{}\n"])
def test_half_a_line_is_dropped(tmp_path, tail):
    fill(tmp_path, 1, 2)
    with (tmp_path / "log.jsonl").open("ab") as file:
        file.write(tail)
    Log(tmp_path, 5)
    assert [entry["step"] for entry in lines(tmp_path)] == [1, 2]


def test_a_new_run_starts_a_new_log(tmp_path):
    fill(tmp_path, 1, 2)
    fill(tmp_path, 7)
    assert [entry["step"] for entry in lines(tmp_path)] == [7]


def test_what_is_no_number_is_null(tmp_path):
    Log(tmp_path).write({"step": 1, "valid": {"loss": float("nan"), "bleu": float("inf")}, "notes": ["ä"]})
    assert lines(tmp_path) == [{"step": 1, "valid": {"loss": None, "bleu": None}, "notes": ["ä"]}]
    assert '"ä"' in (tmp_path / "log.jsonl").read_text(encoding="utf-8"), "for terminals"


def test_other_processes_write_nothing(tmp_path):
    log = Log(tmp_path, silent=True)
    log.write({"step": 1})
    log.close()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    log = Log(tmp_path)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(CheckpointError, match=r"no room left on the disk for .*log\.jsonl"):
        log.write({"step": 1})


class FakeBoard:
    """Stands for TensorBoard's writer."""

    made = None

    def __init__(self, folder, purge_step):
        self.folder, self.purge_step, self.scalars, self.closed = folder, purge_step, [], False
        FakeBoard.made = self

    def add_scalar(self, name, value, step):
        self.scalars.append((name, value, step))

    def close(self):
        self.closed = True


def pretend(monkeypatch, **contents):
    for name in ("tensorboard", "torch.utils.tensorboard"):
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        monkeypatch.setitem(sys.modules, name, module)
    vars(sys.modules["torch.utils.tensorboard"]).update(contents)


def test_tensorboard_is_written_by_switch(tmp_path, monkeypatch):
    pretend(monkeypatch, SummaryWriter=FakeBoard)
    log = Log(tmp_path, 4, loggers=["tensorboard"])
    log.write({"step": 5, "loss": 0.5, "notes": ["a"]})
    log.write({"step": 6, "valid": {"loss": 0.25, "attention/entropy": 1.0}})
    log.close()
    board = FakeBoard.made
    assert (board.folder, board.purge_step, board.closed) == (tmp_path / "tensorboard", 5, True)
    assert board.scalars == [("loss", 0.5, 5), ("valid/loss", 0.25, 6), ("valid/attention/entropy", 1.0, 6)]


def test_weights_and_biases_is_written_by_switch(tmp_path, monkeypatch):
    told = []
    page = types.SimpleNamespace(
        log=lambda numbers, step: told.append((numbers, step)), finish=lambda: told.append("finished")
    )
    library = types.ModuleType("wandb")
    library.init = lambda **options: told.append(options["name"]) or page
    monkeypatch.setitem(sys.modules, "wandb", library)
    log = Log(tmp_path / "run", loggers=["wandb"])
    log.write({"step": 5, "loss": 0.5})
    log.close()
    assert told == ["run", ({"loss": 0.5}, 5), "finished"]


@pytest.mark.parametrize("name", ["tensorboard", "wandb"])
def test_a_logger_that_is_not_installed_names_its_extra(tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=f"the logger {name} needs the extra '{name}'"):
        Log(tmp_path, loggers=[name])


def test_the_log_is_also_a_table(tmp_path):
    fill(tmp_path, 1)
    log = Log(tmp_path, 1)
    log.write({"step": 2, "valid": {"bleu": 3.0}, "notes": ["a"]})
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"step": 3, "lo')
    log.close()
    assert (tmp_path / "log.csv").read_text() == "step,loss,valid/bleu\n1,1.0,\n2,,3.0\n"


def test_a_watcher_need_not_care():
    watcher = TrainingCallback()
    found = [watcher.on_train_begin(1, 0, {}), watcher.step({}), watcher.validated({}), watcher.note("")]
    assert [*found, watcher.on_train_end()] == [None] * 5
