"""One training run per folder."""

import errno
import logging
import multiprocessing
import os
import signal

import pytest

from saccade.errors import ConfigError, DataError
from saccade.train import lock
from saccade.train.accelerators import first_process
from saccade.train.lock import locked

pytestmark = pytest.mark.skipif(lock.fcntl is None, reason="needs flock")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_second_holder_is_refused_with_the_first_one_named(tmp_path):
    with (
        locked(tmp_path),
        pytest.raises(
            ConfigError, match=rf"another training run \(process {os.getpid()} on \S+\) is writing to .*--out"
        ),
        locked(tmp_path),
    ):
        pytest.fail("both hold it")
    with locked(tmp_path):
        assert names(tmp_path) == [".saccade.lock"]
    assert names(tmp_path) == []


def test_a_holder_that_did_not_sign_is_not_named(tmp_path):
    with locked(tmp_path):
        (tmp_path / ".saccade.lock").write_text("x")
        with pytest.raises(ConfigError, match=r"^another training run is writing to "), locked(tmp_path):
            pytest.fail("both hold it")


def test_a_folder_made_for_the_lock_stays_only_if_something_is_in_it(tmp_path):
    with pytest.raises(ValueError, match="at work"), locked(tmp_path / "a" / "new"):
        raise ValueError("at work")
    assert not (tmp_path / "a" / "new").exists()
    with locked(tmp_path / "new"):
        (tmp_path / "new" / "file").touch()
    assert names(tmp_path / "new") == ["file"]
    (tmp_path / "empty").mkdir()
    with locked(tmp_path / "empty"):
        pass
    assert (tmp_path / "empty").is_dir()


def hold(folder, ready):
    with locked(folder):
        ready.send(True)
        signal.pause()


def test_a_killed_holder_blocks_nobody(tmp_path):
    mine, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=hold, args=(tmp_path, theirs))
    process.start()
    assert mine.recv()
    with pytest.raises(ConfigError, match=rf"process {process.pid} on"), locked(tmp_path):
        pytest.fail("both hold it")
    process.kill()
    process.join()
    assert names(tmp_path) == [".saccade.lock"]
    with locked(tmp_path):
        assert (tmp_path / ".saccade.lock").read_text().startswith(f"{os.getpid()} ")


def test_a_lock_file_that_its_holder_has_just_removed_is_not_the_lock(tmp_path, monkeypatch):
    real, path = lock.fcntl.flock, tmp_path / ".saccade.lock"

    def flock(descriptor, how):
        monkeypatch.undo()
        path.unlink()  # another run ends here, between this one's open and its lock
        real(descriptor, how)

    monkeypatch.setattr(lock.fcntl, "flock", flock)
    with locked(tmp_path), pytest.raises(ConfigError, match="another training run"), locked(tmp_path):
        pytest.fail("both hold it")


def test_a_file_system_without_locks_is_reported_and_used(tmp_path, monkeypatch, caplog):
    def flock(descriptor, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(lock.fcntl, "flock", flock)
    with caplog.at_level(logging.WARNING, "saccade"), locked(tmp_path), locked(tmp_path):
        pass
    (first, _) = caplog.messages
    assert first.startswith(f"{tmp_path} cannot be locked (No locks available); continuing without a lock.")


def test_a_system_without_flock_is_reported_and_used(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(lock, "fcntl", None)
    with locked(tmp_path):
        assert "cannot be locked (no file locks on this system)" in caplog.text


def test_a_place_that_cannot_be_written_is_an_error_of_ours(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="lies inside something that is not a folder"), locked(tmp_path / "file" / "x"):
        pytest.fail("it is no folder")


@pytest.mark.parametrize("name", ["SACCADE_LAUNCHER", "RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID"])
def test_the_first_process_is_the_one_that_no_launcher_gave_a_rank(monkeypatch, name):
    assert first_process()
    monkeypatch.setenv(name, "1")
    assert not first_process()
    if name != "SACCADE_LAUNCHER":
        monkeypatch.setenv(name, "0")
        assert first_process()
