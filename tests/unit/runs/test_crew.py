"""Crews: answers in order, and workers that are killed."""

import os
import signal
import time

import pytest

from helpers.processes import quick_workers
from saccade.errors import DataError, SaccadeError
from saccade.runs.crew import TRIES, LocalCrew, answered, built, in_order


def worker(folder):
    """Make a function that answers, dies or fails, as its job says; it counts the models that were loaded."""
    (folder / f"loaded by {os.getpid()}").touch()

    def work(what, value):
        if what == "slow":
            time.sleep(0.2)
        if what == "fail":
            raise DataError(value)
        if what == "break":
            raise KeyError(value)
        if what == "die" and len([*folder.glob(f"{value} *")]) < value:
            (folder / f"{value} {os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid(), value

    return work


class Alone:
    """A crew in this process, which answers the newest of its jobs first."""

    def __init__(self, room, work):
        self.room, self.work, self.jobs, self.most = room, work, [], 0

    def give(self, number, job):
        self.jobs.append((number, job))
        self.most = max(self.most, len(self.jobs))

    def collect(self):
        number, job = self.jobs.pop()
        return [(number, self.work(*job))]


def test_answers_come_in_order_and_jobs_are_taken_as_there_is_room():
    taken = []

    def jobs():
        for number in range(100):
            taken.append(number)
            yield (number,)

    crew = Alone(3, lambda number: number)
    found = in_order(crew, jobs())
    assert next(found) == 0
    assert len(taken) <= 8 * 3  # though the oldest job is answered last
    assert [0, *found] == list(range(100))
    assert crew.most == 3
    assert list(in_order(crew, [])) == []


@pytest.fixture
def crew(tmp_path, monkeypatch):
    quick_workers(monkeypatch)
    with LocalCrew(2, worker, tmp_path) as found:
        yield found


def test_a_killed_worker_costs_its_own_job_alone(crew, tmp_path, caplog):
    jobs = [
        ("slow", 0),
        *(("", number) for number in range(10, 20)),
        ("die", 1),
        *(("", number) for number in range(5)),
    ]
    found = list(in_order(crew, jobs))
    assert [value for _, value in found] == [value for _, value in jobs]
    loaded = {int(path.name.split()[-1]) for path in tmp_path.glob("loaded by *")}
    assert len(loaded) == 3  # once in each worker, and in the one after the death
    assert {pid for pid, _ in found} <= loaded
    assert caplog.text.count("another one does its batch again") == 1


def test_a_job_that_ends_every_worker_is_an_error(crew, tmp_path):
    assert [value for _, value in in_order(crew, [("die", TRIES - 1)])] == [TRIES - 1]
    with pytest.raises(SaccadeError, match=rf"ended {TRIES} times before .* Use fewer --workers"):
        list(in_order(crew, [("die", TRIES)]))
    assert len([*tmp_path.glob(f"{TRIES} *")]) == TRIES


def test_what_a_job_raises_is_raised_here(crew):
    with pytest.raises(DataError, match="this row is bad"):
        list(in_order(crew, [("", 1), ("fail", "this row is bad")]))
    with pytest.raises(RuntimeError, match=r"(?s)Traceback.*KeyError: 'a fault of ours'"):
        list(in_order(crew, [("break", "a fault of ours")]))


def test_workers_end_with_the_crew_in_the_middle_of_a_job(tmp_path, monkeypatch):
    quick_workers(monkeypatch)
    with LocalCrew(1, worker, tmp_path) as crew:
        crew.give(0, ("slow", 0))
        process = crew._hands[0]._process
    assert process.exitcode == -signal.SIGKILL


def test_a_worker_that_cannot_load_says_why():
    def build(what):
        raise DataError(f"{what} cannot be loaded")

    well, error = answered(built(build, ("this model",)), ("job",))
    assert not well
    assert str(error) == "this model cannot be loaded"
