"""A run with a time limit ends in time, with its schedule completed and a validation."""

import math
import signal
from types import SimpleNamespace

import pytest

from helpers.jobs import SENTENCES, Sentences, run
from saccade.train import checkpoint, loop


class Timed(Sentences):
    """A job whose batches and validations advance a simulated clock."""

    def __init__(self, monkeypatch, *, batch=7.0, validation=0.0, now=100.0, **options):
        super().__init__([[0]], **options)
        self.now, self.costs = now, (batch, validation)
        monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: self.now))

    def _load(self, rows, place):
        self.now += self.costs[0]
        return super()._load(rows, place)

    def held_out(self):
        return [super()._load([0], None)]

    def measure(self):
        self.now += self.costs[1]
        return super().measure()


def seconds_kept(folder):
    return checkpoint.read_progress(checkpoint.latest(folder / "checkpoints")).seconds


def test_the_time_may_be_up(tmp_path, monkeypatch):
    job = Timed(monkeypatch)
    outcome = run(job, tmp_path, steps=1000, minutes=0.5)
    assert (outcome.why, outcome.progress.step) == ("time", 5)
    assert job.validations == [(5, True)]
    assert len(job.exported) == 1
    assert checkpoint.latest(tmp_path / "checkpoints").name == "step-00000005"
    assert checkpoint.read_progress(checkpoint.latest(tmp_path / "checkpoints")).best_step == 5


def test_the_last_weights_may_be_the_best_or_not(tmp_path, monkeypatch):
    job = Timed(monkeypatch, losses=[2.0, 3.0])
    outcome = run(job, tmp_path, steps=1000, minutes=0.5, validate_every=3)
    assert job.validations == [(3, True), (5, False)]
    assert (outcome.progress.best_step, len(job.exported)) == (3, 1)


def test_a_validation_takes_of_the_time_and_is_not_done_twice(tmp_path, monkeypatch):
    job = Timed(monkeypatch, validation=20.0)
    outcome = run(job, tmp_path, steps=1000, minutes=0.5, validate_every=2)
    assert (outcome.why, outcome.progress.step) == ("time", 2)
    assert job.validations == [(2, True)]
    assert outcome.progress.seconds == seconds_kept(tmp_path) == 34.0


def test_the_cosine_ends_with_the_time(tmp_path, monkeypatch):
    job = Timed(monkeypatch, batch=6.0)
    run(job, tmp_path, steps=1000, minutes=0.5, schedule="cosine", lr=1.0)
    shares = [1 / 1000, 0.2, 0.4, 0.6, 0.8]  # of the steps before any time has passed, then of the time
    assert job.rates == pytest.approx([0.5 + 0.5 * math.cos(math.pi * share) for share in shares])


def test_steps_that_are_sooner_done_than_the_time_decide(tmp_path, monkeypatch):
    timed, plain = Timed(monkeypatch), Sentences([[0]])
    options = {"steps": 6, "schedule": "cosine", "warmup": 2, "validate_every": 4}
    assert run(timed, tmp_path / "timed", minutes=100, **options).why == "finished"
    run(plain, tmp_path / "plain", **options)
    assert timed.rates == plain.rates
    assert timed.validations == plain.validations


def test_the_warm_up_is_counted_in_steps(tmp_path, monkeypatch):
    job = Timed(monkeypatch, batch=6.0)
    run(job, tmp_path, steps=100, minutes=0.5, schedule="cosine", warmup=4, lr=1.0)
    reached = [1, 20, 40, 60, 80]
    falls = [0.5 + 0.5 * math.cos(math.pi * max(0.0, (step - 4) / 96)) for step in reached]
    assert job.rates == pytest.approx([rise * fall for rise, fall in zip([0.25, 0.5, 0.75, 1, 1], falls, strict=True)])


