"""progress.json: all fields present and typed, or an error that names the file."""

import json

import pytest

from saccade.errors import CheckpointError
from saccade.train.progress import Progress, Saved, parse_progress

WHOLE = json.loads(Saved(version=2, step=7, place=(1, 3), best=None, precision={"cpu": "32-true"}).model_dump_json())
OPTIONAL = ("version", "scale")


def parse(value):
    return parse_progress(value if isinstance(value, str) else json.dumps(value), "FILE", "Delete it.")


def test_it_is_read_as_it_was_written():
    assert parse(WHOLE) == Saved(version=2, step=7, place=(1, 3), precision={"cpu": "32-true"})
    scaled = Saved(best=2.5, scale={"scale": 65536.0, "growth_interval": 2000}, rounded=True)
    assert parse(scaled.model_dump_json()) == scaled


def test_the_sums_of_the_log_start_anew_in_each():
    one, other = Progress(), Progress()
    one.since_log["n"] += 1
    assert other.since_log == {"loss": 0.0, "tokens": 0.0, "padding": 0.0, "n": 0.0}


def test_a_run_begins_with_nothing_done():
    assert {name for name, value in Progress().model_dump(exclude={"place", "since_log"}).items() if value} == set()
    assert Progress().place == (0, 0)


@pytest.mark.parametrize("name", [name for name in WHOLE if name not in OPTIONAL])
def test_every_field_is_needed(name):
    with pytest.raises(
        CheckpointError, match=rf"^FILE is damaged, or was written by .*: {name}: missing\. Delete it\."
    ):
        parse({key: value for key, value in WHOLE.items() if key != name})


def test_an_empty_object_lacks_them_all():
    with pytest.raises(CheckpointError, match=r": best: missing; best_step: missing; .*world_size: missing\. Delete"):
        parse({})


@pytest.mark.parametrize("name", OPTIONAL)
def test_older_versions_had_fewer_fields(name):
    assert parse({key: value for key, value in WHOLE.items() if key != name}).step == 7


@pytest.mark.parametrize("value", ["x", None, True, 1.5, -1, [7], {}])
def test_a_step_is_a_whole_number(value):
    with pytest.raises(
        CheckpointError, match=r"^FILE is damaged, or was written by another version of saccade: step: "
    ):
        parse(WHOLE | {"step": value})


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"place": [1]}, r"place\.1"),
        ({"place": [1, -2]}, r"place\.1"),
        ({"place": [1, "2"]}, r"place\.1"),
        ({"best": "0.5"}, "best"),
        ({"seconds": float("nan")}, "seconds"),
        ({"seconds": -1.0}, "seconds"),
        ({"world_size": 0}, "world_size"),
        ({"rounded": 1}, "rounded"),
        ({"precision": {"cpu": 32}}, r"precision\.cpu"),
        ({"scale": {"scale": "x"}}, r"scale\.scale"),
        ({"since_log": {"loss": 1.0}}, r"since_log\.tokens"),
        ({"since_log": {**WHOLE["since_log"], "moon": 1.0}}, r"since_log\.moon"),
        ({"since_log": {**WHOLE["since_log"], "n": float("inf")}}, r"since_log\.n"),
        ({"version": 3}, "version"),
    ],
)
def test_each_field_has_its_type(change, where):
    with pytest.raises(CheckpointError, match=rf"FILE is damaged, or .*: {where}: "):
        parse(WHOLE | change)


@pytest.mark.parametrize("text", ["", "{", "3", "null", "[]x", '"x"', "[" * 100_000])
def test_what_is_no_object_is_refused(text):
    with pytest.raises(CheckpointError, match=r"^FILE is damaged: it holds no JSON object\. Delete it\."):
        parse(text)
