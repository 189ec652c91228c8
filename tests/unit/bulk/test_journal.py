"""The journal of a bulk prediction: whole batches stay, all else goes, and the output has each row once."""

import json

import pytest

from saccade.bulk.journal import Journal
from saccade.bulk.predictor import Row

ROWS = [Row("la loi", -0.5, ""), Row("", 0.0, "is 5"), Row("été\n", -1.25, ""), Row("a \ud800", -2.0, "")]


def journal_of(tmp_path, *batches, size=2):
    with Journal(tmp_path / "rows.jsonl", size) as journal:
        for batch in batches:
            journal.add(batch)
    return journal


def reopened(tmp_path, size=2):
    with Journal(tmp_path / "rows.jsonl", size) as journal:
        return journal.rows, journal.kept, journal.failed, (tmp_path / "rows.jsonl").read_bytes().count(b"\n")


def test_rows_are_numbered_from_1_and_counted(tmp_path):
    journal = journal_of(tmp_path, ROWS[:2], ROWS[2:])
    assert (journal.rows, journal.kept, journal.failed) == (4, 0, 1)
    found = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert found == [{"line": number, **row._asdict()} for number, row in enumerate(ROWS, 1)]


def test_a_batch_is_in_the_file_as_soon_as_it_is_added(tmp_path):
    with Journal(tmp_path / "rows.jsonl", 2) as journal:
        journal.add(ROWS[:2])
        assert (tmp_path / "rows.jsonl").read_bytes().count(b"\n") == 2


def test_only_whole_batches_are_kept(tmp_path):
    journal_of(tmp_path, ROWS[:2], ROWS[2:3])
    assert reopened(tmp_path) == (2, 2, 1, 2)
    journal = journal_of(tmp_path, ROWS[2:])
    assert (journal.rows, journal.kept, journal.failed) == (4, 2, 1)
    assert reopened(tmp_path, size=4) == (4, 4, 1, 4)
    assert reopened(tmp_path, size=3) == (3, 3, 1, 3)
    assert reopened(tmp_path, size=4) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    "second", [b'{"line": 3, "output": "x", "score": 0.0, "error": ""}\n', b'{"line": 2, "output": "x"\n', b"\0" * 9]
)
def test_what_is_no_next_row_ends_what_is_kept(tmp_path, second):
    first = b'{"line": 1, "output": "x", "score": 0.0, "error": ""}\n'
    (tmp_path / "rows.jsonl").write_bytes(first + second + first)
    assert reopened(tmp_path, size=1) == (1, 1, 0, 1)
    (tmp_path / "rows.jsonl").write_bytes(first[:-1])  # without its line end, the row may be part of a longer one
    assert reopened(tmp_path, size=1) == (0, 0, 0, 0)


def test_the_journal_becomes_the_output(tmp_path):
    journal = journal_of(tmp_path, ROWS)
    content = (tmp_path / "rows.jsonl").read_bytes()
    journal.finish(tmp_path / "out.jsonl", parquet=False)
    assert (tmp_path / "out.jsonl").read_bytes() == content
    assert not (tmp_path / "rows.jsonl").exists()


def test_parquet_has_the_same_rows(tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("saccade.bulk.journal._GROUP", 3)
    journal_of(tmp_path, ROWS).finish(tmp_path / "out.parquet", parquet=True)
    table = parquet.read_table(tmp_path / "out.parquet")
    expected = [{"line": number, **row._asdict()} for number, row in enumerate(ROWS, 1)]
    assert table.to_pylist() == [*expected[:3], {**expected[3], "output": "a ?"}]
    assert [str(field.type) for field in table.schema] == ["int64", "string", "double", "string"]
    assert not (tmp_path / "rows.jsonl").exists()
