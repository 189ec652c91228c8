"""Files in, files out: every row once, in order, also after a kill; and what cannot be predicted, refused or kept."""

import gzip
import json
from types import SimpleNamespace

import pytest

from helpers.commands import refused, run
from helpers.recipes import sentences
from saccade.bulk import Finished, job, predict_file
from saccade.bulk.ray_crew import RayCrew
from saccade.errors import ConfigError, DataError

BATCH = 2
ROWS = 32 * BATCH
"""Rows of a batch with this batch size."""


class Here:
    """A crew of one, in this process; it fails before its job `dies`, as a killed process would."""

    room, dies = 1, None

    def __init__(self, count, build, *given):
        self.work = build(*given)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def give(self, number, job):
        if number == self.dies:
            die()
        self.job = number, job

    def collect(self):
        number, job = self.job
        return [(number, self.work(*job))]


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.setattr(job, "LocalCrew", Here)
    monkeypatch.setattr(Here, "dies", None)


def die():
    raise KeyboardInterrupt


@pytest.fixture
def texts():
    return [*sentences(3 * ROWS, seed=4), "", "elk"]


def rows_in(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def left(folder):
    return sorted(path.name for path in folder.iterdir())


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_every_line_has_a_row(translator, model, texts, tmp_path):
    write(tmp_path / "in.txt", texts)
    seen = []
    done = predict_file(
        translator, tmp_path / "in.txt", tmp_path / "out.jsonl", watch=seen.append, batch_size=BATCH, beam=2
    )
    found = rows_in(tmp_path / "out.jsonl")
    alone = list(model.stream(texts, beam=2))
    assert done == (len(texts), 0, 0)
    assert [row["line"] for row in found] == list(range(1, len(texts) + 1))
    assert [row["output"] for row in found] == [one.text for one in alone]
    assert [row["score"] for row in found] == pytest.approx([one.score for one in alone], abs=1e-5)
    assert {row["error"] for row in found} == {""}
    assert seen == [Finished(rows, 0, 0) for rows in (ROWS, 2 * ROWS, 3 * ROWS, len(texts))]
    assert left(tmp_path) == ["in.txt", "out.jsonl"]


@pytest.mark.parametrize("torn", [b"", b'{"line": 129, "outp', b"\0" * 30, b'{"line": 7, "output": "", "error": ""}\n'])
@pytest.mark.parametrize("packed", [False, True])
def test_a_killed_run_goes_on_to_the_same_output(translator, texts, tmp_path, monkeypatch, torn, packed):
    texts[3] = "ant " * 20_000
    source = write(tmp_path / "in.txt", texts)
    if packed:
        source = tmp_path / "in.txt.gz"
        source.write_bytes(gzip.compress((tmp_path / "in.txt").read_bytes()))
    whole = predict_file(translator, source, tmp_path / "whole.jsonl", batch_size=BATCH)
    monkeypatch.setattr(Here, "dies", 2)
    with pytest.raises(KeyboardInterrupt):
        predict_file(translator, source, tmp_path / "out.jsonl", batch_size=BATCH)
    unfinished = tmp_path / "out.jsonl.unfinished"
    assert not (tmp_path / "out.jsonl").exists()
    assert len(rows_in(unfinished / "rows.jsonl")) == 2 * ROWS
    with (unfinished / "rows.jsonl").open("ab") as file:
        file.write(torn)
    monkeypatch.setattr(Here, "dies", None)
    done = predict_file(translator, source, tmp_path / "out.jsonl", batch_size=BATCH, workers=3)
    assert done == whole._replace(kept=2 * ROWS)
    assert done.failed == 1
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not unfinished.exists()


def test_a_run_killed_at_its_very_end_is_finished(translator, tmp_path, monkeypatch):
    source, out = write(tmp_path / "in.txt", ["ant", "bee"]), tmp_path / "out.jsonl"
    with monkeypatch.context() as killed:
        killed.setattr(job, "_remove", lambda folder: die())
        with pytest.raises(KeyboardInterrupt):
            predict_file(translator, source, out)
    assert left(tmp_path) == ["in.txt", "out.jsonl", "out.jsonl.unfinished"]
    assert predict_file(translator, source, out) == (2, 0, 2)
    assert left(tmp_path) == ["in.txt", "out.jsonl"]
    with pytest.raises(ConfigError, match=r"out\.jsonl is there already\. Delete it, or choose another --out\."):
        predict_file(translator, source, out)


def test_finished_rows_of_another_job_are_not_taken(translator, texts, tmp_path, monkeypatch):
    source, out = write(tmp_path / "in.txt", texts), tmp_path / "out.jsonl"
    monkeypatch.setattr(Here, "dies", 1)
    with pytest.raises(KeyboardInterrupt):
        predict_file(translator, source, out, batch_size=BATCH)
    with pytest.raises(ConfigError, match=r"rows of another prediction:\n- search: was .*\nRestore these to continue"):
        predict_file(translator, source, out, batch_size=BATCH, beam=2)
    with pytest.raises(ConfigError, match=r"- batch: was 64, is 3200\n"):  # of which there is no whole one
        predict_file(translator, source, out, batch_size=50 * BATCH)
    assert len(rows_in(tmp_path / "out.jsonl.unfinished" / "rows.jsonl")) == ROWS
    write(source, [*texts, "more"])
    with pytest.raises(ConfigError, match=r"- bytes: was \d+, is \d+\n- modified: was "):
        predict_file(translator, source, out, batch_size=BATCH)
    (tmp_path / "out.jsonl.unfinished" / "job.json").write_text("damaged")
    with pytest.raises(ConfigError, match="- version: was None, is 1"):
        predict_file(translator, source, out, batch_size=BATCH)


def test_rows_that_fail_are_kept_with_their_reason(capsys, translator, tmp_path):
    given = [
        '{"en": "ant"}',
        "not json",
        '{"fr": 1}',
        '{"en": 5}',
        '"bee"',
        "[1]",
        '{"en": null}',
        '{"en": "a \\ud800"}',
    ]
    write(tmp_path / "in.jsonl", given)
    ran = run(
        capsys,
        "predict",
        translator,
        "--file",
        tmp_path / "in.jsonl",
        "--out",
        tmp_path / "out.jsonl",
        "--column",
        "en",
    )
    found = rows_in(tmp_path / "out.jsonl")
    assert [row["output"] for row in found][:7] == ["ANT", "", "", "", "BEE", "", ""]
    reasons = ["", "is not JSON: 'not json'.", "has no field 'en', only 'fr'.", "is 5, but", "", "is not a JSON object"]
    for row, reason in zip(found, [*reasons, "is None, but"], strict=False):
        assert row["error"].startswith(reason)
        assert bool(row["error"]) == bool(reason)
    assert ran.code == 1
    assert "out.jsonl has 8 rows" in ran.err


def test_errors_before_the_first_batch_leave_nothing(capsys, translator, texts, tmp_path):
    write(tmp_path / "in.jsonl", ['{"en": "ant"}'])
    said = refused(capsys, "predict", translator, "--file", tmp_path / "in.jsonl", "--out", tmp_path / "out.jsonl")
    assert "in.jsonl, line 1 has no field 'text', only 'en'. --column names the field" in said
    write(tmp_path / "in.txt", texts)
    for words, reason in (
        (["--out", "out.csv"], "the output is out.csv, but must be named .jsonl or .parquet"),
        (["--out", tmp_path / "o.jsonl", "--column", "en"], "in.txt has no columns"),
        (["--out", tmp_path / "o.jsonl", "--nbest", 2], "--nbest cannot be combined with --out"),
        (["--out", tmp_path / "o.jsonl", "--temperature", 0.5], "--temperature changes nothing without --sample"),
        (["--column", "en"], "--column needs --file and --out"),
        (["--engine", "ray"], "--engine needs --file and --out"),
    ):
        assert reason in refused(capsys, "predict", translator, "--file", tmp_path / "in.txt", *words)
    assert "--out needs --file" in refused(capsys, "predict", translator, "--out", tmp_path / "o.jsonl")
    assert "none.txt does not exist" in refused(
        capsys, "predict", translator, "--file", tmp_path / "none.txt", "--out", tmp_path / "o.jsonl"
    )
    with pytest.raises(ConfigError, match=r"'sparc'.*local, ray"):
        predict_file(translator, tmp_path / "in.txt", tmp_path / "o.jsonl", engine="sparc")
    assert left(tmp_path) == ["in.jsonl", "in.txt"]


def test_a_file_without_lines_has_an_output_without_rows(translator, tmp_path):
    assert predict_file(translator, write(tmp_path / "in.txt", []), tmp_path / "out.jsonl") == (0, 0, 0)
    assert (tmp_path / "out.jsonl").read_bytes() == b""


def test_fields_of_a_question_are_columns(tmp_path):
    from saccade.bulk.inputs import rows_of
    from saccade.tasks.inputs import DIALOGUE, QUESTION

    line = '{"question": "who ?", "passage": "she", "id": 7}'
    write(tmp_path / "in.jsonl", [line, '{"question": "who ?"}'])
    assert list(rows_of(tmp_path / "in.jsonl", QUESTION, None)) == [
        {"question": "who ?", "passage": "she"},
        {"question": "who ?"},
    ]
    assert list(rows_of(tmp_path / "in.jsonl", DIALOGUE, "question")) == ["who ?", "who ?"]
    (tmp_path / "in.jsonl").write_bytes(b'{"a": "ant"}\n{"a": "bee"}\r{"a": "elk"}\r\n')
    assert list(rows_of(tmp_path / "in.jsonl", DIALOGUE, "a")) == ["ant", "bee", "elk"]


def test_parquet(translator, model, texts, tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"id": range(len(texts) + 1), "en": [*texts, None]})
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=50)
    done = predict_file(translator, tmp_path / "in.parquet", tmp_path / "out.parquet", column="en", batch_size=BATCH)
    found = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert done == (len(found), 1, 0)
    assert [row["output"] for row in found] == [*(one.text for one in model.stream(texts)), ""]
    assert [row["line"] for row in found] == list(range(1, len(texts) + 2))
    assert "is None, but this model reads text" in found[-1]["error"]
    with pytest.raises(DataError, match=r"in\.parquet has no column 'text'\. It has: id, en\. --column"):
        predict_file(translator, tmp_path / "in.parquet", tmp_path / "other.parquet")
    (tmp_path / "in.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(DataError, match=r"in\.parquet cannot be read as Parquet: "):
        predict_file(translator, tmp_path / "in.parquet", tmp_path / "other.parquet")


def test_without_pyarrow_its_extra_is_named(translator, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    write(tmp_path / "in.txt", ["ant"])
    with pytest.raises(ConfigError, match=r"Parquet needs the extra 'parquet'"):
        predict_file(translator, tmp_path / "in.txt", tmp_path / "out.parquet")


def test_without_ray_its_extra_is_named(translator, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    write(tmp_path / "in.txt", ["ant"])
    with pytest.raises(ConfigError, match=r"--engine ray needs the extra 'ray'"):
        predict_file(translator, tmp_path / "in.txt", tmp_path / "out.jsonl", engine="ray")
    assert left(tmp_path) == ["in.txt"]


def test_a_ray_that_is_too_small_is_ended(monkeypatch):
    called = []
    ray = SimpleNamespace(
        is_initialized=lambda: False,
        init=lambda **_: called.append("init"),
        cluster_resources=lambda: {"CPU": 2.0},
        shutdown=lambda: called.append("shutdown"),
    )
    monkeypatch.setitem(__import__("sys").modules, "ray", ray)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(ConfigError, match=r"there are 2 workers, but Ray has 0 GPUs"):
        RayCrew(2, dict, gpu=True)
    assert called == ["init", "shutdown"]