@pytest.mark.parametrize("schedule", ["constant", "plateau", "inverse-sqrt", "noam", "halving"])
def test_schedules_without_an_end_do_not_mind_the_time(tmp_path, monkeypatch, schedule):
    timed, plain = Timed(monkeypatch), Sentences([[0]])
    options = {"schedule": schedule, "warmup": 2, "halve_after": 3, "halve_every": 1, "validate_every": 99}
    run(timed, tmp_path / "timed", steps=1000, minutes=0.5, **options)
    run(plain, tmp_path / "plain", steps=5, **options)
    assert timed.rates == plain.rates


def test_own_words_come_with_the_time(tmp_path, monkeypatch):
    job, seen = Timed(monkeypatch, batch=6.0), []
    own_words = lambda batch: (seen.append(job.objective.own_words), batch)[1]  # noqa: E731
    monkeypatch.setattr(job.objective, "_with_own_words", own_words)
    job.objective.scheduled_sampling = 0.5
    run(job, tmp_path, steps=1000, minutes=0.5, scheduled_sampling=0.5)
    assert seen == pytest.approx([0.0005, 0.1, 0.2, 0.3, 0.4])


def test_a_run_that_goes_on_has_the_time_that_was_left(tmp_path, monkeypatch):
    options = {"steps": 1000, "minutes": 1.0, "schedule": "cosine"}
    whole = Timed(monkeypatch)
    run(whole, tmp_path / "whole", **options)
    first = Timed(monkeypatch)
    first.step = lambda entry: (first.rates.append(entry["lr"]), entry["step"] == 3 and interrupt())
    assert run(first, tmp_path / "parts", **options).why == "interrupted"
    assert (first.validations, seconds_kept(tmp_path / "parts")) == ([], 21.0)
    second = Timed(monkeypatch, now=5000.0)
    assert run(second, tmp_path / "parts", resume=True, **options).why == "time"
    assert first.rates + second.rates == whole.rates
    assert second.validations == whole.validations == [(9, True)]


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_a_run_without_time_left_changes_nothing(tmp_path, monkeypatch):
    options = {"steps": 1000, "minutes": 0.5}
    run(Timed(monkeypatch), tmp_path, **options)
    again = Timed(monkeypatch)
    outcome = run(again, tmp_path, resume=True, **options)
    assert (outcome.why, outcome.progress.step) == ("time", 5)
    assert (again.rates, again.validations, again.exported) == ([], [], [])
    more = Timed(monkeypatch)
    assert run(more, tmp_path, resume=True, **options | {"minutes": 0.75}).progress.step == 7


@pytest.mark.parametrize(
    ("options", "left"),
    [({"steps": 4}, [21.0, 14.0, 7.0, 0.0]), ({"steps": 1000, "minutes": 0.4}, [17.0, 10.0, 3.0, 0.0])],
)
def test_what_is_left_is_told_in_seconds(tmp_path, monkeypatch, options, left):
    job, told = Timed(monkeypatch), []
    job.step = told.append
    run(job, tmp_path, **options)
    assert [entry["seconds_left"] for entry in told] == pytest.approx(left)
    tokens = len(SENTENCES[0][1]) + 1
    assert [entry["tokens"] for entry in told] == [tokens, 2 * tokens, 3 * tokens, 4 * tokens]
    assert [entry["tokens_per_second"] for entry in told] == pytest.approx([tokens / 7] * 4)


def test_all_processes_go_by_the_clock_of_the_first(tmp_path, monkeypatch):
    """Otherwise their learning rates would differ."""
    monkeypatch.setattr(loop.Fabric, "broadcast", lambda self, value: 24.0 if isinstance(value, float) else value)
    job = Timed(monkeypatch, batch=2.0)
    run(job, tmp_path, steps=3, minutes=0.5, schedule="cosine", lr=1.0)
    assert job.rates == pytest.approx([0.75, 0.5 + 0.5 * math.cos(0.8 * math.pi), 0.0], abs=1e-6)
